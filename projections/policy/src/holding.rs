//! Holding: whether somebody has, over a whole reach and for a whole span, what he would give or take.
//!
//! Judged by the same walk as every check, at each place of the reach: the scope itself, and below a folder
//! an imaginary folder and an imaginary object, one and two levels down, without grants of their own.

use crate::{
    Caller, Lacking, Policy, Span,
    answers::LACKING_ITEMS_MAX,
    entries::Entries,
    ix::What,
    walk::{Asker, Place, Walk, is_live, subjects},
};
use charter_events::{Pattern, Reach, Scope, Timestamp, UserId};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;

/// The most later moments one guard judges: beyond them what is asked counts as not lasting.
const MOMENTS_MAX: usize = 10_000;

type Places = SmallVec<[Place; 5]>;

impl Policy {
    /// Whether a caller holds content over a reach, for a span. Modules and the system hold everything; so does whoever
    /// holds `*` globally by a grant without end. A token's mask narrows what its user holds: a key must be matched by
    /// it, a wildcard covered.
    ///
    /// # Errors
    /// [`Lacking`]: what is missing now, or else what will be missing before the end.
    pub fn require_held(
        &self,
        caller: &Caller,
        content: &[Pattern],
        scope: Scope,
        reach: Reach,
        span: Span,
        now: Timestamp,
    ) -> Result<(), Lacking> {
        let Some(user) = caller.user() else { return Ok(()) };
        let mut lacking: BTreeSet<&Pattern> = beyond(content, caller.ceiling()).collect();
        let holds_everything = self.holds_everything(user, now);
        if !holds_everything {
            lacking.extend(self.lacking(user, content, scope, reach, now));
        }
        if !lacking.is_empty() {
            return Err(refusal(false, &lacking));
        }
        let (Span::Until(end), false) = (span, holds_everything) else { return Ok(()) };
        let mut moments = self.moments(user, scope, now);
        moments.retain(|moment| end.is_none_or(|end| *moment < end));
        if moments.len() > MOMENTS_MAX {
            // Nobody needs so many; judging them all would hold up everybody else.
            return Err(refusal(true, &content.iter().collect()));
        }
        for moment in moments {
            lacking.extend(self.lacking(user, content, scope, reach, moment));
        }
        if lacking.is_empty() { Ok(()) } else { Err(refusal(true, &lacking)) }
    }

    /// The later moments at which what a user holds at a scope may change: grants elsewhere say nothing there.
    fn moments(&self, user: UserId, scope: Scope, now: Timestamp) -> Vec<Timestamp> {
        let Some(asker) = self.asker(user) else { return Vec::new() };
        let scopes = self.place(scope).into_iter().flat_map(|place| self.scopes(place));
        let chain: BTreeSet<_> = scopes.filter_map(|scope| scope.object.some()).collect();
        self.changes_after(asker, now, |scope| scope.some().is_none_or(|scope| chain.contains(&scope)))
    }

    /// Every item of content a user does not hold over a reach at one moment, in byte order.
    pub fn missing(
        &self,
        user: UserId,
        content: &[Pattern],
        scope: Scope,
        reach: Reach,
        now: Timestamp,
    ) -> Vec<Pattern> {
        if self.holds_everything(user, now) {
            return Vec::new();
        }
        let lacking: BTreeSet<&Pattern> = self.lacking(user, content, scope, reach, now).collect();
        lacking.into_iter().cloned().collect()
    }

    fn lacking<'a>(
        &self,
        user: UserId,
        content: &'a [Pattern],
        scope: Scope,
        reach: Reach,
        now: Timestamp,
    ) -> impl Iterator<Item = &'a Pattern> {
        let asker = self.asker(user);
        let places = self.places(scope, reach);
        content.iter().filter(move |item| match (asker, &places) {
            (Some(asker), Some(places)) => {
                !places.iter().all(|place| self.holds_at(asker, item, *place, now))
            }
            (None, _) | (_, None) => true,
        })
    }

    /// The places of a reach; `None` when the object is not there.
    fn places(&self, scope: Scope, reach: Reach) -> Option<Places> {
        let place = self.place(scope)?;
        if !place.is_folder {
            return Some(smallvec![place]);
        }
        let all = [(0, true), (1, true), (1, false), (2, true), (2, false)];
        let reached = all.into_iter().filter(|(below, is_folder)| reach.reaches(*below, *is_folder));
        Some(reached.map(|(below, is_folder)| Place { below, is_folder, ..place }).collect())
    }

    fn holds_at(&self, asker: Asker<'_>, item: &Pattern, place: Place, now: Timestamp) -> bool {
        let Some(key) = item.as_key() else { return self.holds_wildcard_at(asker, item, place, now) };
        let Some(asked) = self.asked(&key) else { return false };
        Walk::new(self, now).decide(asker, asked, place).allowed()
    }

    /// A wildcard is held where a live allow grant gives a wildcard that covers it, and every key it matches today is.
    fn holds_wildcard_at(&self, asker: Asker<'_>, wildcard: &Pattern, place: Place, now: Timestamp) -> bool {
        self.has_covering_grant(asker, wildcard, place, now)
            && self.catalog.registered.iter().filter(|(key, _)| wildcard.matches(key)).all(|(_, ix)| {
                self.asked_ix(*ix)
                    .is_some_and(|asked| Walk::new(self, now).decide(asker, asked, place).allowed())
            })
    }

    fn has_covering_grant(&self, asker: Asker<'_>, wildcard: &Pattern, place: Place, now: Timestamp) -> bool {
        let covers = |entries: &Entries, distance: usize| {
            subjects(asker).flat_map(|subject| entries.addressed_to(subject)).any(|entry| {
                !entry.terms.is_deny()
                    && entry.terms.reaches(distance, place.is_folder)
                    && is_live(self, entry, now)
                    && self.gives_covering(entry.content.what(), wildcard)
            })
        };
        covers(&self.global, 0) || self.scopes(place).any(|scope| covers(scope.entries, scope.distance))
    }

    fn gives_covering(&self, what: What, wildcard: &Pattern) -> bool {
        let What::Role(role) = what else { return false };
        self.roles.get(role).is_some_and(|facts| {
            facts.permissions.iter().any(|pattern| pattern.is_wildcard() && pattern.covers(wildcard))
        })
    }
}

/// What of some content lies beyond a ceiling.
fn beyond<'a>(content: &'a [Pattern], ceiling: Option<&'a [Pattern]>) -> impl Iterator<Item = &'a Pattern> {
    content
        .iter()
        .filter(move |item| ceiling.is_some_and(|masks| !masks.iter().any(|mask| mask.covers(item))))
}

fn refusal(outlives: bool, lacking: &BTreeSet<&Pattern>) -> Lacking {
    Lacking {
        outlives,
        items: lacking.iter().take(LACKING_ITEMS_MAX).map(|item| (*item).clone()).collect(),
        more: lacking.len() > LACKING_ITEMS_MAX,
    }
}
