//! The tables' runner, with tiny projections that can be told to misbehave.

mod operations;
mod poison;
mod rebuild;
mod storm;
mod tiny;
