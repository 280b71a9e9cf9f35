//! Checking a whole log: its chain, and that this build can replay it.

use crate::{Progress, ToolError};
use charter_events::{Offset, Timestamp};
use charter_policy::Policy;
use charter_store::{
    LogStore, READ_EVENTS_MAX,
    verify::{self, Scanned},
};

/// What was found in a log that is sound.
#[derive(Debug, Clone)]
pub struct Sound {
    /// How many events, and the head they end at. A head kept elsewhere, at an offset up to this one, is what shows
    /// whether a log was cut or rewritten as a whole: without one, **that can't be told**.
    pub scanned: Scanned,
    /// SHA-256 of the state folded from them, for comparing two installations.
    pub digest: [u8; 32],
    /// When the last event was recorded.
    pub recorded_at: Timestamp,
}

/// Checks every event's hash and link, the recorded head, and that each event can be replayed.
///
/// # Errors
/// [`ToolError::Store`] with the first bad offset; [`ToolError::Fold`] for an event that is whole and still can't be
/// replayed.
pub async fn verify(
    log: &dyn LogStore,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Sound, ToolError> {
    let scanned = verify::scan(log, Offset::ZERO, &mut progress).await?;
    let policy = fold(log, scanned.head.offset, progress).await?;
    Ok(Sound { scanned, digest: policy.digest(), recorded_at: policy.recorded_at() })
}

/// The state at an offset, folded from the first event on.
///
/// # Errors
/// As [`verify`].
pub async fn fold(
    log: &dyn LogStore,
    end: Offset,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Policy, ToolError> {
    let mut policy = Policy::new();
    while policy.version() < end {
        let page = log.read(policy.version(), READ_EVENTS_MAX).await?;
        if page.is_empty() {
            break;
        }
        for stored in page.iter().take_while(|stored| stored.offset <= end) {
            let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
            let event = stored.decode().map_err(|e| failed(e.to_string()))?;
            policy.apply(&stored.meta(), &event).map_err(|e| failed(e.to_string()))?;
        }
        progress(Progress { at: policy.version(), end });
    }
    Ok(policy)
}
