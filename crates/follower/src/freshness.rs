//! How old the answers may be: when this follower last stood where the server said its log ends, and how old is too
//! old. Must not know how the log comes here.
//!
//! Only the server's own word counts, with the hash of its last event: a stream that brings something proves that
//! somebody writes to it, not that this is all, nor that it is the log.

use crate::error::{NotFresh, Stopped};
use charter_events::{Hash, Head, Offset};
use std::{
    collections::VecDeque,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

/// How many of the last events' hashes are kept.
const KNOWN_MAX: usize = 8_192;

/// Since when the answers are as new as the log, and whether they can become so again.
pub(crate) struct Freshness {
    began: Instant,
    /// In milliseconds since `began`, perhaps before.
    as_of: AtomicI64,
    max: Option<Duration>,
    stopped: OnceLock<Stopped>,
}

impl Freshness {
    /// Nothing is confirmed yet.
    pub(crate) fn new(max: Option<Duration>) -> Self {
        Self { began: Instant::now(), as_of: AtomicI64::new(i64::MIN / 2), max, stopped: OnceLock::new() }
    }

    /// The state here was the server's at that moment, or so long before as the server itself had been cut off.
    pub(crate) fn confirm(&self, asked: Instant, stale: Duration) {
        let as_of = millis(asked.saturating_duration_since(self.began)).saturating_sub(millis(stale));
        // whoever sees it confirmed sees the state that was
        self.as_of.fetch_max(as_of, Ordering::Release);
    }

    /// The first reason to stop is the one that counts; whether this was it.
    pub(crate) fn stop(&self, stopped: Stopped) -> bool {
        self.stopped.set(stopped).is_ok()
    }

    pub(crate) fn stopped(&self) -> Option<&Stopped> {
        self.stopped.get()
    }

    /// How old the answers may be.
    pub(crate) fn age(&self) -> Duration {
        let now = millis(self.began.elapsed());
        let age = now.saturating_sub(self.as_of.load(Ordering::Acquire));
        Duration::from_millis(u64::try_from(age).unwrap_or(0))
    }

    /// Whether to answer.
    pub(crate) fn judge(&self) -> Result<(), NotFresh> {
        if let Some(stopped) = self.stopped() {
            return Err(NotFresh::Stopped(stopped.clone()));
        }
        let age = self.age();
        match self.max {
            Some(max) if age > max => Err(NotFresh::Stale { age, max }),
            _ => Ok(()),
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

/// The hashes of the last events, so that a server whose log is shorter can be compared with.
pub(crate) struct Known(VecDeque<(Offset, Hash)>);

impl Known {
    pub(crate) fn new(head: Head) -> Self {
        Self(VecDeque::from([(head.offset, head.hash)]))
    }

    pub(crate) fn push(&mut self, head: Head) {
        if self.0.len() >= KNOWN_MAX {
            self.0.pop_front();
        }
        self.0.push_back((head.offset, head.hash));
    }

    /// Forgets what came after an event.
    pub(crate) fn back_to(&mut self, offset: Offset) {
        while self.0.back().is_some_and(|(last, _)| *last > offset) {
            self.0.pop_back();
        }
    }

    /// The hash of the event at an offset, while it is kept.
    pub(crate) fn hash(&self, offset: Offset) -> Option<Hash> {
        let index = self.0.binary_search_by_key(&offset, |(known, _)| *known).ok()?;
        self.0.get(index).map(|(_, hash)| *hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1_000);

    #[test]
    fn nothing_is_fresh_before_it_is_confirmed_nor_what_the_server_calls_stale() {
        let freshness = Freshness::new(Some(LONG));
        assert!(matches!(freshness.judge(), Err(NotFresh::Stale { .. })));
        freshness.confirm(Instant::now(), LONG * 2);
        assert!(
            matches!(freshness.judge(), Err(NotFresh::Stale { age, max }) if age >= LONG * 2 && max == LONG)
        );
        freshness.confirm(Instant::now(), Duration::ZERO);
        assert_eq!(freshness.judge(), Ok(()));
        // What is older takes nothing back.
        freshness.confirm(Instant::now(), LONG * 2);
        assert_eq!(freshness.judge(), Ok(()));
    }

    #[test]
    fn without_a_bound_any_age_is_answered_at_but_not_after_a_stop() {
        let freshness = Freshness::new(None);
        assert_eq!(freshness.judge(), Ok(()));
        let stopped = Stopped::Fork { offset: Offset::ZERO };
        assert!(freshness.stop(stopped.clone()));
        assert!(!freshness.stop(Stopped::Fork { offset: Offset::ZERO.plus(1).unwrap() }));
        assert_eq!(freshness.judge(), Err(NotFresh::Stopped(stopped)));
    }

    #[test]
    fn the_last_hashes_are_known_and_older_ones_forgotten() {
        let head = |number: usize| Head {
            log_id: charter_events::LogId::from_u128(1),
            offset: Offset::new(number as u64).unwrap(),
            hash: Hash::new([u8::try_from(number % 251).unwrap(); 32]),
            recorded_at: charter_events::Timestamp::MIN,
        };
        let mut known = Known::new(head(7));
        (8..=KNOWN_MAX + 10).for_each(|number| known.push(head(number)));
        let hash = |known: &Known, number| known.hash(head(number).offset);
        assert_eq!(hash(&known, 10), None);
        assert_eq!(hash(&known, 11), Some(head(11).hash));
        assert_eq!(hash(&known, KNOWN_MAX + 10), Some(head(KNOWN_MAX + 10).hash));
        known.back_to(head(20).offset);
        assert_eq!((hash(&known, 20), hash(&known, 21)), (Some(head(20).hash), None));
    }
}
