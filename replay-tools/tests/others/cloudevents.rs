//! CloudEvents 1.0, JSON format.

use super::{LOG, exported, random};
use charter_events::{EventJson, Offset};
use charter_replay_tools::export::Format;
use charter_store::{LogStore, MemoryStore};
use serde_json::json;

#[tokio::test]
async fn every_event_is_a_cloud_event_with_the_event_as_its_data() {
    let store = random(1, 300).await;
    let lines = exported(&store, Format::CloudEvents).await;
    let mut events = Vec::new();
    while events.len() < lines.len() {
        let after = Offset::new(events.len() as u64).unwrap();
        events.extend(store.read(after, 1_000).await.unwrap());
    }
    assert_eq!(lines.len(), events.len());
    for (line, event) in lines.iter().zip(&events) {
        assert_eq!(line["specversion"], "1.0");
        assert_eq!(line["id"], json!(event.event_id));
        assert_eq!(line["source"], format!("urn:charter:{LOG}"));
        assert_eq!(line["type"], format!("charter.{}.v{}", event.type_name, event.schema));
        assert_eq!(line["time"], json!(event.recorded_at));
        assert_eq!(line["datacontenttype"], "application/json");
        assert_eq!(line["sequence"], format!("{:020}", event.offset.get()));
        assert_eq!(line["charterhash"], json!(event.hash));
        assert_eq!(line["charterprevhash"], json!(event.prev_hash));
        assert_eq!(line["data"], serde_json::to_value(EventJson::new(event).unwrap()).unwrap());
        for name in line.as_object().unwrap().keys() {
            let plain =
                name.len() <= 20 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            assert!(plain, "`{name}` is no name of an attribute");
        }
    }
}

#[tokio::test]
async fn an_empty_log_has_no_lines() {
    let store = MemoryStore::new(LOG);
    for format in [Format::CloudEvents, Format::Ocsf] {
        let mut out = Vec::new();
        charter_replay_tools::export::export_as(format, &store, &mut out, |_| ()).await.unwrap();
        assert!(out.is_empty());
    }
}
