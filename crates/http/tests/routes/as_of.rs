//! Questions and reads about the past.

use crate::support::{Api, catalog};
use charter_control::{Clock, Config, SystemClock};
use charter_events::{Offset, Timestamp};
use charter_http::ACCESS_TABLE;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

/// The system's clock, so many microseconds ahead.
#[derive(Default)]
struct Moved(AtomicI64);

impl Moved {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as i64, Ordering::SeqCst);
    }
}

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        SystemClock.now().saturating_add_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The furnished installation, bob with a grant on s1, and the version before and after it was revoked.
async fn prepared() -> (Api, u64, u64) {
    let api = Api::furnished().await;
    api.user("bob").await;
    api.admin("POST", "/groups", json!({"slug": "ops"})).await.ok(201);
    api.admin("PUT", "/groups/ops/members/bob", Value::Null).await.ok(204);
    let grant = api.give("user:bob", &["minecraft.server.restart"], "server:s1").await;
    let held = api.head().get();
    api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
    (api, held, held + 1)
}

fn asked(user: &str) -> Value {
    json!({"user": user, "permission": "minecraft.server.restart", "object": "server:s1"})
}

#[tokio::test]
async fn a_check_as_of_a_version_answers_as_it_was_and_says_of_when() {
    let (api, held, revoked) = prepared().await;
    let hash_at = |events: Vec<charter_events::StoredEvent>| events[0].hash.to_string();
    for (version, allowed) in [(held - 1, false), (held, true), (revoked, false)] {
        let answer = api.admin("POST", &format!("/check?as_of={version}"), asked("bob")).await.ok(200);
        assert_eq!(answer.body["allowed"], allowed, "{version}");
        assert_eq!(answer.body["policy_version"], version);
        assert_eq!(answer.header("policy-version"), version.to_string());
        let before = Offset::new(version - 1).unwrap();
        let event = api.control.events(before, 1).await.unwrap();
        assert_eq!(answer.header("as-of-time"), event[0].recorded_at.to_string());
        assert_eq!(answer.body["at"], json!(event[0].recorded_at));
        assert_eq!(answer.header("as-of-hash"), hash_at(event));
        let time = answer.header("as-of-time").to_owned();
        let by_time = api.admin("POST", &format!("/check?as_of={time}"), asked("bob")).await.ok(200);
        assert_eq!(by_time.header("as-of-time"), time);
        assert!(by_time.header("policy-version").parse::<u64>().unwrap() >= version);
    }
    let now = api.admin("POST", "/check", asked("bob")).await.ok(200);
    assert_eq!((now.header("as-of-time"), now.header("as-of-hash")), ("", ""));
}

#[tokio::test]
async fn every_question_and_read_that_takes_it_answers_from_the_same_version() {
    let (api, held, _) = prepared().await;
    let restart = "minecraft.server.restart";
    let on = |path: &str| format!("{path}?as_of={held}");
    let batch = json!({"user": "bob", "checks": [{"permission": restart, "object": "server:s1"}]});
    let batch = api.admin("POST", &on("/check/batch"), batch).await.ok(200);
    assert_eq!(batch.body["results"][0]["allowed"], true);
    let why = api.admin("POST", &on("/explain"), asked("bob")).await.ok(200);
    assert_eq!(why.body["grants"][0]["subject"]["user"]["username"], "bob");
    let who = json!({"permission": restart, "object": "server:s1"});
    assert_eq!(
        api.admin("POST", &on("/who-can"), who).await.ok(200).body["users"].as_array().unwrap().len(),
        2
    );
    let objects = json!({"user": "bob", "permission": restart, "type": "server"});
    let objects = api.admin("POST", &on("/allowed-objects"), objects).await.ok(200);
    assert_eq!(objects.texts("objects", "external_id"), ["s1"]);
    let effective = api.admin("POST", &on("/effective"), json!({"user": "bob", "object": "server:s1"})).await;
    let rows = effective.ok(200).body["permissions"].as_array().unwrap().clone();
    assert!(rows.iter().any(|row| row["permission"] == restart && row["state"] == "allowed"));
    let grants =
        api.admin("GET", &format!("/grants?subject=user:bob&as_of={held}"), Value::Null).await.ok(200);
    let id = grants.ids("items").remove(0);
    api.admin("GET", &on(&format!("/grants/{id}")), Value::Null).await.ok(200);
    api.admin("GET", &format!("/grants/{id}"), Value::Null).await.refused(404, "not_found");
    let access = api.admin("GET", &on("/objects/server/s1/access"), Value::Null).await.ok(200);
    assert_eq!(access.body["own"].as_array().unwrap().len(), 2);
    let members = api.admin("GET", &on("/groups/ops/members"), Value::Null).await.ok(200);
    assert_eq!(members.texts("items", "username"), ["bob"]);
    for path in ["/users/bob", "/roles", "/roles/viewer", "/groups/ops", "/objects/server/s1"] {
        let reply = api.admin("GET", &on(path), Value::Null).await.ok(200);
        assert_eq!(reply.header("policy-version"), held.to_string(), "{path}");
    }
    let early = api.admin("GET", "/groups/ops?as_of=10", Value::Null).await;
    early.refused(404, "not_found");
}

#[tokio::test]
async fn every_route_that_takes_it_asks_for_the_right_to_read_the_log_now() {
    let (api, held, _) = prepared().await;
    let bob = api.user("bart").await;
    api.give("user:bart", &["core.decision.read", "core.grant.read", "core.role.read"], "global").await;
    let narrow = api.token(api.id_of("ada"), Some(&["core.decision.read"])).await;
    let rows = ACCESS_TABLE.iter().filter(|row| row.query.contains(&"as_of"));
    for row in rows.clone() {
        assert!(!row.writes, "{row:?} changes something");
        let path = row.path.replace("{type}", "server");
        let path = match row.path {
            p if p.contains("/roles/") => path.replace("{id}", "viewer"),
            p if p.contains("/groups/") => path.replace("{id}", "ops"),
            p if p.contains("/users/") => path.replace("{id}", "bob"),
            _ => path.replace("{id}", "s1"),
        };
        let path = format!("{path}?as_of={held}");
        let body = if row.method == "POST" { json!({}) } else { Value::Null };
        let reply = api.by(&bob, row.method, &path, body.clone()).await.refused(403, "forbidden");
        assert_eq!(reply.body["missing"], json!(["core.audit.read"]), "{row:?}");
        api.by(&narrow, row.method, &path, body).await.refused(403, "token_too_narrow");
        api.call(row.method, &path).send().await.refused(401, "unauthenticated");
    }
    assert_eq!(rows.count(), 15);
    api.admin("GET", "/user/me?as_of=5", Value::Null).await.refused(400, "unsupported_parameter");
}

#[tokio::test]
async fn who_may_read_the_log_is_shown_all_of_it_whatever_else_he_may() {
    let (api, held, _) = prepared().await;
    let auditor = api.user("carl").await;
    api.give("user:carl", &["core.audit.read"], "global").await;
    api.by(&auditor, "POST", "/check", asked("bob")).await.refused(404, "not_found");
    let check = format!("/check?as_of={held}");
    let answer = api.by(&auditor, "POST", &check, asked("bob")).await.ok(200);
    assert_eq!((&answer.body["allowed"], &answer.body["scope"]["kind"]), (&json!(true), &json!("object")));
    let all = api.by(&auditor, "GET", &format!("/grants?as_of={held}&limit=500"), Value::Null).await.ok(200);
    let own = api.admin("GET", &format!("/grants?as_of={held}&limit=500"), Value::Null).await.ok(200);
    assert_eq!(all.ids("items"), own.ids("items"));
    let himself = json!({"permission": "core.audit.read"});
    let himself = api.by(&auditor, "POST", &check, himself).await.ok(200);
    assert_eq!(himself.body["because"], "inactive_subject", "he was nobody then");
    api.admin("POST", "/users/carl/suspend", Value::Null).await.ok(200);
    api.by(&auditor, "POST", &check, asked("bob")).await.refused(401, "invalid_token");
}

#[tokio::test]
async fn a_profile_of_the_past_takes_the_right_to_read_users_now() {
    let (api, _, _) = prepared().await;
    let eve = json!({"username": "eve", "email": "eve@private.example", "login_name": "Eve.Secret"});
    api.admin("POST", "/users", eve).await.ok(201);
    let path = format!("/users/eve?as_of={}", api.head());
    let auditor = api.user("carl").await;
    api.give("user:carl", &["core.audit.read"], "global").await;
    let brief = api.by(&auditor, "GET", &path, Value::Null).await.ok(200);
    assert_eq!((&brief.body["id"], &brief.body["status"]), (&json!(api.id_of("eve")), &json!("active")));
    for secret in ["private.example", "Eve.Secret", "username"] {
        assert!(!brief.text.contains(secret), "{}", brief.text);
    }
    api.give("user:carl", &["core.user.read"], "global").await;
    let whole = api.by(&auditor, "GET", &path, Value::Null).await.ok(200);
    assert_eq!(
        (&whole.body["username"], &whole.body["email"]),
        (&json!("eve"), &json!("eve@private.example"))
    );
    // His token's ceiling counts as it does now.
    let narrow = api.token(api.id_of("carl"), Some(&["core.audit.read"])).await;
    let brief = api.by(&narrow, "GET", &path, Value::Null).await.ok(200);
    assert!(!brief.text.contains("private.example"), "{}", brief.text);
}

#[tokio::test]
async fn an_expiry_is_judged_as_it_was() {
    let (api, clock, _) = on_a_moved_clock().await;
    let end = api.control.now().saturating_add_micros(3_600_000_000);
    let grant = json!({"subject": "user:bob", "permissions": ["minecraft.server.restart"],
                       "scope": "server:s1", "expires_at": end});
    let given = api.admin("POST", "/grants", grant).await.ok(201);
    let version = given.header("policy-version").to_owned();
    clock.advance(Duration::from_secs(7_200));
    let now = api.admin("POST", "/check", asked("bob")).await.ok(200);
    assert_eq!((&now.body["allowed"], now.header("policy-version")), (&json!(false), version.as_str()));
    let before_its_end = end.saturating_add_micros(-1).to_string();
    for (as_of, allowed) in [(&version, true), (&before_its_end, true), (&end.to_string(), false)] {
        let then = api.admin("POST", &format!("/check?as_of={as_of}"), asked("bob")).await.ok(200);
        assert_eq!(then.body["allowed"], allowed, "{as_of}");
        assert_eq!(then.header("policy-version"), version);
        let grants = format!("/grants?subject=user:bob&as_of={as_of}");
        let grants = api.admin("GET", &grants, Value::Null).await.ok(200);
        assert_eq!(grants.body["items"][0]["live"], allowed, "{as_of}");
    }
    api.control.housekeeping(false).await;
    assert!(api.head().to_string() > version, "its end is recorded");
    let then = api.admin("POST", &format!("/check?as_of={before_its_end}"), asked("bob")).await.ok(200);
    assert_eq!(then.body["allowed"], true, "and changes no answer about before");
}

#[tokio::test]
async fn what_names_no_version_is_refused_and_says_what_it_takes() {
    let (api, _, _) = prepared().await;
    let head = api.head();
    for (as_of, status, code) in [
        ("", 400, "invalid_parameter"),
        ("-1", 400, "invalid_parameter"),
        ("yesterday", 400, "invalid_parameter"),
        ("2026-03-01", 400, "invalid_parameter"),
        ("5&as_of=6", 400, "invalid_parameter"),
        ("0", 422, "before_first_event"),
        ("1000000", 422, "beyond_head"),
        ("99999999999999999999", 422, "beyond_head"),
        ("1999-01-01T00:00:00Z", 422, "before_first_event"),
        ("2999-01-01T00:00:00Z", 422, "beyond_head"),
    ] {
        let reply = api.admin("POST", &format!("/check?as_of={as_of}"), asked("bob")).await;
        assert_eq!(reply.refused(status, code).body["field"], "as_of", "{as_of}");
    }
    api.unchanged_since(head);
}

#[tokio::test]
async fn a_version_inside_a_command_is_the_last_complete_one_before_it() {
    let (api, _, _) = prepared().await;
    let events = api.control.events(Offset::ZERO, 500).await.unwrap();
    let inside = events.iter().rfind(|event| event.command_size > 1 && event.command_index == 0).unwrap();
    let reply = api.admin("GET", &format!("/roles?as_of={}", inside.offset), Value::Null).await.ok(200);
    assert_eq!(reply.header("policy-version"), (inside.offset.get() - 1).to_string());
}

#[tokio::test]
async fn a_cursor_belongs_to_its_version() {
    let (api, held, revoked) = prepared().await;
    let first = api.admin("GET", &format!("/grants?limit=1&as_of={held}"), Value::Null).await.ok(200);
    let next = first.body["next"].as_str().unwrap();
    let page = |as_of: u64| format!("/grants?limit=1&as_of={as_of}&cursor={next}");
    api.admin("GET", &page(held), Value::Null).await.ok(200);
    api.admin("GET", &page(revoked), Value::Null).await.refused(400, "invalid_cursor");
    let who = |cursor: Value| {
        let permission = "minecraft.server.restart";
        json!({"permission": permission, "object": "server:s1", "limit": 1, "cursor": cursor})
    };
    let path = |as_of: u64| format!("/who-can?as_of={as_of}");
    let first = api.admin("POST", &path(held), who(Value::Null)).await.ok(200);
    let next = who(first.body["next"].clone());
    api.admin("POST", &path(held), next.clone()).await.ok(200);
    api.admin("POST", &path(revoked), next.clone()).await.refused(400, "invalid_cursor");
    api.admin("POST", "/who-can", next).await.refused(400, "invalid_cursor");
}

/// The furnished installation, on a clock that is moved.
async fn on_a_moved_clock() -> (Api, Arc<Moved>, String) {
    let clock = Arc::new(Moved::default());
    let mut api = Api::set_up(Config { clock: clock.clone(), ..Config::default() }).await;
    api.admin("PUT", "/catalog/minecraft", catalog()).await.ok(200);
    let s1 = json!({"type": "server", "name": "One", "external_id": "s1"});
    api.admin("POST", "/objects", s1).await.ok(201);
    let bob = api.user("bob").await;
    // Sessions end while the clock goes on; tokens don't.
    api.admin = api.token(api.id_of("ada"), None).await;
    (api, clock, bob)
}

#[tokio::test]
async fn an_erased_person_has_no_name_in_any_past_view() {
    let (api, clock, _) = on_a_moved_clock().await;
    api.give("user:bob", &["minecraft.server.restart"], "server:s1").await;
    let (bob, held) = (api.id_of("bob"), api.head().get());
    let views = [
        ("GET", format!("/users/{bob}"), Value::Null),
        ("GET", format!("/grants?subject=user:{bob}"), Value::Null),
        ("GET", "/objects/server/s1/access".to_owned(), Value::Null),
        ("POST", "/explain".to_owned(), asked(&bob.to_string())),
        (
            "POST",
            "/who-can".to_owned(),
            json!({"permission": "minecraft.server.restart", "object": "server:s1"}),
        ),
    ];
    let at = |path: &str| format!("{path}{}as_of={held}", if path.contains('?') { '&' } else { '?' });
    for (method, path, body) in &views {
        let before = api.admin(method, &at(path), body.clone()).await.ok(200);
        assert!(before.text.contains("\"bob\"") && before.text.contains(&bob.to_string()), "{}", before.text);
    }
    api.admin("POST", "/users/bob/schedule-deletion", json!({})).await.ok(200);
    clock.advance(Duration::from_secs(31 * 24 * 3_600));
    api.control.housekeeping(true).await;
    api.admin("GET", "/users/bob", Value::Null).await.refused(404, "not_found");
    for (method, path, body) in &views {
        let after = api.admin(method, &at(path), body.clone()).await.ok(200);
        assert!(!after.text.contains("bob") && after.text.contains(&bob.to_string()), "{}", after.text);
    }
    api.admin("GET", &at("/users/bob"), Value::Null).await.refused(404, "not_found");
    api.admin("POST", &at("/check"), asked("bob")).await.refused(404, "not_found");
}
