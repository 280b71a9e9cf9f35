//! Whether this server may be asked, and what stopped it. A fault in the log is for ever; a store that can't be
//! reached may come back; a forked stream stops nobody but those who publish.

use charter_events::Offset;
use std::sync::{Mutex, PoisonError};

/// Why a server is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// The log is not what was written; writes have stopped.
    #[error("the log is damaged at offset {offset}")]
    Damaged {
        /// The first bad offset.
        offset: Offset,
    },
    /// The log holds an event this build can't read; it stopped before it.
    #[error("the event at offset {offset} is not known to this version")]
    UnknownEvent {
        /// The event's offset.
        offset: Offset,
    },
    /// The log holds an event that contradicts those before it.
    #[error("the event at offset {offset} contradicts those before it")]
    Inconsistent {
        /// The event's offset.
        offset: Offset,
    },
    /// The store can't be reached at the moment.
    #[error("the store can't be reached")]
    StoreUnavailable,
    /// The task that writes has ended by a mistake in the program.
    #[error("the writer has ended")]
    WriterEnded,
    /// The task that follows other servers has ended by a mistake in the program.
    #[error("the follower has ended")]
    FollowerEnded,
    /// The store's clock has leapt ahead of this server's; commands wait until they agree. A restart believes it.
    #[error("the store's clock and this server's differ")]
    ClockDiffers,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Stopping,
    /// The published stream holds something else than the log. Nothing is published; questions and commands go on.
    #[error("the stream differs from the log at offset {offset}")]
    StreamForked {
        /// The first offset that differs.
        offset: Offset,
    },
}

impl NotReady {
    /// The stable code of the reason.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Damaged { .. } => "log_damaged",
            Self::UnknownEvent { .. } => "event_unknown",
            Self::Inconsistent { .. } => "log_inconsistent",
            Self::StoreUnavailable => "store_unavailable",
            Self::WriterEnded => "writer_ended",
            Self::FollowerEnded => "follower_ended",
            Self::ClockDiffers => "clock_differs",
            Self::Stopping => "stopping",
            Self::StreamForked { .. } => "stream_forked",
        }
    }

    /// What a refused command says of it.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Damaged { .. } => "the log is damaged",
            Self::UnknownEvent { .. } => "the log holds an event this version doesn't know",
            Self::Inconsistent { .. } => "the log contradicts itself",
            Self::StoreUnavailable => "the store can't be reached",
            Self::WriterEnded => "the writer has ended",
            Self::FollowerEnded => "the follower has ended",
            Self::ClockDiffers => "the store's clock and this server's differ",
            Self::Stopping => "the server is shutting down",
            Self::StreamForked { .. } => "the stream differs from the log",
        }
    }

    /// A graver reason replaces a lesser one.
    const fn gravity(&self) -> u8 {
        match self {
            Self::StreamForked { .. } | Self::ClockDiffers => 0,
            Self::StoreUnavailable => 1,
            Self::Stopping => 2,
            Self::UnknownEvent { .. }
            | Self::Inconsistent { .. }
            | Self::Damaged { .. }
            | Self::WriterEnded
            | Self::FollowerEnded => 3,
        }
    }
}

/// Whether a server is ready, and at which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// The policy version decisions are made at.
    pub version: Offset,
    /// Why it is not ready; ready when absent.
    pub not_ready: Option<NotReady>,
}

impl Readiness {
    /// Whether it may be asked.
    pub const fn is_ready(&self) -> bool {
        self.not_ready.is_none()
    }
}

/// The stream is not what the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamFault {
    /// The first offset that differs.
    pub offset: Offset,
}

/// The gravest reason of log and store, if any (of equally grave ones the first), and apart from it the stream's.
#[derive(Debug, Default)]
pub(crate) struct Health {
    log: Mutex<Option<NotReady>>,
    stream: Mutex<Option<StreamFault>>,
}

impl Health {
    /// Why this server is not ready. The stream's fault shows only when nothing graver does.
    pub(crate) fn get(&self) -> Option<NotReady> {
        let forked = || {
            let stream = *self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            stream.map(|StreamFault { offset }| NotReady::StreamForked { offset })
        };
        self.of_log().or_else(forked)
    }

    fn of_log(&self) -> Option<NotReady> {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What forbids writing: only the log itself. A store that could not be reached is tried again, and a server that
    /// stops completes what is queued.
    pub(crate) fn forbids_writing(&self) -> Option<NotReady> {
        self.of_log().filter(|reason| reason.gravity() == 3)
    }

    /// Whether the store did not answer, or did not take a write, and has not shown since that it does.
    pub(crate) fn doubts_the_store(&self) -> bool {
        self.of_log() == Some(NotReady::StoreUnavailable)
    }

    /// Notes a reason; tells whether it is news.
    pub(crate) fn fail(&self, reason: NotReady) -> bool {
        let mut now = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let news = now.is_none_or(|known| known.gravity() < reason.gravity());
        if news {
            match reason {
                NotReady::Stopping => tracing::info!("shutting down"),
                _ => tracing::error!(code = reason.code(), %reason, "not ready"),
            }
            *now = Some(reason);
        }
        news
    }

    /// The store took a write, or showed under the head's lock where the log ends.
    pub(crate) fn store_answered(&self) {
        let mut now = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == Some(NotReady::StoreUnavailable) {
            tracing::info!("the store answers again");
            *now = None;
        }
    }

    /// Notes what is wrong with the stream, or that nothing is.
    pub(crate) fn stream(&self, fault: Option<StreamFault>) {
        let mut now = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        match (*now, fault) {
            (before, Some(StreamFault { offset })) if before != fault => {
                tracing::error!(%offset, "the stream differs from the log");
            }
            // Nothing need be well: whoever found it may only publish no longer, and says which it is.
            _ => {}
        }
        *now = fault;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_log_stays_damaged_when_the_store_answers() {
        let health = Health::default();
        let damaged = NotReady::Damaged { offset: Offset::new(3).unwrap() };
        health.fail(NotReady::StoreUnavailable);
        health.store_answered();
        assert_eq!(health.get(), None);
        health.fail(NotReady::Stopping);
        health.fail(NotReady::StoreUnavailable);
        assert_eq!((health.get(), health.forbids_writing()), (Some(NotReady::Stopping), None));
        health.fail(damaged);
        health.fail(NotReady::Stopping);
        health.store_answered();
        assert_eq!(health.get(), Some(damaged));
        assert_eq!(health.forbids_writing(), Some(damaged));
    }

    #[test]
    fn a_forked_stream_is_shown_behind_what_is_graver_and_forbids_nothing() {
        let health = Health::default();
        let offset = Offset::new(7).unwrap();
        health.stream(Some(StreamFault { offset }));
        assert_eq!(health.get(), Some(NotReady::StreamForked { offset }));
        assert_eq!(health.get().map(|reason| reason.code()), Some("stream_forked"));
        assert_eq!((health.forbids_writing(), health.doubts_the_store()), (None, false));
        health.fail(NotReady::StoreUnavailable);
        assert_eq!(health.get(), Some(NotReady::StoreUnavailable));
        health.store_answered();
        assert_eq!(health.get(), Some(NotReady::StreamForked { offset }));
        health.stream(None);
        assert_eq!(health.get(), None);
    }
}
