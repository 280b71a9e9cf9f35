//! Who gained and lost what between two versions of a log, from the log alone.

use crate::{
    Progress, ToolError,
    as_of::{Past, as_of},
};
use charter_events::Timestamp;
use charter_policy::{Diff, DiffBounds, DiffFilter};
use charter_store::{AsOf, LogStore};

/// Two versions, and what changed between them.
#[derive(Clone)]
pub struct Compared {
    /// The one.
    pub from: Past,
    /// The other.
    pub to: Past,
    /// What changed from the one to the other.
    pub diff: Diff,
}

/// Compares two versions. `filter` says, with both states at hand, which answers are compared; `now` is the present: no
/// later moment has a version yet.
///
/// # Errors
/// As [`as_of`]; whatever `filter` refuses.
pub async fn diff<E: From<ToolError>>(
    log: &dyn LogStore,
    (from, to): (AsOf, AsOf),
    now: Timestamp,
    filter: impl FnOnce(&Past, &Past) -> Result<DiffFilter, E> + Send,
    bounds: DiffBounds,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Compared, E> {
    let from = as_of(log, from, now, &mut progress).await?;
    let to = as_of(log, to, now, progress).await?;
    let filter = filter(&from, &to)?;
    let diff = from.policy.diff(from.version.now, &to.policy, to.version.now, &filter, bounds);
    Ok(Compared { from, to, diff })
}
