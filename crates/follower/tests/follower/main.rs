//! A follower against the server's real API, and against a server that does what no server should.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod fake;
mod faults;
mod following;
mod freshness;
mod nats;
mod nats_faults;
mod refusals;
mod server;
mod wait;
