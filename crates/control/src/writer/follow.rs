//! Reading what others appended: under the head's lock before anything is decided, and beside it now and then.

use crate::{
    control::Inner,
    load::{Folding, LoadError, fold_until, page_limit},
};
use charter_events::{Head, Offset};
use charter_store::{Append, Fault, StoreError, What};

/// Folds and publishes what others appended since the published version. The head is locked meanwhile.
pub(super) async fn catch_up(inner: &Inner, append: &mut dyn Append) -> Result<(), LoadError> {
    let head = append.head();
    let Some(mut folding) = behind(inner, &head)? else { return Ok(()) };
    while folding.head().offset < head.offset {
        let at = folding.head().offset;
        let page = append.read_since(at, page_limit(at, &head)).await?;
        if page.is_empty() {
            break;
        }
        folding.fold(&page)?;
    }
    folding.ends_at(&head)?;
    inner.published.publish(folding.policy, head);
    Ok(())
}

/// The same without the lock, for those who only read here.
pub(super) async fn follow(inner: &Inner) -> Result<(), ()> {
    match follow_to_head(inner).await {
        Ok(()) => Ok(()),
        Err(error) => {
            inner.health.fail(error.not_ready());
            tracing::error!(%error, "the log can't be followed");
            Err(())
        }
    }
}

async fn follow_to_head(inner: &Inner) -> Result<(), LoadError> {
    let head = inner.store.head().await?;
    let Some(mut folding) = behind(inner, &head)? else { return Ok(()) };
    fold_until(inner.store.as_ref(), &mut folding, &head, None).await?;
    inner.published.publish(folding.policy, head);
    Ok(())
}

/// Where to fold on from, if the log has gone on. A log that ends before the published version, or differently, is
/// not the log this server has seen.
fn behind(inner: &Inner, head: &Head) -> Result<Option<Folding>, LoadError> {
    let state = inner.published.load();
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

/// Whether a batch that ends so is in the log: to be asked after a commit whose outcome is not known.
pub(super) async fn is_in_log(inner: &Inner, staged: &Head) -> Result<bool, StoreError> {
    let before = Offset::new(staged.offset.get().saturating_sub(1)).unwrap_or(Offset::ZERO);
    let events = inner.store.read(before, 1).await?;
    Ok(events.first().is_some_and(|event| event.offset == staged.offset && event.hash == staged.hash))
}
