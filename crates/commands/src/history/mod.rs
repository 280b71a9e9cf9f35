//! Undoing what happened: nothing is taken out of the log; the commands that lead back are decided like any others.
//!
//! Three parts. [`inverse`] reads, from the state before a command and from its events, what was so before; [`since`],
//! from the events after it, what of that was decided again. [`step`] compares both with the state now and names the
//! commands that lead back. [`undo`] decides them in order, all or none, each with every guard of its own: an undo
//! gives nobody what its commands, sent one by one, would not.

mod inverse;
mod since;
mod step;
mod undo;
mod why;

pub use undo::Undo;
pub use why::{NotUndoable, REASONS_LISTED_MAX, Reason, Why};

/// The most events a command may have become to be undone as a whole.
pub const UNDO_EVENTS_MAX: usize = 100_000;
