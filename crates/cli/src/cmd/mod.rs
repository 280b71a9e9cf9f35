//! One file for each area of the command line. Each parses its own arguments and does one thing with them; what they
//! share is in `common`.

pub(crate) mod ask;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod catalog;
mod common;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod folder;
pub(crate) mod follow;
pub(crate) mod grant;
pub(crate) mod group;
pub(crate) mod login;
pub(crate) mod migrate;
mod nats;
pub(crate) mod object;
pub(crate) mod permission;
pub(crate) mod recover;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod role;
mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod session;
pub(crate) mod setup;
mod shapes;
mod signals;
mod store;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod user;
pub(crate) mod verify;
pub(crate) mod version;
