//! What can go wrong when state is made: an inconsistent log, an unreadable snapshot.

use charter_events::Offset;

/// An event that does not fit the state before it: the log is inconsistent, or was written by other rules. A
/// reader must stop; the state it was applied to is no longer to be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// Offsets are dense.
    #[error("event {got} follows event {after}")]
    Gap {
        /// The last event applied.
        after: Offset,
        /// The event that came.
        got: Offset,
    },
    /// The event names something that is not there.
    #[error("`{event}` names {kind} `{id}`, which is not there")]
    Missing {
        /// The event's type.
        event: &'static str,
        /// What kind of thing.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// The event makes something that is there already.
    #[error("`{event}` makes {kind} `{id}`, which is there already")]
    Taken {
        /// The event's type.
        event: &'static str,
        /// What kind of thing.
        kind: &'static str,
        /// Its id.
        id: String,
    },
    /// The event contradicts the state.
    #[error("`{event}` of `{id}` does not fit: {why}")]
    Contradiction {
        /// The event's type.
        event: &'static str,
        /// What it is about.
        id: String,
        /// What does not fit.
        why: &'static str,
    },
    /// More things of one kind than a dense index can number.
    #[error("there is no room for another {0}")]
    Full(&'static str),
}

/// A snapshot that can't be written or read. It is rebuildable: fold the log instead.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Written in another format than this build's.
    #[error("snapshot format {found} is not format {expected}")]
    Format {
        /// The format found.
        found: u16,
        /// This build's.
        expected: u16,
    },
    /// The bytes can't be encoded or decoded.
    #[error("the snapshot's bytes can't be read or written: {0}")]
    Codec(String),
    /// The bytes decode, but the facts in them contradict each other.
    #[error("the snapshot contradicts itself: {0}")]
    Contradiction(&'static str),
}
