//! Checking a whole log in a store: its chain, its Merkle tree against checkpoints kept elsewhere, and that this build
//! can replay it. One in a file: [`verify_file`](crate::verify_file).

use crate::{EvidenceError, Progress, ToolError, against::Against};
use charter_events::{Hash, Offset, Timestamp};
use charter_policy::Policy;
use charter_store::{
    LogStore, Pages,
    merkle::Checkpoint,
    verify::{self, Scanned},
};

/// What was found in a log that is sound.
#[derive(Debug, Clone)]
pub struct Sound {
    /// How many events, and the head they end at. A head kept elsewhere, at an offset up to this one, is what shows
    /// whether a log was cut or rewritten as a whole: without one, **that can't be told**.
    pub scanned: Scanned,
    /// The root of the Merkle tree over them.
    pub root: Hash,
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
pub async fn verify(log: &dyn LogStore, progress: impl FnMut(Progress) + Send) -> Result<Sound, ToolError> {
    verify_against(log, &[], progress).await.map_err(|error| match error {
        EvidenceError::Tool(error) => error,
        // Only checkpoints can say so, and there are none.
        other => ToolError::OtherLog(other.to_string()),
    })
}

/// The same, and that the log is what each of these checkpoints says it was. Whether they are signed is the caller's to
/// judge.
///
/// # Errors
/// As [`verify`]; [`ToolError::OtherLog`] for a checkpoint of another log; [`EvidenceError::Cut`] and
/// [`EvidenceError::Rewritten`] when the chain is whole and the history still another than it was.
pub async fn verify_against(
    log: &dyn LogStore,
    checkpoints: &[Checkpoint],
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Sound, EvidenceError> {
    let mut against = Against::new(log.head().await?.log_id, checkpoints)?;
    let scanned = verify::scan_each(log, Offset::ZERO, &mut progress, |event| against.event(event)).await?;
    let root = against.end()?;
    let policy = fold(log, scanned.head.offset, progress).await?;
    Ok(Sound { scanned, root, digest: policy.digest(), recorded_at: policy.recorded_at() })
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
    let mut pages = Pages::new(log, policy.version(), end);
    while let Some(page) = pages.next().await? {
        for stored in &page {
            let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
            let event = stored.decode().map_err(|e| failed(e.to_string()))?;
            policy.apply(&stored.meta(), &event).map_err(|e| failed(e.to_string()))?;
        }
        progress(Progress { at: policy.version(), end });
    }
    Ok(policy)
}
