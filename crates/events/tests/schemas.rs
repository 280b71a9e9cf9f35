//! The committed schemas and examples against the registry: every event type has both, and they agree.
//!
//! The examples are for ever: one of a version of the past stays, and must still be read as today's.

#![expect(clippy::panic, reason = "a test's helpers fail it")]

use charter_events::{EVENT_TYPES, Event, registry::schemas};
use serde_json::Value;
use std::{collections::BTreeSet, path::PathBuf};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../event-schemas"))
}

fn read(file: &str) -> String {
    std::fs::read_to_string(folder().join(file))
        .unwrap_or_else(|error| panic!("event-schemas/{file}: {error}"))
}

fn json(file: &str) -> Value {
    serde_json::from_str(&read(file)).unwrap_or_else(|error| panic!("event-schemas/{file}: {error}"))
}

/// Every version there is or was, with the name of its files.
fn versions() -> impl Iterator<Item = (&'static str, u16, String)> {
    schemas().into_iter().map(|(name, version, _)| (name, version, format!("{name}.v{version}.json")))
}

/// JSON without the space between its tokens, its members in the order they stand in.
fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    text.chars()
        .filter(|&c| {
            let kept = in_string || !c.is_whitespace();
            if c == '"' && !escaped {
                in_string = !in_string;
            }
            escaped = in_string && c == '\\' && !escaped;
            kept
        })
        .collect()
}

#[test]
fn the_committed_schemas_are_generated_from_the_types() {
    for (name, version, schema) in schemas() {
        assert_eq!(json(&format!("{name}.v{version}.json")), schema.to_value(), "run `cargo xtask schemas`");
    }
}

#[test]
fn every_version_has_a_schema_and_an_example_and_nothing_else_has() {
    let expected: BTreeSet<String> = versions().map(|(_, _, file)| file).collect();
    let files = |sub: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder().join(sub)).unwrap().map(Result::unwrap);
        let names = entries.filter(|e| e.file_type().unwrap().is_file()).map(|e| e.file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| !["index.json", "README.md", "asyncapi.yaml"].contains(&name.as_str())).collect()
    };
    assert_eq!(files(""), expected);
    assert_eq!(files("examples"), expected);
}

#[test]
fn each_example_is_valid_and_survives_reading_and_writing_to_the_byte() {
    for (name, version, file) in versions() {
        let text = read(&format!("examples/{file}"));
        let value: Value = serde_json::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&json(&file)).unwrap();
        let faults: Vec<_> = validator.iter_errors(&value).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{file}");

        let event = Event::decode(name, version, text.as_bytes()).unwrap_or_else(|e| panic!("{file}: {e:?}"));
        assert_eq!(event.type_name(), name);
        if event.schema() == version {
            let written = String::from_utf8(event.encode().unwrap()).unwrap();
            assert_eq!(written, compact(&text), "{file}");
        }
    }
}

#[test]
fn each_example_shows_every_member_of_its_schema() {
    for (_, _, file) in versions() {
        let example = json(&format!("examples/{file}"));
        let schema = json(&file);
        for member in schema["properties"].as_object().unwrap().keys() {
            assert!(example.get(member).is_some(), "examples/{file} lacks `{member}`");
        }
    }
}

#[test]
fn an_example_with_an_unknown_member_is_refused_by_the_schema_and_by_the_reader() {
    for (name, version, file) in versions() {
        let mut value = json(&format!("examples/{file}"));
        value.as_object_mut().unwrap().insert("unheard_of".to_owned(), Value::Null);

        let validator = jsonschema::validator_for(&json(&file)).unwrap();
        assert!(!validator.is_valid(&value), "{file}");
        assert!(Event::decode(name, version, value.to_string().as_bytes()).is_err(), "{file}");
    }
}

#[test]
fn an_example_without_a_required_member_is_refused_by_the_schema_and_by_the_reader() {
    for (name, version, file) in versions() {
        let schema = json(&file);
        let validator = jsonschema::validator_for(&schema).unwrap();
        for member in schema["required"].as_array().unwrap() {
            let mut value = json(&format!("examples/{file}"));
            value.as_object_mut().unwrap().remove(member.as_str().unwrap()).unwrap();
            assert!(!validator.is_valid(&value), "{file} without {member}");
            assert!(
                Event::decode(name, version, value.to_string().as_bytes()).is_err(),
                "{file} without {member}"
            );
        }
    }
}

#[test]
fn an_unknown_type_or_version_is_an_error_that_names_it() {
    for (name, schema, message) in [
        ("grant.forgotten", 1, "event type `grant.forgotten` is not known to this version"),
        ("", 1, "event type `` is not known to this version"),
        ("Grant.issued", 1, "event type `Grant.issued` is not known to this version"),
        ("grant.issued", 0, "version 0 of event type `grant.issued` is not known to this version"),
        ("grant.issued", 999, "version 999 of event type `grant.issued` is not known to this version"),
    ] {
        assert_eq!(Event::decode(name, schema, b"{}").unwrap_err().to_string(), message);
    }
}

#[test]
fn a_payload_that_is_no_json_object_is_refused() {
    for payload in [&b""[..], b"null", b"[]", b"{", b"\xff\xfe", b"{}", b"{\"grant\":1}"] {
        assert!(Event::decode("grant.revoked", 1, payload).is_err(), "{payload:?}");
    }
}

#[test]
fn type_names_are_an_area_and_something_past_and_each_stands_once() {
    let areas =
        ["installation", "catalog", "role", "group", "grant", "object", "user", "credential", "operations"];
    let irregular = ["ended", "projection_rebuilt", "backup_taken"];
    let names: BTreeSet<_> = EVENT_TYPES.iter().map(|t| t.name).collect();
    assert_eq!(names.len(), EVENT_TYPES.len(), "each name stands once");
    for name in names {
        let (area, past) = name.split_once('.').unwrap();
        assert!(areas.contains(&area), "{name}");
        assert!(past.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        assert!(past.ends_with("ed") || irregular.contains(&past), "{name}");
    }
}

#[test]
fn the_index_lists_every_type_with_its_area_and_its_versions() {
    let index = json("index.json");
    let types = index["types"].as_object().unwrap();
    assert_eq!(types.len(), EVENT_TYPES.len());
    for event_type in EVENT_TYPES {
        let entry = &types[event_type.name];
        assert_eq!(entry["area"], event_type.name.split('.').next().unwrap(), "{}", event_type.name);
        assert_eq!(entry["current"], event_type.schema, "{}", event_type.name);
        let listed: Vec<u64> =
            entry["versions"].as_array().unwrap().iter().map(|v| v["version"].as_u64().unwrap()).collect();
        let known: Vec<u64> =
            event_type.upcast.iter().copied().chain([event_type.schema]).map(u64::from).collect();
        assert_eq!(listed, known, "{}", event_type.name);
    }
}

#[test]
fn no_example_holds_personal_data_in_the_clear() {
    for (_, _, file) in versions() {
        let text = read(&format!("examples/{file}"));
        assert!(!text.contains('@'), "{file}: an address");
        for member in ["email", "display_name", "password"] {
            assert!(!text.contains(&format!("\"{member}\":")), "{file}: {member}");
        }
    }
}
