//! The state at any past version: the nearest snapshot before it, and what follows.

use crate::{
    load::{self, Folding, LoadError},
    published::State,
};
use charter_events::{Head, Offset};
use charter_store::{Store, chain};
use std::sync::Arc;

/// The head as it was when the log ended with this event; `None` when there is no such event, or a command does not end
/// there.
///
/// # Errors
/// [`LoadError::Store`].
pub(crate) async fn head_at(store: &dyn Store, offset: Offset) -> Result<Option<Head>, LoadError> {
    let head = store.head().await?;
    let Some(before) = offset.get().checked_sub(1).and_then(Offset::new) else {
        return Ok(Some(chain::empty(head.log_id)));
    };
    let page = store.read(before, 1).await?;
    let event = page.into_iter().next().filter(|event| event.offset == offset && event.ends_command());
    Ok(event.map(|event| Head { offset, hash: event.hash, recorded_at: event.recorded_at, ..head }))
}

/// The state when the log ended with a head it once had.
///
/// # Errors
/// [`LoadError`].
pub(crate) async fn state_at(store: &dyn Store, head: Head) -> Result<Arc<State>, LoadError> {
    let snapshot = load::usable_snapshot(store, &head).await?;
    let (policy, at) = snapshot.unwrap_or_else(|| (charter_policy::Policy::new(), chain::empty(head.log_id)));
    let mut folding = Folding::new(policy, at);
    load::fold_until(store, &mut folding, &head, None).await?;
    Ok(Arc::new(State { policy: Arc::new(folding.policy), head }))
}
