//! What the projections make of histories: beside a naive reading of the policy, and by hand.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod audit;
mod document;
mod life;
mod naive;
mod shapes;
mod support;
