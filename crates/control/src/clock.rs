//! The clocks commands are recorded by: a server's own, a test's under its own control, and the store's, which all
//! servers on one store share.

use charter_events::Timestamp;
use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// A measurement that took longer tells too little: half of it is how wrong it may be.
const MEASURED_WITHIN: Duration = Duration::from_millis(500);
/// Clocks that differ by more are warned of.
const SKEW_MICROS_MAX: i64 = 1_000_000;
/// How often a difference is warned of.
const WARNED_EVERY_SECONDS: u64 = 60;
/// No measurement yet.
const NONE: i64 = i64::MIN;

/// Tells the time. What it tells may step back; who records takes the later of it and the last record.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The host's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
        };
        Timestamp::from_micros(micros).unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX })
    }
}

/// The store's clock, as far as it was measured: what it is ahead of this process's monotonic clock. A host's clock
/// that is set changes nothing of it.
pub(crate) struct StoreClock {
    began: Instant,
    /// In microseconds since 1970, when `began` was.
    zero_micros: AtomicI64,
    /// When a difference was last warned of, in seconds since `began` plus one; zero: never.
    warned_seconds: AtomicU64,
}

impl StoreClock {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), zero_micros: AtomicI64::new(NONE), warned_seconds: AtomicU64::new(0) }
    }

    /// The store said what time it is, at some moment between these two: taken to be the middle of them.
    pub(crate) fn measured(&self, asked: Instant, answered: Instant, moment: Timestamp) {
        let took = answered.saturating_duration_since(asked);
        let known = self.zero_micros.load(Ordering::Relaxed) != NONE;
        if known && took > MEASURED_WITHIN {
            return;
        }
        let middle = micros(asked.saturating_duration_since(self.began) + took / 2);
        let zero = moment.as_micros().saturating_sub(middle).max(NONE + 1);
        self.zero_micros.store(zero, Ordering::Relaxed);
    }

    /// The present moment by the store's clock; none when it has none that is known.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let zero = self.zero_micros.load(Ordering::Relaxed);
        let now = zero.saturating_add(micros(self.began.elapsed()));
        (zero != NONE).then(|| Timestamp::from_micros(now).unwrap_or(Timestamp::MAX))
    }

    /// Says how far the host's clock, and the end of the log, are ahead of the store's. `time` is what commands would
    /// be recorded at if the log were empty.
    pub(crate) fn compare(&self, host: Timestamp, time: Timestamp, recorded: Timestamp) {
        let skew = host.as_micros().saturating_sub(time.as_micros());
        let ahead = recorded.as_micros().saturating_sub(time.as_micros()).max(0);
        metrics::gauge!("charter_clock_skew_seconds").set(seconds(skew));
        metrics::gauge!("charter_clock_behind_log_seconds").set(seconds(ahead));
        let worst = skew.saturating_abs().max(ahead);
        if worst > SKEW_MICROS_MAX && self.may_warn() {
            tracing::warn!(
                host_ahead_seconds = seconds(skew),
                log_ahead_seconds = seconds(ahead),
                "clocks differ by more than a second; the store's counts, and never goes back behind the log"
            );
        }
    }

    fn may_warn(&self) -> bool {
        let now = self.began.elapsed().as_secs().saturating_add(1);
        let last = self.warned_seconds.load(Ordering::Relaxed);
        let may = last == 0 || now.saturating_sub(last) >= WARNED_EVERY_SECONDS;
        may && self.warned_seconds.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-03-01T12:00:00Z";

    #[test]
    fn a_measurement_is_taken_to_be_of_the_middle_of_the_round_trip() {
        let clock = StoreClock::new();
        assert_eq!(clock.now(), None);
        let noon = charter_testkit::at(NOON);
        let asked = clock.began + Duration::from_millis(100);
        clock.measured(asked, asked + Duration::from_millis(40), noon);
        assert_eq!(clock.zero_micros.load(Ordering::Relaxed), noon.as_micros() - 120_000);
        // A slow answer is no news …
        clock.measured(asked, asked + Duration::from_secs(1), charter_testkit::at("2026-03-01T13:00:00Z"));
        assert_eq!(clock.zero_micros.load(Ordering::Relaxed), noon.as_micros() - 120_000);
        // … but for whoever knows nothing yet.
        let other = StoreClock::new();
        other.measured(other.began, other.began + Duration::from_secs(1), noon);
        assert!(other.now().is_some());
    }

    #[test]
    fn a_difference_is_warned_of_once_a_minute() {
        let clock = StoreClock::new();
        assert!(clock.may_warn());
        assert!(!clock.may_warn());
    }
}
