//! What is known of the way the events come, and how it is shown. Must not know what the events mean.

use crate::error::Stopped;
use charter_events::{Hash, Head, LogId, Offset, Timestamp};
use std::time::{Duration, Instant};

/// How the events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the stream on NATS JetStream.
    Nats,
    /// From the server, over HTTP.
    Http,
}

impl Source {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Http => "http",
        }
    }
}

/// How a follower is doing.
#[derive(Debug, Clone)]
pub struct Status {
    /// Which log it follows.
    pub log_id: LogId,
    /// The policy version it answers at.
    pub version: Offset,
    /// The hash of that event.
    pub hash: Hash,
    /// When that event was recorded.
    pub recorded_at: Timestamp,
    /// How the events come.
    pub source: Source,
    /// Whether that way is open now.
    pub connected: bool,
    /// The newest version the server is known to have: never below `version`.
    pub server_version: Offset,
    /// How old the answers may be: since when the server has not confirmed that this is its state. It asks every
    /// [`FollowerConfig::check_every`](crate::FollowerConfig::check_every), so a few seconds mean that all is well.
    pub age: Duration,
    /// How long ago the server or the stream last said anything: that they are alive, no more.
    pub heard_ago: Duration,
    /// How many events were applied since it started.
    pub applied: u64,
    /// How often events were missing from the stream, and were read over HTTP.
    pub gaps: u64,
    /// What goes wrong at the moment; it is tried again.
    pub trouble: Option<String>,
    /// Why it will not go on.
    pub stopped: Option<Stopped>,
}

/// What is known of the way the events come.
pub(crate) struct Facts {
    pub(crate) source: Source,
    pub(crate) connected: bool,
    pub(crate) server_version: Offset,
    pub(crate) heard: Instant,
    pub(crate) applied: u64,
    pub(crate) own_gaps: u64,
    pub(crate) stream_gaps: u64,
    /// What keeps it from following.
    pub(crate) trouble: Option<String>,
    /// What keeps the server from confirming the state.
    pub(crate) check_trouble: Option<String>,
    /// What keeps it from the stream, while the log is followed over HTTP.
    pub(crate) stream_trouble: Option<String>,
}

impl Facts {
    pub(crate) fn new(server_version: Offset) -> Self {
        Self {
            source: Source::Http,
            connected: false,
            server_version,
            heard: Instant::now(),
            applied: 0,
            own_gaps: 0,
            stream_gaps: 0,
            trouble: None,
            check_trouble: None,
            stream_trouble: None,
        }
    }

    pub(crate) fn status(&self, head: Head, age: Duration, stopped: Option<Stopped>) -> Status {
        let trouble = self.trouble.as_ref().or(self.check_trouble.as_ref()).or(self.stream_trouble.as_ref());
        Status {
            log_id: head.log_id,
            version: head.offset,
            hash: head.hash,
            recorded_at: head.recorded_at,
            source: self.source,
            connected: self.connected,
            server_version: self.server_version.max(head.offset),
            age,
            heard_ago: self.heard.elapsed(),
            applied: self.applied,
            gaps: self.own_gaps.saturating_add(self.stream_gaps),
            trouble: trouble.cloned(),
            stopped,
        }
    }
}
