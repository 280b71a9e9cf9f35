//! stub
use crate::Bus;
use async_trait::async_trait;
use charter_events::{Hash, LogId, Offset, StoredEvent};
use charter_store::{BoxError, Fault};
use std::{sync::Arc, time::Duration};

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
    /// The most events of one batch.
    pub batch_events_max: usize,
    /// How long the stream may be away before the source is read instead.
    pub away_max: Duration,
    /// How often the source is read while the stream is away.
    pub reread_every: Duration,
    /// How long the stream may say nothing before the source is asked whether that is all.
    pub silence_max: Duration,
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self {
            batch_events_max: 500,
            away_max: Duration::from_secs(3),
            reread_every: Duration::from_secs(1),
            silence_max: Duration::from_secs(10),
        }
    }
}

/// Why reading can't go on: what was read is not this log. Everything else is waited out.
#[derive(Debug, thiserror::Error)]
pub enum ConsumerError {
    /// The stream or the source holds another event than the one read here.
    #[error("the log forked: offset {offset} is another event than the one read before")]
    Fork {
        /// The offset.
        offset: Offset,
    },
    /// An event is not what was written.
    #[error(transparent)]
    Damaged(#[from] Fault),
}

/// Reads a log.
pub struct Consumer {
    position: Position,
}

impl Consumer {
    /// Reads on from a position.
    ///
    /// # Errors
    /// None yet.
    pub async fn open(_bus: &Bus, at: Position, _reread: Arc<dyn Reread>) -> Result<Self, ConsumerError> {
        Ok(Self { position: at })
    }

    /// The next events, verified and without holes: at least one. Waits for them as long as it takes. Cancelling it
    /// loses nothing.
    ///
    /// # Errors
    /// [`ConsumerError`], for good.
    pub async fn next(&mut self) -> Result<Vec<StoredEvent>, ConsumerError> {
        std::future::pending().await
    }

    /// How far it has read.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// How often events had to be read again at the source.
    pub const fn gaps(&self) -> u64 {
        0
    }

    /// Whether the last batch came from the stream, not from the source.
    pub const fn from_stream(&self) -> bool {
        false
    }
}
