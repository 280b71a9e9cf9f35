//! How long to wait before something that failed is tried again: doubling, bounded, and never the same for all.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The waits of one thing that is tried again and again.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, next: first.min(most) }
    }

    /// It worked: the next failure is a first one.
    pub(crate) fn reset(&mut self) {
        self.next = self.first.min(self.most);
    }

    /// The next wait: half of it certain, half by chance, so that many followers of a server that comes back do not
    /// all come at once.
    pub(crate) fn wait(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(self.most);
        // The keys of a hasher are random: good enough to spread waits, and no secret depends on it.
        let chance = RandomState::new().hash_one(()) % 1_000;
        let half = whole / 2;
        half + half.mul_f64(f64::from(u32::try_from(chance).unwrap_or(0)) / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most_and_begin_again_after_a_success() {
        let (first, most) = (Duration::from_millis(100), Duration::from_millis(350));
        let mut backoff = Backoff::new(first, most);
        for whole in [100, 200, 350, 350] {
            let wait = backoff.wait();
            assert!(
                wait >= Duration::from_millis(whole / 2) && wait <= Duration::from_millis(whole),
                "{wait:?}"
            );
        }
        backoff.reset();
        assert!(backoff.wait() <= first);
    }
}
