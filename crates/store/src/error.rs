//! What can go wrong with what is kept. Owns the one error type of the ports and the faults of a damaged log; must
//! not know any database's own errors beyond their being a source.

use charter_events::Offset;

/// An error of a database, as a source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error with its causes, in one line, for a log: of each the first line, and nothing twice. Errors of a store hold
/// no secrets.
pub fn causes(error: &dyn std::error::Error) -> String {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let mut told = first_line(error.to_string());
    let mut source = error.source();
    while let Some(cause) = source {
        let line = first_line(cause.to_string());
        if !told.ends_with(&line) {
            told.push_str(": ");
            told.push_str(&line);
        }
        source = cause.source();
    }
    told
}

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store can't be reached, is busy beyond its time limit, or failed on input or output. Trying again may help.
    #[error("the store is unavailable: {what}")]
    Unavailable {
        /// What was being done.
        what: &'static str,
        /// What the database said.
        #[source]
        source: Option<BoxError>,
    },
    /// The log, or the file it is in, is not what was written.
    #[error(transparent)]
    Damaged(#[from] Fault),
    /// The batch does not continue the log: another writer was faster, or the batch was not made for this log.
    #[error("the log ends at offset {head}, the batch continues offset {continues}")]
    HeadMoved {
        /// Where the log ends.
        head: Offset,
        /// What the batch was made for.
        continues: Offset,
    },
    /// A generation of a projection's tables is not where it was thought to be, or not read, or gone: another worker
    /// was faster.
    #[error("the tables of `{projection}` were moved by another worker")]
    CheckpointMoved {
        /// The projection.
        projection: String,
    },
    /// The database will never take a row.
    #[error("a row of `{table}` can't be kept: {why}")]
    Row {
        /// The table.
        table: String,
        /// What the database said.
        why: String,
    },
    /// The database was written by a newer build.
    #[error("the database has schema {found}, this build knows schemas up to {known}; use the newer build")]
    TooNew {
        /// The database's schema.
        found: i64,
        /// The newest schema this build knows.
        known: i64,
    },
    /// The database was made by an older build, and whoever opened it may not bring it up to date.
    #[error("the database has schema {found}, this build needs {known}; run `charter migrate` first")]
    NeedsMigration {
        /// The database's schema; 0 when there is none of ours.
        found: i64,
        /// The schema this build needs.
        known: i64,
    },
    /// Another server has the store open.
    #[error("`{0}` is in use by another server; stop it first, or give this one a folder of its own")]
    InUse(String),
    /// Not a store of ours, or not where it should be.
    #[error("`{place}` can't be opened as a store: {why}")]
    NotAStore {
        /// The folder or file.
        place: String,
        /// What is wrong with it.
        why: String,
        /// What the database or the file system said.
        #[source]
        source: Option<BoxError>,
    },
    /// The folder of snapshots can't be made or written to.
    #[error("snapshots can't be written to `{folder}`")]
    Snapshots {
        /// The folder.
        folder: String,
        /// What the file system said.
        #[source]
        source: std::io::Error,
    },
    /// No space left; nothing of the append was kept.
    #[error("the store is full: no space is left on its disk")]
    Full,
    /// The store was opened for reading.
    #[error("the store is open for reading only")]
    ReadOnly,
    /// The request itself is wrong; a mistake of the program that calls.
    #[error("refused by the store: {0}")]
    Refused(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// A stable word for logs, metrics and clients.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "store_unavailable",
            Self::Damaged(_) => "log_damaged",
            Self::HeadMoved { .. } => "head_moved",
            Self::CheckpointMoved { .. } => "checkpoint_moved",
            Self::Row { .. } => "row_refused",
            Self::TooNew { .. } => "store_too_new",
            Self::NeedsMigration { .. } => "store_needs_migration",
            Self::InUse(_) => "store_in_use",
            Self::NotAStore { .. } => "not_a_store",
            Self::Snapshots { .. } => "snapshots_unwritable",
            Self::Full => "store_full",
            Self::ReadOnly => "store_read_only",
            Self::Refused(_) => "store_refused",
            Self::Closed => "store_closed",
        }
    }

    /// An [`StoreError::Unavailable`] with its cause.
    pub fn unavailable(what: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Unavailable { what, source: Some(source.into()) }
    }

    /// The fault, when the store is damaged.
    pub const fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Damaged(fault) => Some(fault),
            _ => None,
        }
    }
}

/// The first thing found wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the log is damaged at offset {offset}: {what}")]
pub struct Fault {
    /// The first bad offset; 0 when it is not known which.
    pub offset: Offset,
    /// What is wrong there.
    pub what: What,
}

impl Fault {
    /// A fault at an offset.
    pub const fn new(offset: Offset, what: What) -> Self {
        Self { offset, what }
    }
}

/// What is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum What {
    /// The record does not have the hash stored beside it.
    #[error("the event does not match its hash")]
    HashMismatch,
    /// The record does not name its predecessor's hash.
    #[error("the event does not follow from its predecessor")]
    BrokenLink,
    /// No event has this offset, though later ones exist or the head says so.
    #[error("the event is missing")]
    Missing,
    /// Two events, or events out of order.
    #[error("offset {found} stands where this one should")]
    Unordered {
        /// What stands there.
        found: Offset,
    },
    /// The event's place in its command does not follow from its predecessor's.
    #[error("the event's place in its command does not follow from its predecessor's")]
    CommandIndex,
    /// Recorded before its predecessor.
    #[error("the event was recorded before its predecessor")]
    TimeGoesBack,
    /// The row can't be read as an event.
    #[error("the event can't be read: {0}")]
    Unreadable(String),
    /// The head row names another hash or time than the event at its offset.
    #[error("the recorded head does not match the last event")]
    HeadMismatch,
    /// An event lies beyond the recorded head.
    #[error("the event lies beyond the recorded head")]
    BeyondHead,
    /// The database file itself is damaged.
    #[error("the database file is damaged: {0}")]
    File(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_error_is_told_with_its_causes_in_one_line_and_nothing_twice() {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "127.0.0.1:5432: refused\nhint");
        let away = StoreError::unavailable("reading the head", refused());
        assert_eq!(causes(&away), "the store is unavailable: reading the head: 127.0.0.1:5432: refused");
        let twice = StoreError::unavailable("reading", io::Error::other("reading"));
        assert_eq!(causes(&twice), "the store is unavailable: reading");
        let alone = StoreError::Unavailable { what: "reading", source: None };
        assert_eq!(causes(&alone), "the store is unavailable: reading");
    }
}
