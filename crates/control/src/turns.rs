//! Work of a processor for whoever asks: off the async threads, a few at a time. Must not know what it is.

use std::{sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinError};

/// The turns of one kind of work.
pub(crate) struct Turns(Arc<Semaphore>);

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum TurnError {
    /// Others are at work, and were for as long as was waited.
    Busy,
    /// The work panicked, or the program ends.
    Failed(JoinError),
}

impl Turns {
    /// So many at once.
    pub(crate) fn new(at_once_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once_max)))
    }

    /// Does some work when it is its turn. Whoever goes away while it waits gives his turn up; work that has begun is
    /// ended, and keeps its turn until then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TurnError> {
        let turn = tokio::time::timeout(wait, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(TurnError::Busy) };
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.map_err(TurnError::Failed)
    }

    /// Takes a turn for as long as it is held.
    #[cfg(test)]
    pub(crate) fn take(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}
