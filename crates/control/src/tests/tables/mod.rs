//! The tables' runner, with tiny projections that can be told to misbehave.

mod history;
mod operations;
mod poison;
mod rebuild;
mod storm;
mod stumbles;
mod tiny;
