//! Read models in tables, in a file of their own: building them anew never holds up an append. Owns that file's
//! connections; must not know what a row means. It is derived: one that can't be used is set aside and made anew.

mod change;
mod file;
mod generations;
mod operations;
mod read;
mod values;

use crate::{SqliteStore, error, place::Place};
use async_trait::async_trait;
use charter_events::Timestamp;
use charter_store::{
    Checkpoint, Generation, Listed, Operation, OperationState, Query, StoreError, TableFault, TableStore,
    Target,
};
use charter_tables::{Changes, Row, RowsDigest, Spec};
use sqlx::{
    ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool, pool::PoolConnection,
    sqlite::SqliteConnectOptions,
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use tokio::sync::{Mutex, MutexGuard};
use uuid::Uuid;

/// How long one read of a page may take.
const READ_SECONDS_MAX: u64 = 10;
/// How often SQLite asks whether a read took too long: after so many of its machine's steps.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// The connections to the tables.
pub(crate) struct Tables {
    /// `None` for a tool, when there is no file it can use.
    readers: Option<SqlitePool>,
    /// For generations and operations: no search keeps them waiting, however slow. As many or none.
    notes: Option<SqlitePool>,
    /// `None` for a tool. It is taken out while a transaction runs: a caller that goes away undoes it with the
    /// connection.
    writer: Option<Mutex<Option<SqliteConnection>>>,
    options: SqliteConnectOptions,
    /// Of the log, to learn its id.
    log: SqlitePool,
    place: Place,
    /// Whether the file is known to be there and ours.
    laid: AtomicBool,
}

/// The connection that writes, within a transaction.
struct Held<'a> {
    connection: SqliteConnection,
    slot: MutexGuard<'a, Option<SqliteConnection>>,
    closed: bool,
}

impl Held<'_> {
    /// Ends the transaction as the work in it ended. A connection that can't is given up, which undoes it too.
    async fn finish<T>(mut self, what: &'static str, done: Result<T, StoreError>) -> Result<T, StoreError> {
        const NO_TRANSACTION: Option<i32> = Some(1);
        let words = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = sqlx::query(words).execute(&mut self.connection).await;
        let keeps = ended.as_ref().map_or_else(|e| error::code(e) == NO_TRANSACTION, |_| true);
        if keeps && !self.closed {
            *self.slot = Some(self.connection);
        }
        match (done, ended) {
            (Ok(_), Err(error)) => Err(failed(what, error)),
            (done, _) => done,
        }
    }
}

impl Tables {
    /// For the server. That the file can't be used now keeps nobody from starting: it is tried again when it is needed.
    pub(crate) async fn open_server(place: Place, log: SqlitePool) -> Self {
        let options = file::writing(&place);
        let readers = Some(file::pool(&place, file::READERS_MAX));
        let notes = Some(file::pool(&place, file::NOTES_MAX));
        let writer = Some(Mutex::new(None));
        let tables = Self { readers, notes, writer, options, log, place, laid: AtomicBool::new(false) };
        if let Err(error) = tables.lay().await {
            tracing::warn!(error = %charter_store::causes(&error), "the file of tables can't be used now");
        }
        tables
    }

    /// For a tool.
    pub(crate) async fn open_reader(place: Place, log: SqlitePool) -> Self {
        let usable = file::is_usable(&place).await;
        let readers = usable.then(|| file::pool(&place, file::READERS_MAX));
        let notes = usable.then(|| file::pool(&place, file::NOTES_MAX));
        let options = file::writing(&place);
        Self { readers, notes, writer: None, options, log, place, laid: AtomicBool::new(usable) }
    }

    pub(crate) async fn close(&self) {
        for pool in self.readers.iter().chain(&self.notes) {
            pool.close().await;
        }
        let Some(writer) = &self.writer else { return };
        if let Some(connection) = writer.lock().await.take() {
            // Closing checkpoints; what it can't do, the next opening does.
            let _ = connection.close().await;
        }
    }

    async fn lay(&self) -> Result<(), StoreError> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        let mut slot = writer.lock().await;
        if !self.laid.load(Ordering::Acquire) {
            let head = crate::read::head_row(&self.log).await?;
            *slot = Some(file::open(&self.place, &self.options, head.log_id).await?);
            self.laid.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Begins a transaction that writes.
    async fn begin(&self, what: &'static str) -> Result<Held<'_>, StoreError> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        if !self.laid.load(Ordering::Acquire) {
            self.lay().await?;
        }
        let mut slot = writer.lock().await;
        let closed = self.readers.as_ref().is_some_and(SqlitePool::is_closed);
        if closed {
            return Err(StoreError::Closed);
        }
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.options.connect().await.map_err(|e| self.failed(what, e))?,
        };
        sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.map_err(|e| self.failed(what, e))?;
        Ok(Held { connection, slot, closed })
    }

    /// A connection that reads rows, for so long; `None` when there is nothing to read.
    async fn reader(
        &self,
        what: &'static str,
        limit: Option<Duration>,
    ) -> Result<Option<PoolConnection<Sqlite>>, StoreError> {
        let Some(mut connection) = self.acquire(self.readers.as_ref(), what).await? else { return Ok(None) };
        let mut handle = connection.lock_handle().await.map_err(|e| self.failed(what, e))?;
        match limit.and_then(|limit| Instant::now().checked_add(limit)) {
            Some(until) => handle.set_progress_handler(STEPS_BETWEEN_LOOKS, move || Instant::now() < until),
            None => handle.remove_progress_handler(),
        }
        drop(handle);
        Ok(Some(connection))
    }

    /// A connection that reads generations and operations; `None` when there are none.
    async fn notes(&self, what: &'static str) -> Result<Option<PoolConnection<Sqlite>>, StoreError> {
        self.acquire(self.notes.as_ref(), what).await
    }

    async fn acquire(
        &self,
        pool: Option<&SqlitePool>,
        what: &'static str,
    ) -> Result<Option<PoolConnection<Sqlite>>, StoreError> {
        // Before it is laid, nothing was ever written.
        let Some(pool) = pool.filter(|_| self.laid.load(Ordering::Acquire)) else { return Ok(None) };
        pool.acquire().await.map(Some).map_err(|e| self.failed(what, e))
    }

    /// What a failed statement means. A damaged file is noted, so that the next start sets it aside.
    fn failed(&self, what: &'static str, error: sqlx::Error) -> StoreError {
        if file::is_damaged(&error) {
            let marked = std::fs::File::create(self.place.tables_damaged());
            tracing::error!(%error, marked = marked.is_ok(), "the file of tables is damaged; the next start makes it anew");
        }
        failed(what, error)
    }
}

/// What a failed statement means: whatever is wrong with this file, the log is not damaged by it.
fn failed(what: &'static str, error: sqlx::Error) -> StoreError {
    let unreadable =
        matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound);
    if unreadable || file::is_damaged(&error) {
        return StoreError::unavailable(what, error);
    }
    error::map(what, error)
}

/// Whether a table was not there. SQLite has no code for that alone.
fn is_gone(error: &sqlx::Error) -> bool {
    let said = |error: &dyn sqlx::error::DatabaseError| error.message().contains("no such table");
    error::code(error) == Some(1) && error.as_database_error().is_some_and(said)
}

fn moved(projection: &str) -> StoreError {
    StoreError::CheckpointMoved { projection: projection.to_owned() }
}

#[async_trait]
impl TableStore for SqliteStore {
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
