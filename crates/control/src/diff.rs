//! Who gained and lost what between two states: the policy's own question, off the async threads and a few at a time.
//! Must not know who may ask.

use crate::{
    control::Control,
    past::Past,
    turns::{TurnError, Turns},
};
use charter_events::Timestamp;
use charter_policy::{Diff, DiffBounds, DiffFilter, DiffRow, Policy};
use std::sync::Arc;

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
pub(crate) struct Diffs(Turns);

impl Default for Diffs {
    fn default() -> Self {
        Self(Turns::new(DIFFS_AT_ONCE_MAX))
    }
}

impl Control {
    /// The newest policy, the end of the log it was folded from, and the moment questions are judged at: of one
    /// version, whatever is appended meanwhile.
    pub fn present(&self) -> Past {
        let state = self.inner.published.load();
        let now = self.inner.time().max(state.head.recorded_at);
        Past { policy: Arc::clone(&state.policy), now, head: state.head }
    }

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
        self.diff_where(before, after, filter, rows_max, |_| true).await
    }

    /// [`Policy::diff_where`], bounded in the same way: of the answers that changed, those that `keep` names.
    ///
    /// # Errors
    /// [`DiffError`].
    pub async fn diff_where(
        &self,
        before: Judged,
        after: Judged,
        filter: DiffFilter,
        rows_max: usize,
        keep: impl Fn(&DiffRow) -> bool + Send + 'static,
    ) -> Result<Diff, DiffError> {
        let bounds = DiffBounds { rows_max, steps_max: DIFF_STEPS_MAX };
        let compare = move || before.0.diff_where(before.1, &after.0, after.1, &filter, bounds, &keep);
        let compared = self.inner.diffs.0.run(self.inner.config.version_wait, compare).await;
        compared.map_err(|error| match error {
            TurnError::Busy => DiffError::Busy,
            TurnError::Failed(error) => {
                tracing::error!(%error, "two versions could not be compared");
                DiffError::Failed
            }
        })
    }
}
