//! `/events`: the log as it is read.

use crate::support::Api;
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn the_events_are_read_page_by_page_to_the_end() {
    let api = Api::furnished().await;
    let (mut after, mut offsets) = (0, Vec::new());
    loop {
        let page = api.admin("GET", &format!("/events?after={after}&limit=7"), Value::Null).await.ok(200);
        assert_eq!(page.header("content-type"), "application/x-ndjson");
        let events = lines(&page.text);
        assert!(events.len() <= 7);
        let Some(last) = events.last() else { break };
        after = last["offset"].as_u64().unwrap();
        offsets.extend(events.iter().map(|event| event["offset"].as_u64().unwrap()));
    }
    assert_eq!(offsets, (1..=api.head().get()).collect::<Vec<_>>());
    let first = lines(&api.admin("GET", "/events?limit=1", Value::Null).await.ok(200).text);
    assert_eq!(first[0]["type"], "installation.created");
    assert!(first[0]["hash"].as_str().is_some_and(|hash| hash.len() == 64));
}

#[tokio::test]
async fn the_log_says_how_far_it_goes() {
    let api = Api::new().await;
    let log = api.admin("GET", "/log", Value::Null).await.ok(200);
    assert_eq!(log.body["head"], api.head().get());
    assert_eq!(log.body["head_hash"], api.control.head().hash.to_string());
    assert_eq!(log.body["log_id"], api.control.log_id().to_string());
    assert!(log.body["state_digest"].is_null());
    let log = api.admin("GET", "/log?digest=true", Value::Null).await.ok(200);
    let policy = api.control.policy();
    assert_eq!(log.header("policy-version"), policy.version().to_string());
    assert_eq!(log.body["state_digest"], charter_events::Hash::new(policy.digest()).to_string());
    api.admin("GET", "/log?digest=yes", Value::Null).await.refused(400, "invalid_parameter");
}

#[tokio::test]
async fn names_are_sealed_in_what_is_read() {
    let api = Api::new().await;
    let text = api.admin("GET", "/events?limit=500", Value::Null).await.ok(200).text;
    assert!(!text.contains("\"ada\"") && !text.contains("\"Ada\""));
}

#[tokio::test]
async fn odd_offsets_are_refused() {
    let api = Api::new().await;
    for query in ["after=-1", "after=x", "after=9223372036854775808", "limit=0", "limit=501", "after=1.5"] {
        let reply = api.admin("GET", &format!("/events?{query}"), Value::Null).await;
        reply.refused(400, "invalid_parameter");
    }
    let none = api.admin("GET", "/events?after=9223372036854775807", Value::Null).await.ok(200);
    assert_eq!(none.text, "");
}

#[tokio::test]
async fn a_place_to_go_on_from_is_understood_or_refused_also_where_a_page_does_not_need_it() {
    let api = Api::furnished().await;
    for (seen, status) in [("3", 200), ("0", 200), ("x", 400), ("-1", 400), ("9223372036854775808", 400)] {
        let reply = api.call("GET", "/events").by(&api.admin).header("last-event-id", seen).send().await;
        assert_eq!(reply.status, status, "{seen}: {}", reply.text);
    }
}
