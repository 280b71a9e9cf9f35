//! The port of read models kept in tables: rows and checkpoint move in one transaction, by compare-and-set; a
//! generation is built beside the one that is read, and one row says which that is.
//!
//! Nothing here is the truth: all of it can be built anew from the log. Must not know what a row means.

use crate::error::StoreError;
use async_trait::async_trait;
use charter_events::{Hash, LogId, Offset, Timestamp};
use charter_tables::{Changes, Row, RowsDigest, Spec, Value};
use uuid::Uuid;

/// The most rows one call reads.
pub const TABLE_ROWS_MAX: usize = 10_000;
/// The most changes one call makes: those of the largest command have to fit, because a checkpoint is always the end of
/// one.
pub const TABLE_CHANGES_MAX: usize = 4_000_000;
/// The longest text about a fault or an operation, in bytes.
pub const TABLE_TEXT_BYTES_MAX: usize = 4 * 1024;
/// How many ended operations are kept, newest first.
pub const OPERATIONS_KEPT: usize = 200;

/// How far a generation has come: the last event in it. Always the end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Of which log.
    pub log_id: LogId,
    /// The last event; 0 for none.
    pub offset: Offset,
    /// Its hash.
    pub hash: Hash,
}

/// One generation of a projection's tables, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// The projection's name.
    pub projection: String,
    /// Its number, from 1.
    pub number: u32,
    /// The version of its tables.
    pub version: u32,
    /// How far it has come.
    pub checkpoint: Checkpoint,
    /// Whether it is the one that is read.
    pub active: bool,
    /// Whether its further indexes are made.
    pub indexed: bool,
    /// The event it could not take, if it stopped.
    pub fault: Option<TableFault>,
    /// When it was begun.
    pub created_at: Timestamp,
}

/// Why a generation stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFault {
    /// The event it could not take.
    pub offset: Offset,
    /// For people: why not. At most [`TABLE_TEXT_BYTES_MAX`] bytes.
    pub why: String,
}

/// Which generation is meant.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The projection's tables.
    pub spec: &'static Spec,
    /// The generation's number.
    pub number: u32,
}

/// What a row must be like to be listed. Columns are those of the table's spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// It has this value (an empty one too).
    Is(&'static str, Value),
    /// At least this, and not empty.
    AtLeast(&'static str, Value),
    /// Less than this, and not empty.
    Below(&'static str, Value),
    /// This text stands somewhere in one of these columns, byte for byte: none of its characters has a meaning of its
    /// own, and an empty one stands in every text.
    Contains(Vec<&'static str>, String),
    /// It is one of these ids; the ids need no order. The rows a caller may see are named so.
    OneOf(&'static str, Vec<Uuid>),
}

/// A page of rows of the generation that is read.
#[derive(Debug, Clone)]
pub struct Query {
    /// The projection's tables.
    pub spec: &'static Spec,
    /// The table's place among them.
    pub table: usize,
    /// All of these hold.
    pub filters: Vec<Filter>,
    /// By this column, then by the key in the same direction; by the key alone when absent. Empty values come first
    /// ascending, last descending.
    pub order_by: Option<&'static str>,
    /// Whether the largest come first.
    pub descending: bool,
    /// Rows after this one: its value of the order's column (if there is one), then its key.
    pub after: Option<Row>,
    /// The most rows, at most [`TABLE_ROWS_MAX`].
    pub limit: usize,
}

/// A page of rows, all of one generation at one checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Whole rows.
    pub rows: Vec<Row>,
    /// How far the generation had come.
    pub checkpoint: Checkpoint,
    /// Which generation it was.
    pub generation: u32,
}

/// How long work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationState {
    /// It goes on, or will as soon as whoever does it sees it.
    Running,
    /// It was stopped, and can be resumed.
    Cancelled,
    /// Done.
    Done,
    /// It ended, and can't go on.
    Failed,
}

impl OperationState {
    const ALL: [Self; 4] = [Self::Running, Self::Cancelled, Self::Done, Self::Failed];

    /// A stable word for databases and clients.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    /// The state of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Long work that somebody asked for, as all servers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its id.
    pub id: Uuid,
    /// What kind of work, such as `projection.rebuild`.
    pub kind: String,
    /// On what, such as a projection's name.
    pub target: String,
    /// How it stands.
    pub state: OperationState,
    /// What it is at, or how it ended: for people, or as members where whoever does such work says so. At most
    /// [`TABLE_TEXT_BYTES_MAX`] bytes.
    pub detail: String,
    /// How much is done …
    pub done: u64,
    /// … of how much; 0 when not known.
    pub total: u64,
    /// Who asked for it.
    pub asked_by: Option<Uuid>,
    /// When it was asked for.
    pub started_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

/// Read models in tables.
///
/// A store that keeps none refuses each call ([`StoreError::Refused`]).
#[async_trait]
pub trait TableStore: Send + Sync {
    /// Every generation there is, by projection and number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn generations(&self) -> Result<Vec<Generation>, StoreError> {
        Err(none_kept())
    }

    /// Makes the empty tables of a new generation, at offset 0 of the log, and tells its number: one above the highest
    /// there ever was of the projection. It is not read. Further indexes are not made yet.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], [`StoreError::Full`], [`StoreError::Unavailable`].
    async fn create_generation(&self, _spec: &'static Spec, _now: Timestamp) -> Result<u32, StoreError> {
        Err(none_kept())
    }

    /// Makes changes and moves the checkpoint, all or none, if the generation is at `from`.
    ///
    /// # Errors
    /// [`StoreError::CheckpointMoved`] when it is elsewhere, or gone: another worker was faster. [`StoreError::Row`]
    /// when the database takes one of the rows never. [`StoreError::Refused`] for too many changes, or a checkpoint
    /// that does not go on. As [`TableStore::create_generation`].
    async fn change_rows(
        &self,
        _target: Target,
        _from: Checkpoint,
        _to: Checkpoint,
        _changes: &Changes,
    ) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Notes why a generation stopped, or that it goes on.
    ///
    /// # Errors
    /// [`StoreError::CheckpointMoved`] when it is gone; [`StoreError::Refused`] for too long a text. As
    /// [`TableStore::create_generation`].
    async fn note_fault(&self, _target: Target, _fault: Option<TableFault>) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Makes a generation's further indexes. No-op when they are there.
    ///
    /// # Errors
    /// [`StoreError::CheckpointMoved`] when it is gone. As [`TableStore::create_generation`].
    async fn index_generation(&self, _target: Target) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Has a generation read from now on, in place of `instead_of` (none: nothing was read yet), if it has come at
    /// least as far: readers never go back. One row says which generation is read; the views by which people read the
    /// tables with SQL move in the same transaction.
    ///
    /// # Errors
    /// [`StoreError::CheckpointMoved`] when another generation is read than `instead_of`, or this one is behind it.
    /// As [`TableStore::create_generation`].
    async fn activate_generation(&self, _target: Target, _instead_of: Option<u32>) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Removes a generation's tables. No-op when they are gone.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for the generation that is read. As [`TableStore::create_generation`].
    async fn drop_generation(&self, _projection: &str, _number: u32) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Removes a generation's tables even if it is the one that is read: then nothing of the projection is read from
    /// that moment on, whatever else stands in the way of removing them, such as a view of somebody's own on them or a
    /// reader that goes on; the tables stay then, unread. For tables that were made from another history. No-op when
    /// they are gone.
    ///
    /// # Errors
    /// As [`TableStore::create_generation`].
    async fn retire_generation(&self, _projection: &str, _number: u32) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// The digests of several generations, all read at one moment, each with how far it had come.
    ///
    /// # Errors
    /// [`StoreError::CheckpointMoved`] when one is gone; [`StoreError::Unavailable`].
    async fn digest_rows(&self, _targets: &[Target]) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
        Err(none_kept())
    }

    /// A page of all rows of one table of a generation, in order of their keys, after a key. For comparing.
    ///
    /// # Errors
    /// As [`TableStore::digest_rows`].
    async fn scan_rows(
        &self,
        _target: Target,
        _table: usize,
        _after: Option<&Row>,
        _limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        Err(none_kept())
    }

    /// A page of rows of the generation that is read; `None` while there is none, or one of another version.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a column that is not there; [`StoreError::Unavailable`].
    async fn list_rows(&self, _query: &Query) -> Result<Option<Listed>, StoreError> {
        Err(none_kept())
    }

    /// Keeps a new operation, unless one runs that is not among `running`, those whoever begins it has seen; tells
    /// whether it was kept. So of two servers that begin work at once the later one sees the other's.
    ///
    /// # Errors
    /// As [`TableStore::put_operation`].
    async fn begin_operation(&self, _operation: &Operation, _running: &[Uuid]) -> Result<bool, StoreError> {
        Err(none_kept())
    }

    /// Keeps a new operation, or how one stands now; one that runs no longer is not set running by this, so that its
    /// progress never undoes that it was cancelled. Of those that run no longer the newest [`OPERATIONS_KEPT`] stay.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for too long a text. As [`TableStore::create_generation`].
    async fn put_operation(&self, _operation: &Operation) -> Result<(), StoreError> {
        Err(none_kept())
    }

    /// Moves an operation from one state to another, if that is its state; tells whether it was.
    ///
    /// # Errors
    /// As [`TableStore::create_generation`].
    async fn move_operation(
        &self,
        _id: Uuid,
        _from: OperationState,
        _to: OperationState,
        _now: Timestamp,
    ) -> Result<bool, StoreError> {
        Err(none_kept())
    }

    /// The operations, newest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        Err(none_kept())
    }
}

fn none_kept() -> StoreError {
    StoreError::Refused("this store keeps no tables".into())
}
