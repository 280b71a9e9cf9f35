//! The handlers: one file an area, three lines each. Parse, call, answer.

pub(crate) mod audit;
pub(crate) mod authzen;
pub(crate) mod backups;
pub(crate) mod changes;
pub(crate) mod grants;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod invitations;
pub(crate) mod me;
pub(crate) mod objects;
pub(crate) mod oidc;
pub(crate) mod operations;
pub(crate) mod ops;
pub(crate) mod permissions;
pub(crate) mod projections;
pub(crate) mod questions;
pub(crate) mod roles;
pub(crate) mod session;
pub(crate) mod setup;
pub(crate) mod sharing;
pub(crate) mod tokens;
pub(crate) mod tree;
pub(crate) mod undo;
pub(crate) mod users;
