//! The program as people run it: processes, exit codes, what is printed. One binary, so that it is linked once.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that can't go on should stop at once"
)]

mod as_of;
mod audit;
mod backups;
mod changes;
mod databases;
mod follow;
mod history;
mod invitations;
mod moving;
mod offline;
mod quickstart;
mod reviews;
mod starting;
mod stream;
mod support;
mod verbs;
