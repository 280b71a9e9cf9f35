//! How each kind of thing is shown in tables, and by which name other commands take it.

use crate::output::{Column, Shape, as_sent, text_of};
use serde_json::{Value, json};
use std::borrow::Cow;

pub(super) const fn column(heading: &'static str, at: &'static str) -> Column {
    Column { heading, at }
}

/// Users.
pub(super) const USER: Shape = Shape {
    columns: &[
        column("USERNAME", "/username /id"),
        column("NAME", "/display_name"),
        column("KIND", "/kind"),
        column("STATUS", "/status"),
        column("ADMINISTRATOR", "/administrator"),
    ],
    name: "/username /id",
    view: with_group_names,
};

/// A user's identity at a provider.
pub(super) const IDENTITY: Shape = Shape {
    columns: &[column("ISSUER", "/issuer"), column("SUBJECT", "/subject")],
    name: "/subject",
    view: as_sent,
};

/// Users by reference alone.
pub(super) const USER_REF: Shape = Shape {
    columns: &[column("USERNAME", "/username /id"), column("NAME", "/display_name")],
    name: "/username /id",
    view: as_sent,
};

/// Roles.
pub(super) const ROLE: Shape = Shape {
    columns: &[
        column("ROLE", "/slug"),
        column("NAME", "/name"),
        column("SCOPE", "/scope"),
        column("PERMISSIONS", "/permissions"),
    ],
    name: "/slug",
    view: as_sent,
};

/// Groups.
pub(super) const GROUP: Shape = Shape {
    columns: &[column("GROUP", "/slug"), column("NAME", "/name"), column("MEMBERS", "/members")],
    name: "/slug",
    view: as_sent,
};

/// Objects.
pub(super) const OBJECT: Shape = Shape {
    columns: &[
        column("OBJECT", "/type+/external_id"),
        column("NAME", "/name"),
        column("IN", "/parent/type+/parent/external_id"),
        column("OWNER", "/owner/username /owner/id"),
        column("INHERITS", "/inherits"),
    ],
    name: "/type+/external_id",
    view: as_sent,
};

/// Objects by reference alone.
pub(super) const OBJECT_REF: Shape = Shape {
    columns: &[column("OBJECT", "/type+/external_id"), column("NAME", "/name")],
    name: "/type+/external_id",
    view: as_sent,
};

/// Who gained or lost what; several permissions are one row.
pub(super) const CHANGE: Shape = Shape {
    columns: &[
        column("USER", "/user"),
        column("CHANGE", "/change"),
        column("WHERE", "/place"),
        column("BECAUSE", "/because"),
        column("WHAT", "/permissions"),
    ],
    name: "/user",
    view: as_sent,
};

/// Grants.
pub(super) const GRANT: Shape = Shape {
    columns: &[
        column("GRANT", "/id"),
        column("EFFECT", "/effect"),
        column("TO", "/to"),
        column("WHAT", "/what"),
        column("ON", "/on"),
        column("REACH", "/reach"),
        column("UNTIL", "/expires_at"),
        column("LIVE", "/live"),
    ],
    name: "/id",
    view: grant_in_words,
};

/// Permissions.
pub(super) const PERMISSION: Shape = Shape {
    columns: &[
        column("PERMISSION", "/key"),
        column("ON", "/object_types"),
        column("DESCRIPTION", "/description"),
        column("DEPRECATED", "/deprecated"),
    ],
    name: "/key",
    view: as_sent,
};

/// Object types.
pub(super) const OBJECT_TYPE: Shape = Shape {
    columns: &[
        column("TYPE", "/name"),
        column("NAMESPACE", "/namespace"),
        column("READ", "/read"),
        column("CREATE", "/create"),
        column("MANAGE", "/manage"),
    ],
    name: "/name",
    view: as_sent,
};

/// API tokens.
pub(super) const TOKEN: Shape = Shape {
    columns: &[
        column("TOKEN", "/id"),
        column("NAME", "/name"),
        column("ISSUED", "/issued_at"),
        column("UNTIL", "/expires_at"),
        column("CEILING", "/mask"),
    ],
    name: "/id",
    view: as_sent,
};

/// Sessions.
pub(super) const SESSION: Shape = Shape {
    columns: &[
        column("SESSION", "/id"),
        column("CURRENT", "/current"),
        column("LAST USED", "/last_used"),
        column("UNTIL", "/expires_at"),
    ],
    name: "/id",
    view: as_sent,
};

/// Those who may.
pub(super) const HOLDER: Shape = Shape {
    columns: &[column("USER", "/user/username /user/id"), column("HOW", "/how")],
    name: "/user/username /user/id",
    view: holder_in_words,
};

/// What somebody may.
pub(super) const EFFECTIVE: Shape = Shape {
    columns: &[column("PERMISSION", "/permission"), column("STATE", "/state"), column("FROM", "/from")],
    name: "/permission",
    view: effective_in_words,
};

/// Events.
pub(super) const EVENT: Shape = Shape {
    columns: &[
        column("OFFSET", "/offset"),
        column("RECORDED", "/recorded_at"),
        column("TYPE", "/type"),
        column("ACTOR", "/actor/kind"),
        column("VIA", "/via"),
        column("REASON", "/reason"),
    ],
    name: "/offset",
    view: as_sent,
};

/// Entries of the audit history.
pub(super) const AUDIT: Shape = Shape {
    columns: &[
        column("OFFSET", "/offset"),
        column("RECORDED", "/recorded_at"),
        column("WHO", "/who"),
        column("WHAT", "/type"),
        column("ON", "/on"),
        column("CHANGE", "/change"),
        column("REASON", "/reason"),
    ],
    name: "/offset",
    view: audit_in_words,
};

/// A place: `global`, `type:external_id`, or that it may not be known.
pub(super) fn place(scope: &Value) -> String {
    match scope.get("kind").and_then(Value::as_str) {
        Some("global") => "global".to_owned(),
        Some("object") => OBJECT_REF.name_of(scope.get("object").unwrap_or(&Value::Null)),
        _ => "(not shown)".to_owned(),
    }
}

/// In a table, a list shows so many of its items …
const ITEMS_SHOWN_MAX: usize = 3;
/// … and a value so much of itself.
const CHARACTERS_SHOWN_MAX: usize = 48;

fn set(row: &mut Value, member: &str, value: Value) {
    if let Some(members) = row.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
}

fn with_group_names(row: &Value) -> Cow<'_, Value> {
    let Some(groups) = row.get("groups").and_then(Value::as_array) else { return Cow::Borrowed(row) };
    let slugs: Vec<Value> = groups.iter().filter_map(|g| g.get("slug").cloned()).collect();
    let mut row = row.clone();
    set(&mut row, "groups", slugs.into());
    Cow::Owned(row)
}

pub(super) fn grant_in_words(row: &Value) -> Cow<'_, Value> {
    let text = |at: &str| row.pointer(at).filter(|v| !v.is_null()).map(text_of);
    let user = text("/subject/user/username")
        .or_else(|| text("/subject/user/id"))
        .map(|name| format!("user:{name}"));
    let to = user.or_else(|| text("/subject/group/slug").map(|slug| format!("group:{slug}")));
    let role = text("/role/slug").map(|slug| format!("role {slug}"));
    let reach = match (text("/affects").as_deref(), text("/child_types").as_deref()) {
        (None | Some("all"), None | Some("all")) => None,
        (affects, child_types) => Some(
            [affects, child_types.filter(|c| *c != "all")]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
        ),
    };
    let mut view = json!({
        "id": row.get("id"),
        "effect": row.get("effect"),
        "to": to,
        "what": role.or_else(|| text("/permissions")),
        "on": place(row.get("scope").unwrap_or(&Value::Null)),
        "reach": reach,
        "live": row.get("live"),
    });
    for member in ["not_before", "expires_at", "owner_grant", "issued_at"] {
        set(&mut view, member, row.get(member).cloned().unwrap_or(Value::Null));
    }
    Cow::Owned(view)
}

fn holder_in_words(row: &Value) -> Cow<'_, Value> {
    let through: Vec<String> = row
        .get("through")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|g| g.get("slug").map(text_of))
        .collect();
    let how = match (row.get("because").and_then(Value::as_str), through.is_empty()) {
        (Some("administrator"), true) => "administrator".to_owned(),
        (Some("administrator"), false) => format!("administrator through {}", through.join(", ")),
        (_, true) => "own grant".to_owned(),
        (_, false) => format!("through {}", through.join(", ")),
    };
    let mut row = row.clone();
    set(&mut row, "how", how.into());
    Cow::Owned(row)
}

pub(super) fn effective_in_words(row: &Value) -> Cow<'_, Value> {
    let text = |member: &str| row.get(member).and_then(Value::as_str);
    let from = match (text("because"), row.get("scope"), text("subject")) {
        (Some("administrator"), ..) => Some("administrator".to_owned()),
        (_, Some(scope), Some("group")) => Some(format!("a group's grant at {}", place(scope))),
        (_, Some(scope), _) if !scope.is_null() => Some(format!("own grant at {}", place(scope))),
        _ => None,
    };
    let state = match text("state") {
        Some("not_set") => "not set",
        Some(other) => other,
        None => "-",
    };
    Cow::Owned(json!({"permission": row.get("permission"), "state": state, "from": from}))
}

fn audit_in_words(row: &Value) -> Cow<'_, Value> {
    let text = |at: &str| row.pointer(at).filter(|v| !v.is_null()).map(text_of);
    let who = text("/actor/user/username")
        .or_else(|| text("/actor/user/id"))
        .or_else(|| text("/actor/module").map(|name| format!("module:{name}")))
        .or_else(|| text("/actor/kind"));
    let user = text("/user/username").or_else(|| text("/user/id")).map(|name| format!("user:{name}"));
    let thing = |kind: &str| {
        let at = |member: &str| text(&format!("/{kind}/{member}"));
        at("reference").or_else(|| at("name")).or_else(|| at("id"))
    };
    let about = [
        user,
        thing("group").map(|name| format!("group:{name}")),
        thing("role").map(|name| format!("role {name}")),
        thing("object"),
    ];
    let on: Vec<String> = about.into_iter().flatten().collect();
    let side = |at: &str| row.get(at).and_then(Value::as_object).map(members_in_words);
    let change = match (side("old"), side("new")) {
        (Some(old), Some(new)) => Some(format!("{old} -> {new}")),
        (Some(old), None) => Some(format!("was {old}")),
        (None, new) => new,
    };
    let mut row = row.clone();
    set(&mut row, "who", who.into());
    set(&mut row, "on", (!on.is_empty()).then(|| on.join(", ")).into());
    set(&mut row, "change", change.into());
    Cow::Owned(row)
}

fn members_in_words(members: &serde_json::Map<String, Value>) -> String {
    let told = members.iter().map(|(member, value)| {
        let name = value.get("username").or_else(|| value.get("id")).unwrap_or(value);
        let kind = value.get("kind").map(|kind| format!("{} ", text_of(kind))).unwrap_or_default();
        format!("{member}={kind}{}", in_short(name))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// Enough of a value to know it by; whole it is in the other formats.
fn in_short(value: &Value) -> String {
    let text = match value {
        Value::Array(items) if items.len() > ITEMS_SHOWN_MAX => {
            let shown: Vec<_> = items.iter().take(ITEMS_SHOWN_MAX).map(in_short).collect();
            return format!("{} and {} more", shown.join(", "), items.len() - ITEMS_SHOWN_MAX);
        }
        Value::Array(items) if !items.is_empty() => {
            return items.iter().map(in_short).collect::<Vec<_>>().join(", ");
        }
        value => text_of(value),
    };
    match text.char_indices().nth(CHARACTERS_SHOWN_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_entry_shows_enough_of_long_values_to_know_them_by() {
        let digest = "7".repeat(64);
        let row = json!({"offset": 7, "recorded_at": "2026-03-01T12:00:00Z", "type": "role.permissions_changed",
            "actor": {"kind": "user", "user": {"username": "ada"}}, "role": {"name": "ops"}, "reason": null,
            "old": {"digest": digest}, "new": {"added": ["a.b.c", "a.b.d", "a.b.e", "a.b.f", "a.b.g"], "none": []}});
        let change = format!("digest={}… -> added=a.b.c, a.b.d, a.b.e and 2 more none=-", "7".repeat(48));
        assert_eq!(
            AUDIT.cells(&row),
            ["7", "2026-03-01T12:00:00Z", "ada", "role.permissions_changed", "role ops", &change, "-"]
        );
    }
}
