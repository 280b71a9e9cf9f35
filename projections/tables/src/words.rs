//! How facts stand in columns: ids, moments, offsets, and the words for what has one of a few values. The words are
//! part of the tables' interface: they are those of the API.

use crate::{projection::Poison, rows::Value};
use charter_events::{
    Actor, Affects, ChildTypes, Effect, Offset, RoleScope, Scope, SeededRole, Subject, Timestamp, UserKind,
    Via,
};
use uuid::Uuid;

/// Stands for the whole platform where a column holds an object's id.
pub(crate) const PLATFORM: Uuid = Uuid::nil();

/// A moment, in microseconds since 1970 UTC.
pub(crate) const fn moment(moment: Timestamp) -> Value {
    Value::Int(moment.as_micros())
}

/// An offset.
pub(crate) fn offset(offset: Offset) -> Value {
    // No offset is larger than `Offset::MAX`, which is `i64::MAX`.
    Value::Int(i64::try_from(offset.get()).unwrap_or(i64::MAX))
}

/// A count, or a place in an order.
pub(crate) fn count(count: impl TryInto<i64>) -> Value {
    Value::Int(count.try_into().unwrap_or(i64::MAX))
}

/// Text as it is searched and sorted, whatever its case.
pub(crate) fn folded(text: &str) -> String {
    text.to_lowercase()
}

/// Several texts as one that is searched.
pub(crate) fn searched<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    let all: Vec<_> = texts.into_iter().map(folded).collect();
    Value::text(all.join("\n"))
}

/// The kind of a subject, and its id.
pub(crate) const fn subject(subject: Subject) -> (&'static str, Uuid) {
    match subject {
        Subject::User(user) => ("user", user.as_uuid()),
        Subject::Group(group) => ("group", group.as_uuid()),
    }
}

/// A scope as an id: [`PLATFORM`] for the whole platform.
pub(crate) const fn scope(scope: Scope) -> Uuid {
    match scope {
        Scope::Global => PLATFORM,
        Scope::Object(object) => object.as_uuid(),
    }
}

/// The kind of an actor, its id if it is a user, its name if it is a module.
pub(crate) fn actor(actor: &Actor) -> [Value; 3] {
    let (kind, id, module) = match actor {
        Actor::User(user) => ("user", Some(user), None),
        Actor::Service(user) => ("service", Some(user), None),
        Actor::Module(module) => ("module", None, Some(module)),
        Actor::System => ("system", None, None),
    };
    [
        Value::text(kind),
        Value::maybe(id, |id| Value::Uuid(id.as_uuid())),
        Value::maybe(module, |module| Value::text(module.as_str())),
    ]
}

pub(crate) const fn via(via: Via) -> &'static str {
    match via {
        Via::Api => "api",
        Via::Cli => "cli",
        Via::Module => "module",
        Via::Import => "import",
        Via::System => "system",
    }
}

pub(crate) const fn user_kind(kind: UserKind) -> &'static str {
    match kind {
        UserKind::Person => "person",
        UserKind::Service => "service",
    }
}

pub(crate) const fn role_scope(scope: RoleScope) -> &'static str {
    match scope {
        RoleScope::Global => "global",
        RoleScope::Object => "object",
        RoleScope::Both => "both",
    }
}

pub(crate) const fn seeded(seeded: SeededRole) -> &'static str {
    match seeded {
        SeededRole::Administrator => "administrator",
        SeededRole::Owner => "owner",
        SeededRole::Viewer => "viewer",
        SeededRole::Operator => "operator",
    }
}

pub(crate) const fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
    }
}

pub(crate) const fn affects(affects: Affects) -> &'static str {
    match affects {
        Affects::All => "all",
        Affects::SelfOnly => "self_only",
        Affects::ChildrenOnly => "children_only",
        Affects::SelfAndDirectChildren => "self_and_direct_children",
        Affects::DirectChildrenOnly => "direct_children_only",
    }
}

pub(crate) const fn child_types(types: ChildTypes) -> &'static str {
    match types {
        ChildTypes::All => "all",
        ChildTypes::Objects => "objects",
        ChildTypes::Containers => "containers",
    }
}

/// The event is about something that is not there.
pub(crate) fn missing(kind: &str, id: impl std::fmt::Display) -> Poison {
    Poison { why: format!("{kind} `{id}` is not there") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The word serde writes, which is the API's.
    fn written(value: &serde_json::Value) -> &str {
        value.as_str().unwrap()
    }

    #[test]
    fn the_words_are_those_of_the_api() {
        for one in [Via::Api, Via::Cli, Via::Module, Via::Import, Via::System] {
            assert_eq!(via(one), written(&json!(one)));
        }
        for one in [UserKind::Person, UserKind::Service] {
            assert_eq!(user_kind(one), written(&json!(one)));
        }
        for one in [RoleScope::Global, RoleScope::Object, RoleScope::Both] {
            assert_eq!(role_scope(one), written(&json!(one)));
        }
        for one in [SeededRole::Administrator, SeededRole::Owner, SeededRole::Viewer, SeededRole::Operator] {
            assert_eq!(seeded(one), written(&json!(one)));
        }
        for one in [Effect::Allow, Effect::Deny] {
            assert_eq!(effect(one), written(&json!(one)));
        }
        for one in [
            Affects::All,
            Affects::SelfOnly,
            Affects::ChildrenOnly,
            Affects::SelfAndDirectChildren,
            Affects::DirectChildrenOnly,
        ] {
            assert_eq!(affects(one), written(&json!(one)));
        }
        for one in [ChildTypes::All, ChildTypes::Objects, ChildTypes::Containers] {
            assert_eq!(child_types(one), written(&json!(one)));
        }
    }
}
