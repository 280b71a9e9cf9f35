//! What holds for the body of every route that takes one.
use crate::{
    all_bad_input::{grant, prepared},
    support::catalog,
};
use charter_http::{ACCESS_TABLE, BODY_BYTES_MAX, Gate};
use serde_json::{Value, json};

/// A route and a body of it that is well formed.
fn bodies() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("POST", "/setup", json!({"code": "x", "username": "x", "password": "x"})),
        ("POST", "/session", json!({"username": "x", "password": "x"})),
        ("PUT", "/user/me/password", json!({"current": "x", "new": "x"})),
        ("POST", "/user/me/tokens", json!({"name": "x"})),
        ("POST", "/users", json!({"username": "x"})),
        ("PATCH", "/users/bob", json!({})),
        ("POST", "/users/bob/schedule-deletion", json!({})),
        ("POST", "/users/bob/credential-reset", json!({"password": "x"})),
        ("PUT", "/users/bob/identity", json!({"issuer": "https://x", "subject": "x"})),
        ("POST", "/users/bob/tokens", json!({"name": "x"})),
        ("POST", "/invitations", json!({"username": "x"})),
        ("POST", "/session/device/token", json!({"handle": "x"})),
        ("POST", "/invitations/oidc", json!({"secret": "x"})),
        ("POST", "/invitations/accept", json!({"secret": "x", "password": "x"})),
        ("POST", "/password/forgotten", json!({"username": "x"})),
        ("POST", "/password/reset", json!({"secret": "x", "password": "x"})),
        ("PUT", "/catalog/minecraft", catalog()),
        ("POST", "/roles", json!({"slug": "x", "scope": "both"})),
        ("PATCH", "/roles/starter", json!({})),
        ("POST", "/groups", json!({"slug": "x"})),
        ("PATCH", "/groups/ops", json!({})),
        ("POST", "/objects", json!({"type": "server", "name": "x"})),
        ("PATCH", "/objects/server/s1", json!({})),
        ("POST", "/objects/server/s1/transfer", json!({"owner": "bob"})),
        ("POST", "/objects/server/s1/move", json!({"parent": null})),
        ("POST", "/objects/server/s1/inheritance", json!({"inherits": true})),
        ("POST", "/grants", grant(json!({}))),
        ("POST", "/check", json!({"permission": "a.b.c"})),
        ("POST", "/check/batch", json!({"checks": []})),
        ("POST", "/explain", json!({"permission": "a.b.c"})),
        ("POST", "/effective", json!({})),
        ("POST", "/allowed-objects", json!({"permission": "a.b.c", "type": "server"})),
        ("POST", "/who-can", json!({"permission": "a.b.c"})),
        ("POST", "/commands/preview", json!({"method": "POST", "path": "/api/v1/groups"})),
        ("POST", "/history/undo", json!({"offset": 1})),
        ("POST", "/projections/directory/rebuild", json!({"switch": true})),
        ("POST", "/projections/directory/skip", json!({"offset": 1})),
    ]
}

#[tokio::test]
async fn a_malformed_body_is_refused_on_every_route_that_takes_one() {
    let api = prepared().await;
    let head = api.head();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_object = format!("{}{}", "{\"a\":".repeat(10_000), "1".to_owned() + &"}".repeat(10_000));
    for (method, path, good) in bodies() {
        let good = good.to_string();
        let doubled = format!("{{\"zzz\":1,\"zzz\":2,{}", good.trim_start_matches('{')).replace(",}", "}");
        let unknown = format!("{{\"zzz\":1,{}", good.trim_start_matches('{')).replace(",}", "}");
        let invalid_utf8: &[u8] = b"{\"a\":\"\xff\"}";
        for (body, status, code) in [
            (b"" as &[u8], 400, "malformed"),
            (b"{", 400, "malformed"),
            (b"\xef\xbb\xbf{}", 400, "malformed"),
            (invalid_utf8, 400, "malformed"),
            (b"{\"a\":\"\\ud800\"}", 400, "malformed"),
            (deep.as_bytes(), 400, "malformed"),
            (deep_object.as_bytes(), 400, "malformed"),
            (doubled.as_bytes(), 400, "duplicate_member"),
            (b"[]", 422, "invalid_type"),
            (b"null", 422, "invalid_type"),
            (b"\"x\"", 422, "invalid_type"),
            (unknown.as_bytes(), 422, "unknown_member"),
        ] {
            let call =
                api.call(method, path).by(&api.admin).header("if-match", "*").raw("application/json", body);
            let reply = call.send().await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert_eq!(
                (reply.status, reply.code()),
                (status, code),
                "{method} {path} {shown}: {}",
                reply.text
            );
        }
        for content_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/foo+json",
            "application/json; charset=latin1",
        ] {
            let call = api.call(method, path).by(&api.admin).header("if-match", "*");
            call.raw(content_type, good.as_bytes()).send().await.refused(415, "unsupported_media_type");
        }
        let call =
            api.call(method, path).by(&api.admin).header("if-match", "*").header("content-encoding", "gzip");
        call.raw("application/json", good.as_bytes()).send().await.refused(415, "unsupported_encoding");
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_body_beyond_a_mebibyte_is_413_whether_or_not_it_says_so() {
    let api = prepared().await;
    let head = api.head();
    let padded = |bytes: usize| {
        let mut body = b"{\"permission\":\"core.user.read\"".to_vec();
        body.resize(bytes - 1, b' ');
        body.push(b'}');
        body
    };
    let send = |body: Vec<u8>, length: Option<&'static str>| {
        let mut call = api.call("POST", "/check").by(&api.admin);
        if let Some(length) = length {
            call = call.header("content-length", length);
        }
        call.raw("application/json", &body).send()
    };
    send(padded(BODY_BYTES_MAX), None).await.ok(200);
    send(padded(BODY_BYTES_MAX + 1), None).await.refused(413, "body_too_large");
    send(b"{}".to_vec(), Some("1048577")).await.refused(413, "body_too_large");
    api.unchanged_since(head);
    api.call("GET", "/healthz").send().await.ok(200);
}

#[tokio::test]
async fn every_route_that_takes_a_body_is_among_those_tried() {
    let document: Value = serde_json::from_str(&charter_http::openapi().to_json().unwrap()).unwrap();
    let tried = bodies();
    for row in ACCESS_TABLE {
        // Those are in the words of a standard, which has its own for what is wrong: `authzen_bad_input`, `scim`.
        let standard = row.path.starts_with("/access/") || row.path.starts_with("/scim/");
        if standard || document["paths"][row.path][row.method.to_lowercase()].get("requestBody").is_none() {
            continue;
        }
        let shape = |path: &str| path.split('/').count();
        let matches = tried.iter().any(|(method, path, _)| {
            let full = format!("/api/v1{path}");
            *method == row.method
                && shape(&full) == shape(row.path)
                && full.split('/').zip(row.path.split('/')).all(|(a, b)| b.starts_with('{') || a == b)
        });
        assert!(matches, "{row:?}");
        let public = [
            "setup",
            "session",
            "/session/device/token",
            "/invitations/accept",
            "/invitations/oidc",
            "/password/forgotten",
            "/password/reset",
        ];
        assert!(row.gate != Gate::Public || public.iter().any(|end| row.path.ends_with(end)), "{row:?}");
    }
}
