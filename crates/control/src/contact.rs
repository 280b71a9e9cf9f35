//! When this server last knew that it stands at the end of the log, and whether its answers are still fresh enough.
//!
//! Counted on a clock nobody sets: a host's clock that is changes nothing.

use crate::tick::Tick;
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How fresh the answers of a server are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// They are as new as the store's log, but for the moment it takes to follow it.
    Fresh,
    /// The store is away; what others appended since is not seen. Answers are given, and say so.
    Stale {
        /// For how long.
        seconds: u64,
    },
    /// The store has been away for so long that questions are answered no longer (503 `unavailable`).
    TooStale {
        /// For how long.
        seconds: u64,
    },
}

/// The last contact with the log's end.
pub(crate) struct Contact {
    began: Tick,
    /// Of the last contact, since `began`.
    last_millis: AtomicU64,
    /// Since when the store has been failing, on the same scale.
    failing_since: Mutex<Option<u64>>,
    /// A follower that has heard nothing for longer than this is not fresh, whatever it knows of the store; none where
    /// only one server can write.
    silence_max: Option<Duration>,
}

impl Contact {
    pub(crate) fn new(silence_max: Option<Duration>) -> Self {
        Self {
            began: Tick::now(),
            last_millis: AtomicU64::new(0),
            failing_since: Mutex::new(None),
            silence_max,
        }
    }

    /// This server stands where the log ended at that moment.
    pub(crate) fn made(&self, as_of: Tick) {
        let millis = as_of.since(self.began).as_millis();
        self.last_millis.fetch_max(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
        *self.failing() = None;
    }

    /// The store could not be asked, or not followed.
    pub(crate) fn lost(&self) {
        let now = self.millis();
        self.failing().get_or_insert(now);
    }

    /// Whether the last attempt failed.
    pub(crate) fn is_lost(&self) -> bool {
        self.failing().is_some()
    }

    /// For how long there has been no contact; nothing while there is.
    pub(crate) fn away(&self) -> Option<Duration> {
        let (now, last) = (self.millis(), self.last_millis.load(Ordering::Relaxed));
        let since = match (*self.failing(), self.silence_max) {
            // Nobody else writes: what is known was the whole log until the store failed.
            (failing, None) => failing?,
            (Some(_), Some(_)) => last,
            (None, Some(most)) if Duration::from_millis(now.saturating_sub(last)) > most => last,
            (None, Some(_)) => return None,
        };
        Some(Duration::from_millis(now.saturating_sub(since)))
    }

    pub(crate) fn freshness(&self, stale_max: Duration) -> Freshness {
        match self.away() {
            None => Freshness::Fresh,
            Some(away) if away < stale_max => Freshness::Stale { seconds: away.as_secs() },
            Some(away) => Freshness::TooStale { seconds: away.as_secs() },
        }
    }

    fn failing(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.failing_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1_000);

    #[test]
    fn whoever_is_alone_is_fresh_until_his_store_fails_and_after_it_answers() {
        let contact = Contact::new(None);
        assert_eq!(contact.freshness(Duration::ZERO), Freshness::Fresh);
        contact.lost();
        assert!(matches!(contact.freshness(LONG), Freshness::Stale { .. }));
        assert!(matches!(contact.freshness(Duration::ZERO), Freshness::TooStale { .. }));
        contact.made(Tick::now());
        assert_eq!(contact.freshness(Duration::ZERO), Freshness::Fresh);
    }

    #[test]
    fn a_follower_that_hears_nothing_is_stale_though_nothing_failed() {
        let contact = Contact::new(Some(Duration::ZERO));
        std::thread::sleep(Duration::from_millis(2));
        assert!(!contact.is_lost());
        assert!(matches!(contact.freshness(LONG), Freshness::Stale { .. }));
        let patient = Contact::new(Some(LONG));
        assert_eq!(patient.freshness(Duration::ZERO), Freshness::Fresh);
    }
}
