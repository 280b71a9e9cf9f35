//! What a command would do, told without doing it.
//!
//! A preview goes the way of the command itself, through the use case that makes it up and seals its names, as far as
//! the writer's door. There it is decided on a clone and kept in the request's slot, and whoever asked gets
//! [`CommandError::Previewed`](crate::CommandError::Previewed): nothing that follows an accepted command happens, and
//! nothing is queued. Must not know who may see what of it.

use crate::{
    control::Inner,
    error::CommandError,
    request::Request,
    turns::{TurnError, Turns},
    writer,
};
use charter_events::{StoredEvent, Timestamp};
use charter_policy::Policy;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// How many previews are decided at once: each costs what its command would, without the queue that bounds those.
const PREVIEWS_AT_ONCE_MAX: usize = 2;

/// The turns of those who preview.
pub(crate) struct Previews(pub(crate) Turns);

impl Default for Previews {
    fn default() -> Self {
        Self(Turns::new(PREVIEWS_AT_ONCE_MAX))
    }
}

/// What a command would do, at the version and moment it was decided.
#[derive(Clone)]
pub struct Previewed {
    /// The policy it was decided against.
    pub before: Arc<Policy>,
    /// The policy it would lead to.
    pub after: Arc<Policy>,
    /// The moment of the decision.
    pub now: Timestamp,
    /// What would be appended; none when everything is so already. Ids of new things are made up, and others each time.
    pub events: Vec<StoredEvent>,
    /// The made-up id of the main thing it would create.
    pub created: Option<Uuid>,
}

/// Where the preview of one request is put. A request that has one writes nothing.
#[derive(Debug, Clone, Default)]
pub struct PreviewSlot(Arc<OnceLock<Previewed>>);

impl PreviewSlot {
    /// What the command would do; none when the request came to no decision, or was refused.
    pub fn get(&self) -> Option<&Previewed> {
        self.0.get()
    }

    /// The first command of a request is the one that is told of: what follows it would see what it wrote.
    pub(crate) fn fill(&self, previewed: Previewed) {
        let _ = self.0.set(previewed);
    }
}

/// Has a command decided on a clone when it is its turn, off the async threads. It waits for that, bounded.
pub(crate) async fn decide(inner: &Arc<Inner>, request: Request, slot: PreviewSlot) -> CommandError {
    let name = request.command.name();
    let deciding = Arc::clone(inner);
    let decide = move || writer::preview(&deciding, request, &slot);
    match inner.previews.0.run(inner.config.version_wait, decide).await {
        Ok(outcome) => outcome,
        Err(TurnError::Busy) => CommandError::PreviewsBusy,
        Err(TurnError::Failed(error)) => {
            tracing::error!(command = name, %error, "a command could not be previewed");
            CommandError::Unavailable { reason: "the command could not be decided" }
        }
    }
}

impl std::fmt::Debug for Previewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Previewed")
            .field("version", &self.before.version())
            .field("events", &self.events.len())
            .finish_non_exhaustive()
    }
}
