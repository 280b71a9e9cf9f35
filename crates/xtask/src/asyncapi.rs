//! `event-schemas/asyncapi.yaml`: the description of the stream, generated from the registry, the schemas and the
//! examples, and committed, so that a change of the stream is seen as one.

use crate::tree::root;
use anyhow::{Context, anyhow};
use charter_bus_nats::{Documented, asyncapi};
use charter_events::registry::schemas;
use std::path::PathBuf;

const FILE: &str = "event-schemas/asyncapi.yaml";

fn path() -> PathBuf {
    root().join(FILE)
}

fn generated() -> anyhow::Result<String> {
    let mut events = Vec::new();
    for (name, schema, described) in schemas() {
        let file = format!("event-schemas/examples/{name}.v{schema}.json");
        let example =
            std::fs::read_to_string(root().join(&file)).with_context(|| format!("read `{file}`"))?;
        let described = described.get("description").and_then(serde_json::Value::as_str).unwrap_or_default();
        let summary = described.split_whitespace().collect::<Vec<_>>().join(" ");
        events.push(Documented { type_name: name.to_owned(), schema, summary, example });
    }
    asyncapi(&events).map_err(|error| anyhow!("describe the stream: {error}"))
}

/// Writes the document.
pub(crate) fn write() -> anyhow::Result<Vec<String>> {
    std::fs::write(path(), generated()?).with_context(|| format!("write `{FILE}`"))?;
    Ok(Vec::new())
}

/// A fault when the committed document isn't what would be written.
pub(crate) fn check() -> anyhow::Result<Vec<String>> {
    let committed = std::fs::read_to_string(path()).unwrap_or_default();
    let fault = format!("`{FILE}` is not what the registry says: run `cargo xtask asyncapi`");
    Ok(if committed == generated()? { Vec::new() } else { vec![fault] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// With what each reference leads to in its place.
    fn resolved(value: &Value, document: &Value) -> Value {
        match value {
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(within) if within.starts_with('#') => {
                    resolved(document.pointer(&within[1..]).expect(within), document)
                }
                Some(file) => {
                    let text = std::fs::read_to_string(root().join("event-schemas").join(file)).expect(file);
                    let schema: Value = serde_json::from_str(&text).unwrap();
                    resolved(&schema, &schema)
                }
                None => members.iter().map(|(n, v)| (n.clone(), resolved(v, document))).collect(),
            },
            Value::Array(items) => items.iter().map(|item| resolved(item, document)).collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn the_committed_document_is_what_the_registry_says() {
        assert_eq!(check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_version_of_every_type_has_an_example_that_fits_its_schema() {
        let document: Value = serde_norway::from_str(&generated().unwrap()).unwrap();
        let messages = document["components"]["messages"].as_object().unwrap();
        assert_eq!(messages.len(), schemas().len());
        for (name, message) in messages {
            let message = resolved(message, &document);
            let example = &message["examples"][0];
            for part in ["headers", "payload"] {
                let validator = jsonschema::validator_for(&message[part]).unwrap();
                let faults: Vec<_> = validator.iter_errors(&example[part]).map(|f| f.to_string()).collect();
                assert_eq!(faults, Vec::<String>::new(), "{name} {part}");
            }
            let mut foreign = example["payload"].clone();
            foreign["added"] = Value::from(1);
            assert!(!jsonschema::is_valid(&message["payload"], &foreign), "{name}");
        }
    }

    #[test]
    fn every_type_has_a_channel_and_an_operation() {
        let document: Value = serde_norway::from_str(&generated().unwrap()).unwrap();
        for event in charter_events::EVENT_TYPES {
            let channel = &document["channels"][event.name];
            assert_eq!(channel["address"], format!("charter.{{log}}.{}", event.name));
            assert_eq!(document["operations"][event.name]["action"], "send");
        }
    }
}
