//! OCSF: the facts of the public schema that the lines must keep to, as a JSON Schema, asked of each line.

use super::{exported, random};
use charter_events::{EVENT_TYPES, Event};
use charter_replay_tools::{
    export::Format,
    export_ocsf::{OCSF_VERSION, example},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// The classes used, with their activities and what each requires.
const CLASSES: [(u32, &[u32], &[&str]); 4] = [
    (3001, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99], &["user"]),
    (3004, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 99], &["entity"]),
    (3005, &[1, 2, 99], &["user", "privileges"]),
    (3006, &[1, 2, 3, 4, 5, 6, 7, 8, 99], &["group"]),
];

fn schema() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let named = json!({"type": "object", "properties": {"uid": text, "name": text, "type": text},
        "anyOf": [{"required": ["uid"]}, {"required": ["name"]}]});
    let user = json!({"allOf": [named], "properties": {"type_id": {"enum": [0, 1, 2, 3, 4, 99]}}});
    let per_class = CLASSES.map(|(class, activities, required)| {
        let types: Vec<u32> = activities.iter().map(|activity| class * 100 + activity).collect();
        json!({"required": required, "properties": {
            "class_uid": {"const": class}, "activity_id": {"enum": activities}, "type_uid": {"enum": types}}})
    });
    json!({
        "type": "object",
        "required": ["activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid"],
        "properties": {
            "category_uid": {"const": 3}, "activity_id": true, "class_uid": true, "type_uid": true,
            "severity_id": {"enum": [0, 1, 2, 3, 4, 5, 6, 99]},
            "status_id": {"enum": [0, 1, 2, 99]},
            "time": {"type": "integer", "minimum": 1_500_000_000_000_u64, "maximum": 253_402_300_799_999_u64},
            "message": text, "activity_name": text, "class_name": text, "type_name": text,
            "metadata": {"type": "object", "required": ["product", "version"], "properties": {
                "version": {"const": OCSF_VERSION}, "product": named, "uid": text, "correlation_uid": text,
                "sequence": {"type": "integer"}, "original_time": text, "event_code": text, "tenant_uid": text}},
            "actor": {"type": "object", "properties": {"user": user, "app_name": text},
                "anyOf": [{"required": ["user"]}, {"required": ["app_name"]}]},
            "user": user,
            "group": named,
            "entity": {"allOf": [named], "properties": {"user": user}},
            "privileges": {"type": "array", "items": text},
            "resource": named,
            "resources": {"type": "array", "items": named},
            "unmapped": {"type": "object"}
        },
        // Nothing that the classes don't know.
        "additionalProperties": false,
        "patternProperties": {"^(status|severity|category_name)$": text},
        "oneOf": per_class
    })
}

fn is_valid(schema: &jsonschema::Validator, line: &Value) {
    let faults: Vec<String> = schema.iter_errors(line).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}\n{line:#}");
}

#[tokio::test]
async fn every_line_keeps_to_the_schema() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        let store = random(seed, 1_500).await;
        for (at, line) in exported(&store, Format::Ocsf).await.iter().enumerate() {
            is_valid(&schema, line);
            assert_eq!(line["metadata"]["sequence"], json!(at + 1));
            let (class, activity) =
                (line["class_uid"].as_u64().unwrap(), line["activity_id"].as_u64().unwrap());
            assert_eq!(line["type_uid"], json!(class * 100 + activity));
            seen.insert(class);
        }
    }
    assert_eq!(seen, BTreeSet::from([3001, 3004, 3005, 3006]));
}

#[test]
fn every_type_of_event_has_a_class() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../event-schemas/examples");
    for known in EVENT_TYPES {
        let file = folder.join(format!("{}.v{}.json", known.name, known.schema));
        let event = Event::decode(known.name, known.schema, &std::fs::read(file).unwrap()).unwrap();
        let line = example(&event);
        is_valid(&schema, &line);
        assert_ne!(line["entity"]["type"], "event", "`{}` was forgotten", known.name);
    }
}

#[tokio::test]
async fn what_a_grant_gave_is_told_when_it_ends() {
    let store = random(5, 1_500).await;
    let mut ended = 0;
    for line in exported(&store, Format::Ocsf).await {
        let code = line["metadata"]["event_code"].as_str().unwrap();
        if ["grant.revoked.v1", "grant.ended.v1", "grant.expired.v1"].contains(&code) {
            ended += 1;
            assert!(!line["privileges"].as_array().unwrap().is_empty(), "{line:#}");
            assert!(["Revoke Privileges", "Lift Denial"].contains(&line["activity_name"].as_str().unwrap()));
        }
    }
    assert!(ended > 50, "{ended}");
}

#[tokio::test]
async fn no_line_has_a_person_s_names_not_even_sealed() {
    let store = random(6, 500).await;
    let mut accounts = 0;
    for line in exported(&store, Format::Ocsf).await {
        let payload = &line["unmapped"]["payload"];
        assert!(payload.is_object(), "{line:#}");
        assert!(payload.get("profile").is_none() && !line.to_string().contains("sealed"), "{line:#}");
        accounts += usize::from(line["class_uid"] == 3001);
    }
    assert!(accounts > 20, "{accounts}");
}
