//! The clock this server measures lengths by. Nobody can set it, and on Linux it goes on while the host is suspended:
//! what was known before has aged by the sleep.

use std::time::Duration;

/// A moment on that clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(Duration);

impl Tick {
    pub(crate) fn now() -> Self {
        Self(reading())
    }

    /// The length since an earlier moment; nothing when it is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }

    #[cfg(test)]
    pub(crate) const fn later(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

#[cfg(target_os = "linux")]
fn reading() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn reading() -> Duration {
    static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    BEGAN.get_or_init(std::time::Instant::now).elapsed()
}
