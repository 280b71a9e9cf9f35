//! `/servers`, and a server that can't reach its store.

use crate::support::{Api, Reply};
use charter_control::Config;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(10);

#[tokio::test]
async fn the_servers_that_are_alive_are_listed_to_those_who_may_know() {
    let api = Api::new().await;
    let servers = api.admin("GET", "/servers", Value::Null).await.ok(200).body;
    let servers = servers["items"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "{servers:?}");
    for member in ["id", "build", "version", "started_at", "expires_at"] {
        assert!(!servers[0][member].is_null(), "{member}");
    }
    let bob = api.user("bob").await;
    api.by(&bob, "GET", "/servers", Value::Null).await.refused(403, "forbidden");
}

/// An installation that follows its store, which has gone away.
async fn without_store(stale_decisions: Duration) -> Api {
    let config = Config { follow_every: Some(SOON), stale_decisions, ..Config::default() };
    let api = Api::set_up(config).await;
    api.store.hooks().set_unavailable(true);
    api
}

/// Asks until the answer is as expected.
async fn until(api: &Api, path: &str, expected: impl Fn(&Reply) -> bool) -> Reply {
    for _ in 0..1_000 {
        let reply = api.admin("GET", path, Value::Null).await;
        if expected(&reply) {
            return reply;
        }
        tokio::time::sleep(SOON).await;
    }
    panic!("{path} was never answered so")
}

#[tokio::test]
async fn a_server_without_its_store_answers_on_and_says_so() {
    let api = without_store(Duration::from_secs(1_000)).await;
    let reply = until(&api, "/user/me", |reply| reply.headers.contains_key("policy-stale")).await.ok(200);
    assert!(reply.header("policy-stale").parse::<u64>().unwrap() < 60);
    for path in ["/nothing", "/healthz", "/users"] {
        let reply = api.admin("GET", path, Value::Null).await;
        assert!(reply.headers.contains_key("policy-stale"), "{path}");
    }
    api.call("GET", "/readyz").send().await.refused(503, "store_unavailable");
    api.store.hooks().set_unavailable(false);
    until(&api, "/user/me", |reply| !reply.headers.contains_key("policy-stale")).await.ok(200);
}

#[tokio::test]
async fn a_policy_that_is_too_old_answers_nobody_but_those_who_ask_how_the_server_is() {
    let api = without_store(Duration::ZERO).await;
    let reply = until(&api, "/user/me", |reply| reply.status == 503).await.refused(503, "unavailable");
    assert_eq!(reply.header("retry-after"), "1");
    assert!(reply.headers.contains_key("policy-stale"));
    api.call("POST", "/check").by("nonsense").json(&json!({})).send().await.refused(503, "unavailable");
    for path in ["/healthz", "/metrics", "/api/openapi.json"] {
        api.admin("GET", path, Value::Null).await.ok(200);
    }
    api.call("GET", "/readyz").send().await.refused(503, "store_unavailable");
    api.store.hooks().set_unavailable(false);
    until(&api, "/user/me", |reply| reply.status == 200).await;
}

#[tokio::test]
async fn a_forked_stream_is_seen_where_readiness_is_asked_and_disturbs_nobody() {
    let api = Api::new().await;
    let fault = charter_control::StreamFault { offset: api.head() };
    api.control.stream_alarm(Some(fault));
    api.call("GET", "/readyz").send().await.refused(503, "stream_forked");
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.control.stream_alarm(None);
    api.call("GET", "/readyz").send().await.ok(200);
}
