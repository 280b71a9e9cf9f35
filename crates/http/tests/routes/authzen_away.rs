//! The routes of AuthZEN at a server that can't reach its store: it answers for a while, then it says no.

use crate::{
    authzen::{Gateway, question},
    support::{Api, Reply},
};
use charter_control::Config;
use serde_json::{Value, json};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(10);

async fn gateway(stale_decisions: Duration) -> Gateway {
    let config = Config { follow_every: Some(SOON), stale_decisions, ..Config::default() };
    let api = Api::set_up(config).await;
    api.admin("PUT", "/catalog/minecraft", crate::support::catalog()).await.ok(200);
    let s1 = json!({"type": "server", "name": "One", "external_id": "s1"});
    api.admin("POST", "/objects", s1).await.ok(201);
    let gateway = Gateway::of(api).await;
    assert_eq!(gateway.ask("evaluation", allowed()).await.ok(200).body, json!({"decision": true}));
    gateway
}

fn allowed() -> Value {
    question("ada", "view", ("server", "s1"))
}

/// Asks until the answer is as expected.
async fn until(gateway: &Gateway, expected: impl Fn(&Reply) -> bool) -> Reply {
    for _ in 0..1_000 {
        let reply = gateway.ask("evaluation", allowed()).await;
        if expected(&reply) {
            return reply;
        }
        tokio::time::sleep(SOON).await;
    }
    panic!("it was never answered so")
}

#[tokio::test]
async fn within_the_bound_it_decides_at_its_version_and_says_so() {
    let gateway = gateway(Duration::from_secs(1_000)).await;
    gateway.api.store.hooks().set_unavailable(true);
    let reply = until(&gateway, |reply| reply.headers.contains_key("policy-stale")).await.ok(200);
    assert_eq!(reply.body, json!({"decision": true}));
    assert_eq!(reply.header("policy-version"), gateway.api.head().to_string());
    for path in ["search/subject", "search/resource", "search/action"] {
        let found = gateway.ask(path, allowed()).await.ok(200);
        assert!(!found.body["results"].as_array().unwrap().is_empty(), "{path}");
    }
}

#[tokio::test]
async fn after_it_every_question_is_answered_no_and_no_search_is() {
    let gateway = gateway(Duration::ZERO).await;
    gateway.api.store.hooks().set_unavailable(true);
    let reply = until(&gateway, |reply| reply.body["decision"] == false).await.ok(200);
    assert_eq!(reply.text, r#"{"decision":false}"#);
    assert!(reply.headers.contains_key("policy-stale"));
    let mut why = allowed();
    why["context"] = json!({"explain": true});
    let reply = gateway.ask("evaluation", why).await.ok(200);
    assert_eq!(reply.body["decision"], false);
    assert_eq!(reply.body["context"]["error"]["code"], "unavailable");
    let mut several = allowed();
    several["evaluations"] = json!([{}, {}, {"subject": 7}]);
    let reply = gateway.ask("evaluations", several.clone()).await.ok(200);
    let no = json!({"decision": false});
    assert_eq!(reply.body, json!({"evaluations": [no, no, no]}));
    several["options"] = json!({"evaluations_semantic": "deny_on_first_deny"});
    let reply = gateway.ask("evaluations", several).await.ok(200);
    assert_eq!(reply.body, json!({"evaluations": [no]}));
    gateway.ask("evaluation", json!({})).await.refused(400, "missing_member");
    for path in ["search/subject", "search/resource", "search/action"] {
        gateway.ask(path, allowed()).await.refused(503, "unavailable");
    }
    gateway.api.store.hooks().set_unavailable(false);
    until(&gateway, |reply| reply.body["decision"] == true).await;
}

#[tokio::test]
async fn nobody_is_let_in_without_the_store_whatever_he_sends() {
    let gateway = gateway(Duration::ZERO).await;
    // A token that this server has not seen yet, and one that has ended.
    let unseen = gateway.api.token(gateway.api.id_of("ada"), None).await;
    let ended = gateway.api.user("ended").await;
    gateway.api.admin("POST", "/users/ended/suspend", Value::Null).await.ok(200);
    gateway.api.by(&ended, "GET", "/user/me", Value::Null).await.ok(401);
    gateway.api.store.hooks().set_unavailable(true);
    until(&gateway, |reply| reply.body["decision"] == false).await;
    let unknown = format!("cht_{}", "A".repeat(43));
    for secret in [None, Some("nonsense"), Some(&*ended), Some(&*unseen), Some(&*unknown)] {
        for path in ["evaluation", "evaluations"] {
            let call = gateway.api.call("POST", &format!("/access/v1/{path}")).json(&allowed());
            let reply = if let Some(secret) = secret { call.by(secret) } else { call }.send().await;
            let is_no = reply.status == 200 && reply.body == json!({"decision": false});
            assert!(is_no || reply.status == 401, "{secret:?}: {}", reply.text);
            assert!(is_no || ![Some(&*unseen), Some(&*unknown)].contains(&secret), "{}", reply.text);
        }
    }
}

#[tokio::test]
async fn a_token_that_can_not_be_looked_up_gets_a_no_while_others_are_still_answered() {
    let gateway = gateway(Duration::from_secs(1_000)).await;
    gateway.api.store.hooks().set_unavailable(true);
    until(&gateway, |reply| reply.headers.contains_key("policy-stale")).await;
    let unknown = format!("cht_{}", "A".repeat(43));
    let reply = gateway.api.by(&unknown, "POST", "/access/v1/evaluation", allowed()).await.ok(200);
    assert_eq!(reply.body, json!({"decision": false}));
    let search = gateway.api.by(&unknown, "POST", "/access/v1/search/subject", allowed()).await;
    search.refused(503, "unavailable");
    assert_eq!(gateway.ask("evaluation", allowed()).await.ok(200).body, json!({"decision": true}));
}
