//! The connection that writes, one transaction at a time: begun by locking the head, ended by moving it. Owns when the
//! connection can no longer be trusted; a new one is made by the next transaction. Must not know what it writes.

use crate::{
    connect::{self, Route},
    error::{self, breaks_connection, map, within},
    read,
    statement::{Statement, integer},
};
use charter_events::Head;
use charter_store::StoreError;
use sqlx::{PgConnection, Row, postgres::PgRow, raw_sql};
use std::time::Duration;

/// Takes the head's lock, or fails after the time limit for locks; what it tells is then the committed head, however
/// long it waited. One round trip. It leaves no dead version of the row behind, as an update would: while a dump runs
/// those can't be removed, and everybody who reads the head walks over them.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SELECT log_id, head, head_hash, recorded_at FROM log.log_head WHERE one FOR NO KEY UPDATE";
const READ_HEAD: &str = "SELECT log_id, head, head_hash, recorded_at FROM log.log_head WHERE one";
const MOVE_HEAD: &str = "UPDATE log.log_head SET head = $1, head_hash = $2, recorded_at = $3 \
                         WHERE one AND head = $4 AND head_hash = $5";
/// A commit must be durable when it returns. A setting that asks for more than that is left as it is.
const DURABLE: &str = "SELECT CASE WHEN current_setting('synchronous_commit') = 'off' \
                       THEN set_config('synchronous_commit', 'on', false) \
                       ELSE current_setting('synchronous_commit') END";

const BEGIN_MAX: Duration = Duration::from_secs(connect::LOCK_SECONDS_MAX + 2);
const STEP_MAX: Duration = Duration::from_secs(connect::WRITE_SECONDS_MAX + 2);
const ROLLBACK_MAX: Duration = Duration::from_secs(5);

/// The connection that writes.
pub(crate) struct Link {
    route: Route,
    /// `None` after it could not be trusted any more.
    connection: Option<PgConnection>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// Within a transaction.
    Open,
    /// Within one that can only be undone.
    Failed,
}

impl Link {
    /// Connects when it first begins.
    pub(crate) fn new(route: Route) -> Self {
        Self { route, connection: None, state: State::Idle }
    }

    /// Begins a transaction that holds the head's lock, and says where the log ends.
    pub(crate) async fn begin(&mut self) -> Result<Head, StoreError> {
        if self.state != State::Idle {
            self.rollback().await;
        }
        let had_one = self.connection.is_some();
        let mut begun = self.try_begin().await;
        if had_one && self.connection.is_none() && begun.is_err() {
            // It was idle when it broke, as when the server was restarted: nothing was lost with it.
            begun = self.try_begin().await;
        }
        if begun.is_err() {
            self.rollback().await;
        }
        begun
    }

    async fn try_begin(&mut self) -> Result<Head, StoreError> {
        if self.connection.is_none() {
            self.connection = Some(self.connect().await.map_err(|e| map("connecting", e))?);
        }
        self.state = State::Open;
        let connection = self.connection.as_mut().ok_or(StoreError::Closed)?;
        let rows = within(BEGIN_MAX, raw_sql(BEGIN).fetch_all(connection)).await;
        let rows = rows.map_err(|error| self.failed("locking the head of the log", error))?;
        read::head(rows.last())
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.route.connect().await?;
        let asked = raw_sql(DURABLE).fetch_one(&mut connection);
        let row = within(Duration::from_secs(connect::CONNECT_SECONDS_MAX), asked).await?;
        match row.try_get::<&str, _>(0)? {
            "off" => Err(sqlx::Error::Configuration("`synchronous_commit` can't be turned on".into())),
            _ => Ok(connection),
        }
    }

    /// Runs statements in the transaction; says how many rows the last one changed.
    pub(crate) async fn execute(&mut self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        let mut rows = 0;
        for statement in statements {
            let done = within(STEP_MAX, statement.execute(self.open()?)).await;
            rows = done.map_err(|error| self.failed("writing", error))?;
        }
        Ok(rows)
    }

    /// Reads in the transaction.
    pub(crate) async fn rows(
        &mut self,
        what: &'static str,
        statement: Statement,
    ) -> Result<Vec<PgRow>, StoreError> {
        let rows = within(STEP_MAX, statement.rows(self.open()?)).await;
        rows.map_err(|error| self.failed(what, error))
    }

    /// Tells the server that the transaction goes on.
    pub(crate) async fn keep_alive(&mut self) {
        let Ok(connection) = self.open() else { return };
        if let Err(error) = within(STEP_MAX, raw_sql("SELECT 1").execute(connection)).await {
            let error = self.failed("keeping an append alive", error);
            tracing::warn!(%error, "an append was lost while it was decided");
        }
    }

    /// Moves the head and ends the transaction. After an error it is not known whether it was kept, unless the head
    /// had moved; whoever begins next waits for the old transaction's end, since it holds the lock.
    pub(crate) async fn commit(&mut self, from: Head, to: Option<Head>) -> Result<(), StoreError> {
        let result = self.try_commit(from, to).await;
        if result.is_err() {
            self.rollback().await;
        }
        result
    }

    async fn try_commit(&mut self, from: Head, to: Option<Head>) -> Result<(), StoreError> {
        if let Some(to) = to {
            let statement = Statement::new(MOVE_HEAD)
                .with(integer(to.offset.get())?)?
                .with(to.hash.as_bytes().as_slice())?
                .with(to.recorded_at.as_micros())?
                .with(integer(from.offset.get())?)?
                .with(from.hash.as_bytes().as_slice())?;
            if self.execute(vec![statement]).await? != 1 {
                let rows = self.rows(read::READING_HEAD, Statement::new(READ_HEAD)).await?;
                let head = read::head(rows.first())?.offset;
                return Err(StoreError::HeadMoved { head, continues: from.offset });
            }
        }
        let commit = raw_sql("COMMIT").execute(self.open()?);
        match within(STEP_MAX, commit).await {
            Ok(_) => {
                self.state = State::Idle;
                Ok(())
            }
            Err(error) => {
                self.give_up();
                Err(map("committing", error))
            }
        }
    }

    /// Ends the transaction, if there is one. A connection that can't is given up, which undoes it too.
    pub(crate) async fn rollback(&mut self) {
        if std::mem::replace(&mut self.state, State::Idle) == State::Idle {
            return;
        }
        let Some(connection) = &mut self.connection else { return };
        if let Err(error) = within(ROLLBACK_MAX, raw_sql("ROLLBACK").execute(connection)).await {
            tracing::warn!(%error, "an append could not be rolled back; its connection is given up");
            self.give_up();
        }
    }

    /// Drops the connection, whatever it was doing: the server undoes what was not committed.
    pub(crate) fn give_up(&mut self) {
        self.connection = None;
        self.state = State::Idle;
    }

    /// Ends the transaction and the connection.
    pub(crate) async fn close(&mut self) {
        self.rollback().await;
        if let Some(connection) = self.connection.take() {
            connect::close(connection).await;
        }
    }

    /// The connection, within a transaction that is sound. After a failed statement PostgreSQL answers a commit with
    /// a silent rollback, so it must not get that far.
    fn open(&mut self) -> Result<&mut PgConnection, StoreError> {
        let lost =
            || StoreError::Unavailable { what: "the append was lost with its connection", source: None };
        match self.state {
            State::Open => self.connection.as_mut().ok_or_else(lost),
            State::Failed => Err(StoreError::Refused("an earlier statement of this append failed".into())),
            State::Idle => Err(lost()),
        }
    }

    fn failed(&mut self, what: &'static str, error: sqlx::Error) -> StoreError {
        if breaks_connection(&error) {
            self.give_up();
        } else {
            self.state = State::Failed;
        }
        error::map(what, error)
    }
}
