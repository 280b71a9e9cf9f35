//! What a consumer is given and what it says: its position, its source, its bounds, its errors. Must not know how
//! reading goes.

use async_trait::async_trait;
use charter_events::{Hash, LogId, Offset, StoredEvent};
use charter_store::{BoxError, Fault};
use std::time::Duration;
use tokio::time::Instant;

/// How far somebody has read a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which log.
    pub log_id: LogId,
    /// The last event read; 0 when none was.
    pub offset: Offset,
    /// Its hash; zero when none was read.
    pub hash: Hash,
}

/// Reading the log at its source, for what the stream lacks.
#[async_trait]
pub trait Reread: Send + Sync {
    /// The events after an offset, ascending and without holes, at most `limit`; fewer or none at the log's end.
    ///
    /// # Errors
    /// Whatever keeps it from answering; it is asked again later.
    async fn events_after(&self, offset: Offset, limit: usize) -> Result<Vec<StoredEvent>, BoxError>;
}

/// How a consumer goes about it.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// The most events of one batch, 1 to 1,000.
    pub batch_events_max: usize,
    /// How long the stream may be away before the source is read instead.
    pub away_max: Duration,
    /// How often the source is read while the stream is away, or while the source has not got yet what is missing.
    pub reread_every: Duration,
    /// How long the stream may say nothing before the source is asked whether that is all.
    pub silence_max: Duration,
    /// The longest pause between attempts to read a stream or a source that can't be read; the first is an eighth of
    /// `reread_every`.
    pub pause_max: Duration,
    /// The longest time a stream is left alone that held what is wrong; the first is `reread_every`.
    pub distrust_max: Duration,
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self {
            batch_events_max: 500,
            away_max: Duration::from_secs(3),
            reread_every: Duration::from_secs(1),
            silence_max: Duration::from_secs(10),
            pause_max: Duration::from_secs(10),
            distrust_max: Duration::from_secs(60),
        }
    }
}

/// Why reading can't go on: the source itself contradicts what was read. Everything else is waited out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsumerError {
    /// There are two histories: the source has another event at an offset than the one read here.
    #[error("two histories: offset {offset} holds another event than the one read before")]
    Fork {
        /// The offset.
        offset: Offset,
    },
    /// An event of the source is not what was written.
    #[error(transparent)]
    Damaged(#[from] Fault),
}

/// Pauses that double up to a bound.
pub(super) struct Pause {
    first: Duration,
    next: Duration,
    max: Duration,
}

impl Pause {
    pub(super) fn new(first: Duration, max: Duration) -> Self {
        Self { first, next: first, max }
    }

    /// When the next attempt is due.
    pub(super) fn next_at(&mut self) -> Instant {
        let pause = self.next;
        self.next = self.next.saturating_mul(2).min(self.max);
        Instant::now() + pause
    }

    pub(super) const fn reset(&mut self) {
        self.next = self.first;
    }
}
