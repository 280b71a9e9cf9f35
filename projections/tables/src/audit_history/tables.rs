//! The table of `audit_history` and its columns.

use crate::rows::{
    Column,
    Kind::{Int, Text, Uuid},
    TableSpec,
};

pub(super) const TABLES: &[TableSpec] = &[TableSpec {
    name: "audit_entries",
    about: "An event, as people read it.",
    columns: &[
        Column::new("event_offset", Int, "Its place in the log."),
        Column::new("command_id", Uuid, "The command it is part of."),
        Column::new("command_index", Int, "Its place in that command, from 0."),
        Column::new("recorded_at", Int, "When."),
        Column::new("event_type", Text, "What happened, such as `grant.issued`."),
        Column::new("actor_kind", Text, "Who did it: `user`, `service`, `module` or `system`."),
        Column::maybe("actor_id", Uuid, "The user who did it."),
        Column::maybe("actor_module", Text, "The module that did it."),
        Column::maybe(
            "asked_by_id",
            Uuid,
            "The user who did it, or who asked for what the system did later: a rebuild, a backup.",
        ),
        Column::new("via", Text, "The way it came in: `api`, `cli`, `module`, `import` or `system`."),
        Column::maybe("request_id", Text, "The request it came with."),
        Column::maybe("reason", Text, "Why, in the words of who did it."),
        Column::maybe(
            "user_id",
            Uuid,
            "The user it is about: himself, a member, a grant's subject, an owner.",
        ),
        Column::maybe("group_id", Uuid, "The group it is about: itself, or a grant's subject."),
        Column::maybe("role_id", Uuid, "The role it is about: itself, or what a grant gives."),
        Column::maybe("grant_id", Uuid, "The grant it is about."),
        Column::maybe("object_id", Uuid, "The object it is about: itself, or where a grant is."),
        Column::maybe("scope", Text, "Where a grant is: `global`, or on an `object`."),
        Column::maybe(
            "names",
            Text,
            "The names of role, group and object then, as JSON. People have none here.",
        ),
        Column::maybe("old_value", Text, "What was before, as JSON."),
        Column::maybe("new_value", Text, "What is after it, as JSON."),
        Column::new("search", Text, "What it is found by, lower-cased: type, names, keys, reason."),
    ],
    key: 1,
    indexes: &[
        &["recorded_at"],
        &["event_type", "event_offset"],
        &["asked_by_id", "event_offset"],
        &["user_id", "event_offset"],
        &["group_id", "event_offset"],
        &["role_id", "event_offset"],
        &["grant_id", "event_offset"],
        &["object_id", "event_offset"],
        &["command_id"],
    ],
}];
