//! The one task that writes. It owns the only connection that does, so a caller that goes away can't leave a
//! transaction open: the caller holds a channel, and when that closes, the task rolls back. Appends of this server take
//! turns here; between servers the lock on the head's row decides. Must not know what it writes.

use crate::{connect::Route, link::Link, statement::Statement};
use charter_events::Head;
use charter_store::StoreError;
use sqlx::postgres::PgRow;
use std::time::Duration;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

const JOBS_QUEUED_MAX: usize = 256;
/// How often the database is told that an append goes on while nothing is asked of it: well within what the server
/// allows. A process that was stopped tells it no more, and loses the head to the others.
const ALIVE_EVERY: Duration = Duration::from_secs(2);

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
    Once(Vec<Statement>, Reply<u64>),
}

/// One append's turn. Dropping it rolls back.
pub(crate) struct Session {
    pub(crate) head: Head,
    steps: mpsc::Sender<Step>,
}

enum Step {
    Run(Vec<Statement>, Reply<u64>),
    Read(&'static str, Statement, Reply<Vec<PgRow>>),
    /// Moves the head to here; nowhere when no event was written.
    Commit(Option<Head>, Reply<()>),
    Rollback(Reply<()>),
}

impl Session {
    pub(crate) async fn run(&self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        self.step(|reply| Step::Run(statements, reply)).await
    }

    pub(crate) async fn read(
        &self,
        what: &'static str,
        statement: Statement,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.step(|reply| Step::Read(what, statement, reply)).await
    }

    pub(crate) async fn commit(self, head: Option<Head>) -> Result<(), StoreError> {
        self.step(|reply| Step::Commit(head, reply)).await
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
    /// Starts the task.
    pub(crate) fn start(route: Route) -> Self {
        let (jobs, queue) = mpsc::channel(JOBS_QUEUED_MAX);
        let (closing, closed) = watch::channel(false);
        let task = tokio::spawn(Task { link: Link::new(route), closed }.run(queue));
        Self { jobs, closing, task: tokio::sync::Mutex::new(Some(task)) }
    }

    pub(crate) async fn append(&self) -> Result<Session, StoreError> {
        self.job(Job::Append).await
    }

    /// Runs statements in a transaction of their own, under the head's lock as well: what an append has read beside
    /// the log stands until it is committed.
    pub(crate) async fn once(&self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        self.job(|reply| Job::Once(statements, reply)).await
    }

    async fn job<T>(&self, make: impl FnOnce(Reply<T>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(make(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Undoes the append that is under way, refuses those that wait, and closes the connection.
    pub(crate) async fn close(&self) {
        let _ = self.closing.send(true);
        if let Some(task) = self.task.lock().await.take() {
            // An error: the task is gone already.
            let _ = task.await;
        }
    }
}

struct Task {
    link: Link,
    closed: watch::Receiver<bool>,
}

impl Task {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(job) = self.unless_closed(queue.recv()).await.flatten() {
            match job {
                // Who went away while waiting needs no turn.
                Job::Append(reply) if reply.is_closed() => {}
                Job::Append(reply) => self.append(reply).await,
                Job::Once(statements, reply) => {
                    let result = self.once(statements).await;
                    let _ = reply.send(result);
                }
            }
        }
        queue.close();
        self.link.close().await;
    }

    /// What a future gives, or nothing when the store is closed first.
    async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut closed = self.closed.clone();
        tokio::select! {
            biased;
            // The store was dropped: what is queued ends by itself.
            Ok(_) = closed.wait_for(|closed| *closed) => None,
            done = work => Some(done),
        }
    }

    async fn begin(&mut self) -> Result<Head, StoreError> {
        let mut closed = self.closed.clone();
        tokio::select! {
            biased;
            Ok(_) = closed.wait_for(|closed| *closed) => {}
            begun = self.link.begin() => return begun,
        }
        // It may have been waiting for the lock.
        self.link.give_up();
        Err(StoreError::Closed)
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
        loop {
            match self.next_step(&mut queue).await {
                None => return self.link.rollback().await,
                Some(Step::Run(statements, reply)) => {
                    let _ = reply.send(self.link.execute(statements).await);
                }
                Some(Step::Read(what, statement, reply)) => {
                    let _ = reply.send(self.link.rows(what, statement).await);
                }
                Some(Step::Rollback(reply)) => {
                    self.link.rollback().await;
                    let _ = reply.send(Ok(()));
                    return;
                }
                Some(Step::Commit(to, reply)) => {
                    let result = self.link.commit(head, to).await;
                    let _ = reply.send(result);
                    return;
                }
            }
        }
    }

    /// The next step of an append; none when its holder or the store has gone.
    async fn next_step(&mut self, queue: &mut mpsc::Receiver<Step>) -> Option<Step> {
        loop {
            let waiting = tokio::time::timeout(ALIVE_EVERY, queue.recv());
            match self.unless_closed(waiting).await? {
                Ok(step) => return step,
                Err(_) => self.link.keep_alive().await,
            }
        }
    }

    async fn once(&mut self, statements: Vec<Statement>) -> Result<u64, StoreError> {
        let head = self.begin().await?;
        match self.link.execute(statements).await {
            Ok(rows) => self.link.commit(head, None).await.map(|()| rows),
            Err(error) => {
                self.link.rollback().await;
                Err(error)
            }
        }
    }
}
