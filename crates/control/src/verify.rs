//! The background pass over the whole log: start verifies only what it folds. A fault stops writes and readiness,
//! with the first bad offset.

use crate::{control::Control, control::Inner, load::LoadError};
use charter_events::{Head, Offset};
use charter_store::{
    Fault, What, causes,
    chain::{self, Verifier},
};
use std::{sync::Arc, time::Duration};

/// How many events are read at once.
const PAGE_EVENTS_MAX: u32 = 1_000;

/// Passes once after start, and again and again.
pub(crate) async fn run(inner: Arc<Inner>) {
    let Some(every) = inner.config.verify_every else { return };
    let pace = inner.config.verify_events_per_second.max(1);
    let again = async {
        loop {
            match pass(&inner, Some(pace)).await {
                Ok(head) => tracing::info!(version = %head.offset, "the log is whole"),
                Err(error) => report(&inner, &error),
            }
            tokio::time::sleep(every).await;
        }
    };
    inner.stop.run_until_cancelled(again).await;
}

fn report(inner: &Inner, error: &LoadError) {
    tracing::error!(error = %causes(&error), "verifying the log failed");
    if !matches!(error, LoadError::Store(store) if store.fault().is_none()) {
        inner.health.fail(error.not_ready());
    }
}

/// Verifies every event up to the published head, which has to be the head found.
async fn pass(inner: &Inner, events_per_second: Option<u32>) -> Result<Head, LoadError> {
    let head = inner.published.load().head;
    let mut verifier = Verifier::from_start(head.log_id);
    while verifier.head().offset < head.offset {
        let missing = head.offset.get() - verifier.head().offset.get();
        let limit = u32::try_from(missing).map_or(PAGE_EVENTS_MAX, |missing| missing.min(PAGE_EVENTS_MAX));
        let limit = usize::try_from(limit).unwrap_or(1);
        let page = inner.store.read(verifier.head().offset, limit).await?;
        if page.is_empty() {
            let missing = verifier.head().offset.plus(1).unwrap_or(Offset::MAX);
            return Err(LoadError::Damaged(Fault::new(missing, What::Missing)));
        }
        for event in &page {
            verifier.next(event).map_err(LoadError::Damaged)?;
        }
        if let Some(pace) = events_per_second {
            let events = u32::try_from(page.len()).unwrap_or(PAGE_EVENTS_MAX);
            tokio::time::sleep(Duration::from_secs(1) * events / pace).await;
        }
    }
    if verifier.head() != head && head != chain::empty(head.log_id) {
        return Err(LoadError::Damaged(Fault::new(head.offset, What::HeadMismatch)));
    }
    Ok(head)
}

impl Control {
    /// Verifies the whole log now, unthrottled, and returns the head it ends with. A fault stops writes and readiness.
    ///
    /// # Errors
    /// [`LoadError::Damaged`] with the first bad offset; [`LoadError::Store`].
    pub async fn verify_log(&self) -> Result<Head, LoadError> {
        let result = pass(&self.inner, None).await;
        if let Err(error) = &result {
            report(&self.inner, error);
        }
        result
    }
}
