//! Who is an administrator: an active user with a live global grant, own or through a group, of a role with `*`.

use crate::{
    Policy,
    entries::Entry,
    ix::{GrantIx, UserIx, What, Who},
    state::grants::{End, Grant},
    walk::{Asker, subjects},
};
use charter_events::{Timestamp, UserId, UserKind};
use std::collections::BTreeSet;

impl Policy {
    /// Whether a user is an administrator at a moment.
    pub fn is_administrator(&self, user: UserId, now: Timestamp) -> bool {
        self.asker(user).is_some_and(|asker| self.has_grant_of_everything(asker, |grant| grant.is_live(now)))
    }

    /// Whether a user has, or will have, an administrator's grant, own or through a group, whatever the state of his
    /// account.
    pub fn is_or_will_be_administrator(&self, user: UserId, now: Timestamp) -> bool {
        self.asker_or_not(user)
            .is_some_and(|asker| self.has_grant_of_everything(asker, |grant| grant.expires_at.is_after(now)))
    }

    /// Whether a user is an administrator by a grant without end: he holds everything, and nothing more is asked.
    pub fn holds_everything(&self, user: UserId, now: Timestamp) -> bool {
        self.asker(user).is_some_and(|asker| self.has_grant_of_everything(asker, |grant| lasts(grant, now)))
    }

    /// All administrators at a moment, in order of creation.
    pub fn administrators(&self, now: Timestamp) -> Vec<UserId> {
        let users = self.holders_of_everything(|grant| grant.is_live(now)).into_iter();
        users.filter(|user| self.asker_ix(*user).is_some()).map(|user| self.user_id(user)).collect()
    }

    /// The administrators of whom at least one must remain: persons with a way to sign in whose account works and whose
    /// grant has begun and has no end.
    pub fn lasting_administrators(&self, now: Timestamp) -> Vec<UserId> {
        let users = self.holders_of_everything(|grant| lasts(grant, now)).into_iter();
        let can_sign_in = |user: &UserIx| {
            self.users.get(*user).is_some_and(|facts| {
                let has_identity = facts.profile.as_ref().is_some_and(|profile| profile.identity.is_some());
                facts.kind == UserKind::Person && (facts.has_password || has_identity)
            })
        };
        users
            .filter(|user| self.asker_ix(*user).is_some())
            .filter(can_sign_in)
            .map(|user| self.user_id(user))
            .collect()
    }

    fn has_grant_of_everything(&self, asker: Asker<'_>, counts: impl Fn(&Grant) -> bool) -> bool {
        let mut entries = subjects(asker).flat_map(|subject| self.administrators.addressed_to(subject));
        entries.any(|entry| self.gives_everything(entry) && self.grant_ix(entry.grant).is_some_and(&counts))
    }

    fn holders_of_everything(&self, counts: impl Fn(&Grant) -> bool) -> BTreeSet<UserIx> {
        let mut users = BTreeSet::new();
        for entry in self.administrators.iter() {
            if !self.gives_everything(entry) || !self.grant_ix(entry.grant).is_some_and(&counts) {
                continue;
            }
            match entry.subject.who() {
                Who::User(user) => {
                    users.insert(user);
                }
                Who::Group(group) => {
                    users.extend(self.groups.members(group).into_iter().flat_map(|members| members.iter()));
                }
            }
        }
        users
    }

    fn gives_everything(&self, entry: Entry) -> bool {
        let What::Role(role) = entry.content.what() else { return false };
        self.roles.get(role).is_some_and(|facts| facts.holds_everything())
    }

    fn grant_ix(&self, ix: GrantIx) -> Option<&Grant> {
        self.grants.get(ix)
    }
}

fn lasts(grant: &Grant, now: Timestamp) -> bool {
    grant.is_live(now) && grant.expires_at == End::NEVER
}
