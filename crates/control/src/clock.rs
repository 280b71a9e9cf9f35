//! The clock commands are recorded by. A server's own clock here; a test's under its own control.

use charter_events::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

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
