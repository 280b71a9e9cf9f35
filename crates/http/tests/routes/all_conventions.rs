//! What holds for every route: policy versions, cursors, `If-Match`, idempotency keys, headers.

use crate::support::Api;
use charter_control::Config;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

#[tokio::test]
async fn every_answer_names_its_version_its_request_and_keeps_caches_out() {
    let api = Api::new().await;
    for (method, path, secret) in [
        ("GET", "/user/me", Some(&api.admin)),
        ("GET", "/users", None),
        ("GET", "/users/ghost", Some(&api.admin)),
        ("GET", "/nothing", None),
        ("PURGE", "/users", None),
        ("GET", "/healthz", None),
        ("GET", "/api/openapi.json", None),
    ] {
        let mut call = api.call(method, path).header("x-request-id", "req-7");
        if let Some(secret) = secret {
            call = call.by(secret);
        }
        let reply = call.send().await;
        assert_eq!(reply.header("policy-version"), api.head().to_string(), "{path}");
        assert_eq!(reply.header("x-request-id"), "req-7");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
    let reply = api.call("GET", "/healthz").header("x-request-id", "not an id").send().await;
    assert_eq!(reply.header("x-request-id").len(), 36);
}

#[tokio::test]
async fn a_change_is_recorded_with_who_asked_why_and_in_which_request() {
    let api = Api::new().await;
    let before = api.head();
    let call = api.call("POST", "/groups").by(&api.admin).header("x-request-id", "req-9");
    let call = call.header("x-reason", "because of the audit").json(&json!({"slug": "ops"}));
    assert_eq!(call.send().await.ok(201).header("policy-version"), api.head().to_string());
    let events = api.control.events(before, 10).await.unwrap();
    let ada = charter_events::Actor::User(api.id_of("ada"));
    for event in &events {
        assert_eq!(event.command.request_id.as_deref(), Some("req-9"));
        assert_eq!(event.command.reason.as_deref(), Some("because of the audit"));
        assert_eq!((&event.command.actor, event.command.via), (&ada, charter_events::Via::Api));
    }
    let head = api.head();
    for reason in ["".to_owned(), "x".repeat(1_025)] {
        let call = api.call("POST", "/groups").by(&api.admin).header("x-reason", &reason);
        call.json(&json!({"slug": "other"})).send().await.refused(400, "invalid_header");
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_read_may_ask_for_a_version_and_is_refused_clearly_when_it_is_not_reached() {
    let api = Api::new().await;
    let made = api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let version = made.header("policy-version").to_owned();
    let at_least = |version: &str| {
        api.call("GET", "/groups/ops").by(&api.admin).header("policy-version-min", version).send()
    };
    at_least(&version).await.ok(200);
    for wrong in ["", "x", "-1", "1.5", "9223372036854775808", "+1"] {
        at_least(wrong).await.refused(400, "invalid_header");
    }
}

#[tokio::test]
async fn a_version_that_never_comes_is_503_after_a_bound() {
    let config = Config { version_wait: Duration::from_millis(20), ..Config::default() };
    let api = Api::set_up(config).await;
    let call = api.call("GET", "/user/me").by(&api.admin).header("policy-version-min", "100000");
    let reply = call.send().await.refused(503, "version_not_reached");
    assert_eq!(reply.header("retry-after"), "1");
}

#[tokio::test]
async fn the_same_request_with_the_same_key_happens_once() {
    let api = Api::new().await;
    let send = |key: &'static str, body: Value| {
        api.call("POST", "/groups").by(&api.admin).header("idempotency-key", key).json(&body).send()
    };
    let first = send("k1", json!({"slug": "ops"})).await.ok(201);
    let head = api.head();
    let again = send("k1", json!({"slug": "ops"})).await.ok(201);
    assert_eq!(first.body["id"], again.body["id"]);
    send("k1", json!({"slug": "dev"})).await.refused(422, "idempotency_key_reused");
    send("k2", json!({"slug": "ops"})).await.refused(409, "name_taken");
    api.unchanged_since(head);
    let bob = api.user("bob").await;
    let head = api.head();
    let other = api.call("POST", "/user/me/tokens").by(&bob).header("idempotency-key", "k1");
    other.json(&json!({"name": "x"})).send().await.ok(201);
    assert!(api.head() > head, "a key is its caller's own");
    let again = api.call("POST", "/user/me/tokens").by(&bob).header("idempotency-key", "k1");
    again.json(&json!({"name": "x"})).send().await.refused(409, "secret_shown_once");
    for key in ["", &"k".repeat(129)] {
        let call = api.call("POST", "/groups").by(&api.admin).header("idempotency-key", key);
        call.json(&json!({"slug": "x"})).send().await.refused(400, "invalid_header");
    }
}

async fn walked(api: &Api, path: &str, secret: &str, limit: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let separator = if path.contains('?') { '&' } else { '?' };
        let more = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
        let reply = api
            .by(secret, "GET", &format!("{path}{separator}limit={limit}{more}"), Value::Null)
            .await
            .ok(200);
        let rows = reply.ids("items");
        assert!(rows.len() <= limit);
        ids.extend(rows);
        match reply.body["next"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return ids,
        }
    }
}

#[tokio::test]
async fn pages_of_every_size_hold_each_row_once() {
    let api = Api::furnished().await;
    for number in 0..11 {
        api.user_without_token(&format!("u{number}")).await;
        api.admin("POST", "/groups", json!({"slug": format!("g{number}")})).await.ok(201);
        api.admin("POST", "/roles", json!({"slug": format!("r{number}"), "scope": "both"})).await.ok(201);
        api.admin("PUT", &format!("/groups/g0/members/u{number}"), Value::Null).await.ok(204);
        let object = json!({"type": "server", "name": "x", "parent": "folder:eu"});
        api.admin("POST", "/objects", object).await.ok(201);
        api.give(&format!("user:u{number}"), &["minecraft.server.read"], "server:s1").await;
    }
    for (path, count) in [
        ("/users", 12),
        ("/groups", 11),
        ("/roles", 15),
        ("/groups/g0/members", 11),
        ("/objects", 14),
        ("/objects?type=server", 13),
        ("/objects?parent=folder:eu", 12),
        ("/objects?parent=none", 2),
        ("/grants?scope=server:s1", 12),
        ("/grants", 26),
    ] {
        let whole = walked(&api, path, &api.admin, 500).await;
        assert_eq!(whole.len(), count, "{path}");
        assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), count, "{path}");
        for limit in [1, 2, 5, 11, 12] {
            assert_eq!(walked(&api, path, &api.admin, limit).await, whole, "{path} by {limit}");
        }
    }
}

#[tokio::test]
async fn rows_that_come_and_go_between_pages_disturb_no_other() {
    let api = Api::new().await;
    for number in 0..6 {
        api.admin("POST", "/groups", json!({"slug": format!("g{number}")})).await.ok(201);
    }
    let first = api.admin("GET", "/groups?limit=3", Value::Null).await.ok(200);
    api.admin("DELETE", "/groups/g2", Value::Null).await.ok(204);
    api.admin("DELETE", "/groups/g4", Value::Null).await.ok(204);
    api.admin("POST", "/groups", json!({"slug": "g6"})).await.ok(201);
    let path = format!("/groups?limit=3&cursor={}", first.body["next"].as_str().unwrap());
    let second = api.admin("GET", &path, Value::Null).await.ok(200);
    assert_eq!(second.texts("items", "slug"), ["g3", "g5", "g6"]);
}

#[tokio::test]
async fn a_cursor_works_for_its_list_its_filter_and_its_caller_alone() {
    let api = Api::furnished().await;
    for number in 0..3 {
        api.user_without_token(&format!("u{number}")).await;
        api.admin("POST", "/groups", json!({"slug": format!("g{number}")})).await.ok(201);
    }
    let other = api.user("other").await;
    let role = json!({"slug": "reader", "scope": "global", "permissions": ["core.user.read"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let grant = json!({"subject": "user:other", "role": "reader", "scope": "global"});
    let grant = api.admin("POST", "/grants", grant).await.ok(201).body["id"].as_str().unwrap().to_owned();
    let next = |path: &'static str| async {
        api.admin("GET", path, Value::Null).await.ok(200).body["next"].as_str().unwrap().to_owned()
    };
    let users = next("/users?limit=1").await;
    let objects = next("/objects?limit=1&type=server").await;
    let keys = next("/permissions?limit=1").await;
    for (path, cursor) in [
        ("/groups?limit=1", &users),
        ("/objects?limit=1", &objects),
        ("/objects?limit=1&type=folder", &objects),
        ("/permissions?limit=1&namespace=core", &keys),
        ("/users?limit=1", &"A".repeat(120)),
        ("/users?limit=1", &format!("{users}A")),
        ("/users?limit=1", &users[..users.len() - 1].to_owned()),
    ] {
        let reply = api.admin("GET", &format!("{path}&cursor={cursor}"), Value::Null).await;
        reply.refused(400, "invalid_cursor");
    }
    let path = format!("/users?limit=1&cursor={users}");
    api.by(&other, "GET", &path, Value::Null).await.refused(400, "invalid_cursor");
    api.admin("GET", &path, Value::Null).await.ok(200);

    let own = api.by(&other, "GET", "/users?limit=1", Value::Null).await.ok(200);
    let path = format!("/users?limit=1&cursor={}", own.body["next"].as_str().unwrap());
    api.by(&other, "GET", &path, Value::Null).await.ok(200);
    api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
    api.by(&other, "GET", &path, Value::Null).await.refused(403, "forbidden");
}

#[tokio::test]
async fn a_store_that_fails_is_a_clear_503_and_says_nothing_else() {
    let api = Api::new().await;
    api.store.hooks().set_unavailable(true);
    let reply = api.admin("POST", "/groups", json!({"slug": "ops"})).await.refused(503, "unavailable");
    assert_eq!(reply.header("retry-after"), "1");
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
    api.store.hooks().set_unavailable(false);
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
}

#[tokio::test]
async fn a_header_that_is_sent_twice_counts_for_nothing() {
    let api = Api::new().await;
    let call = api.call("GET", "/user/me").by(&api.admin).by(&api.admin);
    call.send().await.refused(400, "invalid_header");
    let head = api.head();
    for name in ["idempotency-key", "x-reason", "policy-version-min", "if-match"] {
        let twice = api.call("POST", "/groups").by(&api.admin).header(name, "1").header(name, "1");
        let reply = twice.json(&json!({"slug": "twice"})).send().await.refused(400, "invalid_header");
        assert_eq!(reply.body["field"].as_str().unwrap().to_ascii_lowercase(), name, "{}", reply.text);
    }
    api.unchanged_since(head);
    let basic = api.call("GET", "/user/me").header("authorization", "Basic YWRhOng=");
    basic.send().await.refused(401, "unauthenticated");
    let other = api.call("GET", "/user/me").header("x-user", "ada");
    other.send().await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn secrets_are_in_no_answer_but_the_one_that_made_them() {
    let api = Api::new().await;
    let issued = api.admin("POST", "/user/me/tokens", json!({"name": "canary"})).await.ok(201);
    let canary = issued.body["secret"].as_str().unwrap().to_owned();
    api.by(&canary, "GET", "/user/me", Value::Null).await.ok(200);
    for path in [
        "/user/me",
        "/user/me/tokens",
        "/user/me/sessions",
        "/users",
        "/events?limit=500",
        "/log",
        "/permissions",
    ] {
        let reply = api.admin("GET", path, Value::Null).await.ok(200);
        for secret in [canary.as_str(), &api.admin, crate::support::PASSWORD] {
            assert!(!reply.text.contains(secret), "{path}");
            assert!(!reply.text.contains(&secret[4..]), "{path}");
        }
    }
    for body in [json!({"username": canary, "password": canary}), json!({"password": canary, "x": canary})] {
        let reply = api.call("POST", "/session").json(&body).send().await;
        assert!(!reply.text.contains(&canary), "{}", reply.text);
    }
}
