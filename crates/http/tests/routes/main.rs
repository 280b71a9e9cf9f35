//! The API, route by route: in process, through the router, on a store in memory. Files are named by the path they
//! are about; what holds for all routes is in the files beginning with `all_`.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod all_access_table;
mod all_answers;
mod all_bad_input;
mod all_bodies;
mod all_bounds;
mod all_conventions;
mod all_documents;
mod all_hiding;
mod all_ids;
mod all_lists;
mod all_logs;
mod all_requests;
mod all_strict;
mod as_of;
mod audit;
mod authzen;
mod authzen_agreement;
mod authzen_away;
mod authzen_bad_input;
mod authzen_certification;
mod catalog;
mod cookies;
mod diff;
mod events;
mod events_live;
mod grants;
mod groups;
mod invitations;
mod masked_tokens;
mod objects;
mod pages;
mod preview;
mod projections;
mod questions;
mod roles;
mod scim;
mod searching;
mod servers;
mod setup;
mod support;
mod tree;
mod undo;
mod user_me;
mod users;
