//! Who gained and lost what between two states: the policy's own question, off the async threads and a few at a time.
//! Must not know who may ask.

use crate::control::Control;
use charter_events::Timestamp;
use charter_policy::{Diff, DiffBounds, DiffFilter, Policy};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most steps one comparison takes: about a second of one processor.
pub const DIFF_STEPS_MAX: u64 = 10_000_000;
/// How many comparisons run at once.
const DIFFS_AT_ONCE_MAX: usize = 2;

/// A state and the moment it is judged at.
pub type Judged = (Arc<Policy>, Timestamp);

/// Why two states were not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// Others are being compared (503): try again in a moment.
    #[error("too many versions are being compared")]
    Busy,
    /// The comparison failed (500).
    #[error("the versions could not be compared")]
    Failed,
}

/// The turns of those who compare.
pub(crate) struct Diffs(Arc<Semaphore>);

impl Default for Diffs {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(DIFFS_AT_ONCE_MAX)))
    }
}

impl Control {
    /// [`Policy::diff`], with at most so many rows and [`DIFF_STEPS_MAX`] steps. It waits for its turn, bounded.
    ///
    /// # Errors
    /// [`DiffError`].
    pub async fn diff(
        &self,
        before: Judged,
        after: Judged,
        filter: DiffFilter,
        rows_max: usize,
    ) -> Result<Diff, DiffError> {
        let turn = Arc::clone(&self.inner.diffs.0).acquire_owned();
        let turn = match tokio::time::timeout(self.inner.config.version_wait, turn).await {
            Ok(Ok(turn)) => turn,
            Ok(Err(_)) | Err(_) => return Err(DiffError::Busy),
        };
        let bounds = DiffBounds { rows_max, steps_max: DIFF_STEPS_MAX };
        let comparing = tokio::task::spawn_blocking(move || {
            let diff = before.0.diff(before.1, &after.0, after.1, &filter, bounds);
            drop(turn);
            diff
        });
        comparing.await.map_err(|error| {
            tracing::error!(%error, "two versions could not be compared");
            DiffError::Failed
        })
    }
}
