//! Comparing a log, as it is read, with checkpoints of it that were kept elsewhere. Must not know where it is read
//! from.

use crate::ToolError;
use charter_events::{Hash, LogId, Offset, StoredEvent};
use charter_store::merkle::{Checkpoint, Tree, origin};
use std::collections::VecDeque;

/// Why a log is not proven to be what it was.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// It is damaged in itself, or can't be read.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The chain is whole, and ends before a checkpoint that was kept elsewhere: what followed is gone.
    #[error("the log is cut at offset {offset}: a checkpoint says that it had {size} events")]
    Cut {
        /// The first offset that is missing.
        offset: Offset,
        /// How many events the checkpoint has.
        size: u64,
    },
    /// The chain is whole, and is another than that of a checkpoint kept elsewhere.
    #[error(
        "the log was rewritten at offset {} or later: its first {size} events are not those of a checkpoint",
        after.plus(1).unwrap_or(Offset::MAX)
    )]
    Rewritten {
        /// Up to here it is the log of another checkpoint; 0 when there is none that fits.
        after: Offset,
        /// How many events the checkpoint has that does not fit.
        size: u64,
    },
    /// Two checkpoints contradict each other: whoever held the signing key showed two histories. No log fits both.
    #[error(
        "two checkpoints say that the log had {size} events, and have different roots: two histories were signed"
    )]
    TwoHistories {
        /// How many events both have.
        size: u64,
    },
    /// No proof can be made.
    #[error("nothing is proven: {0}")]
    Unproven(String),
}

impl From<charter_store::StoreError> for EvidenceError {
    fn from(error: charter_store::StoreError) -> Self {
        Self::Tool(error.into())
    }
}

/// The tree as it grows, and the checkpoints it is still to be compared with.
pub(crate) struct Against {
    tree: Tree,
    /// By size, the least first.
    ahead: VecDeque<Checkpoint>,
    /// Up to here a checkpoint says that the log is what it was.
    agreed: Offset,
    differs: Option<u64>,
}

impl Against {
    /// Nothing read yet.
    pub(crate) fn new(log_id: LogId, checkpoints: &[Checkpoint]) -> Result<Self, EvidenceError> {
        let ours = origin(log_id);
        if let Some(other) = checkpoints.iter().find(|checkpoint| checkpoint.origin != ours) {
            let name = &other.origin;
            let why = format!("the checkpoint is of `{name}`, the log is `{ours}`");
            return Err(ToolError::OtherLog(why).into());
        }
        let mut ahead: Vec<_> = checkpoints.to_vec();
        ahead.sort_by_key(|checkpoint| checkpoint.size);
        // Before the log: what is found there would blame it alone.
        let contradicts =
            ahead.iter().zip(ahead.iter().skip(1)).find(|(a, b)| a.size == b.size && a.root != b.root);
        if let Some((one, _)) = contradicts {
            return Err(EvidenceError::TwoHistories { size: one.size });
        }
        let mut new =
            Self { tree: Tree::default(), ahead: ahead.into(), agreed: Offset::ZERO, differs: None };
        new.compare(Offset::ZERO);
        Ok(new)
    }

    /// Takes the next event, which the chain has found sound.
    pub(crate) fn event(&mut self, event: &StoredEvent) {
        self.tree.push(event.hash);
        self.compare(event.offset);
    }

    fn compare(&mut self, at: Offset) {
        while self.ahead.front().is_some_and(|next| next.size == at.get()) {
            let Some(checkpoint) = self.ahead.pop_front() else { return };
            if self.differs.is_none() {
                if checkpoint.root == self.tree.root() {
                    self.agreed = at;
                } else {
                    self.differs = Some(checkpoint.size);
                }
            }
        }
    }

    /// The root at the end, when every checkpoint fits.
    pub(crate) fn end(self) -> Result<Hash, EvidenceError> {
        if let Some(size) = self.differs {
            return Err(EvidenceError::Rewritten { after: self.agreed, size });
        }
        match self.ahead.back() {
            None => Ok(self.tree.root()),
            Some(last) => {
                let end = Offset::new(self.tree.size()).unwrap_or(Offset::MAX);
                Err(EvidenceError::Cut { offset: end.plus(1).unwrap_or(Offset::MAX), size: last.size })
            }
        }
    }
}
