//! Grants: what each gives to whom where, and which of them begin or end.

use crate::{
    entries::{Entry, Given, Terms},
    intern::Interner,
    ix::{ActorIx, ContentIx, GrantIx, ObjectIx, SubjectIx, THINGS_MAX},
    pages::Paged,
    sorted::Sorted,
};
use charter_events::{Actor, Offset, Timestamp};
use imbl::{GenericHashMap, shared_ptr::DefaultSharedPtr};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A grant. The scope [`ObjectIx::NONE`] is the global one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Grant {
    pub(crate) subject: SubjectIx,
    pub(crate) content: ContentIx,
    pub(crate) scope: ObjectIx,
    pub(crate) terms: Terms,
    /// [`Timestamp::MIN`] when it has no begin.
    pub(crate) not_before: Timestamp,
    /// `None` when it has no end. Kept as the moment after the last one: nothing is ever compared with it as a time.
    pub(crate) expires_at: End,
}

/// The end of a grant; [`End::NEVER`] when it has none, later than every moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End(i64);

impl End {
    pub(crate) const NEVER: Self = Self(i64::MAX);

    pub(crate) fn new(end: Option<Timestamp>) -> Self {
        end.map_or(Self::NEVER, |end| Self(end.as_micros()))
    }

    pub(crate) fn moment(self) -> Option<Timestamp> {
        if self == Self::NEVER { None } else { Timestamp::from_micros(self.0) }
    }

    pub(crate) const fn is_after(self, now: Timestamp) -> bool {
        self.0 > now.as_micros()
    }
}

impl Default for End {
    fn default() -> Self {
        Self::NEVER
    }
}

impl Grant {
    pub(crate) const fn entry(&self, ix: GrantIx) -> Entry {
        Entry { subject: self.subject, grant: ix, content: self.content, terms: self.terms }
    }

    pub(crate) const fn given(&self, ix: GrantIx) -> Given {
        Given { grant: ix, scope: self.scope, content: self.content, terms: self.terms }
    }

    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.not_before <= now && self.expires_at.is_after(now)
    }
}

/// What is only shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrantFacts {
    pub(crate) issued_at: Timestamp,
    pub(crate) changed_at: Offset,
    pub(crate) issued_by: ActorIx,
}

impl Default for GrantFacts {
    fn default() -> Self {
        Self { issued_at: Timestamp::MIN, changed_at: Offset::ZERO, issued_by: ActorIx(u32::MAX) }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Grants {
    pub(crate) ids: Interner,
    pub(crate) hot: Paged<Grant, 256>,
    pub(crate) facts: Paged<GrantFacts, 256>,
    /// Standing grants with a begin or an end, by subject.
    pub(crate) timed: Sorted<(SubjectIx, GrantIx)>,
    /// Standing grants with an end, by that end.
    pub(crate) ending: Sorted<(End, GrantIx)>,
    pub(crate) actors: Paged<Option<Actor>, 64>,
    actor_index: GenericHashMap<Actor, ActorIx, BuildHasherDefault<DefaultHasher>, DefaultSharedPtr>,
}

impl Grants {
    /// A standing grant.
    #[inline]
    pub(crate) fn get(&self, ix: GrantIx) -> Option<&Grant> {
        self.hot.get(ix.at()).filter(|grant| grant.terms.is_standing())
    }

    /// The dense name of whoever acted.
    pub(crate) fn actor(&mut self, actor: &Actor) -> Option<ActorIx> {
        if let Some(ix) = self.actor_index.get(actor) {
            return Some(*ix);
        }
        if self.actors.len() >= THINGS_MAX {
            return None;
        }
        let ix = ActorIx(self.actors.push(Some(actor.clone())) as u32);
        self.actor_index.insert(actor.clone(), ix);
        Some(ix)
    }
}
