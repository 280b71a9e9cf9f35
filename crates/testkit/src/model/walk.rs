//! The walk, as the decision model tells it, and the questions that are the walk asked for every candidate.

use super::{Grant, Mutation, World};
use charter_events::{
    Affects, ChildTypes, Content, Effect, GrantId, ObjectId, Pattern, PermissionKey, Scope, Subject,
    Timestamp, UserId,
};
use std::collections::BTreeSet;

/// Where a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Of the whole platform.
    Global,
    /// Of an object.
    At(ObjectId),
    /// Of something imaginary below a folder, without grants of its own.
    Below {
        /// The folder.
        folder: ObjectId,
        /// 1 or 2 levels below it.
        levels: usize,
        /// Whether the imaginary thing is a folder.
        is_folder: bool,
    },
}

impl From<Scope> for Place {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Global => Self::Global,
            Scope::Object(id) => Self::At(id),
        }
    }
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the decision model")]
pub enum Because {
    Administrator,
    Grant,
    NotSet,
    InactiveSubject,
    UnknownPermission,
}

/// An answer with its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Allow.
    pub allowed: bool,
    /// Why.
    pub because: Because,
    /// For `grant`: the scope that decided, and whether entries addressed to the user himself did.
    pub winner: Option<(Scope, bool)>,
    /// All entries that decided.
    pub grants: BTreeSet<GrantId>,
}

/// A key at a scope: the three states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the decision model")]
pub enum State {
    Allowed,
    Denied,
    NotSet,
}

impl World {
    /// Can this user do this here, now?
    pub fn check(
        &self,
        user: UserId,
        key: &PermissionKey,
        place: impl Into<Place>,
        now: Timestamp,
    ) -> Answer {
        let place = place.into();
        let no = |because| Answer { allowed: false, because, winner: None, grants: BTreeSet::new() };
        let active = self
            .users
            .iter()
            .any(|u| u.id == user && (u.active || self.breaks(Mutation::InactiveUsersAllowed)));
        if !active {
            return no(Because::InactiveSubject);
        }
        if !self.keys.contains(key) && !self.breaks(Mutation::UnknownKeysAllowed) {
            return no(Because::UnknownPermission);
        }
        let sealed = self.breaks(Mutation::SealStopsAdministrators)
            && !self.chain(place).iter().any(|(scope, _)| *scope == Scope::Global);
        let administrator: BTreeSet<_> = self
            .grants
            .iter()
            .filter(|grant| self.is_administrators(grant, user, key, now))
            .map(|g| g.id)
            .collect();
        if !administrator.is_empty() && !sealed {
            return Answer {
                allowed: true,
                because: Because::Administrator,
                winner: None,
                grants: administrator,
            };
        }
        self.walk(user, key, place, now).unwrap_or_else(|| no(Because::NotSet))
    }

    fn is_administrators(&self, grant: &Grant, user: UserId, key: &PermissionKey, now: Timestamp) -> bool {
        let Content::Role(id) = &grant.content else { return false };
        let wildcard = |pattern: &Pattern| {
            pattern.as_str().ends_with('*') || self.breaks(Mutation::LiteralGlobalKeyIsAdministrator)
        };
        let addressed = self.addressed_to_user(grant, user)
            || (self.addressed_to_group_of(grant, user) && !self.breaks(Mutation::GroupIsNeverAdministrator));
        let global = grant.scope == Scope::Global || self.breaks(Mutation::WildcardOnObjectIsAdministrator);
        global
            && self.is_live(grant, now)
            && addressed
            && self
                .roles
                .iter()
                .filter(|role| role.id == *id)
                .any(|role| role.permissions.iter().any(|p| wildcard(p) && self.matches(p, key)))
    }

    fn walk(&self, user: UserId, key: &PermissionKey, place: Place, now: Timestamp) -> Option<Answer> {
        let is_folder = self.is_folder(place);
        let mut chain = self.chain(place);
        if self.breaks(Mutation::FarthestScopeFirst) {
            chain.reverse();
        }
        let counts = |grant: &&Grant, scope: Scope, distance: usize| {
            grant.scope == scope
                && self.is_live(grant, now)
                && self.gives(grant, key)
                && self.reaches(grant, distance, is_folder)
        };
        if self.breaks(Mutation::DenyAnywhereWins) {
            for (scope, distance) in &chain {
                let denies: Vec<_> = self
                    .grants
                    .iter()
                    .filter(|g| counts(g, *scope, *distance) && g.effect == Effect::Deny)
                    .filter(|g| self.addressed_to_user(g, user) || self.addressed_to_group_of(g, user))
                    .collect();
                if !denies.is_empty() {
                    return Some(self.decided(*scope, true, &denies));
                }
            }
        }
        for (scope, distance) in chain {
            let mut own = vec![true, false];
            if self.breaks(Mutation::GroupBeforeUser) {
                own.reverse();
            }
            for own in own {
                let together = self.breaks(Mutation::UserAndGroupTogether);
                let entries: Vec<&Grant> = self
                    .grants
                    .iter()
                    .filter(|grant| counts(grant, scope, distance))
                    .filter(|grant| {
                        (own || together) && self.addressed_to_user(grant, user)
                            || (!own || together) && self.addressed_to_group_of(grant, user)
                    })
                    .collect();
                if !entries.is_empty() {
                    return Some(self.decided(scope, own, &entries));
                }
            }
        }
        None
    }

    fn decided(&self, scope: Scope, own: bool, entries: &[&Grant]) -> Answer {
        let any = |effect| entries.iter().any(|grant| grant.effect == effect);
        let allowed =
            if self.breaks(Mutation::AllowBeatsDeny) { any(Effect::Allow) } else { !any(Effect::Deny) };
        let deciding = if allowed { Effect::Allow } else { Effect::Deny };
        let most = if self.breaks(Mutation::ExplainOneGrant) { 1 } else { usize::MAX };
        let grants = entries
            .iter()
            .filter(|grant| grant.effect == deciding)
            .take(most)
            .map(|grant| grant.id)
            .collect();
        Answer { allowed, because: Because::Grant, winner: Some((scope, own)), grants }
    }

    /// Every key of the catalog, in byte order, with its state and the answer behind it.
    pub fn effective(
        &self,
        user: UserId,
        scope: Scope,
        now: Timestamp,
    ) -> Vec<(PermissionKey, State, Answer)> {
        let mut keys = self.keys.clone();
        keys.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        keys.into_iter()
            .map(|key| {
                let answer = self.check(user, &key, scope, now);
                let state = match (answer.allowed, answer.because) {
                    (true, _) => State::Allowed,
                    (false, Because::Grant) => State::Denied,
                    (false, _) => State::NotSet,
                };
                (key, state, answer)
            })
            .collect()
    }

    /// Every active user whose walk allows, with the answer.
    pub fn who_can(&self, key: &PermissionKey, scope: Scope, now: Timestamp) -> Vec<(UserId, Answer)> {
        self.users
            .iter()
            .map(|user| (user.id, self.check(user.id, key, scope, now)))
            .filter(|(_, answer)| answer.allowed)
            .collect()
    }

    /// Every object of the type whose walk allows.
    pub fn allowed_objects(
        &self,
        user: UserId,
        key: &PermissionKey,
        object_type: &str,
        now: Timestamp,
    ) -> BTreeSet<ObjectId> {
        self.objects
            .iter()
            .filter(|object| object.object_type.as_str() == object_type)
            .map(|object| object.id)
            .filter(|object| self.check(user, key, Place::At(*object), now).allowed)
            .collect()
    }

    /// Whether anything, anywhere, lets this user do this: his or his groups' live allows, whatever denies them.
    pub fn allows_anywhere(&self, user: UserId, key: &PermissionKey, now: Timestamp) -> bool {
        self.users.iter().any(|u| u.id == user && u.active)
            && self.keys.contains(key)
            && self.grants.iter().any(|grant| {
                (self.addressed_to_user(grant, user) || self.addressed_to_group_of(grant, user))
                    && grant.effect == Effect::Allow
                    && self.is_live(grant, now)
                    && self.gives(grant, key)
            })
    }

    /// The scopes from a place upwards, with how far below each of them the place lies.
    pub(super) fn chain(&self, place: Place) -> Vec<(Scope, usize)> {
        let (mut at, mut distance) = match place {
            Place::Global => (None, 0),
            Place::At(object) => (Some(object), 0),
            Place::Below { folder, levels, .. } => (Some(folder), levels),
        };
        let mut chain = Vec::new();
        while let Some(id) = at {
            chain.push((Scope::Object(id), distance));
            let Some(object) = self.objects.iter().find(|object| object.id == id) else { break };
            if !object.inherits && !self.breaks(Mutation::IgnoreInherits) {
                if self.breaks(Mutation::SealKeepsGlobal) {
                    break;
                }
                return chain;
            }
            at = object.parent;
            distance += 1;
        }
        chain.push((Scope::Global, 0));
        chain
    }

    pub(super) fn is_folder(&self, place: Place) -> bool {
        match place {
            Place::Global => false,
            Place::At(id) => self.objects.iter().any(|o| o.id == id && o.object_type.as_str() == "folder"),
            Place::Below { is_folder, .. } => is_folder,
        }
    }

    pub(super) fn addressed_to_user(&self, grant: &Grant, user: UserId) -> bool {
        grant.subject == Subject::User(user)
    }

    pub(super) fn addressed_to_group_of(&self, grant: &Grant, user: UserId) -> bool {
        self.groups
            .iter()
            .any(|group| grant.subject == Subject::Group(group.id) && group.members.contains(&user))
    }

    pub(super) fn is_live(&self, grant: &Grant, now: Timestamp) -> bool {
        let begun = match grant.not_before {
            None => true,
            Some(_) if self.breaks(Mutation::IgnoreNotBefore) => true,
            Some(begin) if self.breaks(Mutation::NotYetAtBeginning) => begin < now,
            Some(begin) => begin <= now,
        };
        let lasting = match grant.expires_at {
            None => true,
            Some(_) if self.breaks(Mutation::IgnoreExpiry) => true,
            Some(end) if self.breaks(Mutation::AllowAtExpiry) => now <= end,
            Some(end) => now < end,
        };
        begun && lasting
    }

    fn gives(&self, grant: &Grant, key: &PermissionKey) -> bool {
        match &grant.content {
            Content::Keys(keys) => keys.contains(key),
            Content::Role(id) => self
                .roles
                .iter()
                .filter(|role| role.id == *id)
                .any(|role| role.permissions.iter().any(|pattern| self.matches(pattern, key))),
        }
    }

    pub(super) fn matches(&self, pattern: &Pattern, key: &PermissionKey) -> bool {
        if self.breaks(Mutation::WildcardByBytes) && pattern.as_str().ends_with(".*") {
            return key.as_str().starts_with(pattern.as_str().trim_end_matches(".*"));
        }
        includes(pattern.as_str(), key.as_str())
    }

    pub(super) fn reaches(&self, grant: &Grant, distance: usize, is_folder: bool) -> bool {
        if grant.scope == Scope::Global || self.breaks(Mutation::IgnoreReach) {
            return true;
        }
        let fits = match grant.child_types {
            _ if self.breaks(Mutation::IgnoreChildType) => true,
            ChildTypes::All => true,
            ChildTypes::Containers => is_folder,
            ChildTypes::Objects => !is_folder,
        };
        let asked_here = !self.breaks(Mutation::ChildTypeAskedAtFolder) || fits;
        let deeper = self.breaks(Mutation::DirectChildrenReachDeeper);
        match grant.affects {
            Affects::All => (distance == 0 && asked_here) || (distance > 0 && fits),
            Affects::SelfOnly => distance == 0,
            Affects::ChildrenOnly => distance > 0 && fits,
            Affects::SelfAndDirectChildren => {
                (distance == 0 && asked_here) || ((distance == 1 || deeper && distance > 1) && fits)
            }
            Affects::DirectChildrenOnly => (distance == 1 || deeper && distance > 1) && fits,
        }
    }
}

/// Whether a pattern is the other text, or a wildcard above it.
pub(super) fn includes(pattern: &str, other: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let other: Vec<&str> = other.split('.').collect();
    match pattern.as_slice() {
        ["*"] => true,
        [namespace, "*"] => other.len() > 1 && other[0] == *namespace,
        [namespace, resource, "*"] => other.len() > 2 && other[0] == *namespace && other[1] == *resource,
        _ => pattern == other,
    }
}
