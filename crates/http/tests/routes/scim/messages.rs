//! The form of messages: what is taken, what is refused, what is discovered.

use super::{GROUP, PATCH, Provider, SEARCH, USER, rooted};
use crate::support::Api;
use charter_http::{ACCESS_TABLE, BODY_BYTES_MAX, Row};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn bodies(user: &str, group: &str) -> Vec<(&'static str, String, Value)> {
    let patch =
        json!({"schemas": [PATCH], "Operations": [{"op": "add", "path": "displayName", "value": "x"}]});
    vec![
        ("POST", "/Users".to_owned(), json!({"schemas": [USER], "userName": "x"})),
        ("PUT", format!("Users/{user}"), json!({"schemas": [USER], "userName": "x"})),
        ("PATCH", format!("Users/{user}"), patch.clone()),
        ("POST", "/Groups".to_owned(), json!({"schemas": [GROUP], "displayName": "x"})),
        ("PUT", format!("/Groups/{group}"), json!({"schemas": [GROUP], "displayName": "x"})),
        ("PATCH", format!("/Groups/{group}"), patch),
        ("POST", "Users/.search".to_owned(), json!({"schemas": [SEARCH]})),
        ("POST", "/Groups/.search".to_owned(), json!({"schemas": [SEARCH]})),
        ("POST", "/.search".to_owned(), json!({"schemas": [SEARCH]})),
    ]
}

#[tokio::test]
async fn a_malformed_message_is_refused_on_every_route_that_takes_one() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let (user, group) = (provider.user("bob").await, provider.group("Ops", &[]).await);
    let head = api.head();
    let deep = format!("{}{}", "{\"a\":".repeat(10_000), "1".to_owned() + &"}".repeat(10_000));
    for (method, path, good) in bodies(&user, &group) {
        let good = good.to_string();
        let with = |more: &str| format!("{{{more},{}", good.trim_start_matches('{'));
        for body in [
            b"".to_vec(),
            b"{".to_vec(),
            b"[]".to_vec(),
            b"null".to_vec(),
            b"{}".to_vec(),
            b"\xef\xbb\xbf{}".to_vec(),
            b"{\"a\":\"\xff\"}".to_vec(),
            b"{\"a\":\"\\ud800\"}".to_vec(),
            deep.clone().into_bytes(),
            with("\"zzz\":1").into_bytes(),
            with("\"zzz\":1,\"zzz\":2").into_bytes(),
            with("\"SCHEMAS\":[]").into_bytes(),
            good.replace("urn:ietf", "urn:other").into_bytes(),
        ] {
            let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let reply = provider.call(method, &path).raw("application/scim+json", &body).send().await;
            assert_eq!(reply.status, 400, "{method} {path} {shown}: {}", reply.text);
            reply.fault(400, Some("invalidSyntax"));
        }
        for content_type in ["text/plain", "application/foo+json", "application/scim+json; charset=latin1"] {
            let reply = provider.call(method, &path).raw(content_type, good.as_bytes()).send().await;
            reply.fault(415, None);
        }
        let large = vec![b' '; BODY_BYTES_MAX + 1];
        provider.call(method, &path).raw("application/scim+json", &large).send().await.fault(413, None);
    }
    api.unchanged_since(head);
    for (method, path, good) in bodies(&user, &group) {
        let call = provider.call(method, &path).raw("application/json", good.to_string().as_bytes());
        let status = call.send().await.status;
        assert!([200, 201, 409].contains(&status), "{method} {path}: {status}");
    }
}

#[test]
fn every_route_that_takes_a_message_is_among_those_tried() {
    let takes = |row: &&Row| ["POST", "PUT", "PATCH"].contains(&row.method);
    let rows = ACCESS_TABLE.iter().filter(|row| row.path.starts_with("/scim/")).filter(takes);
    let rows: BTreeSet<_> = rows.map(|row| (row.method, row.path.replace("{id}", "x"))).collect();
    let tried = bodies("x", "x").into_iter().map(|(method, path, _)| (method, rooted(&path)));
    assert_eq!(rows, tried.collect());
}

#[tokio::test]
async fn a_repeat_with_the_same_key_makes_nothing_twice() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let send = |body: Value| {
        let call = provider.call("POST", "/Users").header("idempotency-key", "k");
        call.raw("application/scim+json", body.to_string().as_bytes()).send()
    };
    let user = json!({"schemas": [USER], "userName": "alice"});
    let first = send(user.clone()).await.ok(201);
    let head = api.head();
    assert_eq!(send(user).await.ok(201).body["id"], first.body["id"]);
    send(json!({"schemas": [USER], "userName": "bob"})).await.fault(400, Some("invalidValue"));
    api.unchanged_since(head);
}

#[tokio::test]
async fn numbers_and_wrong_types_are_refused() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let head = api.head();
    for (member, value) in [
        ("userName", json!(1)),
        ("userName", json!(null)),
        ("userName", json!(["a"])),
        ("displayName", json!({"a": 1})),
        ("displayName", json!("x".repeat(129))),
        ("externalId", json!(9_007_199_254_740_993_u64)),
        ("externalId", json!("\u{e9}")),
        ("externalId", json!("x".repeat(257))),
        ("active", json!(1)),
        ("active", json!("yes")),
        ("emails", json!("a@b.c")),
        ("emails", json!([{"type": "work"}])),
        ("emails", json!([{"value": 1}])),
        ("emails", json!([{"value": "a@b.c", "primary": 1}])),
        ("name", json!("Alice")),
    ] {
        let mut user = json!({"schemas": [USER], "userName": "alice"});
        user[member] = value.clone();
        let reply = provider.send("POST", "/Users", user).await;
        assert!(reply.status == 400, "{member} {value}: {}", reply.text);
        assert!(
            ["invalidValue", "mutability"].contains(&reply.body["scimType"].as_str().unwrap()),
            "{}",
            reply.text
        );
    }
    for (member, value) in [
        ("displayName", json!(1)),
        ("displayName", json!("")),
        ("members", json!(["x"])),
        ("members", json!([{}])),
    ] {
        let mut group = json!({"schemas": [GROUP], "displayName": "G"});
        group[member] = value;
        provider.send("POST", "/Groups", group).await.fault(400, Some("invalidValue"));
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn what_there_is_can_be_discovered_and_is_not_changed() {
    let api = Api::new().await;
    let provider = Provider::delegate(&api).await;
    let config = provider.get("/ServiceProviderConfig").await.ok(200);
    for (what, supported) in [
        ("patch", true),
        ("bulk", false),
        ("filter", true),
        ("changePassword", false),
        ("sort", true),
        ("etag", true),
    ] {
        assert_eq!(config.body[what]["supported"], supported, "{what}");
    }
    let types = provider.get("/ResourceTypes").await.ok(200);
    assert_eq!(types.ids("Resources"), ["User", "Group"]);
    for kind in types.body["Resources"].as_array().unwrap() {
        let id = kind["id"].as_str().unwrap();
        assert_eq!(provider.get(&format!("/ResourceTypes/{id}")).await.ok(200).body, *kind);
        let schema = kind["schema"].as_str().unwrap();
        assert_eq!(provider.get(&format!("/Schemas/{schema}")).await.ok(200).body["id"], schema);
    }
    assert_eq!(provider.get("/Schemas").await.ok(200).ids("Resources"), [USER, GROUP]);
    for path in ["/ResourceTypes/Robot", "/Schemas/urn:nothing", "/Bulk", "/Me", "/", ""] {
        provider.get(path).await.fault(404, None);
    }
    provider.get("/Schemas?filter=id%20pr").await.fault(403, None);
    for path in ["/ServiceProviderConfig", "/ResourceTypes", "/Schemas"] {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let refused = provider.send(method, path, json!({})).await.fault(405, None);
            assert!(refused.header("allow").contains("GET"));
        }
    }
}

/// Addresses and versions are logged by whoever stands between: they hold ids alone.
#[tokio::test]
async fn what_is_asked_for_is_in_no_location_or_version() {
    let api = Api::new().await;
    let provider = Provider::admin(&api).await;
    let made = provider
        .send("POST", "/Users", json!({"schemas": [USER], "userName": "canary@example.com"}))
        .await
        .ok(201);
    for header in ["location", "etag"] {
        assert!(!made.header(header).contains("canary"), "{}", made.header(header));
    }
}
