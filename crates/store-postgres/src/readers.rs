//! The connections that read: a few, each used by one caller at a time, with a limit to every wait. Owns when one is
//! given up: whenever its answer was not read to the end, be it by an error, a time limit or a caller that went away.

use crate::{
    connect::{self, Route},
    error::{breaks_connection, map, within},
    statement::Statement,
};
use charter_store::StoreError;
use sqlx::{PgConnection, postgres::PgRow, raw_sql};
use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// How long a glance, such as one at the log's end, may take, with everything.
pub(crate) const GLANCE: Duration = Duration::from_secs(2);
/// How long any other read may take, with everything.
pub(crate) const READ: Duration = Duration::from_secs(connect::READ_SECONDS_MAX + 1);

/// A connection within a transaction, which is undone with the connection when this is dropped.
pub(crate) struct Held<'a> {
    pub(crate) connection: PgConnection,
    pool: &'a Readers,
    _permit: SemaphorePermit<'a>,
}

impl Held<'_> {
    /// Puts the connection back, once its transaction has ended.
    pub(crate) fn put_back(self) {
        if !self.pool.permits.is_closed() {
            self.pool.lock().push(self.connection);
        }
    }
}

/// A small pool.
pub(crate) struct Readers {
    route: Route,
    permits: Semaphore,
    /// Those nobody uses, the latest used last.
    idle: Mutex<Vec<PgConnection>>,
}

impl Readers {
    /// At most so many connections, made when they are first needed.
    pub(crate) fn new(route: Route, connections_max: usize) -> Self {
        Self { route, permits: Semaphore::new(connections_max), idle: Mutex::default() }
    }

    /// The rows of a statement that may be run twice: with a connection that was idle it is tried again on a new one,
    /// since the server may have been restarted meanwhile.
    pub(crate) async fn rows(
        &self,
        what: &'static str,
        statement: Statement,
        limit: Duration,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.try_rows(statement, limit).await.map_err(|error| match error {
            sqlx::Error::PoolClosed => StoreError::Closed,
            other => map(what, other),
        })
    }

    /// The same, for those who ask what the error is.
    pub(crate) async fn try_rows(
        &self,
        statement: Statement,
        limit: Duration,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let run = async {
            // Never waits longer than a glance for the others: they may all wait for a server that is gone.
            let permit = tokio::time::timeout(GLANCE, self.permits.acquire()).await;
            let busy =
                || sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "all connections are busy"));
            let _permit = permit.map_err(|_| busy())?.map_err(|_| sqlx::Error::PoolClosed)?;
            if let Some(connection) = self.take_idle() {
                match self.run(connection, statement.clone()).await {
                    Err(error) if breaks_connection(&error) => self.forget_idle(),
                    done => return done,
                }
            }
            let connection = self.route.connect().await?;
            self.run(connection, statement).await
        };
        within(limit, run).await
    }

    /// A connection on which a transaction was begun by these words. With one that was idle it is tried again on a new
    /// one.
    pub(crate) async fn begin(
        &self,
        what: &'static str,
        words: &'static str,
    ) -> Result<Held<'_>, StoreError> {
        let begin = async {
            let permit = self.permits.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
            if let Some(mut connection) = self.take_idle() {
                match raw_sql(words).execute(&mut connection).await {
                    Ok(_) => return Ok(Held { connection, pool: self, _permit: permit }),
                    Err(_) => self.forget_idle(),
                }
            }
            let mut connection = self.route.connect().await?;
            raw_sql(words).execute(&mut connection).await?;
            Ok(Held { connection, pool: self, _permit: permit })
        };
        within(READ, begin).await.map_err(|error| match error {
            sqlx::Error::PoolClosed => StoreError::Closed,
            other => map(what, other),
        })
    }

    /// At most one row.
    pub(crate) async fn row(
        &self,
        what: &'static str,
        statement: Statement,
        limit: Duration,
    ) -> Result<Option<PgRow>, StoreError> {
        Ok(self.rows(what, statement, limit).await?.pop())
    }

    async fn run(
        &self,
        mut connection: PgConnection,
        statement: Statement,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let done = statement.rows(&mut connection).await;
        if done.as_ref().err().is_none_or(|error| !breaks_connection(error)) && !self.permits.is_closed() {
            self.lock().push(connection);
        }
        done
    }

    /// Drops the connections nobody uses: they lead to a server that is not what it was.
    pub(crate) fn forget_idle(&self) {
        let idle = std::mem::take(&mut *self.lock());
        drop(idle);
    }

    fn take_idle(&self) -> Option<PgConnection> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what is idle and refuses from now on.
    pub(crate) async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.lock());
        for connection in idle {
            connect::close(connection).await;
        }
    }
}
