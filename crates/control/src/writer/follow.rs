//! Reading what others appended under the head's lock, before anything is decided; and what became of a commit.

use super::task::{Failed, locked};
use crate::{
    control::Inner,
    load::{Folding, LoadError, page_limit},
    published::State,
};
use charter_events::{Head, Offset};
use charter_store::{Append, Fault, What};
use std::sync::Arc;

/// Folds and publishes what others appended since the published version, and gives the state at the head. The head is
/// locked meanwhile, so nothing can come after it.
pub(super) async fn catch_up(inner: &Inner, append: &mut dyn Append) -> Result<Arc<State>, LoadError> {
    let head = append.head();
    let state = inner.published.load();
    let Some(mut folding) = behind(&state, &head)? else { return Ok(state) };
    while folding.head().offset < head.offset {
        let at = folding.head().offset;
        let page = append.read_since(at, page_limit(at, &head)).await?;
        if page.is_empty() {
            break;
        }
        folding.fold(&page)?;
    }
    folding.ends_at(&head)?;
    Ok(inner.publish(folding, head))
}

/// Where to fold on from, if the log has gone on since a state that was published before the head was read. A log that
/// ends before it, or differently, is not the log this server has seen.
pub(crate) fn behind(state: &State, head: &Head) -> Result<Option<Folding>, LoadError> {
    if *head == state.head {
        return Ok(None);
    }
    if head.log_id != state.head.log_id || head.offset == state.head.offset {
        return Err(LoadError::Damaged(Fault::new(state.head.offset, What::HeadMismatch)));
    }
    if head.offset < state.head.offset {
        let missing = head.offset.plus(1).unwrap_or(Offset::MAX);
        return Err(LoadError::Damaged(Fault::new(missing, What::Missing)));
    }
    Ok(Some(Folding::new((*state.policy).clone(), state.head)))
}

/// Whether a batch that ends so is in the log: to be asked after a commit whose outcome is not known. Asked under the
/// head's lock: whoever has it knows that the batch's own transaction has ended, so that a no is for ever. Others may
/// have appended since.
pub(super) async fn is_in_log(inner: &Inner, staged: &Head) -> Result<bool, Failed> {
    let before = Offset::new(staged.offset.get().saturating_sub(1)).unwrap_or(Offset::ZERO);
    let mut append = locked(inner).await?;
    let events = append.read_since(before, 1).await?;
    append.rollback().await?;
    Ok(events.first().is_some_and(|event| event.offset == staged.offset && event.hash == staged.hash))
}
