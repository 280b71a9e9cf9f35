//! Asks the walk of both states what is worth comparing, and keeps what differs.

use super::{
    Budget, Diff, DiffBound, DiffChange, DiffPlace, DiffRow, Only, Side, Sides, candidates::Candidates,
};
use crate::{
    Because, Decision, Policy, Verdict,
    ix::{KeyIx, ObjectIx, UserIx},
    walk::{Asker, Walk},
};
use charter_events::PermissionKey;
use std::collections::BTreeMap;

type Compared = Result<(), DiffBound>;

/// What an answer costs to note and to ask of two states, beside the entries that are looked at.
const ANSWER_STEPS: usize = 3;

/// The rows that are told.
pub(super) struct Told<'r> {
    /// So far.
    pub(super) rows: &'r mut Vec<DiffRow>,
    /// The most of them.
    pub(super) rows_max: usize,
    /// Which of the answers that changed are told.
    pub(super) keep: &'r dyn Fn(&DiffRow) -> bool,
}

impl Told<'_> {
    /// Adds the rows of one place, by text of the key; an error when there are more than may be.
    fn take(&mut self, mut of_place: Vec<DiffRow>) -> Compared {
        of_place.sort_unstable_by(|one, two| one.key.as_str().cmp(two.key.as_str()));
        let room = self.rows_max.saturating_sub(self.rows.len());
        let more = of_place.len() > room;
        self.rows.extend(of_place.into_iter().take(room));
        if more { Err(DiffBound::Rows) } else { Ok(()) }
    }
}

/// Fills in the rows, user by user and place by place; an error when a bound ended it early.
pub(super) fn compare(
    sides: Sides<'_>,
    only: Only,
    candidates: &Candidates,
    budget: &mut Budget,
    told: &mut Told<'_>,
) -> Compared {
    for (user, regions) in &candidates.of_users {
        let mut comparing = Comparing::new(sides, only, *user, budget);
        if comparing.before.asker.is_none() && comparing.after.asker.is_none() {
            continue;
        }
        for region in regions.iter().filter_map(|at| candidates.regions.get(*at)) {
            comparing.gather(&region.keys, &region.places)?;
        }
        comparing.everywhere()?;
        comparing.rows(told)?;
    }
    Ok(())
}

/// What an administrator may is the same everywhere; so it is asked once a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Administers {
    /// On neither side, and the key is registered on one at least.
    Neither,
    /// On one of the two.
    One,
    /// On both.
    Both,
    /// The key is registered on neither side.
    Unknown,
}

/// One user on both sides.
struct Comparing<'p, 'b> {
    only: Only,
    known: &'p Policy,
    user: UserIx,
    before: Asking<'p>,
    after: Asking<'p>,
    administers: BTreeMap<KeyIx, Administers>,
    /// Whether a key stands before a place: the global scope first, then objects in order.
    pairs: Vec<(bool, ObjectIx, KeyIx)>,
    budget: &'b mut Budget,
}

/// One user on one side.
struct Asking<'p> {
    walk: Walk<'p>,
    asker: Option<Asker<'p>>,
}

impl<'p> Asking<'p> {
    fn new(side: Side<'p>, user: UserIx) -> Self {
        Self { walk: Walk::new(side.policy, side.now), asker: side.policy.asker_ix(user) }
    }

    fn administers(&mut self, key: KeyIx) -> bool {
        let both = self.asker.zip(self.walk.policy.asked_ix(key));
        both.is_some_and(|(asker, asked)| !self.walk.administrator(asker, asked).is_empty())
    }

    /// How many entries were looked at since this was last asked.
    fn looked_at(&mut self) -> usize {
        usize::try_from(std::mem::take(&mut self.walk.visited)).unwrap_or(usize::MAX)
    }

    /// The decision, as [`Policy::check`] gives it.
    fn decide(&mut self, key: KeyIx, object: ObjectIx) -> Decision {
        let (policy, now) = (self.walk.policy, self.walk.now);
        let Some(asker) = self.asker else { return policy.plain(Because::InactiveSubject, now) };
        let Some(asked) = policy.asked_ix(key) else {
            return policy.plain(Because::UnknownPermission, now);
        };
        let place = match object.some() {
            None => Some(crate::walk::Place::GLOBAL),
            Some(object) => policy.place_of(object),
        };
        let Some(place) = place else { return policy.plain(Because::NotSet, now) };
        let outcome = self.walk.decide(asker, asked, place);
        policy.explain(&outcome, now)
    }
}

impl<'p, 'b> Comparing<'p, 'b> {
    fn new(sides: Sides<'p>, only: Only, user: UserIx, budget: &'b mut Budget) -> Self {
        Self {
            only,
            known: sides.later(),
            user,
            before: Asking::new(sides.before, user),
            after: Asking::new(sides.after, user),
            administers: BTreeMap::new(),
            pairs: Vec::new(),
            budget,
        }
    }

    /// Notes each of these keys at each of these places, but for what an administrator may.
    fn gather(&mut self, keys: &[KeyIx], places: &[ObjectIx]) -> Compared {
        for key in keys {
            self.budget.spend(1)?;
            let told_apart = match self.administers_now(*key) {
                Administers::Unknown => true,
                Administers::One => self.only.place.is_none(),
                Administers::Both => self.only.folds,
                Administers::Neither => false,
            };
            if !told_apart {
                self.budget.spend(places.len().saturating_mul(ANSWER_STEPS))?;
                self.pairs.extend(places.iter().map(|place| (place.some().is_some(), *place, *key)));
            }
        }
        Ok(())
    }

    fn administers_now(&mut self, key: KeyIx) -> Administers {
        if let Some(known) = self.administers.get(&key) {
            return *known;
        }
        let registered = |asking: &Asking<'_>| asking.walk.policy.asked_ix(key).is_some();
        let found = if !registered(&self.before) && !registered(&self.after) {
            Administers::Unknown
        } else {
            match (self.before.administers(key), self.after.administers(key)) {
                (true, true) => Administers::Both,
                (false, false) => Administers::Neither,
                _ => Administers::One,
            }
        };
        self.administers.insert(key, found);
        found
    }

    fn told_everywhere(&self) -> impl Iterator<Item = KeyIx> {
        let one = self.administers.iter().filter(|(_, found)| **found == Administers::One);
        one.map(|(key, _)| *key)
    }

    /// Without folding, the keys an administrator has on one side are compared at every place there is.
    fn everywhere(&mut self) -> Compared {
        if self.only.folds || self.only.place.is_some() {
            return Ok(());
        }
        let keys: Vec<KeyIx> = self.told_everywhere().collect();
        let places = self.known.objects.nodes.len() + 1;
        self.budget.spend(keys.len().saturating_mul(places).saturating_mul(ANSWER_STEPS))?;
        for key in keys {
            self.pairs.push((false, ObjectIx::NONE, key));
            self.pairs.extend((1..places).map(|number| (true, ObjectIx(number as u32 - 1), key)));
        }
        Ok(())
    }

    /// Tells the answers that changed, in order of place and key. What was found at a place is handed over before the
    /// next is asked about: no more is held than may be told, and the keys of one place.
    fn rows(mut self, told: &mut Told<'_>) -> Compared {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        if self.only.folds {
            let mut everywhere = Vec::new();
            for key in self.told_everywhere().collect::<Vec<_>>() {
                let gained = self.after.administers(key);
                let change = if gained { DiffChange::Gained } else { DiffChange::Lost };
                everywhere.extend(self.row(DiffPlace::Everywhere, key, ObjectIx::NONE, Some(change))?);
            }
            everywhere.retain(told.keep);
            told.take(everywhere)?;
        }
        let pairs = std::mem::take(&mut self.pairs);
        for of_place in pairs.chunk_by(|one, two| one.1 == two.1) {
            let mut found = Vec::new();
            for (_, object, key) in of_place {
                let place = DiffPlace::At(self.known.scope_of(*object));
                found.extend(self.row(place, *key, *object, None)?);
            }
            found.retain(told.keep);
            told.take(found)?;
        }
        Ok(())
    }

    /// Compares one answer; `change` is given where the verdicts at a place do not tell.
    fn row(
        &mut self,
        place: DiffPlace,
        key: KeyIx,
        object: ObjectIx,
        change: Option<DiffChange>,
    ) -> Result<Option<DiffRow>, DiffBound> {
        let (before, after) = (self.before.decide(key, object), self.after.decide(key, object));
        self.budget.spend(self.before.looked_at().saturating_add(self.after.looked_at()))?;
        let change = change.or(match (before.verdict, after.verdict) {
            (Verdict::Deny, Verdict::Allow) => Some(DiffChange::Gained),
            (Verdict::Allow, Verdict::Deny) => Some(DiffChange::Lost),
            (Verdict::Allow, Verdict::Allow) | (Verdict::Deny, Verdict::Deny) => None,
        });
        let key: Option<&PermissionKey> = self.known.catalog.key_text(key);
        Ok(change.zip(key).map(|(change, key)| DiffRow {
            user: self.known.user_id(self.user),
            place,
            key: key.clone(),
            change,
            before,
            after,
        }))
    }
}

impl Diff {
    /// Whether nothing changed, as far as was compared.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
