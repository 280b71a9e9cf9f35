//! How far a stream is, for whoever looks at it from outside. Changes nothing.

use crate::{bus::Bus, error::BusError, stream::LogStream};
use charter_events::{Hash, LogId};
use std::time::Duration;

/// What a log's stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamState {
    /// The sequence, and so the offset, of the first message.
    pub first: u64,
    /// That of the last one; less than `first` while there is none.
    pub last: u64,
    /// The hash the last message says its event has; `None` when there is none, or it is none of ours.
    pub last_hash: Option<Hash>,
    /// What the messages take up, in bytes.
    pub bytes: u64,
}

impl Bus {
    /// What a log's stream holds; `None` when there is no stream.
    ///
    /// # Errors
    /// [`BusError::Away`], [`BusError::Forbidden`], [`BusError::Refused`].
    pub async fn stream_state(&self, log_id: LogId) -> Result<Option<StreamState>, BusError> {
        // The window matters only to whoever makes the stream.
        let stream = LogStream::new(self.clone(), log_id, Duration::ZERO);
        let Some(info) = stream.info().await? else { return Ok(None) };
        let (first, last) = (info.state.first_sequence, info.state.last_sequence);
        let stored = if info.state.messages > 0 { stream.stored(last).await? } else { None };
        Ok(Some(StreamState {
            first,
            last,
            last_hash: stored.and_then(|stored| stored.hash),
            bytes: info.state.bytes,
        }))
    }
}
