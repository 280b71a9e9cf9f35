//! The state at a past version, folded from the first event of the log on: without any snapshot, and each event checked
//! against its predecessor on the way. So it says what the log says, whatever a server says.

use crate::{Progress, ToolError};
use charter_events::{Head, Offset, Timestamp};
use charter_policy::Policy;
use charter_store::{
    AsOf, Fault, LogStore, Pages, What,
    chain::Verifier,
    past::{Version, version},
};

/// A log as it was.
#[derive(Clone)]
pub struct Past {
    /// Which version, and the moment to judge at.
    pub version: Version,
    /// The state then.
    pub policy: Policy,
}

/// The state as of an offset or a time. `now` is the present: no later moment has a version yet.
///
/// # Errors
/// [`ToolError::Version`] when there is no such version; [`ToolError::Store`] with the first bad offset up to it;
/// [`ToolError::Fold`].
pub async fn as_of(
    log: &dyn LogStore,
    asked: AsOf,
    now: Timestamp,
    progress: impl FnMut(Progress) + Send,
) -> Result<Past, ToolError> {
    let end = log.head().await?;
    let version = version(log, &end, asked, now).await?;
    let policy = folded(log, &version.head, progress).await?;
    Ok(Past { version, policy })
}

/// The state when the log ended there.
///
/// # Errors
/// As [`as_of`].
pub async fn folded(
    log: &dyn LogStore,
    end: &Head,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Policy, ToolError> {
    let (mut policy, mut verifier) = (Policy::new(), Verifier::from_start(end.log_id));
    let mut pages = Pages::new(log, Offset::ZERO, end.offset);
    while policy.version() < end.offset {
        let Some(page) = pages.next().await? else {
            let missing = policy.version().plus(1).unwrap_or(Offset::MAX);
            return Err(ToolError::Store(Fault::new(missing, What::Missing).into()));
        };
        for stored in page {
            verifier.next(&stored).map_err(|fault| ToolError::Store(fault.into()))?;
            let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
            let event = stored.decode().map_err(|e| failed(e.to_string()))?;
            policy.apply(&stored.meta(), &event).map_err(|e| failed(e.to_string()))?;
        }
        progress(Progress { at: policy.version(), end: end.offset });
    }
    if verifier.head().hash != end.hash {
        return Err(ToolError::Store(Fault::new(end.offset, What::HeadMismatch).into()));
    }
    Ok(policy)
}
