//! The control plane as a whole, on a store in memory that can be stopped and made to fail.

mod away;
mod bent;
mod consistency;
mod failures;
mod fleet;
mod fleet_identity;
mod house;
mod idempotency;
mod identity;
mod linked;
mod links;
mod log;
mod names;
mod past;
mod previews;
mod secrecy;
mod seeded;
mod servers;
mod sign_in;
mod sqlite;
mod tables;
mod undo;
