//! `/commands/preview`: what a change would do is what it then does, and asking leaves nothing behind.

use crate::support::{Api, PASSWORD, Reply, catalog};
use charter_http::ACCESS_TABLE;
use charter_store::MoveStore;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Api {
    async fn preview(&self, secret: &str, method: &str, path: &str, body: &Value) -> Reply {
        let mut asked = json!({"method": method, "path": format!("/api/v1{path}")});
        if !body.is_null() {
            asked["body"] = body.clone();
        }
        self.call("POST", "/commands/preview").by(secret).json(&asked).send().await
    }

    /// All that a change could leave behind: the log's end, the state, and what is kept beside the log.
    async fn kept(&self) -> String {
        let (store, head) = (&self.store, self.control.head());
        let keys: Vec<_> =
            store.user_keys_after(None, 1_000).await.unwrap().into_iter().map(|row| row.0).collect();
        let passwords = store.passwords_after(None, 1_000).await.unwrap();
        let passwords: Vec<_> =
            passwords.iter().map(|(user, hash)| (*user, hash.expose().to_owned())).collect();
        let credentials = store.credentials_after(None, 1_000).await.unwrap();
        let credentials: Vec<_> =
            credentials.into_iter().map(|(_, row)| (row.id, row.user, row.began, row.expires_at)).collect();
        let answers = store.answers_after(None, 1_000).await.unwrap().len();
        let digest = self.control.policy().digest();
        format!("{head:?} {digest:?} {keys:?} {passwords:?} {credentials:?} {answers}")
    }

    async fn session(&self, username: &str, password: &str) -> String {
        let body = json!({"username": username, "password": password});
        let begun = self.call("POST", "/session").json(&body).send().await.ok(201);
        begun.body["secret"].as_str().unwrap().to_owned()
    }

    /// The events after an offset: type and payload.
    async fn events_after(&self, offset: u64) -> Vec<(String, Value)> {
        let path = format!("/events?after={offset}&limit=500");
        let lines = self.admin("GET", &path, Value::Null).await.ok(200).text;
        let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.map(|event| (event["type"].as_str().unwrap().to_owned(), event["payload"].clone())).collect()
    }
}

/// A payload without what is made up anew each time, and what a preview does not tell: ids the log did not know,
/// moments, a user's names.
fn masked(value: &Value, known: &str) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let value = if name == "profile" { json!("[sealed]") } else { masked(value, known) };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| masked(item, known)).collect(),
        Value::String(text)
            if text.len() == 36 && text.matches('-').count() == 4 && !known.contains(text) =>
        {
            json!("NEW")
        }
        Value::String(text) if text.ends_with('Z') && text.starts_with("20") => json!("MOMENT"),
        other => other.clone(),
    }
}

/// Who gained and lost what where, without the decisions.
fn told(changes: &Value) -> BTreeSet<String> {
    let rows = changes.as_array().unwrap_or_else(|| panic!("{changes}"));
    let found: BTreeSet<String> = rows
        .iter()
        .map(|row| {
            let place = &row["place"];
            let on = place["object"]["external_id"].as_str().unwrap_or_default();
            format!("{} {} {} {on} {}", row["user"]["id"], row["change"], place["kind"], row["permission"])
        })
        .collect();
    assert_eq!(found.len(), rows.len(), "a change is told twice");
    found
}

/// Previews a change, makes it, and compares.
async fn agrees(api: &Api, secret: &str, method: &str, path: &str, body: Value) -> Value {
    let (before, kept) = (api.head().get(), api.kept().await);
    let log = format!("{:?}", api.events_after(0).await);
    let previewed = api.preview(secret, method, path, &body).await.ok(200);
    assert_eq!(api.kept().await, kept, "the preview of {method} {path} left something behind");
    assert_eq!(previewed.body["complete"], true);
    let made = api.by(secret, method, path, body).await;
    assert!((200..300).contains(&made.status), "{method} {path}: {}", made.text);
    let happened = api.events_after(before).await;
    let foretold: Vec<(String, Value)> = previewed.body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["type"].as_str().unwrap().to_owned(), event["payload"].clone()))
        .collect();
    let mask = |events: &[(String, Value)]| -> Vec<(String, Value)> {
        events.iter().map(|(name, payload)| (name.clone(), masked(payload, &log))).collect()
    };
    assert_eq!(mask(&foretold), mask(&happened), "{method} {path}");
    let diff = format!("/history/diff?from={before}&to={}&rows=10000", api.head());
    let diff = api.admin("GET", &diff, Value::Null).await.ok(200);
    let (foretold, happened) = (told(&previewed.body["changes"]), told(&diff.body["changes"]));
    assert_eq!(foretold.len(), happened.len(), "{method} {path}: {foretold:?} {happened:?}");
    // The id of a new user is made up anew; who gains by a change was there before.
    assert_eq!(foretold, happened, "{method} {path}");
    made.body
}

/// Changes that an administrator makes one after the other: method, path, its route where that is another, body.
fn changes() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let mut more = catalog();
    more["permissions"]
        .as_array_mut()
        .unwrap()
        .push(json!({"key": "minecraft.server.stop", "description": "Stop", "object_types": ["server"]}));
    let server =
        |name: &str| json!({"type": "server", "name": name, "external_id": name, "parent": "folder:eu"});
    vec![
        ("POST", "/users", "", json!({"username": "alice", "password": PASSWORD})),
        ("POST", "/users", "", json!({"username": "robot", "kind": "service"})),
        ("PATCH", "/users/alice", "/users/{id}", json!({"display_name": "Alice"})),
        ("POST", "/users/alice/suspend", "/users/{id}/suspend", Value::Null),
        ("POST", "/users/alice/reactivate", "/users/{id}/reactivate", Value::Null),
        ("POST", "/users/alice/schedule-deletion", "/users/{id}/schedule-deletion", json!({})),
        ("POST", "/users/alice/restore", "/users/{id}/restore", Value::Null),
        (
            "POST",
            "/users/alice/credential-reset",
            "/users/{id}/credential-reset",
            json!({"password": PASSWORD}),
        ),
        (
            "PUT",
            "/users/alice/identity",
            "/users/{id}/identity",
            json!({"issuer": "https://id.example.org", "subject": "a"}),
        ),
        ("DELETE", "/users/alice/identity", "/users/{id}/identity", Value::Null),
        ("POST", "/users/alice/reset-link", "/users/{id}/reset-link", Value::Null),
        ("POST", "/invitations", "", json!({"username": "guest"})),
        ("POST", "/invitations/guest/resend", "/invitations/{id}/resend", Value::Null),
        ("DELETE", "/invitations/guest", "/invitations/{id}", Value::Null),
        ("PUT", "/catalog/minecraft", "/catalog/{namespace}", more),
        (
            "POST",
            "/roles",
            "",
            json!({"slug": "ops", "scope": "both", "permissions": ["minecraft.server.read"]}),
        ),
        ("POST", "/groups", "", json!({"slug": "crew"})),
        ("PATCH", "/groups/crew", "/groups/{id}", json!({"name": "Crew"})),
        ("PUT", "/groups/crew/members/alice", "/groups/{id}/members/{user}", Value::Null),
        ("POST", "/grants", "", json!({"subject": "group:crew", "role": "ops", "scope": "folder:eu"})),
        ("POST", "/grants", "", json!({"subject": "user:alice", "role": "administrator", "scope": "global"})),
        (
            "POST",
            "/grants",
            "",
            json!({"subject": "user:robot", "permissions": ["minecraft.report.read"], "scope": "global"}),
        ),
        ("PATCH", "/roles/ops", "/roles/{id}", json!({"permissions": ["minecraft.server.*"]})),
        ("POST", "/objects", "", server("s3")),
        ("PATCH", "/objects/server/s3", "/objects/{type}/{id}", json!({"name": "3"})),
        ("POST", "/objects/server/s3/move", "/objects/{type}/{id}/move", json!({"parent": null})),
        (
            "POST",
            "/objects/server/s3/inheritance",
            "/objects/{type}/{id}/inheritance",
            json!({"inherits": false}),
        ),
        ("POST", "/objects/server/s3/transfer", "/objects/{type}/{id}/transfer", json!({"owner": "robot"})),
        ("DELETE", "/objects/server/s3", "/objects/{type}/{id}", Value::Null),
        ("DELETE", "/groups/crew/members/alice", "/groups/{id}/members/{user}", Value::Null),
        ("DELETE", "/groups/crew", "/groups/{id}", Value::Null),
        ("DELETE", "/roles/ops", "/roles/{id}", Value::Null),
    ]
}

#[tokio::test]
async fn a_preview_tells_what_the_change_then_does_for_every_change_there_is() {
    let api = Api::furnished().await;
    let admin = api.admin.clone();
    let new_password = "another horse battery";
    let mut seen = BTreeSet::new();
    let mut note = |method: &str, path: &str| seen.insert((method.to_owned(), path.to_owned()));
    for (method, path, row, body) in changes() {
        agrees(&api, &admin, method, path, body).await;
        note(method, if row.is_empty() { path } else { row });
    }
    let grant = api.give("user:robot", &["minecraft.server.restart"], "server:s1").await;
    agrees(&api, &admin, "DELETE", &format!("/grants/{grant}"), Value::Null).await;
    note("DELETE", "/grants/{id}");
    api.give("user:robot", &["minecraft.server.restart"], "server:s1").await;
    agrees(&api, &admin, "POST", "/history/undo", json!({"offset": api.head()})).await;
    note("POST", "/history/undo");
    let issued = agrees(&api, &admin, "POST", "/users/robot/tokens", json!({"name": "ci"})).await;
    note("POST", "/users/{id}/tokens");
    let path = format!("/users/robot/tokens/{}", issued["token"]["id"].as_str().unwrap());
    agrees(&api, &admin, "DELETE", &path, Value::Null).await;
    note("DELETE", "/users/{id}/tokens/{token}");
    let alice = api.session("alice", PASSWORD).await;
    let issued = agrees(&api, &alice, "POST", "/user/me/tokens", json!({"name": "ci"})).await;
    note("POST", "/user/me/tokens");
    let token = issued["token"]["id"].as_str().unwrap();
    agrees(&api, &alice, "DELETE", &format!("/user/me/tokens/{token}"), Value::Null).await;
    note("DELETE", "/user/me/tokens/{id}");
    let change = json!({"current": PASSWORD, "new": new_password});
    agrees(&api, &alice, "PUT", "/user/me/password", change).await;
    note("PUT", "/user/me/password");
    let other = api.session("alice", new_password).await;
    let sessions = api.by(&alice, "GET", "/user/me/sessions", Value::Null).await.ok(200);
    let rows = sessions.body["items"].as_array().unwrap();
    let another = rows.iter().find(|row| row["current"] == false).unwrap()["id"].as_str().unwrap().to_owned();
    agrees(&api, &alice, "DELETE", &format!("/user/me/sessions/{another}"), Value::Null).await;
    note("DELETE", "/user/me/sessions/{id}");
    api.by(&other, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    agrees(&api, &alice, "DELETE", "/session", Value::Null).await;
    note("DELETE", "/session");
    let alice = api.session("alice", new_password).await;
    agrees(&api, &alice, "DELETE", "/user/me/sessions", Value::Null).await;
    note("DELETE", "/user/me/sessions");
    // Closed for good since there was an administrator: see the refusals.
    note("POST", "/setup");
    let missing: Vec<_> = ACCESS_TABLE
        .iter()
        .filter(|row| row.writes && !ELSEWHERE.contains(&row.path))
        // Providers ask for no previews, and a preview names a path below `/api/`.
        .filter(|row| !row.path.starts_with("/scim/"))
        .map(|row| (row.method.to_owned(), row.path.trim_start_matches("/api/v1").to_owned()))
        .filter(|row| !seen.contains(row))
        .collect();
    assert!(missing.is_empty(), "changes that were not previewed: {missing:?}");
}

/// Previewed where what it takes is at hand: a projection that has stopped.
const ELSEWHERE: [&str; 1] = ["/api/v1/projections/{name}/skip"];

#[tokio::test]
async fn a_refusal_is_the_changes_own_and_leaves_nothing_behind() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    let setup = json!({"code": "X", "username": "eve", "password": PASSWORD});
    for (secret, method, path, body) in [
        (&api.admin, "POST", "/groups", json!({"slug": "Not A Slug"})),
        (&api.admin, "POST", "/groups", json!({"slug": "ops", "colour": "red"})),
        (&api.admin, "POST", "/users/ada/suspend", Value::Null),
        (&api.admin, "DELETE", "/roles/administrator", Value::Null),
        (&api.admin, "DELETE", "/objects/folder/eu", Value::Null),
        (&api.admin, "DELETE", "/objects/folder/nowhere", Value::Null),
        (&api.admin, "POST", "/users", json!({"username": "bob", "password": "short"})),
        (&api.admin, "POST", "/setup", setup),
        (&carol, "POST", "/groups", json!({"slug": "ops"})),
        (&carol, "DELETE", "/objects/folder/eu", Value::Null),
        (
            &carol,
            "POST",
            "/grants",
            json!({"subject": "user:carol", "role": "administrator", "scope": "global"}),
        ),
    ] {
        let kept = api.kept().await;
        let previewed = api.preview(secret, method, path, &body).await;
        let made = api.by(secret, method, path, body).await;
        assert!(made.status >= 400, "{method} {path}: {}", made.text);
        assert_eq!((previewed.status, &previewed.body), (made.status, &made.body), "{method} {path}");
        assert_eq!(previewed.header("content-type"), "application/problem+json");
        assert_eq!(api.kept().await, kept, "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_no_change_is_not_previewed() {
    let api = Api::furnished().await;
    let check = json!({"permission": "minecraft.server.read"});
    let session = json!({"username": "ada", "password": PASSWORD});
    let kept = api.kept().await;
    for (method, path, body) in [
        ("GET", "/users", Value::Null),
        ("HEAD", "/users", Value::Null),
        ("OPTIONS", "/users", Value::Null),
        ("nonsense", "/users", Value::Null),
        ("POST", "/check", check),
        ("POST", "/session", session),
        ("POST", "/commands/preview", json!({"method": "DELETE", "path": "/api/v1/session"})),
    ] {
        api.preview(&api.admin, method, path, &body).await.refused(422, "not_a_command");
    }
    api.preview(&api.admin, "POST", "/nowhere", &Value::Null).await.refused(404, "no_route");
    api.preview(&api.admin, "DELETE", "/users", &Value::Null).await.refused(405, "method_not_allowed");
    for path in ["", "api/v1/groups", "http://elsewhere/api/v1/groups", "//elsewhere", "/api/v1/ groups"] {
        let asked = json!({"method": "POST", "path": path, "body": {"slug": "ops"}});
        let reply = api.admin("POST", "/commands/preview", asked).await.refused(422, "invalid_value");
        assert_eq!(reply.body["field"], "path");
    }
    let asked = json!({"method": "POST", "path": "/api/v1/groups?x=1", "body": {"slug": "ops"}});
    api.admin("POST", "/commands/preview", asked).await.refused(400, "unsupported_parameter");
    api.call("POST", "/commands/preview").json(&json!({})).send().await.refused(401, "unauthenticated");
    assert_eq!(api.kept().await, kept);
}

#[tokio::test]
async fn a_stale_version_is_refused_as_the_change_is() {
    let api = Api::new().await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    let etag = api.admin("GET", "/groups/ops", Value::Null).await.ok(200).header("etag").to_owned();
    let asked = |if_match: &str| json!({"method": "PATCH", "path": "/api/v1/groups/ops", "body": {"name": "Ops"}, "if_match": if_match});
    api.admin("POST", "/commands/preview", asked(&etag)).await.ok(200);
    api.admin("POST", "/commands/preview", asked("\"1\"")).await.refused(412, "stale");
    api.admin("POST", "/commands/preview", asked("nonsense")).await.refused(400, "invalid_header");
    api.admin("POST", "/commands/preview", asked("a\nb")).await.refused(422, "invalid_value");
}

#[tokio::test]
async fn a_guess_at_a_password_counts_in_a_preview_too() {
    let api = Api::new().await;
    let guess = json!({"current": "wrong horse battery", "new": "another horse battery"});
    let mut codes = BTreeSet::new();
    for _ in 0..30 {
        codes.insert(api.preview(&api.admin, "PUT", "/user/me/password", &guess).await.code().to_owned());
    }
    assert_eq!(codes, ["too_many_attempts", "wrong_secret"].map(str::to_owned).into());
}

#[tokio::test]
async fn a_preview_tells_nothing_its_caller_may_not_read() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.user_without_token("dave").await;
    api.admin("POST", "/groups", json!({"slug": "crew"})).await.ok(201);
    api.admin("PUT", "/groups/crew/members/dave", Value::Null).await.ok(204);
    for scope in ["server:s1", "server:s2"] {
        api.give("group:crew", &["minecraft.server.restart"], scope).await;
    }
    // Carol manages groups and may restart both servers, but reads neither of them nor anybody's rights.
    api.give("user:carol", &["core.group.manage", "core.group.delete", "core.grant.manage"], "global").await;
    for scope in ["server:s1", "server:s2"] {
        api.give("user:carol", &["minecraft.server.restart", "core.grant.manage"], scope).await;
    }
    let previewed = api.preview(&carol, "DELETE", "/groups/crew", &Value::Null).await.ok(200);
    assert_eq!(previewed.texts("events", "type"), ["group.deleted"], "who was in it is not hers to know");
    assert_eq!(previewed.body["event_count"], 1);
    assert_eq!(previewed.body["changes"], json!([]));
    // Whom she names, or herself, she is told of.
    let dave = format!("/groups/crew/members/{}", api.id_of("dave"));
    let previewed = api.preview(&carol, "DELETE", &dave, &Value::Null).await.ok(200);
    assert_eq!(previewed.texts("events", "type"), ["group.member_removed"]);
    api.admin("PUT", "/groups/crew/members/carol", Value::Null).await.ok(204);
    let previewed = api.preview(&carol, "DELETE", "/groups/crew", &Value::Null).await.ok(200);
    assert_eq!(previewed.texts("events", "type"), ["group.member_removed", "group.deleted"]);
    api.admin("DELETE", "/groups/crew/members/carol", Value::Null).await.ok(204);
    // Where she may ask about others, she is told; of the grant that ended too, where she sees grants.
    api.give("user:carol", &["minecraft.server.read", "core.decision.read", "core.grant.read"], "server:s1")
        .await;
    let previewed = api.preview(&carol, "DELETE", "/groups/crew", &Value::Null).await.ok(200);
    let types = previewed.texts("events", "type");
    assert_eq!(types.iter().filter(|name| *name == "grant.ended").count(), 1, "{types:?}");
    let changes = previewed.body["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["place"]["object"]["external_id"], "s1");
    assert_eq!(changes[0]["change"], "lost");
    assert_eq!(changes[0]["before"]["allowed"], true);
    let all = api.preview(&api.admin, "DELETE", "/groups/crew", &Value::Null).await.ok(200);
    assert_eq!(all.body["changes"].as_array().unwrap().len(), 2);
    assert!(all.texts("events", "type").contains(&"group.member_removed".to_owned()));
}

/// A place that moves inherits from elsewhere: what it comes to is asked where it comes to.
#[tokio::test]
async fn a_preview_of_a_move_tells_nothing_of_where_its_caller_may_not_ask() {
    let api = Api::furnished().await;
    let us = json!({"type": "folder", "name": "America", "external_id": "us"});
    api.admin("POST", "/objects", us).await.ok(201);
    let carol = api.user("carol").await;
    api.user_without_token("dave").await;
    // Who owns a folder holds everything in it: so must whoever moves something there.
    let all = json!({"slug": "all", "scope": "object", "permissions": ["*"]});
    api.admin("POST", "/roles", all).await.ok(201);
    let all = json!({"subject": "user:carol", "role": "all", "scope": "folder:eu"});
    api.admin("POST", "/grants", all).await.ok(201);
    api.give("user:carol", &["minecraft.server.create"], "folder:us").await;
    api.give("user:dave", &["minecraft.server.restart"], "folder:us").await;
    let path = "/objects/server/s1/move";
    let moved = json!({"parent": "folder:us"});
    let told = async || {
        let previewed = api.preview(&carol, "POST", path, &moved).await.ok(200);
        let changes = previewed.body["changes"].as_array().unwrap().clone();
        let rows = changes.iter().filter(|row| row["place"]["object"]["external_id"] == "s1");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        rows.map(|row| format!("{} {}", text(&row["user"]["username"]), text(&row["permission"])))
            .collect::<BTreeSet<_>>()
    };
    // She is told what she loses herself, and not that Dave may restart it there.
    let hers = told().await;
    assert!(hers.contains("carol minecraft.server.read"), "{hers:?}");
    assert!(hers.iter().all(|row| row.starts_with("carol ")), "{hers:?}");
    // Where she may ask there too, she is told.
    api.give("user:carol", &["minecraft.server.read", "core.decision.read"], "folder:us").await;
    assert!(told().await.contains("dave minecraft.server.restart"));
}

/// A name's keyed tag is the same whoever bears it: one that came with a preview could be looked for in the log, where
/// it would tell whom an erased person's events are about.
#[tokio::test]
async fn a_preview_tells_neither_sealed_names_nor_their_tags() {
    let api = Api::furnished().await;
    api.user_without_token("dave").await;
    for (method, path, body) in [
        ("POST", "/users", json!({"username": "erased", "login_name": "x@y", "password": PASSWORD})),
        ("POST", "/users", json!({"username": "erased", "kind": "service", "external_id": "42"})),
        ("PATCH", "/users/dave", json!({"username": "erased"})),
    ] {
        let previewed = api.preview(&api.admin, method, path, &body).await.ok(200);
        let about = &previewed.body["events"][0];
        assert!(about["type"].as_str().unwrap().starts_with("user."), "{about}");
        assert_eq!(about["payload"]["profile"], "[sealed]", "{method} {path}");
        assert!(about["payload"]["user"].is_string());
        let made = api.by(&api.admin, method, path, body).await;
        assert!(made.status < 300, "{}", made.text);
        let (name, payload) = api.events_after(api.head().get() - 2).await.pop().unwrap();
        let profile = if name.starts_with("user.") { payload["profile"].clone() } else { Value::Null };
        for tag in profile.as_object().into_iter().flat_map(|profile| profile.values()) {
            assert!(!previewed.text.contains(tag.as_str().unwrap()), "{method} {path}: {tag}");
        }
        let user = payload["user"].as_str().unwrap();
        // So that the next may have the name.
        let other = json!({"username": format!("u{}", &user[30..])});
        api.admin("PATCH", &format!("/users/{user}"), other).await.ok(200);
    }
}

/// Each of 1,001 members may use 20 answers through the group: far more than a preview tells.
#[tokio::test]
async fn a_preview_of_much_tells_the_first_of_it_and_how_much_there_is() {
    let api = Api::furnished().await;
    let carol = api.user("carol").await;
    api.give("user:carol", &["core.group.delete", "minecraft.server.restart"], "global").await;
    api.admin("POST", "/groups", json!({"slug": "crew"})).await.ok(201);
    for number in 0..1_001 {
        let name = format!("robot-{number}");
        api.user_without_token(&name).await;
        api.admin("PUT", &format!("/groups/crew/members/{name}"), Value::Null).await.ok(204);
    }
    for number in 0..20 {
        let name = format!("server-{number}");
        let server = json!({"type": "server", "name": name, "external_id": name});
        api.admin("POST", "/objects", server).await.ok(201);
        api.give("group:crew", &["minecraft.server.restart"], &format!("server:{name}")).await;
    }
    let all = api.preview(&api.admin, "DELETE", "/groups/crew", &Value::Null).await.ok(200).body;
    assert_eq!(all["events"].as_array().unwrap().len(), 1_000);
    assert_eq!(all["event_count"], 1_001 + 20 + 1);
    assert_eq!(all["changes"].as_array().unwrap().len(), 1_000);
    assert_eq!(all["complete"], false);
    // What Carol may not read tells her nothing, not even that it is much.
    let hers = api.preview(&carol, "DELETE", "/groups/crew", &Value::Null).await.ok(200).body;
    assert_eq!(hers["events"].as_array().unwrap().len(), 1);
    assert_eq!((&hers["event_count"], &hers["changes"]), (&json!(1), &json!([])));
    assert_eq!(hers["complete"], true);
}
