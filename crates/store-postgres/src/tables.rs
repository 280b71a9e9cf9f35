//! Read models in tables: rows and checkpoints of their generations, which one is read, and the operations. Owns what
//! happens in which transaction; must not know what a row means. Nothing here touches the log's tables but to read its
//! id, and none of its connections is one that appends.

mod change;
mod generations;
mod layout;
mod operations;
mod read;
mod values;

use crate::{
    PostgresStore, error,
    readers::{Held, Readers},
};
use async_trait::async_trait;
use charter_events::Timestamp;
use charter_store::{
    Checkpoint, Generation, Listed, Operation, OperationState, Query, StoreError, TableFault, TableStore,
    Target,
};
use charter_tables::{Changes, Row, RowsDigest, Spec};
use sqlx::raw_sql;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use uuid::Uuid;

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// A table that is not there: PostgreSQL's `undefined_table`.
const NO_TABLE: &str = "42P01";
/// Something else needs it: `dependent_objects_still_exist`.
const NEEDED: &str = "2BP01";

/// How long one step of a change may take, with everything.
const STEP: Duration = Duration::from_secs(crate::connect::TABLES_SECONDS_MAX + 2);
/// How long one step over a whole table may take.
const LONG_STEP: Duration = Duration::from_secs(6 * 60 * 60);

/// The connections to the tables.
pub(crate) struct Tables {
    /// Lists and searches.
    searches: Readers,
    /// Generations and operations: no search keeps them waiting, however slow.
    notes: Readers,
    /// Everything else.
    work: Readers,
    writes: bool,
    /// Whether the bookkeeping is known to be there.
    laid: AtomicBool,
}

impl Tables {
    /// Connects when it is first needed.
    pub(crate) fn new(searches: Readers, notes: Readers, work: Readers, writes: bool) -> Self {
        Self { searches, notes, work, writes, laid: AtomicBool::new(false) }
    }

    pub(crate) async fn close(&self) {
        for pool in [&self.searches, &self.notes, &self.work] {
            pool.close().await;
        }
    }

    /// Begins a transaction that writes, once the bookkeeping is there.
    async fn begin(&self, what: &'static str) -> Result<Held<'_>, StoreError> {
        if !self.writes {
            return Err(StoreError::ReadOnly);
        }
        if !self.laid.load(Ordering::Acquire) {
            layout::lay(&self.work).await?;
            self.laid.store(true, Ordering::Release);
        }
        self.work.begin(what, BEGIN).await
    }

    /// What a failed statement means. The bookkeeping may have been removed beneath us: then it is made again.
    fn failed(&self, what: &'static str, error: sqlx::Error) -> StoreError {
        if error::code(&error) == Some(NO_TABLE) {
            self.laid.store(false, Ordering::Release);
        }
        failed(what, error)
    }
}

/// What a failed statement means: whatever is wrong with these tables, the log is not damaged by it.
fn failed(what: &'static str, error: sqlx::Error) -> StoreError {
    if matches!(error, sqlx::Error::PoolClosed) {
        return StoreError::Closed;
    }
    match error::code(&error) {
        Some("XX001" | "XX002") => StoreError::unavailable(what, error::first_line(&error)),
        Some(NEEDED) => StoreError::Refused(format!("{what}: {}", error::with_detail(&error))),
        None if is_unreadable(&error) => StoreError::unavailable(what, error),
        _ => error::map(what, error),
    }
}

fn is_unreadable(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound)
}

/// Whether a table was not there.
fn is_gone(error: &sqlx::Error) -> bool {
    error::code(error) == Some(NO_TABLE)
}

fn moved(projection: &str) -> StoreError {
    StoreError::CheckpointMoved { projection: projection.to_owned() }
}

/// Ends a transaction and puts its connection back.
async fn commit(mut held: Held<'_>, what: &'static str) -> Result<(), StoreError> {
    let done = error::within(STEP, raw_sql("COMMIT").execute(&mut held.connection)).await;
    done.map_err(|error| failed(what, error))?;
    held.put_back();
    Ok(())
}

#[async_trait]
impl TableStore for PostgresStore {
    async fn generations(&self) -> Result<Vec<Generation>, StoreError> {
        generations::all(&self.tables).await
    }

    async fn create_generation(&self, spec: &'static Spec, now: Timestamp) -> Result<u32, StoreError> {
        generations::create(&self.tables, spec, now).await
    }

    async fn change_rows(
        &self,
        target: Target,
        from: Checkpoint,
        to: Checkpoint,
        changes: &Changes,
    ) -> Result<(), StoreError> {
        change::change(&self.tables, target, from, to, changes).await
    }

    async fn note_fault(&self, target: Target, fault: Option<TableFault>) -> Result<(), StoreError> {
        generations::note_fault(&self.tables, target, fault).await
    }

    async fn index_generation(&self, target: Target) -> Result<(), StoreError> {
        generations::index(&self.tables, target).await
    }

    async fn activate_generation(&self, target: Target, instead_of: Option<u32>) -> Result<(), StoreError> {
        generations::activate(&self.tables, target, instead_of).await
    }

    async fn drop_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        generations::remove(&self.tables, projection, number).await
    }

    async fn retire_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        generations::retire(&self.tables, projection, number).await
    }

    async fn digest_rows(&self, targets: &[Target]) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
        read::digests(&self.tables, targets).await
    }

    async fn scan_rows(
        &self,
        target: Target,
        table: usize,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, StoreError> {
        read::scan(&self.tables, target, table, after, limit).await
    }

    async fn list_rows(&self, query: &Query) -> Result<Option<Listed>, StoreError> {
        read::list(&self.tables, query).await
    }

    async fn begin_operation(&self, operation: &Operation, running: &[Uuid]) -> Result<bool, StoreError> {
        operations::begin(&self.tables, operation, running).await
    }

    async fn put_operation(&self, operation: &Operation) -> Result<(), StoreError> {
        operations::put(&self.tables, operation).await
    }

    async fn move_operation(
        &self,
        id: Uuid,
        from: OperationState,
        to: OperationState,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        operations::turn(&self.tables, id, from, to, now).await
    }

    async fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        operations::all(&self.tables).await
    }
}
