//! What a projection is, and the registry of them: one line here and one file make one exist.

use crate::{
    access_index::AccessIndex,
    audit_history::AuditHistory,
    directory::Directory,
    grant_sets::GrantSets,
    rows::{Changes, Spec},
};
use charter_events::{Event, StoredEvent};
use charter_policy::Policy;

/// An event as a projection sees it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// As it is in the log.
    pub stored: &'a StoredEvent,
    /// What it says.
    pub event: &'a Event,
}

/// An event a projection can't take. It stops at it, and the others go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Poison {
    /// For people: what is wrong.
    pub why: String,
}

/// Pure: events to rows.
pub trait Projection: Send + Sync {
    /// Its tables.
    fn spec(&self) -> &'static Spec;

    /// Notes which rows an event changes. `before` is the state just before the event: what an event does not say
    /// itself, such as an old name, is asked of it.
    ///
    /// # Errors
    /// [`Poison`]; then nothing of the event is written.
    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison>;
}

/// Every projection.
pub const PROJECTIONS: &[&dyn Projection] = &[&Directory, &GrantSets, &AccessIndex, &AuditHistory];

/// The projection of this name.
pub fn projection(name: &str) -> Option<&'static dyn Projection> {
    PROJECTIONS.iter().find(|projection| projection.spec().name == name).copied()
}
