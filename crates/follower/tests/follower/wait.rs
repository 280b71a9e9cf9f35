//! Waiting for what must come.

use std::time::Duration;

/// Whatever a test waits for comes long before.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// A little while.
pub(crate) const SOON: Duration = Duration::from_millis(10);

/// Looks again and again until it is so.
#[track_caller]
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    let what = what.to_owned();
    async move {
        let begun = std::time::Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < LONG, "it never came to be so: {what} ({caller})");
            tokio::time::sleep(SOON).await;
        }
    }
}
