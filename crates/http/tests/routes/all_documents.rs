//! The committed documents of the API: they are what the server says.

use serde_json::Value;
use std::{collections::BTreeSet, path::Path};

/// Compares with a committed file of this package; `BLESS=1` writes it.
#[track_caller]
pub(crate) fn same_as_committed(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    // JSON is compared as values: the order of an object's members is not part of it.
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::String(text.to_owned()));
    assert!(value(&committed) == value(text), "{path} is not what the code says; `BLESS=1` writes it");
}

fn document() -> Value {
    serde_json::from_str(&charter_http::openapi().to_json().unwrap()).unwrap()
}

#[test]
fn the_committed_document_is_what_the_routes_say() {
    let mut text = charter_http::openapi().to_pretty_json().unwrap();
    text.push('\n');
    same_as_committed("openapi.json", &text);
}

#[test]
fn the_document_is_openapi_3_1_and_every_reference_in_it_leads_somewhere() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    assert!(references.len() > 30);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.insert(reference.clone());
            }
            members.values().for_each(|member| collect(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

#[test]
fn every_operation_is_named_once_described_and_says_what_goes_wrong() {
    let document = document();
    let mut names = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} stands twice");
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
            assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{name}");
            let answers = operation["responses"].as_object().unwrap();
            assert!(answers.contains_key("default"), "{name}");
            assert!(answers.keys().any(|status| status.starts_with(['2', '3'])), "{name}");
        }
    }
}
