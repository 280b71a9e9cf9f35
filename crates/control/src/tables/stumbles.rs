//! What becomes of an operation that can't go on: it fails, or waits longer each time and says so. It holds up nothing
//! else.

use super::{line::WorkError, worker::Worker};
use crate::operations::shortened;
use charter_store::{Operation, StoreError, causes};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// An operation that can't go on is tried again after so long, longer each time.
const STUMBLED_PAUSE_MIN: Duration = Duration::from_millis(100);
const STUMBLED_PAUSE_MAX: Duration = Duration::from_secs(60);

impl Worker {
    /// Whether an operation need not wait.
    pub(super) fn may_go_on(&self, id: Uuid) -> bool {
        let until = self.works.get(&id).and_then(|work| work.wait_until);
        until.is_none_or(|until| until <= Instant::now())
    }

    /// Has an operation wait, longer each time.
    pub(super) fn wait(&mut self, id: Uuid) {
        let work = self.works.entry(id).or_default();
        let pause = STUMBLED_PAUSE_MIN.saturating_mul(1 << work.stumbles.min(10)).min(STUMBLED_PAUSE_MAX);
        work.stumbles += 1;
        work.wait_until = Some(Instant::now() + pause);
    }

    /// An operation could not go on. What the store refuses it refuses the next time too: it fails. Else it is tried
    /// again after a while, and says so.
    pub(super) async fn stumbled(&mut self, operation: &Operation, error: &WorkError) {
        self.look_again();
        self.wait(operation.id);
        let why = causes(error);
        let trouble = if matches!(error, WorkError::Store(StoreError::Refused(_) | StoreError::Row { .. })) {
            let Err(error) = self.fail(operation, &why).await else { return };
            format!("{why}; {}", causes(&error))
        } else {
            let told = Operation {
                detail: shortened(&format!("it is tried again: {why}")),
                updated_at: self.inner.time(),
                ..operation.clone()
            };
            match self.inner.store.put_operation(&told).await {
                Ok(()) => why,
                Err(error) => format!("{why}; {}", causes(&error)),
            }
        };
        let trouble = format!("operation on `{}` can't go on: {trouble}", operation.target);
        self.is_troubled(operation.id.to_string(), trouble);
    }
}
