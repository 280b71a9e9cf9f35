//! One file for each area of the command line. Each parses its own arguments and does one thing with them; what they
//! share is in `common`.

pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod catalog;
mod common;
pub(crate) mod completions;
pub(crate) mod context;
mod data;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod folder;
pub(crate) mod grant;
pub(crate) mod group;
pub(crate) mod login;
pub(crate) mod object;
pub(crate) mod permission;
pub(crate) mod recover;
pub(crate) mod role;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod setup;
mod shapes;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod user;
pub(crate) mod verify;
pub(crate) mod version;
