//! Backups: the whole log in one file that is verified before it has its name, what an installation needs beside its
//! log, and, in a file of its own, the keys of its users.
//!
//! **A backup has no user's key**: with such a key every name that user ever had in the log opens, so a person who is
//! erased would be back with each old backup. The keys are in one file beside the backups that is replaced whole by
//! every backup. Sessions, tokens, setup codes and kept answers are in neither: they do not come back.
//!
//! Must not know when backups are taken, nor how that is shown.

mod folder;
mod format;
mod keys;
mod read;
mod restore;
mod write;

pub use folder::{BackupFolder, Taken};
pub use keys::{KeysWritten, UserKeys, read_keys, write_keys};
pub use read::{Contents, Verified, check, verify};
pub use restore::{Options, Restored, require_empty, restore};
pub use write::{Written, write};

use charter_events::{LogId, Offset};
use charter_store::{Fault, StoreError};
use std::path::PathBuf;

/// Asked now and then how far it is; work that takes long ends with [`BackupError::Cancelled`] once it says no.
pub type GoOn<'a> = &'a mut (dyn FnMut(crate::Progress) -> bool + Send);

/// Why a backup was not taken, is not one, or was not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store said so; a damaged log names the first bad offset.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file can't be read or written.
    #[error("the file can't be read or written")]
    File(#[from] std::io::Error),
    /// A file of the folder can't be made, written or renamed.
    #[error("`{path}` can't be written")]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// Another backup of this log is being written there.
    #[error("another backup is being written to `{0}`")]
    Busy(PathBuf),
    /// It was told to stop; nothing is left of it.
    #[error("the backup was cancelled")]
    Cancelled,
    /// A line is not what was written.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A line of the file of keys is not what was written.
    #[error("the file of keys `{path}` is damaged at line {line}: {why}")]
    Keys {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file of keys is not that of the store's history: replacing it could lose the only copy of keys.
    #[error("the file of keys `{path}` is not this installation's: {why}")]
    ForeignKeys {
        /// The file.
        path: PathBuf,
        /// By what it is known.
        why: String,
    },
    /// The chain of the events in the file is broken.
    #[error("line {line}: {fault}")]
    Chain {
        /// The line, from 1.
        line: u64,
        /// The first bad offset, and what is wrong there.
        fault: Fault,
    },
    /// An event can't be replayed by this build.
    #[error("the event at offset {offset} can't be replayed: {why}")]
    Replay {
        /// Its offset.
        offset: Offset,
        /// What is wrong.
        why: String,
    },
    /// The file was changed between being verified and being restored.
    #[error("the file is not the one that was verified a moment ago")]
    Changed,
    /// What a backup is restored into holds something.
    #[error("the store is not empty: it holds log {log_id} up to offset {head}")]
    NotEmpty {
        /// Its log.
        log_id: LogId,
        /// Where that ends.
        head: Offset,
    },
    /// Keys of another log.
    #[error("the keys belong to log {keys}, the backup to log {backup}")]
    OtherKeys {
        /// The keys' log.
        keys: LogId,
        /// The backup's.
        backup: LogId,
    },
    /// The record of the restore could not be made.
    #[error("the restore can't be recorded: {0}")]
    Record(String),
}

impl BackupError {
    /// A stable word for logs and clients.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::File(_) | Self::Folder { .. } => "backup_unwritable",
            Self::Busy(_) => "backup_running",
            Self::Cancelled => "cancelled",
            Self::Line { .. } | Self::Keys { .. } | Self::Chain { .. } | Self::Changed => "backup_altered",
            Self::Replay { .. } => "event_unknown",
            Self::NotEmpty { .. } => "store_not_empty",
            Self::OtherKeys { .. } | Self::ForeignKeys { .. } => "other_log",
            Self::Record(_) => "not_recorded",
        }
    }
}
