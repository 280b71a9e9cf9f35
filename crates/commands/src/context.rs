//! What a command is judged with besides the policy, and what comes out.

use crate::{Limits, guard::Guard, refusal::Refusal};
use charter_events::{Event, Offset, Timestamp};
use charter_policy::Caller;
use uuid::Uuid;

/// Where new ids come from. The server gives UUIDv7; tests count.
pub trait Ids {
    /// An id never given before.
    fn next(&mut self) -> Uuid;
}

impl<F: FnMut() -> Uuid> Ids for F {
    fn next(&mut self) -> Uuid {
        self()
    }
}

/// Who asks, when, with which ids and under which limits. Built with [`Context::new`].
#[non_exhaustive]
pub struct Context<'a> {
    /// Who is asking: the acting subject, never ambient.
    pub caller: &'a Caller,
    /// The moment of the decision.
    pub now: Timestamp,
    /// Where new ids come from.
    pub ids: &'a mut dyn Ids,
    /// The maxima.
    pub limits: &'a Limits,
    /// The version of the target the caller last saw (`If-Match`); asked of roles, groups and objects.
    pub if_match: Option<Offset>,
    /// Guards that are taken out, to prove that a test misses each of them. Never in the product.
    #[cfg(feature = "mutants")]
    pub removed: crate::Guards,
}

impl<'a> Context<'a> {
    /// A context without `If-Match`.
    pub fn new(caller: &'a Caller, now: Timestamp, ids: &'a mut dyn Ids, limits: &'a Limits) -> Self {
        Self {
            caller,
            now,
            ids,
            limits,
            if_match: None,
            #[cfg(feature = "mutants")]
            removed: crate::Guards::NONE,
        }
    }

    /// The same, holding the target to a version.
    #[must_use]
    pub fn if_match(mut self, version: Option<Offset>) -> Self {
        self.if_match = version;
        self
    }

    /// The context of one command of several that are decided as one. `If-Match` is about none of them.
    pub(crate) fn step(&mut self) -> Context<'_> {
        Context {
            caller: self.caller,
            now: self.now,
            ids: &mut *self.ids,
            limits: self.limits,
            if_match: None,
            #[cfg(feature = "mutants")]
            removed: self.removed,
        }
    }

    /// Whether a guard stands. Always, but in the proof that its tests notice when it doesn't.
    #[cfg_attr(
        not(feature = "mutants"),
        expect(clippy::unused_self, reason = "a guard can't be taken out of the product")
    )]
    pub(crate) fn stands(&self, guard: Guard) -> bool {
        #[cfg(feature = "mutants")]
        {
            !self.removed.contains(guard)
        }
        #[cfg(not(feature = "mutants"))]
        {
            let _ = guard;
            true
        }
    }

    /// Asks one guard.
    pub(crate) fn guard(
        &self,
        guard: Guard,
        check: impl FnOnce() -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        if self.stands(guard) { check() } else { Ok(()) }
    }
}

/// What an accepted command became.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decided {
    /// In the order they are appended, together; empty when everything is so already.
    pub events: Vec<Event>,
    /// The id of the main thing that was made, if one was.
    pub created: Option<Uuid>,
}

impl Decided {
    /// Everything is so already.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// These events, nothing new among them.
    pub(crate) fn events(events: Vec<Event>) -> Self {
        Self { events, created: None }
    }

    /// One event.
    pub(crate) fn one(event: impl Into<Event>) -> Self {
        Self::events(vec![event.into()])
    }

    /// These events, the first of which made the thing with this id.
    pub(crate) fn created(id: Uuid, events: Vec<Event>) -> Self {
        Self { events, created: Some(id) }
    }
}
