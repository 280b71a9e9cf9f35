//! Who gained and who lost what between two states of one log.
//!
//! Judged by decisions, never by what events are called: what differs between the two states, and which grants began or
//! ended between the two moments, only says which answers are worth comparing ([`changed`], [`candidates`]). Each of
//! these is asked of both states by the one walk ([`rows`]), and told when yes became no or no became yes.

mod candidates;
mod changed;
mod rows;

use crate::{
    Decision, Policy,
    ix::{KeyIx, ObjectIx, UserIx},
};
use candidates::Finder;
use charter_events::{PermissionKey, Scope, Timestamp, UserId};
use rows::Told;

/// Which answers are compared. What is absent does not narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffFilter {
    /// One user's only.
    pub user: Option<UserId>,
    /// At one scope only.
    pub scope: Option<Scope>,
    /// Of one key only.
    pub key: Option<PermissionKey>,
    /// An administrator may everywhere: one row ([`DiffPlace::Everywhere`]) says that somebody became one or ceased to
    /// be, and none is told of objects that came and went before an administrator. True: a row for each place instead.
    pub every_place: bool,
}

/// How much a comparison may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffBounds {
    /// The most rows.
    pub rows_max: usize,
    /// The most steps: grants followed, members and places listed, answers compared, entries looked at for them.
    pub steps_max: u64,
}

/// Which bound ended a comparison early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffBound {
    /// There are more rows.
    Rows,
    /// There was more to compare.
    Steps,
}

/// Where somebody gained or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiffPlace {
    /// On one side he is an administrator for the key, whatever stands where; on the other each place decides. The two
    /// decisions are those platform-wide.
    Everywhere,
    /// Platform-wide, or on one object.
    At(Scope),
}

/// Which way an answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiffChange {
    /// From no to yes.
    Gained,
    /// From yes to no.
    Lost,
}

impl DiffChange {
    /// The name clients see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gained => "gained",
            Self::Lost => "lost",
        }
    }
}

/// One answer that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffRow {
    /// Whose.
    pub user: UserId,
    /// Where.
    pub place: DiffPlace,
    /// Of which key.
    pub key: PermissionKey,
    /// Which way.
    pub change: DiffChange,
    /// The decision before.
    pub before: Decision,
    /// The decision after.
    pub after: Decision,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// In order of the users' creation, then of place (everywhere, platform-wide, objects in order of creation), then
    /// of key.
    pub rows: Vec<DiffRow>,
    /// Why there may be more than these; none: this is all of it.
    pub ended_by: Option<DiffBound>,
    /// How many steps it took.
    pub steps: u64,
}

impl Policy {
    /// Who gained and who lost what from this state, judged at one moment, to another state of the same log, earlier or
    /// later, judged at another. An object or key that is not there is denied. Costs what differs between the two and
    /// what that reaches; two clones of one state are compared without reading what they share.
    pub fn diff(
        &self,
        at_before: Timestamp,
        after: &Self,
        at_after: Timestamp,
        filter: &DiffFilter,
        bounds: DiffBounds,
    ) -> Diff {
        self.diff_where(at_before, after, at_after, filter, bounds, &|_| true)
    }

    /// As [`diff`](Self::diff), but of the answers that changed only those are told, and count as rows, that `keep`
    /// names. What it does not keep still costs steps.
    pub fn diff_where(
        &self,
        at_before: Timestamp,
        after: &Self,
        at_after: Timestamp,
        filter: &DiffFilter,
        bounds: DiffBounds,
        keep: &dyn Fn(&DiffRow) -> bool,
    ) -> Diff {
        let sides = Sides {
            before: Side { policy: self, now: at_before },
            after: Side { policy: after, now: at_after },
        };
        let Some(only) = sides.resolve(filter) else { return Diff::default() };
        let mut budget = Budget { spent: 0, max: bounds.steps_max };
        let mut diff = Diff::default();
        let found = Finder::new(sides, only, &mut budget).find();
        let ended = found.and_then(|candidates| {
            let mut told = Told { rows: &mut diff.rows, rows_max: bounds.rows_max, keep };
            rows::compare(sides, only, &candidates, &mut budget, &mut told)
        });
        diff.ended_by = ended.err();
        diff.steps = budget.spent;
        diff
    }
}

/// One of the two states, and the moment it is judged at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) now: Timestamp,
}

/// Both. Dense indexes mean the same in both: they are given in order of creation and never used again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<'p> {
    pub(crate) before: Side<'p>,
    pub(crate) after: Side<'p>,
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Of {
    Before,
    After,
}

/// The filter in dense indexes; [`ObjectIx::NONE`]: the global scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Only {
    pub(crate) user: Option<UserIx>,
    pub(crate) place: Option<ObjectIx>,
    pub(crate) key: Option<KeyIx>,
    /// Administrators' changes are told in one row.
    pub(crate) folds: bool,
}

impl<'p> Sides<'p> {
    pub(crate) const BOTH: [Of; 2] = [Of::Before, Of::After];

    pub(crate) const fn of(self, which: Of) -> Side<'p> {
        match which {
            Of::Before => self.before,
            Of::After => self.after,
        }
    }

    /// The state that knows every id the other does.
    pub(crate) fn later(self) -> &'p Policy {
        if self.before.policy.version() > self.after.policy.version() {
            self.before.policy
        } else {
            self.after.policy
        }
    }

    /// None when what is filtered by was never there: then nothing changed about it.
    fn resolve(self, filter: &DiffFilter) -> Option<Only> {
        let known = self.later();
        let user = filter.user.map(|id| known.user_ix(id).ok_or(())).transpose().ok()?;
        let place = match filter.scope {
            None => None,
            Some(Scope::Global) => Some(ObjectIx::NONE),
            Some(Scope::Object(id)) => Some(known.objects.ids.get(id.as_uuid()).map(ObjectIx)?),
        };
        let key =
            filter.key.as_ref().map(|key| known.catalog.key(key.as_str()).ok_or(())).transpose().ok()?;
        Some(Only { user, place, key, folds: place.is_none() && !filter.every_place })
    }
}

/// Steps taken, and how many may be.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: u64,
    max: u64,
}

impl Budget {
    /// Takes steps; an error when they are more than may be.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), DiffBound> {
        self.spent = self.spent.saturating_add(steps as u64);
        if self.spent > self.max { Err(DiffBound::Steps) } else { Ok(()) }
    }
}
