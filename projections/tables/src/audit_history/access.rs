//! Entries of catalog, roles and grants.

use super::entry::Entry;
use crate::{
    grants::{Gives, Terms},
    projection::Poison,
    words::{self, missing},
};
use charter_events::{
    Affects, ChildTypes, EndedBy, GrantId, GrantIssued, GrantKeysRemoved, Pattern, PermissionKey,
    PermissionsRegistered, RoleCreated, RoleId, RolePermissionsChanged, RoleRenamed, Subject,
};

impl Entry<'_> {
    pub(super) fn permissions_registered(self, e: &PermissionsRegistered) -> Self {
        let before = self.before;
        let known = |key: &&str| before.permission(key).is_some();
        let keys = e.permissions.iter().map(|definition| definition.key.as_str());
        let (changed, added): (Vec<_>, Vec<_>) = keys.partition(known);
        let entry = self.namespace(&e.namespace).maybe_is("revision", e.revision);
        let entry = if added.is_empty() { entry } else { entry.listed_now("added", added) };
        if changed.is_empty() { entry } else { entry.listed_now("changed", changed) }
    }

    pub(super) fn role_created(self, e: &RoleCreated) -> Self {
        self.role_called(e.role, e.slug.as_str(), e.name.as_str())
            .is("slug", e.slug.as_str())
            .is("name", e.name.as_str())
            .is("scope", words::role_scope(e.scope))
            .maybe_is("seeded", e.seeded.map(words::seeded))
            .listed_now("permissions", e.permissions.iter().map(Pattern::as_str))
    }

    pub(super) fn role_renamed(self, e: &RoleRenamed) -> Result<Self, Poison> {
        let view = self.before.role(e.role).ok_or_else(|| missing("role", e.role))?;
        let name = e.name.as_str();
        Ok(self.role(e.role).was("name", view.name.as_str()).is("name", name).word(name))
    }

    pub(super) fn role_permissions_changed(self, e: &RolePermissionsChanged) -> Result<Self, Poison> {
        self.before.role(e.role).ok_or_else(|| missing("role", e.role))?;
        let mut entry = self.role(e.role);
        if !e.removed.is_empty() {
            entry = entry.listed_before("removed", e.removed.iter().map(Pattern::as_str));
        }
        if !e.added.is_empty() {
            entry = entry.listed_now("added", e.added.iter().map(Pattern::as_str));
        }
        Ok(entry)
    }

    pub(super) fn role_deleted(self, id: RoleId) -> Result<Self, Poison> {
        let view = self.before.role(id).ok_or_else(|| missing("role", id))?;
        Ok(self
            .role(id)
            .was("slug", view.slug.as_str())
            .was("name", view.name.as_str())
            .was("scope", words::role_scope(view.scope))
            .listed_before("permissions", view.permissions.iter().map(Pattern::as_str)))
    }

    pub(super) fn grant_issued(self, e: &GrantIssued) -> Self {
        let terms = Terms::issued(e);
        let mut entry = self.about_grant(&terms).is("effect", words::effect(terms.effect));
        if let Gives::Keys(keys) = &terms.gives {
            entry = entry.listed_now("permissions", keys.iter().map(PermissionKey::as_str));
        }
        rest(&terms).into_iter().fold(entry, |entry, (what, text)| entry.is(what, text))
    }

    pub(super) fn grant_gone(self, id: GrantId) -> Result<Self, Poison> {
        let terms = Terms::standing(self.before, id)?;
        let mut entry = self.about_grant(&terms).was("effect", words::effect(terms.effect));
        if let Gives::Keys(keys) = &terms.gives {
            entry = entry.listed_before("permissions", keys.iter().map(PermissionKey::as_str));
        }
        Ok(rest(&terms).into_iter().fold(entry, |entry, (what, text)| entry.was(what, text)))
    }

    pub(super) fn grant_keys_removed(self, e: &GrantKeysRemoved) -> Result<Self, Poison> {
        let terms = Terms::standing(self.before, e.grant)?;
        Ok(self.about_grant(&terms).listed_before("removed", e.keys.iter().map(PermissionKey::as_str)))
    }

    pub(super) fn ended_by(self, by: &EndedBy) -> Self {
        let (what, which) = match by {
            EndedBy::Role(id) => ("role", id.to_string()),
            EndedBy::Group(id) => ("group", id.to_string()),
            EndedBy::Object(id) => ("object", id.to_string()),
            EndedBy::User(id) => ("user", id.to_string()),
            EndedBy::Transfer(id) => ("transfer", id.to_string()),
            EndedBy::Namespace(name) => ("namespace", name.to_string()),
        };
        self.is("ended_by", serde_json::json!({ "kind": what, "id": which }))
    }

    fn about_grant(self, terms: &Terms) -> Self {
        let entry = self.grant(terms.id).at(terms.scope);
        let entry = match terms.subject {
            Subject::User(user) => entry.user(user),
            Subject::Group(group) => entry.group(group),
        };
        match terms.gives {
            Gives::Role(role) => entry.role(role),
            Gives::Keys(_) => entry,
        }
    }
}

/// When a grant counts and how far it reaches, where it says so.
fn rest(terms: &Terms) -> Vec<(&'static str, String)> {
    let mut rest = Vec::new();
    rest.extend(terms.not_before.map(|moment| ("not_before", moment.to_string())));
    rest.extend(terms.expires_at.map(|moment| ("expires_at", moment.to_string())));
    if terms.reach.affects != Affects::All {
        rest.push(("affects", words::affects(terms.reach.affects).to_owned()));
    }
    if terms.reach.child_types != ChildTypes::All {
        rest.push(("child_types", words::child_types(terms.reach.child_types).to_owned()));
    }
    rest
}
