//! The port of snapshots: a folded state at an offset, so that a start need not fold everything. A snapshot can always
//! be made again; one that is doubtful in any way is ignored. Must not know what the state is.

use crate::error::StoreError;
use async_trait::async_trait;
use charter_events::{Hash, LogId, Offset};

/// What a snapshot says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHeader {
    /// The format of the body.
    pub format: u16,
    /// The version of the code that folded it, at most 64 bytes: another version may fold otherwise.
    pub code_version: String,
    /// Of which log.
    pub log_id: LogId,
    /// The last event folded; never 0.
    pub offset: Offset,
    /// That event's hash.
    pub hash: Hash,
}

/// A folded state at an offset.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What it says of itself.
    pub header: SnapshotHeader,
    /// The state, in the format of the header.
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("header", &self.header).field("bytes", &self.body.len()).finish()
    }
}

/// Which snapshots can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The format the reader knows.
    pub format: u16,
    /// The reader's code version.
    pub code_version: String,
    /// Not beyond this offset; for questions about the past.
    pub at_most: Option<Offset>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The newest snapshot that can be used.
    pub snapshot: Option<Snapshot>,
    /// Newer ones that could not be, and why: to be logged.
    pub ignored: Vec<Ignored>,
}

/// A snapshot that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// Snapshots of folded states.
#[async_trait]
pub trait SnapshotStore: Send + Sync {
    /// Keeps a snapshot and removes all but the last [`SNAPSHOTS_KEPT`](crate::SNAPSHOTS_KEPT). Those beyond its
    /// offset go too: saving follows the log, so they are of a history that is no more, as after restoring a backup.
    /// Durable when it returns; one that was interrupted leaves nothing that would be loaded.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], [`StoreError::Full`], [`StoreError::Unavailable`]. The log is not touched by any of
    /// them.
    async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError>;

    /// The newest snapshot of this log that is whole, of the format and code version wanted, and whose event is in
    /// the log with the hash it names.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the log can't be read. Damaged snapshots are no error.
    async fn latest(&self, wanted: &Wanted) -> Result<Loaded, StoreError>;
}

/// Why a header is not wanted, in words; `None` when it is.
pub(crate) fn mismatch(header: &SnapshotHeader, log_id: LogId, wanted: &Wanted) -> Option<String> {
    if header.log_id != log_id {
        Some(format!("it is of log {}", header.log_id))
    } else if header.format != wanted.format {
        Some(format!("its format is {}, not {}", header.format, wanted.format))
    } else if header.code_version != wanted.code_version {
        Some(format!("it was made by version `{}`", header.code_version))
    } else {
        None
    }
}
