//! How often somebody may guess: one bucket for each name and one for all, refilled with time, bounded in number.

use crate::{cache::Cache, config::SignInLimits};
use charter_events::Timestamp;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// How many names are remembered. The bucket of all names empties long before so many could be tried.
const NAMES_MAX: usize = 20_000;

/// When the bucket would be full again, in microseconds since 1970: all there is to know of a leaky bucket.
type FullAt = i64;

pub(super) struct Limiter {
    names: Cache<[u8; 32], FullAt>,
    overall: Mutex<FullAt>,
    per_name: Bucket,
    of_all: Bucket,
}

#[derive(Clone, Copy)]
struct Bucket {
    burst: i64,
    refill_micros: i64,
}

impl Bucket {
    fn new(burst: u32, refill: Duration) -> Self {
        let refill_micros = i64::try_from(refill.as_micros()).unwrap_or(i64::MAX).max(1);
        Self { burst: i64::from(burst.max(1)), refill_micros }
    }

    /// Takes one attempt, or says after how many seconds there will be one.
    fn take(self, full_at: &mut FullAt, now: i64) -> Result<(), u64> {
        let length = self.refill_micros.saturating_mul(self.burst);
        // A clock that went back must not lock anyone out for longer than an empty bucket does.
        let before = (*full_at).clamp(now, now.saturating_add(length));
        let after = before.saturating_add(self.refill_micros);
        let excess = after.saturating_sub(now).saturating_sub(length);
        if excess > 0 {
            return Err(u64::try_from(excess).unwrap_or(0).div_ceil(1_000_000));
        }
        *full_at = after;
        Ok(())
    }
}

impl Limiter {
    pub(super) fn new(limits: &SignInLimits) -> Self {
        Self {
            names: Cache::new(NAMES_MAX),
            overall: Mutex::new(0),
            per_name: Bucket::new(limits.per_name_burst, limits.per_name_refill),
            of_all: Bucket::new(limits.overall_burst, limits.overall_refill),
        }
    }

    /// One attempt at a name (its tag), or after how many seconds there may be one. The name is asked first, so that
    /// hammering one name does not use up what others need.
    pub(super) fn attempt(&self, name: &[u8; 32], now: Timestamp) -> Result<(), u64> {
        let now = now.as_micros();
        self.names.update(*name, |full_at| self.per_name.take(full_at, now))?;
        let mut overall = self.overall.lock().unwrap_or_else(PoisonError::into_inner);
        self.of_all.take(&mut overall, now)
    }

    /// The attempt was good: its name is not being guessed at.
    pub(super) fn succeeded(&self, name: &[u8; 32]) {
        self.names.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter() -> Limiter {
        Limiter::new(&SignInLimits {
            per_name_burst: 3,
            per_name_refill: Duration::from_secs(10),
            overall_burst: 5,
            overall_refill: Duration::from_secs(1),
            ..SignInLimits::default()
        })
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    #[test]
    fn a_name_takes_its_burst_and_then_one_attempt_each_refill() {
        let limiter = limiter();
        for _ in 0..3 {
            assert_eq!(limiter.attempt(&[1; 32], second(1_000)), Ok(()));
        }
        assert_eq!(limiter.attempt(&[1; 32], second(1_000)), Err(10));
        assert_eq!(limiter.attempt(&[1; 32], second(1_009)), Err(1));
        assert_eq!(limiter.attempt(&[1; 32], second(1_010)), Ok(()));
        assert_eq!(limiter.attempt(&[1; 32], second(1_010)), Err(10));
    }

    #[test]
    fn all_names_together_have_a_bound_of_their_own() {
        let limiter = limiter();
        for name in 0..5 {
            assert_eq!(limiter.attempt(&[name; 32], second(1_000)), Ok(()));
        }
        assert_eq!(limiter.attempt(&[9; 32], second(1_000)), Err(1));
        assert_eq!(limiter.attempt(&[9; 32], second(1_001)), Ok(()));
    }

    #[test]
    fn a_clock_that_goes_back_locks_nobody_out_for_long() {
        let limiter = limiter();
        assert_eq!(limiter.attempt(&[1; 32], second(100_000)), Ok(()));
        assert_eq!(limiter.attempt(&[1; 32], second(1_000)), Err(10));
        assert_eq!(limiter.attempt(&[1; 32], second(1_010)), Err(10));
    }
}
