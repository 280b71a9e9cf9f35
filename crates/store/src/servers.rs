//! The port of what several servers on one store need of each other: who is alive and what he can read, who leads a
//! task only one should do, what time the store has, and a nudge when the log has moved. None of it is what keeps the
//! log right: that is the lock on its head.
//!
//! A store only one server can open at a time takes everything as it stands here.

use crate::{error::StoreError, log::LogStore};
use async_trait::async_trait;
use charter_events::{Head, Offset, Timestamp};
use std::time::Duration;
use uuid::Uuid;

/// The most servers on one store that are told of, live ones.
pub const SERVERS_MAX: usize = 256;
/// The longest name of a build, in bytes.
pub const BUILD_BYTES_MAX: usize = 64;
/// The longest list of kinds of event, in bytes.
pub const KNOWS_BYTES_MAX: usize = 64 * 1024;

/// That a server is alive, until a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The server; made up anew by each start.
    pub server: Uuid,
    /// Its build, such as `0.1.0`; at most 64 bytes.
    pub build: String,
    /// When it started.
    pub started_at: Timestamp,
    /// The policy version it answers at.
    pub version: Offset,
    /// The kinds of event it can read, each as `grant.issued.v1`: another kind is not written while it is alive.
    pub knows: Vec<String>,
    /// It counts as alive until just before this moment.
    pub expires_at: Timestamp,
}

impl Lease {
    /// Refuses a lease that no store keeps.
    ///
    /// # Errors
    /// [`StoreError::Refused`].
    pub fn check(&self) -> Result<(), StoreError> {
        let knows: usize = self.knows.iter().map(String::len).sum();
        if self.build.len() > BUILD_BYTES_MAX || knows > KNOWS_BYTES_MAX {
            return Err(StoreError::Refused("a lease that says too much".into()));
        }
        Ok(())
    }
}

/// The log at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// Where the log ends.
    pub head: Head,
    /// What time the store has; `None` when it has no clock of its own.
    pub now: Option<Timestamp>,
}

/// What only one of several servers does at a time. Doing it twice would be waste, never wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// Publishing the log.
    Publish,
    /// The clock's own work: expiries, erasures, forgetting old rows.
    Housekeeping,
    /// Keeping the tables of the database up to date.
    Tables,
}

/// That this server leads a task. Dropping it gives the lead up.
#[async_trait]
pub trait Leadership: Send + Sync {
    /// Whether it still does; asks the store.
    async fn holds(&mut self) -> bool;
}

/// Nudges of other servers.
#[async_trait]
pub trait Wakes: Send {
    /// Waits until the log may have moved. Best effort: who misses nothing polls as well.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: nothing is heard any more, until [`ServerStore::wakes`] is asked again.
    async fn next(&mut self) -> Result<(), StoreError>;
}

/// What several servers on one store need of each other.
#[async_trait]
pub trait ServerStore: LogStore {
    /// Where the log ends, and what time the store has.
    ///
    /// # Errors
    /// As [`LogStore::head`].
    async fn poll(&self) -> Result<Polled, StoreError> {
        Ok(Polled { head: self.head().await?, now: None })
    }

    /// Says that a server is alive for a length from now on, and tells who is, itself included, at most
    /// [`SERVERS_MAX`]. `now` counts only where the store has no clock of its own; `lease.expires_at` is ignored.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::ReadOnly`], [`StoreError::Refused`] for a lease over its limits.
    async fn renew_lease(
        &self,
        lease: &Lease,
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        lease.check()?;
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        Ok(vec![Lease { expires_at: now.saturating_add_micros(micros), ..lease.clone() }])
    }

    /// Says that a server has ended. No-op when it has no lease.
    ///
    /// # Errors
    /// As [`ServerStore::renew_lease`].
    async fn end_lease(&self, _server: Uuid) -> Result<(), StoreError> {
        Ok(())
    }

    /// Who is alive, at most [`SERVERS_MAX`]. Empty where only one server can be.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn live_servers(&self, _now: Timestamp) -> Result<Vec<Lease>, StoreError> {
        Ok(Vec::new())
    }

    /// Takes the lead of a task, unless another server has it. Never waits for the other.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn lead(&self, _task: Task) -> Result<Option<Box<dyn Leadership>>, StoreError> {
        Ok(Some(Box::new(Alone)))
    }

    /// Nudges the other servers: the log has moved. Best effort, outside any append; failures are not reported.
    async fn announce(&self, _head: Offset) {}

    /// Listens for nudges.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn wakes(&self) -> Result<Box<dyn Wakes>, StoreError> {
        Ok(Box::new(Silence))
    }
}

/// The lead of whoever is alone.
#[derive(Debug)]
struct Alone;

#[async_trait]
impl Leadership for Alone {
    async fn holds(&mut self) -> bool {
        true
    }
}

/// Nobody is there to nudge.
#[derive(Debug)]
struct Silence;

#[async_trait]
impl Wakes for Silence {
    async fn next(&mut self) -> Result<(), StoreError> {
        std::future::pending().await
    }
}
