//! Holding: what a user lacks of a content, over the whole reach of a grant, now and until an end.

use super::{Mutation, Place, World, walk::includes};
use charter_events::{Affects, ChildTypes, Content, Effect, Pattern, Scope, Timestamp, UserId};
use std::collections::BTreeSet;

/// What is lacking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// Nothing.
    Nothing,
    /// These items, now.
    Now(BTreeSet<Pattern>),
    /// Nothing now, but these items at one later moment or another.
    Later(BTreeSet<Pattern>),
}

impl World {
    /// What of `content` the user lacks over this reach at this moment.
    pub fn missing(
        &self,
        user: UserId,
        content: &[Pattern],
        (scope, affects, child_types): (Scope, Affects, ChildTypes),
        now: Timestamp,
    ) -> BTreeSet<Pattern> {
        if self.holds_everything(user, now) {
            return BTreeSet::new();
        }
        let places = self.places(scope, affects, child_types);
        content
            .iter()
            .filter(|item| !places.iter().all(|place| self.holds(user, item, *place, now)))
            .cloned()
            .collect()
    }

    /// The same, now and at every later change before the end; without an end, at every later change there will be.
    pub fn lacking(
        &self,
        user: UserId,
        content: &[Pattern],
        reach: (Scope, Affects, ChildTypes),
        end: Option<Timestamp>,
        now: Timestamp,
    ) -> Lack {
        let missing = self.missing(user, content, reach, now);
        if !missing.is_empty() {
            return Lack::Now(missing);
        }
        if self.holds_everything(user, now) || self.breaks(Mutation::HoldingIgnoresLaterChanges) {
            return Lack::Nothing;
        }
        let later: BTreeSet<Pattern> = self
            .changes(user)
            .into_iter()
            .filter(|moment| *moment > now && end.is_none_or(|end| *moment < end))
            .flat_map(|moment| self.missing(user, content, reach, moment))
            .collect();
        if later.is_empty() { Lack::Nothing } else { Lack::Later(later) }
    }

    /// Every moment at which a grant of the user or of his groups begins or ends.
    fn changes(&self, user: UserId) -> BTreeSet<Timestamp> {
        self.grants
            .iter()
            .filter(|grant| self.addressed_to_user(grant, user) || self.addressed_to_group_of(grant, user))
            .flat_map(|grant| {
                let begin = grant.not_before.filter(|_| !self.breaks(Mutation::HoldingIgnoresBeginnings));
                [begin, grant.expires_at]
            })
            .flatten()
            .collect()
    }

    fn holds_everything(&self, user: UserId, now: Timestamp) -> bool {
        let active = self.users.iter().any(|u| u.id == user && u.active);
        active
            && self.grants.iter().any(|grant| {
                (self.addressed_to_user(grant, user) || self.addressed_to_group_of(grant, user))
                    && grant.scope == Scope::Global
                    && grant.expires_at.is_none()
                    && self.is_live(grant, now)
                    && self.wildcard_covers(&grant.content, "*")
            })
    }

    /// The places of a grant: where it must be held.
    fn places(&self, scope: Scope, affects: Affects, child_types: ChildTypes) -> Vec<Place> {
        let Scope::Object(id) = scope else { return vec![Place::Global] };
        let is_folder = self.objects.iter().any(|o| o.id == id && o.object_type.as_str() == "folder");
        if !is_folder || self.breaks(Mutation::HoldingLooksAtFolderOnly) {
            return vec![Place::At(id)];
        }
        let mut places = Vec::new();
        if matches!(affects, Affects::All | Affects::SelfOnly | Affects::SelfAndDirectChildren) {
            places.push(Place::At(id));
        }
        let levels: &[usize] = match affects {
            Affects::All | Affects::ChildrenOnly => &[1, 2],
            Affects::SelfAndDirectChildren | Affects::DirectChildrenOnly => &[1],
            Affects::SelfOnly => &[],
        };
        for levels in levels {
            if child_types != ChildTypes::Objects {
                places.push(Place::Below { folder: id, levels: *levels, is_folder: true });
            }
            if child_types != ChildTypes::Containers {
                places.push(Place::Below { folder: id, levels: *levels, is_folder: false });
            }
        }
        places
    }

    fn holds(&self, user: UserId, item: &Pattern, place: Place, now: Timestamp) -> bool {
        if let Some(key) = item.as_key() {
            return self.check(user, &key, place, now).allowed;
        }
        let active = self.users.iter().any(|u| u.id == user && u.active);
        let keys = self.keys.iter().filter(|key| self.matches(item, key));
        let mut keys = keys.map(|key| self.check(user, key, place, now).allowed);
        active
            && (self.breaks(Mutation::HoldingNeedsNoWildcard) || self.has_wildcard(user, item, place, now))
            && (self.breaks(Mutation::HoldingNeedsWildcardOnly) || keys.all(|held| held))
    }

    /// Whether a live allow of the user's, on the place's chain and reaching it, or global, gives a wildcard
    /// above this.
    fn has_wildcard(&self, user: UserId, item: &Pattern, place: Place, now: Timestamp) -> bool {
        let chain = self.chain(place);
        let is_folder = match place {
            Place::Global => false,
            Place::At(id) => self.objects.iter().any(|o| o.id == id && o.object_type.as_str() == "folder"),
            Place::Below { is_folder, .. } => is_folder,
        };
        self.grants.iter().any(|grant| {
            let there = grant.scope == Scope::Global
                || chain.iter().any(|(scope, distance)| {
                    *scope == grant.scope && self.reaches(grant, *distance, is_folder)
                });
            there
                && grant.effect == Effect::Allow
                && (self.addressed_to_user(grant, user) || self.addressed_to_group_of(grant, user))
                && self.is_live(grant, now)
                && self.wildcard_covers(&grant.content, item.as_str())
        })
    }

    fn wildcard_covers(&self, content: &Content, item: &str) -> bool {
        let Content::Role(id) = content else { return false };
        self.roles
            .iter()
            .filter(|role| role.id == *id)
            .flat_map(|role| &role.permissions)
            .any(|pattern| pattern.as_str().ends_with('*') && includes(pattern.as_str(), item))
    }
}
