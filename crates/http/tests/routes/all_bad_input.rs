//! Wrong input of every kind: refused with a stable code that names the field, nothing appended, still answering.

use crate::support::Api;
use serde_json::{Value, json};

/// Calls, and asserts that it is refused so, that nothing is appended, and that the server still answers.
async fn refused(api: &Api, call: (&str, &str, Value), status: u16, code: &str, field: Option<&str>) {
    let head = api.head();
    let (method, path, body) = call;
    let shown = format!("{method} {path} {body}");
    let reply = api.admin(method, path, body).await;
    assert_eq!((reply.status, reply.code()), (status, code), "{shown}: {}", reply.text);
    assert_eq!(reply.body["field"].as_str(), field, "{shown}: {}", reply.text);
    assert_eq!(reply.header("content-type"), "application/problem+json");
    api.unchanged_since(head);
    api.call("GET", "/healthz").send().await.ok(200);
}

pub(crate) fn grant(changes: Value) -> Value {
    let mut grant =
        json!({"subject": "user:bob", "permissions": ["minecraft.server.restart"], "scope": "server:s1"});
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            grant.as_object_mut().unwrap().remove(name);
        } else {
            grant[name] = value.clone();
        }
    }
    grant
}

pub(crate) async fn prepared() -> Api {
    let api = Api::furnished().await;
    api.user_without_token("bob").await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let role = json!({"slug": "starter", "scope": "object", "permissions": ["minecraft.server.restart"]});
    api.admin("POST", "/roles", role).await.ok(201);
    api
}

#[tokio::test]
async fn a_wrong_key_is_refused_and_named() {
    let api = prepared().await;
    for key in ["", "a", "a.b", "a.b.c.d", "A.b.c", "minecraft.server.restart ", "минск.a.b"] {
        let call = ("POST", "/grants", grant(json!({"permissions": [key]})));
        refused(&api, call, 422, "invalid_value", Some("permissions[0]")).await;
        let call = ("POST", "/check", json!({"permission": key}));
        refused(&api, call, 422, "invalid_value", Some("permission")).await;
    }
    let unknown = ["minecraft.server.fly"];
    let call = ("POST", "/grants", grant(json!({"permissions": unknown})));
    refused(&api, call, 422, "unknown_permission", Some("permissions")).await;
    let call = ("POST", "/check", json!({"permission": "minecraft.server.fly"}));
    refused(&api, call, 422, "unknown_permission", Some("permission")).await;
    let call = ("POST", "/roles", json!({"slug": "r", "scope": "both", "permissions": unknown}));
    refused(&api, call, 422, "unknown_permission", Some("permissions")).await;
}

#[tokio::test]
async fn a_wildcard_where_none_may_be_is_refused() {
    let api = prepared().await;
    for wildcard in ["*", "minecraft.*", "minecraft.server.*", "core.*"] {
        let call = ("POST", "/grants", grant(json!({"permissions": [wildcard]})));
        refused(&api, call, 422, "invalid_value", Some("permissions[0]")).await;
        let call = ("POST", "/grants", grant(json!({"permissions": [wildcard], "effect": "deny"})));
        refused(&api, call, 422, "invalid_value", Some("permissions[0]")).await;
        let call = ("POST", "/check", json!({"permission": wildcard}));
        refused(&api, call, 422, "invalid_value", Some("permission")).await;
    }
    let call = ("POST", "/grants", grant(json!({"permissions": null, "role": "starter", "effect": "deny"})));
    let reply = api.admin(call.0, call.1, call.2).await;
    assert_eq!((reply.status, reply.code()), (422, "deny_needs_keys"), "{}", reply.text);
}

#[tokio::test]
async fn an_unknown_reference_is_refused_and_named() {
    let api = prepared().await;
    let missing = "00000000-0000-7000-8000-000000000000";
    for (change, field) in [
        (json!({"subject": "user:ghost"}), "subject"),
        (json!({"subject": "group:ghosts"}), "subject"),
        (json!({"scope": "server:s9"}), "scope"),
        (json!({"scope": format!("server:{missing}")}), "scope"),
        (json!({"scope": "folder:s1"}), "scope"),
        (json!({"permissions": null, "role": "no-role"}), "role"),
    ] {
        refused(&api, ("POST", "/grants", grant(change)), 404, "not_found", Some(field)).await;
    }
    for (change, code, field) in [
        (json!({"subject": "bob"}), "invalid_reference", "subject"),
        (json!({"scope": "s1"}), "invalid_reference", "scope"),
        (json!({"role": "starter"}), "role_and_permissions", "permissions"),
        (json!({"permissions": null}), "missing_member", "role"),
    ] {
        refused(&api, ("POST", "/grants", grant(change)), 422, code, Some(field)).await;
    }
    let object = |parent: &str| json!({"type": "server", "name": "x", "parent": parent});
    refused(&api, ("POST", "/objects", object("folder:asia")), 404, "not_found", Some("parent")).await;
    refused(&api, ("POST", "/objects", object("server:s1")), 422, "not_a_folder", Some("parent")).await;
    let no_type = json!({"type": "boat", "name": "x"});
    refused(&api, ("POST", "/objects", no_type), 422, "unknown_object_type", Some("type")).await;
    let owner = json!({"owner": "ghost"});
    refused(&api, ("POST", "/objects/server/s1/transfer", owner), 404, "not_found", Some("owner")).await;
    let member = ("PUT", "/groups/ops/members/ghost", Value::Null);
    refused(&api, member, 404, "not_found", Some("user")).await;
    for (method, path) in [
        ("GET", "/users/ghost"),
        ("POST", "/users/ghost/suspend"),
        ("DELETE", "/roles/no-role"),
        ("DELETE", "/groups/ghosts"),
        ("GET", "/objects/server/s9"),
        ("DELETE", "/objects/server/s9"),
        ("GET", "/grants/not-an-id"),
        ("DELETE", "/grants/00000000-0000-7000-8000-000000000000"),
        ("DELETE", "/user/me/tokens/x"),
    ] {
        refused(&api, (method, path, Value::Null), 404, "not_found", None).await;
    }
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused() {
    let api = prepared().await;
    for (path, body, field) in [
        ("/roles", json!({"slug": "starter", "scope": "both"}), "slug"),
        ("/groups", json!({"slug": "ops"}), "slug"),
        ("/users", json!({"username": "bob"}), "username"),
        ("/objects", json!({"type": "server", "name": "x", "external_id": "s1"}), "external_id"),
    ] {
        let head = api.head();
        let reply = api.admin("POST", path, body).await.refused(409, "name_taken");
        assert_eq!(reply.body["field"], field, "{}", reply.text);
        api.unchanged_since(head);
    }
    let head = api.head();
    api.admin("POST", "/grants", grant(json!({}))).await.ok(201);
    assert!(api.head() > head);
    let head = api.head();
    api.admin("POST", "/grants", grant(json!({}))).await.refused(409, "already_granted");
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_folder_is_not_moved_into_itself() {
    let api = prepared().await;
    let inner = json!({"type": "folder", "name": "Inner", "external_id": "inner", "parent": "folder:eu"});
    api.admin("POST", "/objects", inner).await.ok(201);
    for parent in ["folder:eu", "folder:inner"] {
        let head = api.head();
        let reply = api.admin("POST", "/objects/folder/eu/move", json!({"parent": parent})).await;
        reply.refused(409, "cycle");
        api.unchanged_since(head);
    }
    let nowhere = ("POST", "/objects/folder/eu/move", json!({}));
    refused(&api, nowhere, 422, "missing_member", Some("parent")).await;
}

#[tokio::test]
async fn names_outside_their_alphabet_are_refused_never_folded() {
    let api = prepared().await;
    let long = "a".repeat(129);
    for name in
        ["Admin", "ADMIN", "\u{430}dmin", "admin\u{200b}", "admin ", ".a", "*", "", "a/b", "a\0", &long]
    {
        for (path, body, field) in [
            ("/users", json!({"username": name}), "username"),
            ("/roles", json!({"slug": name, "scope": "both"}), "slug"),
            ("/groups", json!({"slug": name}), "slug"),
        ] {
            refused(&api, ("POST", path, body), 422, "invalid_value", Some(field)).await;
        }
    }
    for name in ["", " a", "a\u{7}", "a\nb"] {
        let body = json!({"type": "server", "name": name});
        refused(&api, ("POST", "/objects", body), 422, "invalid_value", Some("name")).await;
    }
    let id = json!({"username": "00000000-0000-7000-8000-000000000000"});
    let reply = api.admin("POST", "/users", id).await;
    assert_eq!((reply.status, reply.code()), (422, "reserved_name"), "{}", reply.text);
}

#[tokio::test]
async fn times_and_numbers_are_exact_or_refused() {
    let api = prepared().await;
    for time in ["tomorrow", "2026-02-30T00:00:00Z", "2030-01-01", "", "10000-01-01T00:00:00Z"] {
        let call = ("POST", "/grants", grant(json!({"expires_at": time})));
        refused(&api, call, 422, "invalid_value", Some("expires_at")).await;
    }
    for (limit, code) in [
        (json!(0), "invalid_value"),
        (json!(501), "invalid_value"),
        (json!("5"), "invalid_type"),
        (json!(1.0), "invalid_type"),
        (json!(-1), "invalid_value"),
    ] {
        let body = json!({"permission": "minecraft.server.read", "limit": limit});
        refused(&api, ("POST", "/who-can", body), 422, code, Some("limit")).await;
    }
    for limit in ["0", "501", "-1", "2147483648", "9223372036854775808", "x", ""] {
        let path = format!("/users?limit={limit}");
        refused(&api, ("GET", &path, Value::Null), 400, "invalid_parameter", Some("limit")).await;
    }
    let checks = vec![json!({"permission": "minecraft.server.read"}); 1_001];
    refused(&api, ("POST", "/check/batch", json!({"checks": checks})), 422, "limit_exceeded", Some("checks"))
        .await;
}

#[tokio::test]
async fn a_stale_or_missing_if_match_changes_nothing() {
    let api = prepared().await;
    for (method, path, body) in [
        ("PATCH", "/roles/starter", json!({"name": "Other"})),
        ("DELETE", "/roles/starter", Value::Null),
        ("PATCH", "/groups/ops", json!({"name": "Other"})),
        ("DELETE", "/groups/ops", Value::Null),
        ("PATCH", "/objects/server/s1", json!({"name": "Other"})),
        ("DELETE", "/objects/server/s1", Value::Null),
    ] {
        let head = api.head();
        for (sent, status, code) in [
            (None, 428, "precondition_required"),
            (Some("\"1\""), 412, "stale"),
            (Some("\"99999999999999999999999\""), 412, "stale"),
            (Some("1"), 400, "invalid_header"),
            (Some("W/\"1\""), 400, "invalid_header"),
            (Some("\"-1\""), 400, "invalid_header"),
            (Some("\"a\", \"b\""), 400, "invalid_header"),
        ] {
            let mut call = api.call(method, path).by(&api.admin);
            if let Some(etag) = sent {
                call = call.header("if-match", etag);
            }
            if !body.is_null() {
                call = call.json(&body);
            }
            call.send().await.refused(status, code);
        }
        api.unchanged_since(head);
        let etag = api.admin("GET", path, Value::Null).await.ok(200).header("etag").to_owned();
        let call = api.call(method, path).by(&api.admin).header("if-match", &etag);
        let call = if body.is_null() { call } else { call.json(&body) };
        assert!([200, 204].contains(&call.send().await.status), "{method} {path}");
        assert!(api.head() > head);
    }
}

#[tokio::test]
async fn a_route_without_a_body_takes_none() {
    let api = prepared().await;
    let head = api.head();
    let call = || api.call("POST", "/users/bob/suspend").by(&api.admin);
    call().raw("application/json", b"{\"a\":1}").send().await.refused(422, "unknown_member");
    call().raw("application/json", b"[").send().await.refused(400, "malformed");
    call().raw("text/plain", b"{}").send().await.refused(415, "unsupported_media_type");
    api.unchanged_since(head);
    call().raw("application/json", b"{}").send().await.ok(200);
}

#[tokio::test]
async fn a_secret_never_travels_in_a_query_and_an_unknown_parameter_is_not_ignored() {
    let api = prepared().await;
    for query in
        ["token=x", "access_token=x", "Password=x", "limit=cht_abc", "x=chs_abc", "q=chi_abc", "x=chr_abc"]
    {
        let reply = api.admin("GET", &format!("/users?{query}"), Value::Null).await;
        reply.refused(400, "credential_in_query");
    }
    for query in ["as_of=5", "order=name", "search=x", "Limit=5"] {
        let reply = api.admin("GET", &format!("/users?{query}"), Value::Null).await;
        reply.refused(400, "unsupported_parameter");
    }
    api.admin("GET", "/users?limit=1&limit=2", Value::Null).await.refused(400, "invalid_parameter");
    api.admin("GET", "/users?limit=%ff", Value::Null).await.refused(400, "malformed");
    api.admin("GET", "/roles?scope=everywhere", Value::Null).await.refused(400, "invalid_parameter");
    api.admin("POST", "/users/bob/suspend?x=1", Value::Null).await.refused(400, "unsupported_parameter");
}

#[tokio::test]
async fn a_path_is_decoded_once_and_never_made_into_another() {
    let api = prepared().await;
    api.admin("GET", "/objects/server/%73%31", Value::Null).await.ok(200);
    for id in ["%2e%2e%2fs1", "..%2Fs1", "s1%00", "%2573%2531", "s1;a=b", "s1%20", "%73%31%2F", "S1"] {
        let reply = api.admin("GET", &format!("/objects/server/{id}"), Value::Null).await;
        assert_eq!((reply.status, reply.code()), (404, "not_found"), "{id}: {}", reply.text);
    }
    for id in ["%ff", "%c0%ae"] {
        let reply = api.admin("GET", &format!("/objects/server/{id}"), Value::Null).await;
        assert!([400, 404].contains(&reply.status), "{id}: {}", reply.text);
        assert_eq!(reply.header("content-type"), "application/problem+json");
    }
}
