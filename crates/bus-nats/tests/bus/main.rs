//! The bus against a real NATS server: connecting, publishing, reading, and what goes wrong with each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod cluster;
mod connecting;
mod distrust;
mod faults;
mod publishing;
mod reading;
mod rights;
mod support;
mod told;
