//! What bounds every route: how many requests run, and how long a credential is good while one does.

use crate::support::{Api, PASSWORD, read};
use axum::{body::Body, http::Request};
use charter_http::{HttpConfig, router};
use charter_store::Point;
use futures_util::stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::task::JoinSet;
use tower::ServiceExt;

fn posted(path: &str, secret: Option<&str>, body: Body) -> Request<Body> {
    let mut request = Request::post(format!("/api/v1{path}")).header("content-type", "application/json");
    if let Some(secret) = secret {
        request = request.header("authorization", format!("Bearer {secret}"));
    }
    request.body(body).unwrap()
}

#[tokio::test]
async fn strangers_who_send_slowly_keep_out_strangers_only() {
    let mut api = Api::new().await;
    let config = HttpConfig { requests_at_once_max: 1, ..HttpConfig::default() };
    api.router = router(api.control.clone(), config);
    let never = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    let slow = tokio::spawn(api.router.clone().oneshot(posted("/session", None, never)));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let sign_in = api.call("POST", "/session").json(&json!({"username": "ada", "password": PASSWORD}));
    sign_in.send().await.refused(503, "overloaded");
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
    api.call("GET", "/healthz").send().await.ok(200);
    api.call("GET", "/readyz").send().await.ok(200);
    slow.abort();
}

#[tokio::test]
async fn a_credential_that_ends_while_the_body_arrives_changes_nothing() {
    let api = Api::new().await;
    let bob = api.user("bob").await;
    api.give("user:bob", &["core.group.create", "core.user.create"], "global").await;
    let head = std::sync::Arc::new(std::sync::Mutex::new(api.head()));
    for (path, body) in [("/groups", json!({"slug": "ops"})), ("/users", json!({"username": "eve"}))] {
        let (control, admin, noted) = (api.router.clone(), api.admin.clone(), head.clone());
        let shared = api.control.clone();
        let late = stream::once(async move {
            for verb in ["reactivate", "suspend"] {
                let end = posted(&format!("/users/bob/{verb}"), Some(&admin), Body::empty());
                let _ = control.clone().oneshot(end).await;
            }
            *noted.lock().unwrap() = shared.head().offset;
            Ok::<_, Infallible>(body.to_string().into_bytes())
        });
        api.admin("POST", "/users/bob/reactivate", Value::Null).await;
        let request = posted(path, Some(&bob), Body::from_stream(late));
        let reply = read(api.router.clone().oneshot(request).await.unwrap()).await;
        reply.refused(401, "invalid_token");
        api.unchanged_since(*head.lock().unwrap());
    }
}

#[tokio::test]
async fn a_credential_that_ends_while_a_version_is_waited_for_reads_nothing() {
    let api = Api::new().await;
    let bob = api.user("bob").await;
    api.by(&bob, "GET", "/user/me", Value::Null).await.ok(200);
    let next = (api.head().get() + 1).to_string();
    let waits = api.call("GET", "/user/me").by(&bob).header("policy-version-min", &next).send();
    let ends = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200);
    };
    let (reply, ()) = tokio::join!(waits, ends);
    reply.refused(401, "invalid_token");
}

#[tokio::test]
async fn who_is_not_signed_in_waits_for_no_version() {
    let api = Api::new().await;
    for version in ["100000", "x"] {
        let call = api.call("GET", "/setup").header("policy-version-min", version);
        call.send().await.ok(200);
    }
}

#[tokio::test]
async fn metrics_are_for_those_who_hold_their_key_globally() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    let role = json!({"slug": "odd", "scope": "object", "permissions": ["core.*"]});
    api.admin("POST", "/roles", role).await.ok(201);
    let grant = json!({"subject": "user:carol", "role": "odd", "scope": "server:s2"});
    api.admin("POST", "/grants", grant).await.ok(201);
    let reply = api.by(&carol, "GET", "/metrics", Value::Null).await.refused(403, "forbidden");
    assert_eq!(reply.body["missing"], json!(["core.projection.read"]));
    api.admin("GET", "/metrics", Value::Null).await.ok(200);
}

#[tokio::test]
async fn a_password_is_no_part_of_what_an_idempotency_key_is_held_to() {
    let api = Api::new().await;
    let send = |body: Value| {
        api.call("POST", "/users").by(&api.admin).header("idempotency-key", "k1").json(&body).send()
    };
    let first = send(json!({"username": "bob", "password": PASSWORD})).await.ok(201);
    let again = send(json!({"username": "bob", "password": "quite another one"})).await.ok(201);
    assert_eq!(first.body["id"], again.body["id"]);
    send(json!({"username": "eve", "password": PASSWORD})).await.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn a_repeated_request_shows_no_more_than_its_sender_may_still_see() {
    let api = Api::furnished().await;
    let bob = api.user("bob").await;
    api.user_without_token("dave").await;
    let creates = api.give("user:bob", &["minecraft.server.create"], "global").await;
    let may = ["core.grant.manage", "core.grant.read", "minecraft.server.restart"];
    let grants = api.give("user:bob", &may, "server:s2").await;
    let send = |path: &'static str, body: Value| {
        api.call("POST", path).by(&bob).header("idempotency-key", path).json(&body).send()
    };
    let object = json!({"type": "server", "name": "Mine", "external_id": "own"});
    let grant =
        json!({"subject": "user:dave", "permissions": ["minecraft.server.restart"], "scope": "server:s2"});
    let made = send("/objects", object.clone()).await.ok(201);
    send("/grants", grant.clone()).await.ok(201);
    assert_eq!(send("/objects", object.clone()).await.ok(201).body["id"], made.body["id"]);
    send("/grants", grant.clone()).await.ok(201);
    api.admin("POST", "/objects/server/own/transfer", json!({"owner": "ada"})).await.ok(200);
    for id in [creates, grants] {
        api.admin("DELETE", &format!("/grants/{id}"), Value::Null).await.ok(204);
    }
    // The gates stay open: he holds the keys elsewhere.
    api.give("user:bob", &["minecraft.server.create", "core.grant.manage"], "folder:eu").await;
    send("/objects", object).await.refused(404, "not_found");
    send("/grants", grant).await.refused(404, "not_found");
}

#[tokio::test]
async fn changes_that_wait_for_the_end_of_the_log_keep_out_no_question() {
    let mut api = Api::new().await;
    let config = HttpConfig { requests_at_once_max: 8, ..HttpConfig::default() };
    api.router = router(api.control.clone(), config);
    let mut held = api.store.hooks().pause_at(Point::BeforeCommit);
    let mut changes = JoinSet::new();
    for number in 0..40 {
        let body = Body::from(json!({"slug": format!("g{number}")}).to_string());
        changes.spawn(api.router.clone().oneshot(posted("/groups", Some(&api.admin), body)));
    }
    held.reached().await;
    // Two wait, the others are turned away at once.
    for _ in 0..38 {
        let answer = changes.join_next().await.unwrap().unwrap().unwrap();
        read(answer).await.refused(503, "overloaded");
    }
    for _ in 0..20 {
        let question = json!({"permission": "core.user.read"});
        api.admin("POST", "/check", question).await.ok(200);
        api.admin("GET", "/users", Value::Null).await.ok(200);
    }
    held.go();
    while let Some(answer) = changes.join_next().await {
        read(answer.unwrap().unwrap()).await.ok(201);
    }
}
