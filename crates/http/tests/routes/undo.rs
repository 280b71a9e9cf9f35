//! Undoing over HTTP: what leads back is a command like any other.

use crate::support::Api;
use charter_store::{CredentialKind, SecretStore};
use serde_json::{Value, json};

const KEY: &str = "minecraft.server.restart";

/// `bob` was given a key, and it was taken back; the offset of the revocation.
async fn with_a_revocation() -> (Api, u64) {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    let grant = api.give("user:bob", &[KEY], "server:s2").await;
    api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
    let at = api.head().get();
    (api, at)
}

async fn may_restart(api: &Api) -> bool {
    let question = json!({"user": "bob", "permission": KEY, "object": "server:s2"});
    api.admin("POST", "/check", question).await.ok(200).body["allowed"].as_bool().unwrap()
}

/// The last event, as the log shows it.
async fn last_event(api: &Api) -> Value {
    let path = format!("/events?after={}", api.head().get() - 1);
    serde_json::from_str(&api.admin("GET", &path, Value::Null).await.ok(200).text).unwrap()
}

#[tokio::test]
async fn what_was_taken_back_is_given_again_and_the_log_says_what_that_undid() {
    let (api, at) = with_a_revocation().await;
    assert!(!may_restart(&api).await);
    let call = api.call("POST", "/history/undo").by(&api.admin).header("x-reason", "it was the wrong one");
    let reply = call.json(&json!({"offset": at})).send().await.ok(200);
    assert_eq!((&reply.body["undone_first"], &reply.body["undone_last"]), (&json!(at), &json!(at)));
    assert_eq!((&reply.body["first"], &reply.body["last"]), (&json!(at + 1), &json!(at + 1)));
    assert_eq!(reply.header("policy-version"), (at + 1).to_string());
    assert!(may_restart(&api).await);
    let event = last_event(&api).await;
    assert_eq!(event["type"], "grant.issued");
    assert_eq!(event["reason"], format!("undoes {at}: it was the wrong one"));
    // And an undo is undone like anything else.
    api.admin("POST", "/history/undo", json!({"offset": at + 1})).await.ok(200);
    assert!(!may_restart(&api).await);
    assert_eq!(last_event(&api).await["reason"], format!("undoes {}", at + 1));
}

#[tokio::test]
async fn any_event_of_a_command_names_it_as_a_whole() {
    let (api, _) = with_a_revocation().await;
    api.admin("POST", "/groups", json!({"slug": "ops", "name": "Ops"})).await.ok(201);
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    api.give("group:ops", &[KEY], "server:s2").await;
    let head = api.head().get();
    api.admin("DELETE", "/groups/ops", Value::Null).await.ok(204);
    assert_eq!(api.head().get(), head + 3, "a grant, a membership, the group");
    let reply = api.admin("POST", "/history/undo", json!({"offset": head + 2})).await.ok(200);
    assert_eq!(
        (&reply.body["undone_first"], &reply.body["undone_last"]),
        (&json!(head + 1), &json!(head + 3))
    );
    assert!(may_restart(&api).await);
}

#[tokio::test]
async fn an_offset_that_is_not_there_undoes_nothing() {
    let (api, at) = with_a_revocation().await;
    let head = api.head();
    for (offset, code) in [(0, "before_first_event"), (at + 1, "beyond_head"), (u64::MAX, "beyond_head")] {
        let reply = api.admin("POST", "/history/undo", json!({"offset": offset})).await.refused(422, code);
        assert_eq!(reply.body["field"], "offset", "{}", reply.text);
    }
    for body in [json!({}), json!({"offset": "3"}), json!({"offset": 3, "more": 1}), json!({"offset": -1})] {
        assert_eq!(api.admin("POST", "/history/undo", body).await.status, 422);
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn what_can_t_be_undone_names_the_events_in_the_way() {
    let (api, _) = with_a_revocation().await;
    let head = api.head().get();
    let s1 = "/objects/server/s1";
    api.admin("DELETE", s1, Value::Null).await.ok(204);
    let reply = api.admin("POST", "/history/undo", json!({"offset": head + 1})).await;
    let reply = reply.refused(409, "not_undoable");
    let ways = reply.body["events"].as_array().unwrap();
    assert_eq!(ways.len(), 2, "{}", reply.text);
    assert_eq!((&ways[1]["type"], &ways[1]["reason"]), (&json!("object.deleted"), &json!("deleted")));
    assert_eq!(ways[1]["offset"], json!(head + 2));
    let first = api.admin("POST", "/history/undo", json!({"offset": 1})).await.refused(409, "not_undoable");
    assert_eq!(first.body["events"][0]["reason"], "beginning");
}

#[tokio::test]
async fn what_is_undone_already_or_changed_again_says_so() {
    let (api, at) = with_a_revocation().await;
    api.admin("POST", "/history/undo", json!({"offset": at})).await.ok(200);
    let head = api.head();
    let again = api.admin("POST", "/history/undo", json!({"offset": at})).await.refused(409, "not_undoable");
    assert_eq!(again.body["events"][0]["reason"], "already");
    api.unchanged_since(head);
    api.admin("PATCH", "/objects/server/s2", json!({"name": "Second"})).await.ok(200);
    let renamed = api.head().get();
    api.admin("PATCH", "/objects/server/s2", json!({"name": "Third"})).await.ok(200);
    let late =
        api.admin("POST", "/history/undo", json!({"offset": renamed})).await.refused(409, "not_undoable");
    assert_eq!(late.body["events"][0]["reason"], "superseded");
}

#[tokio::test]
async fn an_undo_is_no_way_past_a_later_decision_that_came_to_the_same() {
    let (api, _) = with_a_revocation().await;
    api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200);
    let suspended = api.head().get();
    api.admin("POST", "/users/bob/reactivate", Value::Null).await.ok(200);
    api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200);
    let head = api.head();
    let reply = api.admin("POST", "/history/undo", json!({"offset": suspended})).await;
    assert_eq!(reply.refused(409, "not_undoable").body["events"][0]["reason"], "superseded");
    api.unchanged_since(head);
    // The later one can be undone.
    api.admin("POST", "/history/undo", json!({"offset": head.get()})).await.ok(200);
    assert_eq!(api.admin("GET", "/users/bob", Value::Null).await.ok(200).body["status"], "active");
}

#[tokio::test]
async fn no_reason_of_another_change_says_that_it_undoes_something() {
    let (api, _) = with_a_revocation().await;
    let head = api.head();
    let send = |slug: &str, reason: &str| {
        let call = api.call("POST", "/groups").by(&api.admin).header("x-reason", reason);
        call.json(&json!({"slug": slug, "name": "Ops"})).send()
    };
    for forged in ["undoes 7", "undoes 7: it was wrong", "Undoes  7"] {
        send("ops", forged).await.refused(400, "invalid_header");
    }
    api.unchanged_since(head);
    send("ops", "undoes what Bob did").await.ok(201);
    send("more", "it undoes 7").await.ok(201);
}

#[tokio::test]
async fn who_may_read_the_log_undoes_only_what_he_might_do() {
    let (api, at) = with_a_revocation().await;
    let carol = api.user("carol").await;
    let head = api.head().get();
    // Without leave to read the log all offsets are alike.
    for offset in [at, head + 100] {
        let reply = api.by(&carol, "POST", "/history/undo", json!({"offset": offset})).await;
        assert_eq!(reply.refused(403, "forbidden").body["missing"], json!(["core.audit.read"]));
    }
    api.give("user:carol", &["core.audit.read"], "global").await;
    api.by(&carol, "POST", "/history/undo", json!({"offset": at})).await.refused(404, "not_found");
    api.give("user:carol", &["core.grant.manage"], "server:s2").await;
    let reply = api.by(&carol, "POST", "/history/undo", json!({"offset": at})).await;
    let reply = reply.refused(403, "not_held");
    assert_eq!(reply.body["missing"], json!([KEY]));
    assert!(reply.body["detail"].as_str().unwrap().contains(&format!("offset {at}")), "{}", reply.text);
    api.give("user:carol", &[KEY], "server:s2").await;
    api.by(&carol, "POST", "/history/undo", json!({"offset": at})).await.ok(200);
    assert!(may_restart(&api).await);
}

#[tokio::test]
async fn the_same_request_again_gets_the_first_answer() {
    let (api, at) = with_a_revocation().await;
    let send = |offset: u64| {
        let call = api.call("POST", "/history/undo").by(&api.admin).header("idempotency-key", "once");
        call.json(&json!({"offset": offset})).send()
    };
    let first = send(at).await.ok(200);
    let head = api.head();
    assert_eq!(send(at).await.ok(200).body, first.body);
    api.unchanged_since(head);
    send(at - 1).await.refused(422, "idempotency_key_reused");
}

#[tokio::test]
async fn a_token_whose_issue_is_undone_works_no_longer() {
    let api = Api::furnished().await;
    let bob = api.user_without_token("bob").await;
    let token = api.token(bob, None).await;
    let at = api.head().get();
    api.by(&token, "GET", "/user/me", Value::Null).await.ok(200);
    api.admin("POST", "/history/undo", json!({"offset": at})).await.ok(200);
    api.by(&token, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    let kept = api.store.credentials_of(bob, CredentialKind::Token).await.unwrap();
    assert!(kept.is_empty(), "what is kept of the token goes with it");
}

#[tokio::test]
async fn a_preview_tells_what_an_undo_would_do_or_why_not_and_does_nothing() {
    let (api, at) = with_a_revocation().await;
    let head = api.head();
    let ask =
        |offset: u64| json!({"method": "POST", "path": "/api/v1/history/undo", "body": {"offset": offset}});
    let told = api.admin("POST", "/commands/preview", ask(at)).await.ok(200);
    assert_eq!(told.body["events"][0]["type"], "grant.issued");
    assert_eq!(told.body["events"].as_array().unwrap().len(), 1, "{}", told.text);
    let change = &told.body["changes"][0];
    assert_eq!((&change["user"]["username"], &change["permission"]), (&json!("bob"), &json!(KEY)));
    let not = api.admin("POST", "/commands/preview", ask(1)).await.refused(409, "not_undoable");
    assert_eq!(not.body["events"][0]["reason"], "beginning");
    api.unchanged_since(head);
    assert!(!may_restart(&api).await);
}
