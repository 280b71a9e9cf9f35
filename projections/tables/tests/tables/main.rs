//! What the projections make of histories: beside a naive reading of the policy, and by hand.

mod audit;
mod document;
mod life;
mod naive;
mod shapes;
mod support;
