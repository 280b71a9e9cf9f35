//! The real fold and the naive model, side by side: what they answer, and what the real one looks at to answer it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests and what they share"
)]

mod compare;
mod diff;
mod model;
mod sides;
mod visited;
