//! Which class and activity of the schema an event is of, and what it is about.
//!
//! A deny is no privilege taken away, and lifting one none given: both are activity 99, and say so by name.

use super::{
    OTHER,
    things::{entity, group, new_user, object, privileges, privileges_of, resource, role, user},
};
use charter_events::{
    Actor, Effect, Event, GrantId, GrantIssued, LogId, PermissionKey, Scope, Subject, UserId,
};
use charter_policy::Policy;
use serde_json::{Value, json};

/// A class of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    AccountChange,
    EntityManagement,
    UserAccess,
    GroupManagement,
}

impl Class {
    /// Its number and name.
    pub(super) const fn of_schema(self) -> (u32, &'static str) {
        match self {
            Self::AccountChange => (3001, "Account Change"),
            Self::EntityManagement => (3004, "Entity Management"),
            Self::UserAccess => (3005, "User Access Management"),
            Self::GroupManagement => (3006, "Group Management"),
        }
    }
}

/// What is done, by its number in the class and its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    pub(super) id: u32,
    pub(super) name: &'static str,
}

const fn activity(id: u32, name: &'static str) -> Activity {
    Activity { id, name }
}

const CREATE: Activity = activity(1, "Create");
const UPDATE: Activity = activity(3, "Update");
const DELETE: Activity = activity(4, "Delete");
const MOVE: Activity = activity(5, "Move");
const ASSIGN: Activity = activity(1, "Assign Privileges");
const REVOKE: Activity = activity(2, "Revoke Privileges");
const DENY: Activity = activity(OTHER, "Deny Privileges");
const LIFT: Activity = activity(OTHER, "Lift Denial");

/// An event of the schema, but for its envelope.
pub(super) struct Classed {
    pub(super) class: Class,
    pub(super) activity: Activity,
    pub(super) about: Vec<(&'static str, Value)>,
}

fn account(activity: Activity, user: Value) -> Classed {
    Classed { class: Class::AccountChange, activity, about: vec![("user", user)] }
}

fn managed(activity: Activity, entity: Value) -> Classed {
    Classed { class: Class::EntityManagement, activity, about: vec![("entity", entity)] }
}

fn of_group(activity: Activity, group: Value) -> Classed {
    Classed { class: Class::GroupManagement, activity, about: vec![("group", group)] }
}

/// The class of an event, given the state before it.
pub(super) fn of(before: &Policy, log_id: LogId, actor: &Actor, event: &Event) -> Classed {
    match event {
        Event::InstallationCreated(e) => {
            managed(CREATE, entity("installation", log_id, Some(e.name.as_str())))
        }
        Event::PermissionsRegistered(e) => catalog(&e.namespace),
        Event::PermissionsDeprecated(e) => catalog(&e.namespace),
        Event::PermissionsRemoved(e) => catalog(&e.namespace),
        Event::ObjectTypesRegistered(e) => catalog(&e.namespace),
        Event::ObjectTypesRemoved(e) => catalog(&e.namespace),
        Event::RoleCreated(e) => managed(CREATE, entity("role", e.role, Some(e.slug.as_str()))),
        Event::RoleRenamed(e) => managed(UPDATE, role(before, e.role)),
        Event::RolePermissionsChanged(e) => managed(UPDATE, role(before, e.role)),
        Event::RoleDeleted(e) => managed(DELETE, role(before, e.role)),
        Event::GroupCreated(_)
        | Event::GroupRenamed(_)
        | Event::GroupExternalIdChanged(_)
        | Event::GroupMemberAdded(_)
        | Event::GroupMemberRemoved(_)
        | Event::GroupDeleted(_) => groups(before, event),
        Event::GrantIssued(e) => issued(before, e),
        Event::GrantRevoked(e) => ended(before, e.grant, None),
        Event::GrantEnded(e) => ended(before, e.grant, None),
        Event::GrantExpired(e) => ended(before, e.grant, None),
        Event::GrantKeysRemoved(e) => ended(before, e.grant, Some(&e.keys)),
        Event::ObjectCreated(e) => {
            managed(CREATE, entity(e.object_type.as_str(), e.object, Some(e.name.as_str())))
        }
        Event::ObjectRenamed(e) => managed(UPDATE, object(before, e.object)),
        Event::ObjectMoved(e) => managed(MOVE, object(before, e.object)),
        Event::ObjectTransferred(e) => managed(UPDATE, object(before, e.object)),
        Event::ObjectInheritanceChanged(e) => managed(UPDATE, object(before, e.object)),
        Event::ObjectDeleted(e) => managed(DELETE, object(before, e.object)),
        Event::UserInvited(_)
        | Event::UserRegistered(_)
        | Event::UserProfileChanged(_)
        | Event::UserSuspended(_)
        | Event::UserReactivated(_)
        | Event::UserDeletionScheduled(_)
        | Event::UserDeletionCancelled(_)
        | Event::UserErased(_) => accounts(before, event),
        Event::CredentialPasswordChanged(_)
        | Event::CredentialTokenIssued(_)
        | Event::CredentialTokenRevoked(_)
        | Event::CredentialSessionEnded(_)
        | Event::CredentialSessionsEnded(_) => credentials(before, actor, event),
        Event::ProjectionRebuilt(e) => managed(UPDATE, entity("projection", &e.projection, None)),
        Event::ProjectionSkipped(e) => managed(UPDATE, entity("projection", &e.projection, None)),
        Event::BackupTaken(e) => managed(CREATE, entity("backup", e.digest, None)),
        Event::BackupRestored(e) => managed(UPDATE, entity("installation", e.digest, None)),
    }
}

fn catalog(namespace: &charter_events::Namespace) -> Classed {
    managed(UPDATE, entity("permission catalog", namespace, Some(namespace.as_str())))
}

fn groups(before: &Policy, event: &Event) -> Classed {
    let member = |activity, id, who: UserId| {
        let mut classed = of_group(activity, group(before, id));
        classed.about.push(("user", user(before, who)));
        classed
    };
    match event {
        Event::GroupCreated(e) => of_group(activity(6, "Create"), json!({"uid": e.group, "name": e.slug})),
        Event::GroupDeleted(e) => of_group(activity(5, "Delete"), group(before, e.group)),
        Event::GroupMemberAdded(e) => member(activity(3, "Add User"), e.group, e.user),
        Event::GroupMemberRemoved(e) => member(activity(4, "Remove User"), e.group, e.user),
        Event::GroupRenamed(e) => of_group(activity(OTHER, "Rename"), group(before, e.group)),
        Event::GroupExternalIdChanged(e) => {
            of_group(activity(OTHER, "Change external id"), group(before, e.group))
        }
        _ => other(event),
    }
}

fn accounts(before: &Policy, event: &Event) -> Classed {
    let known = |id| user(before, id);
    let (enable, disable) = (activity(2, "Enable"), activity(5, "Disable"));
    match event {
        Event::UserInvited(e) => account(CREATE, new_user(e.user, e.kind)),
        Event::UserRegistered(e) if before.user(e.user).is_some() => {
            account(enable, new_user(e.user, e.kind))
        }
        Event::UserRegistered(e) => account(CREATE, new_user(e.user, e.kind)),
        Event::UserProfileChanged(e) => account(activity(OTHER, "Update"), new_user(e.user, e.kind)),
        Event::UserSuspended(e) => account(disable, known(e.user)),
        Event::UserReactivated(e) => account(enable, known(e.user)),
        Event::UserDeletionScheduled(e) => account(disable, known(e.user)),
        Event::UserDeletionCancelled(e) => account(activity(OTHER, "Restore"), known(e.user)),
        Event::UserErased(e) => account(activity(6, "Delete"), known(e.user)),
        _ => other(event),
    }
}

fn credentials(before: &Policy, actor: &Actor, event: &Event) -> Classed {
    match event {
        Event::CredentialPasswordChanged(e) => {
            let known = user(before, e.user);
            let by_himself = matches!(actor, Actor::User(id) if *id == e.user);
            match (e.has_password, by_himself) {
                (false, _) => account(activity(OTHER, "Password Remove"), known),
                (true, true) => account(activity(3, "Password Change"), known),
                (true, false) => account(activity(4, "Password Reset"), known),
            }
        }
        Event::CredentialTokenIssued(e) => {
            owned(CREATE, entity("API token", e.token, Some(e.name.as_str())), user(before, e.user))
        }
        Event::CredentialTokenRevoked(e) => match before.token(e.token) {
            Some(token) => {
                let named = entity("API token", e.token, Some(token.name.as_str()));
                owned(DELETE, named, user(before, token.user))
            }
            None => managed(DELETE, entity("API token", e.token, None)),
        },
        Event::CredentialSessionEnded(e) => {
            owned(DELETE, entity("session", e.session, None), user(before, e.user))
        }
        Event::CredentialSessionsEnded(e) => account(activity(OTHER, "Sessions End"), user(before, e.user)),
        _ => other(event),
    }
}

/// Something of a user's.
fn owned(activity: Activity, mut entity: Value, user: Value) -> Classed {
    if let Some(members) = entity.as_object_mut() {
        members.insert("user".to_owned(), user);
    }
    managed(activity, entity)
}

fn issued(before: &Policy, e: &GrantIssued) -> Classed {
    let activity = if e.effect == Effect::Allow { ASSIGN } else { DENY };
    access(before, activity, e.subject, e.scope, privileges(before, &e.content))
}

/// A grant that ends, or loses some keys.
fn ended(before: &Policy, id: GrantId, keys: Option<&[PermissionKey]>) -> Classed {
    let Some(grant) = before.grant(id) else { return managed(DELETE, entity("grant", id, None)) };
    let activity = if grant.effect == Effect::Allow { REVOKE } else { LIFT };
    let lost = match keys {
        Some(keys) => keys.iter().map(ToString::to_string).collect(),
        None => privileges_of(before, id),
    };
    access(before, activity, grant.subject, grant.scope, lost)
}

fn access(before: &Policy, activity: Activity, subject: Subject, scope: Scope, what: Vec<String>) -> Classed {
    let mut classed = match subject {
        Subject::User(id) => {
            Classed { class: Class::UserAccess, activity, about: vec![("user", user(before, id))] }
        }
        Subject::Group(id) => of_group(activity, group(before, id)),
    };
    let is_user = matches!(subject, Subject::User(_));
    classed.about.push(("privileges", what.into()));
    if let Some(on) = resource(before, scope) {
        // The one class takes a list of resources, the other one resource.
        classed.about.push(if is_user { ("resources", json!([on])) } else { ("resource", on) });
    }
    classed
}

/// Never reached: each area is handed its own events. A wrong hand-over is still an event that is told of.
fn other(event: &Event) -> Classed {
    managed(activity(OTHER, "Other"), entity("event", event.type_name(), None))
}
