//! The one task that writes. It owns the only connection that does, so a caller that goes away can't leave a
//! transaction open: the caller holds a channel, and when that closes, the task rolls back. Appends take turns here;
//! that turn is the lock on the head. Must not know what it writes.

use crate::{
    error,
    insert::{Statement, integer},
    open, read,
};
use charter_events::Head;
use charter_store::StoreError;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use std::fs::File;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

const JOBS_QUEUED_MAX: usize = 256;

const MOVE_HEAD: &str = "UPDATE log_head SET head = ?, head_hash = ?, recorded_at = ? \
                         WHERE one = 1 AND head = ? AND head_hash = ?";

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// The way to the task.
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
    closing: watch::Sender<bool>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

enum Job {
    Append(Reply<Session>),
    /// A transaction of its own; answers how many rows the last statement changed.
    Once {
        statements: Vec<Statement>,
        after: After,
        reply: Reply<u64>,
    },
}

/// What follows a transaction of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// Something was deleted that must not be found in the file any more.
    Forget,
    /// The head was changed, and is read again.
    ReadHead,
    /// Rows were tidied away: the moment to make up for what could not be cleared before.
    Tidy,
}

/// One append's turn. Dropping it rolls back.
pub(crate) struct Session {
    pub(crate) head: Head,
    steps: mpsc::Sender<Step>,
}

/// What a commit does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commit {
    /// The head it moves to; `None` when it wrote nothing.
    pub(crate) head: Option<Head>,
    /// Whether something was deleted that must not be found in the file any more.
    pub(crate) forgets: bool,
}

enum Step {
    Run(Vec<Statement>, Reply<u64>),
    Commit(Commit, Reply<()>),
    Rollback(Reply<()>),
}

impl Session {
    pub(crate) async fn run(&self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        self.step(|reply| Step::Run(statements, reply)).await
    }

    pub(crate) async fn commit(self, commit: Commit) -> Result<(), StoreError> {
        self.step(|reply| Step::Commit(commit, reply)).await
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.step(Step::Rollback).await
    }

    async fn step<T>(&self, make: impl FnOnce(Reply<T>) -> Step) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.steps.send(make(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// Starts the task; `lock` is freed when it ends.
    pub(crate) fn start(connection: SqliteConnection, options: SqliteConnectOptions, lock: File) -> Self {
        let (jobs, queue) = mpsc::channel(JOBS_QUEUED_MAX);
        let (closing, closed) = watch::channel(false);
        // Whoever had the file before may have been killed between forgetting and clearing.
        let task =
            Task { connection: Some(connection), options, head: None, uncleared: true, closed, _lock: lock };
        let task = tokio::spawn(task.run(queue));
        Self { jobs, closing, task: tokio::sync::Mutex::new(Some(task)) }
    }

    pub(crate) async fn append(&self) -> Result<Session, StoreError> {
        self.job(Job::Append).await
    }

    pub(crate) async fn once(&self, statements: Vec<Statement>, after: After) -> Result<u64, StoreError> {
        self.job(|reply| Job::Once { statements, after, reply }).await
    }

    async fn job<T>(&self, make: impl FnOnce(Reply<T>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(make(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Undoes the append that is under way, refuses those that wait, closes the connection and frees the lock.
    pub(crate) async fn close(&self) {
        let _ = self.closing.send(true);
        if let Some(task) = self.task.lock().await.take() {
            // An error: the task is gone already.
            let _ = task.await;
        }
    }
}

struct Task {
    /// `None` after it could not be trusted any more; made anew by the next job.
    connection: Option<SqliteConnection>,
    options: SqliteConnectOptions,
    /// The committed head, while it is known: nobody else moves it.
    head: Option<Head>,
    /// Whether the write-ahead log still holds what was deleted for good.
    uncleared: bool,
    closed: watch::Receiver<bool>,
    _lock: File,
}

impl Task {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut closed = self.closed.clone();
        loop {
            let job = tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => break,
                job = queue.recv() => job,
            };
            match job {
                Some(Job::Append(reply)) => self.append(reply).await,
                Some(Job::Once { statements, after, reply }) => {
                    let result = self.once(statements).await;
                    let forgets = match after {
                        After::Forget => result.is_ok(),
                        After::Tidy => self.uncleared,
                        After::Nothing | After::ReadHead => false,
                    };
                    if after == After::ReadHead {
                        self.head = None;
                    }
                    let _ = reply.send(result);
                    self.forget(forgets).await;
                }
                None => break,
            }
        }
        queue.close();
        self.forget(self.uncleared && self.connection.is_some()).await;
        if let Some(connection) = self.connection.take() {
            // Closing checkpoints; what it can't do, the next opening does.
            let _ = connection.close().await;
        }
    }

    async fn append(&mut self, reply: Reply<Session>) {
        let head = match self.begin().await {
            Ok(head) => head,
            Err(error) => {
                let _ = reply.send(Err(error));
                return;
            }
        };
        let (steps, mut queue) = mpsc::channel(1);
        // When nobody waits for it any more, it is dropped here, and the queue ends at once.
        let _ = reply.send(Ok(Session { head, steps }));
        let mut closed = self.closed.clone();
        loop {
            let step = tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => None,
                step = queue.recv() => step,
            };
            match step {
                None => return self.rollback().await,
                Some(Step::Run(statements, reply)) => {
                    let _ = reply.send(self.execute(statements).await);
                }
                Some(Step::Rollback(reply)) => {
                    self.rollback().await;
                    let _ = reply.send(Ok(()));
                    return;
                }
                Some(Step::Commit(commit, reply)) => {
                    let result = self.commit(head, commit.head).await;
                    let forgets = commit.forgets && result.is_ok();
                    let _ = reply.send(result);
                    return self.forget(forgets).await;
                }
            }
        }
    }

    async fn once(&mut self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        let head = self.begin().await?;
        match self.execute(statements).await {
            Ok(rows) => self.commit(head, None).await.map(|()| rows),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    /// Begins a transaction that may write, and says where the log ends.
    async fn begin(&mut self) -> Result<Head, StoreError> {
        if self.connection.is_none() {
            self.connection = Some(open::connect(&self.options).await?);
        }
        self.plain("beginning an append", "BEGIN IMMEDIATE").await?;
        if let Some(head) = self.head {
            return Ok(head);
        }
        match read::head_row(self.usable()?).await {
            Ok(head) => Ok(*self.head.insert(head)),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn execute(&mut self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        let connection = self.usable()?;
        let mut rows = 0;
        for statement in statements {
            let query = sqlx::query_with(statement.sql, statement.values);
            rows =
                query.execute(&mut *connection).await.map_err(|e| error::map("writing", e))?.rows_affected();
        }
        Ok(rows)
    }

    async fn commit(&mut self, from: Head, to: Option<Head>) -> Result<(), StoreError> {
        let result = self.try_commit(from, to).await;
        match &result {
            Ok(()) => self.head = to.or(self.head),
            // Whether it is durable is not known until the head is read again.
            Err(_) => self.rollback().await,
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
                return Err(StoreError::HeadMoved { head: from.offset, continues: from.offset });
            }
        }
        self.plain("committing", "COMMIT").await
    }

    /// Ends the transaction, whatever state it is in. A connection that can't is given up, which undoes it too.
    async fn rollback(&mut self) {
        const NO_TRANSACTION: Option<i32> = Some(1);
        self.head = None;
        let Some(connection) = &mut self.connection else { return };
        match sqlx::query("ROLLBACK").execute(connection).await {
            Ok(_) => {}
            // Full disks and failed writes end the transaction by themselves.
            Err(error) if error::code(&error) == NO_TRANSACTION => {}
            Err(error) => {
                tracing::warn!(%error, "an append could not be rolled back; its connection is given up");
                self.connection = None;
            }
        }
    }

    /// Moves what was deleted out of the write-ahead log too, where its old pages lie. Readers may prevent it; the
    /// next time rows are tidied away, or closing, makes up for it.
    async fn forget(&mut self, needed: bool) {
        if !needed {
            return;
        }
        self.uncleared = match self.clear_wal().await {
            Ok(busy) => {
                if busy {
                    tracing::warn!(
                        "a reader kept the write-ahead log from being cleared of what was deleted"
                    );
                }
                busy
            }
            Err(error) => {
                tracing::warn!(%error, "the write-ahead log could not be cleared of what was deleted");
                true
            }
        };
    }

    /// Whether somebody prevented it: SQLite reports that in the row, not as an error.
    async fn clear_wal(&mut self) -> Result<bool, StoreError> {
        let (busy, _frames, _moved): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)")
            .fetch_one(self.usable()?)
            .await
            .map_err(|e| error::map("clearing the write-ahead log", e))?;
        Ok(busy != 0)
    }

    async fn plain(&mut self, what: &'static str, sql: &'static str) -> Result<(), StoreError> {
        let connection = self.usable()?;
        sqlx::query(sql).execute(connection).await.map(drop).map_err(|e| error::map(what, e))
    }

    fn usable(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        self.connection.as_mut().ok_or(StoreError::Closed)
    }
}
