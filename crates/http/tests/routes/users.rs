//! `/users`: people and services, seen from outside.

use crate::support::{Api, PASSWORD};
use serde_json::{Value, json};

#[tokio::test]
async fn a_user_is_created_found_by_any_of_his_names_edited_and_listed() {
    let api = Api::new().await;
    let new = json!({"username": "alice", "display_name": "Alice", "email": "alice@example.org",
                     "external_id": "HR-7", "password": PASSWORD});
    let made = api.admin("POST", "/users", new).await.ok(201);
    let id = made.body["id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), format!("/api/v1/users/{id}"));
    assert_eq!((&made.body["status"], &made.body["has_password"]), (&json!("active"), &json!(true)));
    for name in [id.as_str(), "alice", "HR-7"] {
        let found = api.admin("GET", &format!("/users/{name}"), Value::Null).await.ok(200);
        assert_eq!(found.body["id"], id.as_str(), "{name}");
    }
    let patch = json!({"display_name": null, "email": "a@example.org"});
    let edited = api.admin("PATCH", "/users/alice", patch).await.ok(200);
    assert_eq!(edited.body.get("display_name"), None);
    assert_eq!(
        (&edited.body["email"], &edited.body["external_id"]),
        (&json!("a@example.org"), &json!("HR-7"))
    );
    assert_ne!(edited.header("etag"), made.header("etag"));
    let head = api.head();
    let null =
        api.admin("PATCH", "/users/alice", json!({"username": null})).await.refused(422, "invalid_type");
    assert_eq!(null.body["field"], "username");
    api.unchanged_since(head);
    let listed = api.admin("GET", "/users", Value::Null).await.ok(200);
    assert_eq!(listed.texts("items", "username"), ["ada", "alice"]);
}

#[tokio::test]
async fn an_account_is_suspended_reactivated_scheduled_for_deletion_and_restored() {
    let api = Api::new().await;
    api.user_without_token("bob").await;
    let shared = &api;
    let status = |verb: &'static str, body: Value| async move {
        shared.admin("POST", &format!("/users/bob/{verb}"), body).await.ok(200).body["status"].clone()
    };
    assert_eq!(status("suspend", Value::Null).await, "suspended");
    assert_eq!(status("reactivate", Value::Null).await, "active");
    assert_eq!(status("schedule-deletion", json!({})).await, "awaiting_deletion");
    assert_eq!(status("restore", Value::Null).await, "active");
    let head = api.head();
    api.admin("POST", "/users/bob/restore", Value::Null).await.refused(409, "invalid_state");
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_identity_is_linked_shown_to_who_may_read_users_and_unlinked() {
    let api = Api::new().await;
    let bob = api.user_without_token("bob").await;
    let identity = json!({"issuer": "https://id.example.org", "subject": "248289761001"});
    let linked = api.admin("PUT", "/users/bob/identity", identity.clone()).await.ok(200);
    assert_eq!((&linked.body["id"], &linked.body["identity"]), (&json!(bob), &identity));
    let shown = api.admin("GET", "/users/bob", Value::Null).await.ok(200);
    assert_eq!((&shown.body["identity"], shown.header("etag")), (&identity, linked.header("etag")));
    let head = api.head();
    api.user_without_token("carol").await;
    api.admin("PUT", "/users/carol/identity", identity.clone()).await.refused(409, "name_taken");
    for (member, value) in [
        ("issuer", json!("http://id.example.org")),
        ("issuer", json!("https://id.example.org?x=1")),
        ("issuer", json!("")),
        ("issuer", Value::Null),
        ("subject", json!("")),
        ("subject", json!("x".repeat(256))),
        ("subject", json!("\u{e9}")),
        ("subject", json!(1)),
        ("email", json!("bob@example.org")),
    ] {
        let mut wrong = identity.clone();
        wrong[member] = value;
        let reply = api.admin("PUT", "/users/carol/identity", wrong).await;
        assert!(matches!(reply.status, 400 | 422), "{member}: {}", reply.text);
    }
    assert_eq!(api.head().get(), head.get() + 1, "carol, and nothing else");
    // Who may edit users and not read them is told no more than which account it is.
    let editor = api.user("editor").await;
    api.give("user:editor", &["core.user.edit"], "global").await;
    let other = json!({"issuer": "https://id.example.org", "subject": "other"});
    let brief = api.by(&editor, "PUT", "/users/carol/identity", other.clone()).await.ok(200);
    assert_eq!(brief.body.get("identity"), None);
    api.by(&editor, "PUT", "/users/ada/identity", other.clone()).await.refused(403, "not_held");
    api.by(&editor, "PUT", "/users/editor/identity", other.clone()).await.refused(403, "not_held");
    api.by(&editor, "DELETE", "/users/ada/identity", Value::Null).await.refused(403, "not_held");
    api.admin("DELETE", "/users/bob/identity", Value::Null).await.ok(204);
    assert_eq!(api.admin("GET", "/users/bob", Value::Null).await.ok(200).body.get("identity"), None);
    let head = api.head();
    api.admin("DELETE", "/users/bob/identity", Value::Null).await.ok(204);
    api.unchanged_since(head);
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let api = Api::new().await;
    let head = api.head();
    for verb in ["suspend", "schedule-deletion"] {
        let body = if verb == "suspend" { Value::Null } else { json!({}) };
        api.admin("POST", &format!("/users/ada/{verb}"), body).await.refused(409, "last_administrator");
    }
    api.admin("PATCH", "/users/ada", json!({"kind": "service"})).await;
    assert_eq!(api.control.policy().administrators(api.control.now()).len(), 1);
    api.unchanged_since(head);
}

#[tokio::test]
async fn another_password_signs_in_and_the_old_sessions_are_over() {
    let api = Api::new().await;
    api.admin("POST", "/users", json!({"username": "bob", "password": PASSWORD})).await.ok(201);
    let sign_in = |password: &str| {
        api.call("POST", "/session").json(&json!({"username": "bob", "password": password})).send()
    };
    let before = sign_in(PASSWORD).await.ok(201);
    api.admin("POST", "/users/bob/credential-reset", json!({"password": "another good one"})).await.ok(204);
    let old = before.body["secret"].as_str().unwrap();
    api.by(old, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    sign_in(PASSWORD).await.refused(401, "sign_in_refused");
    sign_in("another good one").await.ok(201);
}

#[tokio::test]
async fn who_may_reset_passwords_does_not_reset_a_stronger_ones() {
    let api = Api::new().await;
    let helpdesk = api.user("helpdesk").await;
    api.give("user:helpdesk", &["core.user.edit", "core.user.read"], "global").await;
    api.user_without_token("weak").await;
    api.by(&helpdesk, "POST", "/users/weak/credential-reset", json!({"password": "long enough"}))
        .await
        .ok(204);
    let head = api.head();
    let reset =
        api.by(&helpdesk, "POST", "/users/ada/credential-reset", json!({"password": "long enough"})).await;
    assert_eq!(reset.status, 403, "{}", reset.text);
    api.unchanged_since(head);
}

#[tokio::test]
async fn who_changes_users_without_reading_them_is_not_told_who_they_are() {
    let api = Api::new().await;
    let desk = api.user("desk").await;
    let keys =
        ["core.user.create", "core.user.edit", "core.user.suspend", "core.user.delete", "core.group.read"];
    api.give("user:desk", &keys, "global").await;
    let new = json!({"username": "bob", "email": "bob@example.org", "external_id": "HR-8"});
    let made = api.by(&desk, "POST", "/users", new).await.ok(201);
    let mut answers = vec![made];
    for (method, path, body) in [
        ("PATCH", "/users/bob", json!({"display_name": "Bob"})),
        ("POST", "/users/bob/suspend", Value::Null),
        ("POST", "/users/bob/reactivate", Value::Null),
        ("POST", "/users/bob/schedule-deletion", json!({})),
        ("POST", "/users/bob/restore", Value::Null),
    ] {
        answers.push(api.by(&desk, method, path, body).await.ok(200));
    }
    for reply in answers {
        let members: Vec<&String> = reply.body.as_object().unwrap().keys().collect();
        assert_eq!(members, ["changed_at", "id", "kind", "status"], "{}", reply.text);
        assert_eq!(reply.header("etag"), format!("\"{}\"", reply.body["changed_at"]));
    }
}
