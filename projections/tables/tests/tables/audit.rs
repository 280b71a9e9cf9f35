//! What single entries say.

use crate::{life::whole_life, support::fold};
use charter_tables::{Row, Value};
use charter_testkit::{History, ids};
use serde_json::{Value as Json, json};

/// An entry by its column names; what is JSON is taken apart, what is empty left out.
fn told(row: &Row) -> Json {
    let spec = charter_tables::projection("audit_history").unwrap().spec();
    let mut members = serde_json::Map::new();
    for (column, value) in spec.tables[0].columns.iter().zip(row) {
        let value = match value {
            Value::Null => continue,
            Value::Uuid(id) => json!(id.to_string()),
            Value::Int(number) => json!(number),
            Value::Bool(truth) => json!(truth),
            Value::Text(text) if ["names", "old_value", "new_value"].contains(&column.name) => {
                serde_json::from_str(text).unwrap()
            }
            Value::Text(text) => json!(text),
            Value::Bytes(_) => panic!("no bytes here"),
        };
        members.insert(column.name.to_owned(), value);
    }
    Json::Object(members)
}

/// The first entry of a type.
fn entry(event_type: &str) -> Json {
    let entries = fold(&whole_life(), 1).rows("audit_history", "audit_entries");
    let mut told = entries.iter().map(told);
    told.find(|entry| entry["event_type"] == event_type).unwrap()
}

#[test]
fn an_entry_says_who_did_what_on_whom_when_how_and_why() {
    let entry = entry("user.suspended");
    assert_eq!(entry["actor_kind"], "user");
    assert_eq!(entry["actor_id"], ids::user("anna").to_string());
    assert_eq!(entry["user_id"], ids::user("tom").to_string());
    assert_eq!(entry["recorded_at"], charter_testkit::at("2026-02-11T00:00:00Z").as_micros());
    assert_eq!((entry["via"].as_str(), entry["request_id"].as_str()), (Some("api"), Some("request-1")));
    assert_eq!(entry["reason"], "Because of Night shift");
    assert_eq!(
        (&entry["old_value"], &entry["new_value"]),
        (&json!({"status": "active"}), &json!({"status": "suspended"}))
    );
    assert_eq!(entry["search"], "user.suspended\nbecause of night shift");
}

#[test]
fn a_change_says_what_was_before_and_what_is_after() {
    let (tom, anna) = (ids::user("tom").to_string(), ids::user("anna").to_string());
    let (games, old) = (ids::folder("Games").to_string(), ids::folder("Old").to_string());
    for (event_type, before, after) in [
        ("role.renamed", json!({"name": "runner"}), json!({"name": "Runs Servers"})),
        (
            "role.permissions_changed",
            json!({"removed": ["mc.server.start"]}),
            json!({"added": ["mc.server.read"]}),
        ),
        ("group.renamed", json!({"name": "crew"}), json!({"name": "The Crew"})),
        ("group.external_id_changed", Json::Null, json!({"external_id": "crew-7"})),
        (
            "object.renamed",
            json!({"name": "survival", "external_id": "survival"}),
            json!({"name": "Survival World", "external_id": "mc-17"}),
        ),
        (
            "object.moved",
            json!({"parent": games, "parent_name": "Games"}),
            json!({"parent": old, "parent_name": "Old"}),
        ),
        ("object.transferred", json!({"owner": tom}), json!({"owner": anna})),
        ("object.inheritance_changed", json!({"inherits": true}), json!({"inherits": false})),
        ("user.profile_changed", Json::Null, json!({"changed": ["username", "email"]})),
        (
            "user.deletion_cancelled",
            json!({"status": "awaiting_deletion", "erase_at": "2026-03-11T00:00:00Z"}),
            json!({"status": "active"}),
        ),
        ("user.erased", json!({"status": "active"}), json!({"status": "erased"})),
        ("credential.password_changed", json!({"has_password": false}), json!({"has_password": true})),
        ("grant.keys_removed", json!({"removed": ["mc.server.start"]}), Json::Null),
        (
            "grant.expired",
            json!({"effect": "allow", "permissions": ["mc.server.read"], "expires_at": "2026-02-10T00:00:00Z"}),
            Json::Null,
        ),
    ] {
        let entry = entry(event_type);
        assert_eq!((&entry["old_value"], &entry["new_value"]), (&before, &after), "{event_type}");
    }
}

#[test]
fn a_grant_says_to_whom_what_and_where_with_the_names_of_then() {
    let revoked = entry("grant.revoked");
    assert_eq!(revoked["group_id"], ids::group("crew").to_string());
    assert_eq!(revoked["role_id"], ids::role("runner").to_string());
    assert_eq!(revoked["object_id"], ids::folder("Games").to_string());
    assert_eq!(revoked["grant_id"], ids::grant("crew runs").to_string());
    assert_eq!(revoked["scope"], "object");
    let names =
        json!({"group": "The Crew", "role": "Runs Servers", "object": "Games", "object_type": "folder"});
    assert_eq!(revoked["names"], names);
    assert_eq!(revoked["old_value"], json!({"effect": "allow", "affects": "children_only"}));
    for word in ["the crew", "crew", "runs servers", "runner", "games", "folder", "grant.revoked"] {
        assert!(revoked["search"].as_str().unwrap().contains(word), "{word}");
    }
    let ended = entry("grant.ended");
    let object = ids::object("server", "survival").to_string();
    assert_eq!(ended["new_value"], json!({"ended_by": {"kind": "transfer", "id": object}}));
    assert_eq!(entry("grant.issued")["scope"], "global");
}

#[test]
fn a_long_list_is_cut_and_counted() {
    let keys: Vec<String> = (0..250).map(|number| format!("mc.server.a{number:03}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let events = History::new().keys(&keys, &["any"]).role("many", "both", keys.clone()).into_events();
    let entries = fold(&events, 1).rows("audit_history", "audit_entries");
    let created = told(entries.last().unwrap());
    assert_eq!(created["new_value"]["permissions"].as_array().unwrap().len(), 100);
    assert_eq!(created["new_value"]["permissions_count"], 250);
    assert!(created["search"].as_str().unwrap().contains("mc.server.a249"), "all of it is searched");
    let system = told(&entries[0]);
    assert_eq!((system["actor_kind"].as_str(), &system["actor_id"]), (Some("system"), &Json::Null));
}

#[test]
fn an_entry_is_found_by_who_did_it_and_by_who_asked_for_what_the_system_did() {
    let (anna, rebuilt) = (ids::user("anna").to_string(), entry("operations.projection_rebuilt"));
    assert_eq!((&rebuilt["asked_by_id"], &rebuilt["new_value"]["asked_by"]), (&json!(anna), &json!(anna)));
    let suspended = entry("user.suspended");
    assert_eq!(suspended["asked_by_id"], suspended["actor_id"]);
    // Nobody asked for it, or nobody is a user.
    assert_eq!(
        entry("operations.backup_taken").get("asked_by_id"),
        entry("operations.backup_taken").get("actor_id")
    );
    let system = fold(&History::new().into_events(), 1).rows("audit_history", "audit_entries");
    assert_eq!(told(&system[0]).get("asked_by_id"), None);
}
