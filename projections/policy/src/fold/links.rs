//! Keeps every index a grant stands in together: its scope's entries, its subject's and role's lists, begins and ends,
//! and the administrators' entries. The fold and the snapshot both link through here.

use crate::{
    Policy,
    ix::{GrantIx, ObjectIx, RoleIx, What, Who},
    state::grants::{End, Grant},
};
use charter_events::Timestamp;

impl Policy {
    /// Puts a standing grant into every index.
    pub(crate) fn link(&mut self, ix: GrantIx, grant: &Grant) {
        if let Some(object) = grant.scope.some()
            && let Some(node) = self.objects.nodes.get_mut(object.at())
        {
            node.entries.insert(grant.entry(ix));
        }
        match grant.subject.who() {
            Who::User(user) => {
                self.users.grants.get_mut(user.at()).map(|grants| grants.insert(grant.given(ix)))
            }
            Who::Group(group) => {
                self.groups.grants.get_mut(group.at()).map(|grants| grants.insert(grant.given(ix)))
            }
        };
        if let What::Role(role) = grant.content.what()
            && let Some(grants) = self.roles.grants.get_mut(role.at())
        {
            grants.insert(ix);
        }
        self.link_beside(ix, grant);
    }

    /// Puts a standing grant into the indexes that are not a list of one object, subject or role.
    pub(crate) fn link_beside(&mut self, ix: GrantIx, grant: &Grant) {
        if grant.scope == ObjectIx::NONE {
            self.global.insert(grant.entry(ix));
            if self.is_administrators(grant) {
                self.administrators.insert(grant.entry(ix));
            }
        }
        if grant.terms.is_timed() {
            self.grants.timed.insert((grant.subject, ix));
        }
        if grant.expires_at != End::NEVER {
            self.grants.ending.insert((grant.expires_at, ix));
        }
    }

    /// Takes a grant out of every index.
    pub(crate) fn unlink(&mut self, ix: GrantIx, grant: &Grant) {
        let entry = grant.entry(ix);
        match grant.scope.some() {
            Some(object) => {
                if let Some(node) = self.objects.nodes.get_mut(object.at()) {
                    node.entries.remove(&entry);
                }
            }
            None => {
                self.global.remove(&entry);
                self.administrators.remove(&entry);
            }
        }
        match grant.subject.who() {
            Who::User(user) => {
                self.users.grants.get_mut(user.at()).map(|grants| grants.remove(&grant.given(ix)))
            }
            Who::Group(group) => {
                self.groups.grants.get_mut(group.at()).map(|grants| grants.remove(&grant.given(ix)))
            }
        };
        if let What::Role(role) = grant.content.what()
            && let Some(grants) = self.roles.grants.get_mut(role.at())
        {
            grants.remove(&ix);
        }
        if grant.terms.is_timed() {
            self.grants.timed.remove(&(grant.subject, ix));
        }
        if grant.expires_at != End::NEVER {
            self.grants.ending.remove(&(grant.expires_at, ix));
        }
    }

    /// A role gained its first wildcard or lost its last: its global grants begin, or cease, to be administrators'.
    pub(crate) fn wildcard_came_or_went(&mut self, role: RoleIx, has_wildcard: bool) {
        let Some(grants) = self.roles.grants(role).cloned() else { return };
        for ix in grants.iter() {
            let Some(grant) = self.grants.get(ix).filter(|grant| grant.scope == ObjectIx::NONE) else {
                continue;
            };
            let entry = grant.entry(ix);
            if has_wildcard {
                self.administrators.insert(entry);
            } else {
                self.administrators.remove(&entry);
            }
        }
    }

    fn is_administrators(&self, grant: &Grant) -> bool {
        let What::Role(role) = grant.content.what() else { return false };
        !grant.terms.is_deny() && self.roles.get(role).is_some_and(|facts| facts.has_wildcard())
    }

    /// The begin of a grant, when it has one.
    pub(crate) fn begin(grant: &Grant) -> Option<Timestamp> {
        (grant.not_before > Timestamp::MIN).then_some(grant.not_before)
    }
}
