//! The SQLite store: the suite every store passes, opening, damage, killed servers, full disks.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

mod common;
mod conformance;
mod damage;
mod flipped_file;
mod full;
mod kill;
mod opening;
mod stale_head;
mod tables;
