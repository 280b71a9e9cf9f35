//! `/user/me`: what a caller sees and changes of himself.

use crate::support::{Api, PASSWORD};
use serde_json::{Value, json};

#[tokio::test]
async fn me_says_who_one_is_and_what_one_may_platform_wide() {
    let api = Api::furnished().await;
    let me = api.admin("GET", "/user/me", Value::Null).await.ok(200);
    assert_eq!(me.body["user"]["username"], "ada");
    assert_eq!(me.body["administrator"], true);
    assert!(me.body["permissions"].as_array().unwrap().contains(&json!("minecraft.server.restart")));
    assert_eq!(me.body["policy_version"], api.head().get());

    let bob = api.user("bob").await;
    let me = api.by(&bob, "GET", "/user/me", Value::Null).await.ok(200);
    assert_eq!((&me.body["administrator"], &me.body["permissions"]), (&json!(false), &json!([])));
    assert_eq!(me.body.get("valid_until"), None);
    let end = "2999-01-01T00:00:00Z";
    let grant = json!({"subject": "user:bob", "permissions": ["core.user.read"], "scope": "global", "expires_at": end});
    api.admin("POST", "/grants", grant).await.ok(201);
    let me = api.by(&bob, "GET", "/user/me", Value::Null).await.ok(200);
    assert_eq!((&me.body["permissions"], &me.body["valid_until"]), (&json!(["core.user.read"]), &json!(end)));
}

#[tokio::test]
async fn a_session_ends_when_it_is_signed_out_of() {
    let api = Api::new().await;
    let sign_in =
        || api.call("POST", "/session").json(&json!({"username": "ada", "password": PASSWORD})).send();
    let second = sign_in().await.ok(201);
    let secret = second.body["secret"].as_str().unwrap();
    let listed = api.by(secret, "GET", "/user/me/sessions", Value::Null).await.ok(200);
    assert_eq!(listed.body["items"].as_array().unwrap().len(), 2);
    let current: Vec<&Value> =
        listed.body["items"].as_array().unwrap().iter().filter(|s| s["current"] == true).collect();
    assert_eq!(current[0]["id"], second.body["session"]);
    api.by(secret, "DELETE", "/session", Value::Null).await.ok(204);
    let reply = api.by(secret, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    assert!(reply.header("www-authenticate").contains("invalid_token"));
    api.admin("GET", "/user/me", Value::Null).await.ok(200);

    let third = sign_in().await.ok(201);
    let path = format!("/user/me/sessions/{}", third.body["session"].as_str().unwrap());
    api.admin("DELETE", &path, Value::Null).await.ok(204);
    api.by(third.body["secret"].as_str().unwrap(), "GET", "/user/me", Value::Null)
        .await
        .refused(401, "invalid_token");
    api.admin("DELETE", "/user/me/sessions", Value::Null).await.ok(204);
    api.admin("GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_are_refused_alike() {
    let api = Api::new().await;
    let head = api.head();
    let attempt = |name: &str| {
        api.call("POST", "/session").json(&json!({"username": name, "password": "wrong wrong"})).send()
    };
    let known = attempt("ada").await.refused(401, "sign_in_refused");
    let unknown = attempt("ghost").await.refused(401, "sign_in_refused");
    assert_eq!(known.text, unknown.text);
    let mut last = known;
    for _ in 0..12 {
        last = attempt("ada").await;
    }
    assert!(!last.refused(429, "too_many_attempts").header("retry-after").is_empty());
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_new_password_ends_the_other_sessions_and_keeps_this_one() {
    let api = Api::new().await;
    let sign_in = |password: &str| {
        api.call("POST", "/session").json(&json!({"username": "ada", "password": password})).send()
    };
    let other = sign_in(PASSWORD).await.ok(201);
    let change = |current: &str, new: &str| json!({"current": current, "new": new});
    let head = api.head();
    let wrong = api.admin("PUT", "/user/me/password", change("wrong wrong", "another good one")).await;
    assert_eq!(wrong.refused(403, "wrong_secret").body["field"], "current");
    api.unchanged_since(head);
    api.admin("PUT", "/user/me/password", change(PASSWORD, "another good one")).await.ok(204);
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
    api.by(other.body["secret"].as_str().unwrap(), "GET", "/user/me", Value::Null)
        .await
        .refused(401, "invalid_token");
    sign_in(PASSWORD).await.refused(401, "sign_in_refused");
    sign_in("another good one").await.ok(201);
}

#[tokio::test]
async fn a_token_is_shown_once_works_under_its_ceiling_and_stops_when_revoked() {
    let api = Api::new().await;
    let body = json!({"name": "backup job", "mask": ["core.user.read"]});
    let issued = api.admin("POST", "/user/me/tokens", body).await.ok(201);
    let secret = issued.body["secret"].as_str().unwrap();
    assert!(secret.starts_with("cht_"));
    api.by(secret, "GET", "/users", Value::Null).await.ok(200);
    let reply =
        api.by(secret, "POST", "/groups", json!({"slug": "ops"})).await.refused(403, "token_too_narrow");
    assert_eq!(reply.body["missing"], json!(["core.group.create"]));
    let me = api.by(secret, "GET", "/user/me", Value::Null).await.ok(200);
    assert_eq!(
        (&me.body["permissions"], &me.body["mask"], &me.body["administrator"]),
        (&json!(["core.user.read"]), &json!(["core.user.read"]), &json!(false))
    );
    let listed = api.admin("GET", "/user/me/tokens", Value::Null).await.ok(200);
    assert_eq!(listed.texts("items", "name"), ["backup job"]);
    assert!(!listed.text.contains(secret));
    let path = format!("/user/me/tokens/{}", issued.body["token"]["id"].as_str().unwrap());
    let bob = api.user("bob").await;
    api.by(&bob, "DELETE", &path, Value::Null).await.refused(404, "not_found");
    api.admin("DELETE", &path, Value::Null).await.ok(204);
    api.by(secret, "GET", "/users", Value::Null).await.refused(401, "invalid_token");
}

#[tokio::test]
async fn whoever_asks_why_is_told_when_his_token_is_what_keeps_him_out() {
    let api = Api::new().await;
    let narrow = api.token(api.id_of("ada"), Some(&["core.user.read"])).await;
    let why = |key: &str| json!({"permission": key});
    let told = api.by(&narrow, "POST", "/explain", why("core.group.create")).await.ok(200);
    assert_eq!(
        (&told.body["decision"]["allowed"], &told.body["decision"]["because"], &told.body["token_reaches"]),
        (&json!(false), &json!("token_too_narrow"), &json!(false))
    );
    let without = &told.body["without_token"];
    assert_eq!((&without["allowed"], &without["because"]), (&json!(true), &json!("administrator")));
    assert_eq!(told.ids("grants").len(), 1, "the grants behind that: {}", told.text);
    let summary = "denied: the token this is asked with does not reach it; \
                   without the token: allowed: a wildcard of a global role matches (1 grant)";
    assert_eq!(told.body["summary"], summary);
    let told = api.by(&narrow, "POST", "/explain", why("core.user.read")).await.ok(200);
    assert_eq!((&told.body["token_reaches"], told.body.get("without_token")), (&json!(true), None));
    let told = api.admin("POST", "/explain", why("core.user.read")).await.ok(200);
    assert!(told.body.get("token_reaches").is_none() && !told.text.contains("token"), "{}", told.text);
}

#[tokio::test]
async fn a_service_calls_with_tokens_that_are_issued_for_it_by_who_holds_as_much() {
    let api = Api::new().await;
    api.admin("POST", "/users", json!({"username": "robot", "kind": "service"})).await.ok(201);
    api.give("user:robot", &["core.group.read"], "global").await;
    let desk = api.user("desk").await;
    api.give("user:desk", &["core.user.edit"], "global").await;
    let new = json!({"name": "nightly", "mask": ["core.group.*"], "expires_at": "2999-01-01T00:00:00Z"});
    let head = api.head();
    let refused = api.by(&desk, "POST", "/users/robot/tokens", new.clone()).await.refused(403, "not_held");
    assert_eq!(refused.body["missing"], json!(["core.group.read"]));
    api.unchanged_since(head);
    let issued = api.admin("POST", "/users/robot/tokens", new).await.ok(201);
    let secret = issued.body["secret"].as_str().unwrap();
    assert_eq!(
        api.by(secret, "GET", "/user/me", Value::Null).await.ok(200).body["user"]["username"],
        "robot"
    );
    api.by(secret, "GET", "/groups", Value::Null).await.ok(200);
    let listed = api.by(&desk, "GET", "/users/robot/tokens", Value::Null).await.ok(200);
    assert_eq!(listed.texts("items", "name"), ["nightly"]);
    assert!(!listed.text.contains(secret));
    let path = format!("/users/robot/tokens/{}", issued.body["token"]["id"].as_str().unwrap());
    assert_eq!(issued.header("location").rsplit('/').next(), path.rsplit('/').next());
    api.by(&desk, "DELETE", &path.replace("robot", "ada"), Value::Null).await.refused(404, "not_found");
    api.by(&desk, "DELETE", &path, Value::Null).await.ok(204);
    api.by(secret, "GET", "/groups", Value::Null).await.refused(401, "invalid_token");
    // No password, no sign-in.
    let reset = api.admin("POST", "/users/robot/credential-reset", json!({"password": PASSWORD})).await;
    reset.refused(422, "invalid_credential");
    let sign_in = json!({"username": "robot", "password": PASSWORD});
    api.call("POST", "/session").json(&sign_in).send().await.refused(401, "sign_in_refused");
}

#[tokio::test]
async fn a_narrowed_token_changes_no_credential_of_its_holder() {
    let api = Api::new().await;
    let narrow = api.token(api.id_of("ada"), Some(&["core.user.*", "core.group.*"])).await;
    let other = api.admin("POST", "/user/me/tokens", json!({"name": "other"})).await.ok(201);
    let token = format!("/user/me/tokens/{}", other.body["token"]["id"].as_str().unwrap());
    let sessions = api.admin("GET", "/user/me/sessions", Value::Null).await.ok(200);
    let session = format!("/user/me/sessions/{}", sessions.ids("items")[0]);
    let head = api.head();
    for (method, path, body) in [
        ("PUT", "/user/me/password", json!({"current": PASSWORD, "new": "another good one"})),
        ("DELETE", "/user/me/sessions", Value::Null),
        ("DELETE", session.as_str(), Value::Null),
        ("DELETE", token.as_str(), Value::Null),
        ("POST", "/users/ada/tokens", json!({"name": "wider"})),
        ("POST", "/users/ada/credential-reset", json!({"password": "another good one"})),
    ] {
        let reply = api.by(&narrow, method, path, body).await.refused(403, "token_too_narrow");
        assert!(!reply.body["missing"].as_array().unwrap().is_empty(), "{method} {path}");
    }
    api.unchanged_since(head);
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
}

#[tokio::test]
async fn a_suspended_users_credentials_stop_at_once() {
    let api = Api::new().await;
    let bob = api.user("bob").await;
    api.by(&bob, "GET", "/user/me", Value::Null).await.ok(200);
    api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200);
    api.by(&bob, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    api.admin("POST", "/users/bob/reactivate", Value::Null).await.ok(200);
    api.by(&bob, "GET", "/user/me", Value::Null).await.ok(200);
}

#[tokio::test]
async fn a_token_under_a_ceiling_makes_none_that_reaches_further() {
    let api = Api::new().await;
    let narrow = api.token(api.id_of("ada"), Some(&["core.user.*"])).await;
    let head = api.head();
    for mask in [json!(null), json!(["*"]), json!(["core.*"]), json!(["core.user.read", "core.role.read"])] {
        let body = json!({"name": "wider", "mask": mask});
        api.by(&narrow, "POST", "/user/me/tokens", body).await.refused(403, "token_too_narrow");
    }
    api.unchanged_since(head);
    api.by(&narrow, "POST", "/user/me/tokens", json!({"name": "x", "mask": ["core.user.read"]}))
        .await
        .ok(201);
}
