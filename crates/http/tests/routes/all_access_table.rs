//! The access table as text, committed, and every row of it asked without and with what it needs.

use crate::support::{Api, Reply};
use charter_http::{ACCESS_TABLE, Gate, Row, TypeKey};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt::Write as _};

/// The table as text. `BLESS=1` rewrites the committed copy.
#[test]
fn the_access_table_is_the_committed_one() {
    let mut table = String::new();
    for row in ACCESS_TABLE {
        let gate = match row.gate {
            Gate::Public => "public".to_owned(),
            Gate::SelfOnly => "self".to_owned(),
            Gate::Key(key) => key.to_owned(),
            Gate::TypeKey(which) => format!("type's {which:?} key").to_lowercase(),
        };
        let flags = [(row.writes, " writes"), (row.if_match, " if-match")];
        let flags: String = flags.into_iter().filter(|(set, _)| *set).map(|(_, text)| text).collect();
        writeln!(table, "{:6} {:48} {gate}{flags} {}", row.method, row.path, row.query.join(",")).unwrap();
    }
    crate::all_documents::same_as_committed("tests/routes/access_table.txt", &table);
}

/// The form problems have on a route.
fn form(row: &Row) -> &'static str {
    if is_scim(row) { "application/scim+json" } else { "application/problem+json" }
}

/// SCIM's own form of a problem has no room for a code.
fn is_scim(row: &Row) -> bool {
    row.path.starts_with("/scim/")
}

fn filled(row: &Row, grant: &str) -> String {
    let id = match row.path {
        path if path.contains("/users/") => "ada",
        path if path.contains("/roles/") => "viewer",
        path if path.contains("/groups/") => "ops",
        path if path.contains("/objects/") => "eu",
        path if path.contains("/grants/") => grant,
        _ => "00000000-0000-7000-8000-000000000000",
    };
    row.path
        .replace("{id}", id)
        .replace("{user}", "ada")
        .replace("{token}", "00000000-0000-7000-8000-000000000000")
        .replace("{type}", "folder")
        .replace("{namespace}", "game")
        .replace("{*tile}", "0/000.p/1")
}

async fn called(api: &Api, row: &Row, grant: &str, secret: Option<&str>) -> Reply {
    let mut call = api.call(row.method, &filled(row, grant)).header("if-match", "*");
    if let Some(secret) = secret {
        call = call.by(secret);
    }
    if row.writes || row.method == "POST" {
        call = call.json(&json!({}));
    }
    call.send().await
}

async fn prepared() -> (Api, String) {
    let api = Api::furnished().await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.user("somebody").await;
    let grant = api.give("user:somebody", &["minecraft.server.restart"], "server:s2").await;
    (api, grant)
}

#[tokio::test]
async fn a_stranger_and_a_dead_credential_get_401_everywhere_but_on_public_routes() {
    let (api, grant) = prepared().await;
    let ended = api.token(api.id_of("somebody"), None).await;
    api.admin("POST", "/users/somebody/suspend", Value::Null).await.ok(200);
    let unknown = format!("chs_{}", "A".repeat(43));
    let head = api.head();
    for row in ACCESS_TABLE {
        for secret in [None, Some("nonsense"), Some(unknown.as_str()), Some(ended.as_str())] {
            let reply = called(&api, row, &grant, secret).await;
            if row.gate == Gate::Public {
                // No identity provider is set up here.
                let no_door = reply.status == 404 && reply.code() == "oidc_not_configured";
                let refused = [401, 403, 404, 405].contains(&reply.status);
                assert!(no_door || !refused, "{row:?}: {}", reply.text);
            } else {
                assert_eq!(reply.status, 401, "{row:?}: {}", reply.text);
                assert!(reply.header("www-authenticate").starts_with("Bearer realm=\"charter\""));
                assert_eq!(reply.header("content-type"), form(row));
            }
        }
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn nobody_in_particular_passes_no_gate_that_asks_for_a_key() {
    let (api, grant) = prepared().await;
    let nobody = api.user("nobody").await;
    let head = api.head();
    for row in ACCESS_TABLE.iter().filter(|row| row.gate != Gate::SelfOnly) {
        let reply = called(&api, row, &grant, Some(&nobody)).await;
        match row.gate {
            Gate::Key(key) if is_scim(row) => {
                assert_eq!(reply.status, 403, "{row:?}: {}", reply.text);
                assert!(reply.body["detail"].as_str().unwrap().contains(key), "{}", reply.text);
            }
            Gate::Key(key) => {
                assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{row:?}: {}", reply.text);
                assert_eq!(reply.body["missing"], json!([key]));
            }
            Gate::TypeKey(_) if row.path.contains("{type}") => {
                assert_eq!((reply.status, reply.code()), (404, "not_found"), "{row:?}: {}", reply.text);
            }
            Gate::TypeKey(_) => assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{row:?}"),
            Gate::Public | Gate::SelfOnly => {}
        }
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_token_that_does_not_reach_the_rows_key_stops_at_the_gate() {
    let (api, grant) = prepared().await;
    let narrow = api.token(api.id_of("ada"), Some(&["core.backup.create"])).await;
    let head = api.head();
    for row in ACCESS_TABLE {
        let reply = called(&api, row, &grant, Some(&narrow)).await;
        match row.gate {
            Gate::Key(_) if is_scim(row) => assert_eq!(reply.status, 403, "{row:?}: {}", reply.text),
            Gate::Key(_) => assert_eq!((reply.status, reply.code()), (403, "token_too_narrow"), "{row:?}"),
            Gate::TypeKey(_) => assert!([403, 404].contains(&reply.status), "{row:?}"),
            Gate::Public | Gate::SelfOnly => {}
        }
        if row.gate == Gate::SelfOnly && row.writes && row.path.contains("/session") {
            break;
        }
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_administrator_passes_every_gate() {
    let (api, grant) = prepared().await;
    let admin = api.token(api.id_of("ada"), None).await;
    for row in ACCESS_TABLE {
        let reply = called(&api, row, &grant, Some(&admin)).await;
        let refused = [401, 403, 405, 428].contains(&reply.status) || reply.status >= 500;
        let wrong_secret = reply.code() == "wrong_secret";
        assert!(!refused || wrong_secret, "{row:?}: {}", reply.text);
        assert_ne!(reply.code(), "no_route", "{row:?}");
    }
}

#[tokio::test]
async fn a_method_without_a_row_is_405_and_says_which_there_are() {
    let (api, grant) = prepared().await;
    let paths: BTreeSet<&str> = ACCESS_TABLE.iter().map(|row| row.path).collect();
    for path in paths {
        let rows: Vec<&Row> = ACCESS_TABLE.iter().filter(|row| row.path == path).collect();
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE"] {
            let has = |method: &str| rows.iter().any(|row| row.method == method);
            if has(method) || (method == "HEAD" && has("GET")) {
                continue;
            }
            let reply = api.call(method, &filled(rows[0], &grant)).by(&api.admin).send().await;
            assert_eq!(reply.status, 405, "{method} {path}");
            if method != "HEAD" && !is_scim(rows[0]) {
                assert_eq!(reply.code(), "method_not_allowed", "{method} {path}: {}", reply.text);
            }
            for row in &rows {
                assert!(reply.header("allow").split(',').any(|m| m.trim() == row.method), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn no_other_spelling_of_a_path_leads_anywhere() {
    let api = Api::new().await;
    for path in [
        "/api/v1/users/",
        "/api/v2/users",
        "/api/V1/users",
        "/api/users",
        "/api//v1/users",
        "/api/v1/./users",
        "/api/v1/roles/../users",
        "/api/v1/users%2F",
        "/api/v1/%75sers/",
        "/api",
        "/metrics/",
    ] {
        let reply = api.call("GET", path).by(&api.admin).send().await;
        assert_eq!((reply.status, reply.code()), (404, "no_route"), "{path}: {}", reply.text);
    }
}

#[test]
fn document_and_table_name_the_same_routes_parameters_and_security() {
    let document: Value = serde_json::from_str(&charter_http::openapi().to_json().unwrap()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            documented.insert((method.to_uppercase(), path.clone()));
        }
    }
    // OpenAPI has no sign for a variable that holds slashes.
    let templated = |row: &Row| row.path.replace("{*", "{");
    let table: BTreeSet<_> = ACCESS_TABLE.iter().map(|row| (row.method.to_owned(), templated(row))).collect();
    assert_eq!(documented, table);
    assert_eq!(table.len(), ACCESS_TABLE.len(), "two rows for one route");
    for row in ACCESS_TABLE {
        let path = templated(row);
        let operation = &document["paths"][&path][row.method.to_lowercase()];
        let parameters = operation["parameters"].as_array().unwrap();
        let of = |place: &str| -> BTreeSet<&str> {
            let here = parameters.iter().filter(|p| p["in"] == place);
            here.map(|p| p["name"].as_str().unwrap()).collect()
        };
        // Parameters that are passed over have no name.
        let named = row.query.iter().copied().filter(|name| *name != "*");
        assert_eq!(of("query"), named.collect(), "{row:?}");
        assert_eq!(of("header").contains("If-Match"), row.if_match, "{row:?}");
        let segments: BTreeSet<&str> =
            path.split('/').filter_map(|s| s.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(of("path"), segments, "{row:?}");
        let public = operation["security"] == json!([{}]);
        assert_eq!(public, row.gate == Gate::Public, "{row:?}");
    }
}

#[test]
fn what_changes_something_is_never_public_but_for_the_first_administrator_and_who_has_a_secret() {
    let public = |row: &&Row| row.gate == Gate::Public && row.method != "GET";
    let paths: Vec<_> = ACCESS_TABLE.iter().filter(public).map(|row| row.path).collect();
    // Or shows one at an identity provider.
    let with_a_secret = [
        "setup",
        "session",
        "session/device",
        "session/device/token",
        "invitations/accept",
        "invitations/oidc",
        "password/forgotten",
        "password/reset",
    ];
    assert_eq!(paths, with_a_secret.map(|path| format!("/api/v1/{path}")));
    assert!(ACCESS_TABLE.iter().any(|row| row.gate == Gate::TypeKey(TypeKey::Manage)));
}
