//! What is shown of the policy: views turned into the shapes of the API. What a caller may see is asked here, next to
//! the read.

mod answers;
mod audit;
mod changes;
mod foretold;
mod lists;
mod questions;
pub(crate) mod search;
mod sharing;

pub(crate) use answers::{decision, effective_row, holder, state, summary};
pub(crate) use audit::entries as audit_entries;
pub(crate) use changes::BothSides;
pub(crate) use foretold::SeenEvents;
pub(crate) use lists::{GrantFilter, allowed_objects, grants as list_grants, objects, objects_in};
pub(crate) use questions::{
    about, ask_at, ask_one, effective, in_catalog, object as asked_object, without_token,
};
pub(crate) use sharing::sharing;

use crate::{ask::Ask, dto};
use charter_events::{Effect, GrantId, ObjectType, Profile, Scope, Subject, UserId, names::ANY_TYPE};
use charter_policy::{
    AccessControl, ContentView, EffectiveState, GrantView, GroupView, ObjectView, PermissionView, RoleView,
    UserStatus, UserView,
};
use std::collections::HashMap;

/// The names of the users of one answer.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<UserId, Profile>);

impl Names {
    pub(crate) async fn of(ask: &Ask, users: impl IntoIterator<Item = UserId>) -> Self {
        let mut ids: Vec<UserId> = users.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ask.app.control.profiles(&ids).await)
    }

    pub(crate) fn profile(&self, user: UserId) -> Option<&Profile> {
        self.0.get(&user)
    }

    pub(crate) fn user(&self, id: UserId) -> dto::UserRef {
        let profile = self.profile(id);
        dto::UserRef {
            id,
            username: profile.map(|p| p.username.to_string()),
            display_name: profile.and_then(|p| p.display_name.as_ref()).map(ToString::to_string),
        }
    }
}

/// A user whom the caller changed: who may not read users is told no more than which account it is.
pub(crate) async fn user_ref(ask: &Ask, user: UserId) -> dto::UserRef {
    if ask.may_core_now("core.user.read") {
        return Names::of(ask, [user]).await.user(user);
    }
    Names::default().user(user)
}

/// What whoever may change a user, but not read users, is shown of him.
pub(crate) fn user_in_brief(view: &UserView<'_>) -> dto::User {
    dto::User {
        id: view.id,
        kind: view.kind,
        status: match view.status {
            UserStatus::Active => dto::UserStatus::Active,
            UserStatus::Invited => dto::UserStatus::Invited,
            UserStatus::Suspended => dto::UserStatus::Suspended,
            UserStatus::AwaitingDeletion => dto::UserStatus::AwaitingDeletion,
            UserStatus::Erased => dto::UserStatus::Erased,
        },
        username: None,
        display_name: None,
        email: None,
        login_name: None,
        external_id: None,
        identity: None,
        has_password: None,
        administrator: None,
        created_at: None,
        erase_at: None,
        groups: None,
        changed_at: view.changed_at,
    }
}

pub(crate) fn user(ask: &Ask, view: &UserView<'_>, names: &Names) -> dto::User {
    let profile = names.profile(view.id);
    dto::User {
        username: profile.map(|p| p.username.to_string()),
        display_name: profile.and_then(|p| p.display_name.as_ref()).map(ToString::to_string),
        email: profile.and_then(|p| p.email.clone()),
        login_name: profile.and_then(|p| p.login_name.clone()),
        external_id: profile.and_then(|p| p.external_id.as_ref()).map(ToString::to_string),
        identity: profile.and_then(|p| p.identity.clone()).map(Into::into),
        has_password: Some(view.has_password),
        administrator: Some(ask.policy.is_administrator(view.id, ask.now)),
        created_at: Some(view.created_at),
        erase_at: view.erase_at,
        ..user_in_brief(view)
    }
}

pub(crate) fn group(view: &GroupView<'_>) -> dto::Group {
    dto::Group {
        id: view.id,
        slug: view.slug.to_string(),
        name: view.name.to_string(),
        external_id: view.external_id.map(ToString::to_string),
        members: view.member_count as u64,
        changed_at: view.changed_at,
    }
}

pub(crate) fn group_ref(view: &GroupView<'_>) -> dto::GroupRef {
    dto::GroupRef { id: view.id, slug: view.slug.to_string(), name: view.name.to_string() }
}

pub(crate) fn role(view: &RoleView<'_>) -> dto::Role {
    dto::Role {
        id: view.id,
        slug: view.slug.to_string(),
        name: view.name.to_string(),
        scope: view.scope,
        permissions: view.permissions.to_vec(),
        seeded: view.seeded,
        protected: view.seeded.is_some_and(charter_events::SeededRole::is_protected),
        changed_at: view.changed_at,
    }
}

pub(crate) fn permission(view: &PermissionView<'_>) -> dto::Permission {
    dto::Permission {
        key: view.key.clone(),
        description: view.description.to_string(),
        object_types: view.object_types.to_vec(),
        deprecated: view.deprecated,
    }
}

/// Whether a key can be granted on objects of a type: it lists it, or any; on a folder, whatever it lists.
pub(crate) fn applies(view: &PermissionView<'_>, object_type: &ObjectType) -> bool {
    let lists = |name: &str| view.object_types.iter().any(|t| t.as_str() == name);
    lists(object_type.as_str())
        || lists(ANY_TYPE)
        || (object_type.is_folder() && !view.object_types.is_empty())
}

pub(crate) fn object_ref(view: &ObjectView<'_>) -> dto::ObjectRef {
    dto::ObjectRef {
        id: view.id,
        object_type: view.object_type.clone(),
        external_id: external_id(view),
        name: view.name.to_string(),
    }
}

pub(crate) fn external_id(view: &ObjectView<'_>) -> String {
    view.external_id.map_or_else(|| view.id.to_string(), ToString::to_string)
}

/// An object as its lists and its own answer show it, with what the caller may do on it.
pub(crate) fn object(ask: &Ask, view: &ObjectView<'_>, names: &Names) -> dto::ObjectRow {
    let parent = view.parent.and_then(|id| ask.policy.object(id)).filter(|parent| ask.knows(parent));
    let allowed = ask.policy.at(ask.now).effective(&ask.caller, Scope::Object(view.id)).unwrap_or_default();
    let fits = |key: &str| ask.policy.permission(key).is_some_and(|p| applies(&p, view.object_type));
    dto::ObjectRow {
        id: view.id,
        object_type: view.object_type.clone(),
        external_id: external_id(view),
        name: view.name.to_string(),
        parent: parent.as_ref().map(object_ref),
        owner: view.owner.map(|owner| names.user(owner)),
        inherits: view.inherits,
        permissions: allowed
            .iter()
            .filter(|entry| entry.state == EffectiveState::Allowed && fits(entry.key.as_str()))
            .map(|entry| entry.key.to_string())
            .collect(),
        changed_at: view.changed_at,
    }
}

/// A scope; an object the caller may not know stays unnamed.
pub(crate) fn scope(ask: &Ask, scope: Scope) -> dto::ScopeRef {
    place(ask, scope, false)
}

/// A scope that a grant the caller may see stands at.
fn place(ask: &Ask, scope: Scope, known: bool) -> dto::ScopeRef {
    match scope {
        Scope::Global => dto::ScopeRef::Global,
        Scope::Object(id) => match ask.policy.object(id).filter(|object| known || ask.knows(object)) {
            Some(object) => dto::ScopeRef::Object { object: object_ref(&object) },
            None => dto::ScopeRef::Hidden,
        },
    }
}

pub(crate) fn subject(ask: &Ask, subject: Subject, names: &Names) -> dto::SubjectRef {
    match subject {
        Subject::User(id) => dto::SubjectRef { user: Some(names.user(id)), group: None },
        Subject::Group(id) => {
            dto::SubjectRef { user: None, group: ask.policy.group(id).as_ref().map(group_ref) }
        }
    }
}

pub(crate) fn grant(ask: &Ask, view: &GrantView<'_>, names: &Names) -> dto::Grant {
    let (role, permissions) = match &view.content {
        ContentView::Role(id) => {
            let role = ask.policy.role(*id);
            (
                role.map(|r| dto::RoleRef { id: r.id, slug: r.slug.to_string(), name: r.name.to_string() }),
                None,
            )
        }
        ContentView::Keys(keys) => (None, Some(keys.iter().map(|key| (*key).clone()).collect())),
    };
    dto::Grant {
        id: view.id,
        subject: subject(ask, view.subject, names),
        role,
        permissions,
        scope: place(ask, view.scope, ask.may_core("core.grant.read", view.scope)),
        effect: view.effect,
        not_before: view.not_before,
        expires_at: view.expires_at,
        affects: view.reach.affects,
        child_types: view.reach.child_types,
        live: view.is_live(ask.now),
        owner_grant: view.is_owner_grant,
        issued_at: view.issued_at,
        issued_by: view.issued_by.clone(),
        changed_at: view.changed_at,
    }
}

/// Several grants, with the names they need.
pub(crate) async fn grants(ask: &Ask, views: &[GrantView<'_>]) -> Vec<dto::Grant> {
    let names = Names::of(ask, views.iter().filter_map(|view| as_user(view.subject))).await;
    views.iter().map(|view| grant(ask, view, &names)).collect()
}

pub(crate) const fn as_user(subject: Subject) -> Option<UserId> {
    match subject {
        Subject::User(id) => Some(id),
        Subject::Group(_) => None,
    }
}

/// Whether the caller may see a grant: he may see grants at its scope, or it is his own.
pub(crate) fn sees_grant(ask: &Ask, view: &GrantView<'_>) -> bool {
    sees_grant_at(ask, view, |scope| ask.may_core("core.grant.read", scope))
}

/// The same, where it is said how to find out whether he may see the grants at a scope.
fn sees_grant_at(ask: &Ask, view: &GrantView<'_>, may_at: impl FnOnce(Scope) -> bool) -> bool {
    view.subject == Subject::User(ask.user) || may_at(view.scope)
}

/// The grant with an id in a path.
pub(crate) fn grant_id(text: &str) -> Option<GrantId> {
    (text.len() == 36).then(|| text.parse().ok()).flatten()
}

pub(crate) const fn denies(effect: Effect) -> bool {
    matches!(effect, Effect::Deny)
}
