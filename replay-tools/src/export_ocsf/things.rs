//! What events are about, as objects of the schema.

use charter_events::{
    Content, GrantId, GroupId, ObjectId, Pattern, PermissionKey, RoleId, Scope, UserId, UserKind,
};
use charter_policy::{ContentView, Policy};
use serde_json::{Value, json};

/// A user, by his id alone.
pub(super) fn user(policy: &Policy, id: UserId) -> Value {
    let (type_id, type_name) = match policy.user(id).map(|user| user.kind) {
        Some(UserKind::Person) => (1, "User"),
        Some(UserKind::Service) => (4, "Service"),
        None => (0, "Unknown"),
    };
    json!({"uid": id, "type_id": type_id, "type": type_name})
}

/// A user who is made with this event.
pub(super) fn new_user(id: UserId, kind: UserKind) -> Value {
    match kind {
        UserKind::Person => json!({"uid": id, "type_id": 1, "type": "User"}),
        UserKind::Service => json!({"uid": id, "type_id": 4, "type": "Service"}),
    }
}

/// A group that stands.
pub(super) fn group(policy: &Policy, id: GroupId) -> Value {
    match policy.group(id) {
        Some(view) => json!({"uid": id, "name": view.slug}),
        None => json!({"uid": id}),
    }
}

/// A thing that is managed: a role, an object, a catalog.
pub(super) fn entity(kind: &str, uid: impl ToString, name: Option<&str>) -> Value {
    let mut entity = json!({"type": kind, "uid": uid.to_string()});
    if let (Some(name), Some(members)) = (name, entity.as_object_mut()) {
        members.insert("name".to_owned(), name.into());
    }
    entity
}

pub(super) fn role(policy: &Policy, id: RoleId) -> Value {
    entity("role", id, policy.role(id).map(|role| role.slug.as_str()))
}

pub(super) fn object(policy: &Policy, id: ObjectId) -> Value {
    match policy.object(id) {
        Some(view) => entity(view.object_type.as_str(), id, Some(view.name.as_str())),
        None => entity("object", id, None),
    }
}

/// The resource a grant is on; none when it is platform-wide.
pub(super) fn resource(policy: &Policy, scope: Scope) -> Option<Value> {
    let Scope::Object(id) = scope else { return None };
    Some(match policy.object(id) {
        Some(view) => json!({"uid": id, "name": view.name, "type": view.object_type}),
        None => json!({"uid": id}),
    })
}

/// What a grant gives, as texts: a role's name and what it holds, or keys.
pub(super) fn privileges(policy: &Policy, content: &Content) -> Vec<String> {
    match content {
        Content::Role(id) => of_role(policy, *id),
        Content::Keys(keys) => keys.iter().map(ToString::to_string).collect(),
    }
}

/// The same of a grant that stands.
pub(super) fn privileges_of(policy: &Policy, grant: GrantId) -> Vec<String> {
    match policy.grant(grant).map(|grant| grant.content) {
        Some(ContentView::Role(id)) => of_role(policy, id),
        Some(ContentView::Keys(keys)) => keys.into_iter().map(PermissionKey::to_string).collect(),
        None => Vec::new(),
    }
}

fn of_role(policy: &Policy, id: RoleId) -> Vec<String> {
    let Some(role) = policy.role(id) else { return vec![format!("role:{id}")] };
    let items = role.permissions.iter().map(Pattern::to_string);
    std::iter::once(format!("role:{}", role.slug)).chain(items).collect()
}
