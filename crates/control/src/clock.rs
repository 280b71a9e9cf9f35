//! The clocks commands are recorded by: a server's own, a test's under its own control, and the store's, which all
//! servers on one store share.

use crate::tick::Tick;
use charter_events::Timestamp;
use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A measurement that took longer tells too little: half of it is how wrong it may be.
const MEASURED_WITHIN: Duration = Duration::from_millis(500);
/// Clocks that differ by more are warned of.
const SKEW_MICROS_MAX: i64 = 1_000_000;
/// How often a difference is warned of.
const WARNED_EVERY_SECONDS: u64 = 60;
/// A store's clock that is further ahead from one poll to the next than it should be has leapt.
const LEAP_MICROS_MAX: i64 = 5 * 60 * 1_000_000;
/// By more than this a store's clock was set back, and not measured a little differently.
const BACK_MICROS_MAX: i64 = 5_000_000;
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
///
/// A single wrong moment would be final (a person erased, a record far in the future behind which nothing expires), so
/// a leap forward is believed only if the host's clock has come as far; the first measurement of a start is.
pub(crate) struct StoreClock {
    began: Tick,
    /// In microseconds since 1970, when `began` was.
    zero_micros: AtomicI64,
    /// The latest moment told.
    told_micros: AtomicI64,
    /// The store's clock has leapt ahead of the host's.
    doubted: AtomicBool,
    /// When a difference was last warned of, in seconds since `began` plus one; zero: never.
    warned_seconds: AtomicU64,
}

impl StoreClock {
    pub(crate) fn new() -> Self {
        Self {
            began: Tick::now(),
            zero_micros: AtomicI64::new(NONE),
            told_micros: AtomicI64::new(NONE),
            doubted: AtomicBool::new(false),
            warned_seconds: AtomicU64::new(0),
        }
    }

    /// The store said what time it is, at some moment between these two: taken to be the middle of them. `host` is what
    /// the host's clock says.
    pub(crate) fn measured(&self, asked: Tick, answered: Tick, moment: Timestamp, host: Timestamp) {
        let took = answered.since(asked);
        let known = self.zero_micros.load(Ordering::Relaxed);
        if known != NONE && took > MEASURED_WITHIN {
            return;
        }
        let middle = micros(asked.since(self.began) + took / 2);
        let zero = moment.as_micros().saturating_sub(middle).max(NONE + 1);
        let leaps = known != NONE && zero.saturating_sub(known) > LEAP_MICROS_MAX;
        let ahead_of_host = moment.as_micros().saturating_sub(host.as_micros()) > LEAP_MICROS_MAX;
        let doubted = leaps && ahead_of_host;
        if self.doubted.swap(doubted, Ordering::Relaxed) != doubted {
            match doubted {
                true => tracing::error!(store = %moment, %host, "the store's clock has leapt: commands wait"),
                false => tracing::info!("the clocks agree again"),
            }
        }
        if !doubted {
            self.zero_micros.store(zero, Ordering::Relaxed);
        }
    }

    /// Whether the store's clock has leapt ahead, and the host's has not come after it.
    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// The present moment by the store's clock; none when it has none that is known. Never goes back by a little, as
    /// one measurement differs from the next; a clock that was set back by more is believed.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let zero = self.zero_micros.load(Ordering::Relaxed);
        if zero == NONE {
            return None;
        }
        let now = zero.saturating_add(micros(self.began.elapsed()));
        let told = self.told_micros.fetch_max(now, Ordering::Relaxed);
        let now = if told.saturating_sub(now) > BACK_MICROS_MAX {
            self.told_micros.store(now, Ordering::Relaxed);
            now
        } else {
            now.max(told)
        };
        Some(Timestamp::from_micros(now).unwrap_or(Timestamp::MAX))
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

    fn zero(clock: &StoreClock) -> i64 {
        clock.zero_micros.load(Ordering::Relaxed)
    }

    #[test]
    fn a_measurement_is_taken_to_be_of_the_middle_of_the_round_trip() {
        let clock = StoreClock::new();
        assert_eq!(clock.now(), None);
        let noon = charter_testkit::at(NOON);
        let asked = clock.began.later(Duration::from_millis(100));
        clock.measured(asked, asked.later(Duration::from_millis(40)), noon, noon);
        assert_eq!(zero(&clock), noon.as_micros() - 120_000);
        // A slow answer is no news …
        let later = charter_testkit::at("2026-03-01T12:01:00Z");
        clock.measured(asked, asked.later(Duration::from_secs(1)), later, later);
        assert_eq!(zero(&clock), noon.as_micros() - 120_000);
        // … but for whoever knows nothing yet.
        let other = StoreClock::new();
        other.measured(other.began, other.began.later(Duration::from_secs(1)), noon, noon);
        assert!(other.now().is_some());
    }

    #[test]
    fn a_leap_forward_is_believed_when_the_host_has_come_as_far_and_any_step_back_is() {
        let clock = StoreClock::new();
        let (noon, tomorrow) = (charter_testkit::at(NOON), charter_testkit::at("2026-03-02T12:00:00Z"));
        let measure = |moment, host| clock.measured(clock.began, clock.began, moment, host);
        measure(noon, noon);
        measure(tomorrow, noon);
        assert!(clock.is_doubted() && zero(&clock) == noon.as_micros());
        measure(noon, noon);
        assert!(!clock.is_doubted());
        measure(tomorrow, tomorrow);
        assert!(!clock.is_doubted() && zero(&clock) == tomorrow.as_micros());
        measure(noon, tomorrow);
        assert!(!clock.is_doubted() && zero(&clock) == noon.as_micros());
    }

    #[test]
    fn the_moment_goes_back_only_when_the_clock_was_set_back() {
        let clock = StoreClock::new();
        let noon = charter_testkit::at(NOON);
        let measure = |moment| clock.measured(clock.began, clock.began, moment, noon);
        measure(noon);
        let told = clock.now().unwrap();
        measure(noon.saturating_add_micros(-2_000_000));
        assert_eq!(clock.now(), Some(told));
        measure(noon.saturating_add_micros(-3_600_000_000));
        assert!(clock.now().unwrap() < told);
    }

    #[test]
    fn a_difference_is_warned_of_once_a_minute() {
        let clock = StoreClock::new();
        assert!(clock.may_warn());
        assert!(!clock.may_warn());
    }
}
