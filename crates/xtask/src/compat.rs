//! Whether a frozen version of an event's schema has changed in more than it may: it gains optional members only.
//!
//! What is compared is what decides which payloads are accepted; titles, descriptions and the like are free.

use serde_json::{Map, Value};

/// Members of a schema that only explain.
const EXPLAINING: &[&str] = &["title", "description", "$schema", "$id", "examples", "default", "$comment"];

/// A breach for each change that a payload written before could fail under, or mean something else.
pub(crate) fn breaches(frozen: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", frozen, now, &mut found);
    found
}

fn compare(path: &str, frozen: &Value, now: &Value, found: &mut Vec<String>) {
    match (frozen, now) {
        (Value::Object(frozen), Value::Object(now)) => compare_schemas(path, frozen, now, found),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (n, (old, new)) in old.iter().zip(new).enumerate() {
                compare(&format!("{path}/{n}"), old, new, found);
            }
        }
        (old, new) if old == new => {}
        (old, new) => found.push(format!("`{path}` was {old} and is {new}")),
    }
}

fn compare_schemas(
    path: &str,
    frozen: &Map<String, Value>,
    now: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    let names = frozen.keys().chain(now.keys().filter(|name| !frozen.contains_key(*name)));
    for name in names.filter(|name| !EXPLAINING.contains(&name.as_str())) {
        let path = format!("{path}/{name}");
        match (frozen.get(name), now.get(name)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) if is_map_of_schemas(name) => {
                compare_members(&path, name, old, new, found);
            }
            (Some(old), Some(new)) if name == "required" => compare_required(&path, old, new, found),
            (Some(old), Some(new)) => compare(&path, old, new, found),
            // definitions appear and go with the members that use them
            (None, Some(_)) | (Some(_), None) if name == "$defs" => {}
            (None, Some(new)) if name == "properties" => {
                let _ = new; // all of them are new; whether one is required, `required` says
            }
            (None, Some(_)) if name == "required" => {
                found.push(format!("`{path}` requires what was not required"))
            }
            (None, _) => found.push(format!("`{path}` is new")),
            (_, None) => found.push(format!("`{path}` is gone")),
        }
    }
}

fn is_map_of_schemas(name: &str) -> bool {
    matches!(name, "properties" | "$defs")
}

fn compare_members(
    path: &str,
    kind: &str,
    frozen: &Map<String, Value>,
    now: &Map<String, Value>,
    found: &mut Vec<String>,
) {
    for (name, old) in frozen {
        match now.get(name) {
            Some(new) => compare(&format!("{path}/{name}"), old, new, found),
            None if kind == "properties" => found.push(format!("`{path}/{name}` is gone")),
            None => {}
        }
    }
}

fn compare_required(path: &str, frozen: &Value, now: &Value, found: &mut Vec<String>) {
    let names = |value: &Value| -> std::collections::BTreeSet<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (frozen, now) = (names(frozen), names(now));
    found.extend(
        now.difference(&frozen).map(|name| format!("`{path}` requires `{name}`, which was not required")),
    );
    found.extend(frozen.difference(&now).map(|name| {
        // an older reader would stop at a payload that lacks it
        format!("`{path}` no longer requires `{name}`")
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn frozen() -> Value {
        json!({
            "title": "A", "type": "object", "additionalProperties": false,
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "name": {"$ref": "#/$defs/Name"},
                "effect": {"type": "string", "enum": ["allow", "deny"]},
                "note": {"type": ["string", "null"]},
            },
            "required": ["id", "name", "effect"],
            "$defs": {"Name": {"type": "string", "pattern": "^.{1,128}$"}},
        })
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut now = frozen();
        change(&mut now);
        breaches(&frozen(), &now)
    }

    #[test]
    fn an_optional_member_and_other_words_are_free() {
        assert_eq!(changed(|_| ()), Vec::<String>::new());
        assert_eq!(changed(|s| s["title"] = json!("B")), Vec::<String>::new());
        assert_eq!(changed(|s| s["properties"]["id"]["description"] = json!("an id")), Vec::<String>::new());
        assert_eq!(changed(|s| s["properties"]["since"] = json!({"type": "string"})), Vec::<String>::new());
        assert_eq!(
            changed(|s| {
                s["properties"]["more"] = json!({"$ref": "#/$defs/More"});
                s["$defs"]["More"] = json!({"type": "object"});
            }),
            Vec::<String>::new()
        );
    }

    #[test]
    fn everything_else_is_a_breach_and_says_where() {
        type Change = fn(&mut Value);
        let table: &[(Change, &str)] = &[
            (|s| drop(s["properties"].as_object_mut().unwrap().remove("note")), "`/properties/note` is gone"),
            (|s| s["properties"]["id"]["type"] = json!("integer"), "`/properties/id/type` was"),
            (|s| s["properties"]["id"]["format"] = json!("date"), "`/properties/id/format` was"),
            (|s| s["properties"]["effect"]["enum"] = json!(["allow"]), "`/properties/effect/enum` was"),
            (
                |s| s["properties"]["effect"]["enum"] = json!(["allow", "deny", "ask"]),
                "`/properties/effect/enum` was",
            ),
            (|s| s["properties"]["note"]["type"] = json!("string"), "`/properties/note/type` was"),
            (|s| s["properties"]["note"]["maxLength"] = json!(3), "`/properties/note/maxLength` is new"),
            (|s| s["$defs"]["Name"]["pattern"] = json!("^a$"), "`/$defs/Name/pattern` was"),
            (|s| s["required"] = json!(["id", "name", "effect", "note"]), "requires `note`"),
            (|s| s["required"] = json!(["id", "name"]), "no longer requires `effect`"),
            (|s| s["additionalProperties"] = json!(true), "`/additionalProperties` was"),
            (
                |s| drop(s.as_object_mut().unwrap().remove("additionalProperties")),
                "`/additionalProperties` is gone",
            ),
        ];
        for (change, breach) in table {
            let found = changed(change);
            assert!(found.len() == 1 && found[0].contains(breach), "{breach}: {found:?}");
        }
    }

    #[test]
    fn a_required_member_where_none_was_is_a_breach() {
        let bare = json!({"type": "object"});
        let now = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(breaches(&bare, &now).len(), 1);
        let now = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(breaches(&bare, &now), Vec::<String>::new());
    }
}
