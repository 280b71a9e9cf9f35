//! The PostgreSQL store: the suite every store passes, rights, opening, connections that end, damage, several servers.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

mod common;
mod conformance;
mod damage;
mod lost;
mod migrating;
mod opening;
mod proxy;
mod rights;
mod servers;
mod stale_head;
mod standby;
mod tables;
