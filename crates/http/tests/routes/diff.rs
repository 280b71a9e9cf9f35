//! `/history/diff`: who gained and lost what between two versions.

use crate::support::Api;
use charter_commands::EraseUser;
use charter_control::{Clock, Config, Request, RequestMeta};
use charter_events::{Timestamp, Via};
use charter_policy::Caller;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

async fn rows(api: &Api, query: &str) -> Vec<String> {
    let answer = api.admin("GET", &format!("/history/diff?{query}"), Value::Null).await.ok(200);
    let changes = answer.body["changes"].as_array().unwrap().clone();
    changes
        .iter()
        .map(|row| {
            let place = &row["place"];
            let on = place["object"]["external_id"].as_str().or(place["kind"].as_str()).unwrap().to_owned();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let user = text(&row["user"]["username"]);
            format!("{user} {} {} {on}", text(&row["change"]), text(&row["permission"]))
        })
        .collect()
}

/// Dave may restart the servers of the folder for a while, becomes an administrator, and is one no more.
async fn told() -> (Api, [u64; 4]) {
    let api = Api::furnished().await;
    api.user_without_token("dave").await;
    let start = api.head().get();
    api.give("user:dave", &["minecraft.server.restart"], "folder:eu").await;
    let restarts = api.head().get();
    let star = json!({"subject": "user:dave", "role": "administrator", "scope": "global"});
    let star = api.admin("POST", "/grants", star).await.ok(201).body["id"].as_str().unwrap().to_owned();
    let administers = api.head().get();
    api.admin("DELETE", &format!("/grants/{star}"), Value::Null).await.ok(204);
    let end = api.head().get();
    (api, [start, restarts, administers, end])
}

#[tokio::test]
async fn gains_and_losses_are_told_with_both_decisions_and_in_both_directions() {
    let (api, [start, restarts, _, end]) = told().await;
    let gained = ["dave gained minecraft.server.restart eu", "dave gained minecraft.server.restart s1"];
    assert_eq!(rows(&api, &format!("from={start}&to={restarts}")).await, gained);
    assert_eq!(
        rows(&api, &format!("from={start}")).await,
        gained,
        "what came and went meanwhile is not told"
    );
    let back = rows(&api, &format!("from={end}&to={start}")).await;
    assert_eq!(back, gained.map(|row| row.replace("gained", "lost")));
    let path = format!("/history/diff?from={start}&to={restarts}&object=server:s1");
    let answer = api.admin("GET", &path, Value::Null).await.ok(200).body;
    let row = &answer["changes"][0];
    assert_eq!((&row["before"]["because"], &row["after"]["because"]), (&json!("not_set"), &json!("grant")));
    assert_eq!(row["after"]["scope"]["object"]["external_id"], "eu");
    assert_eq!(row["after"]["policy_version"], restarts);
    assert_eq!(
        (&answer["from"]["policy_version"], &answer["to"]["policy_version"]),
        (&json!(start), &json!(restarts))
    );
    let log = api.admin("GET", "/log", Value::Null).await.ok(200).body;
    let now = api.admin("GET", &format!("/history/diff?from={end}"), Value::Null).await.ok(200).body;
    assert_eq!((&now["to"]["hash"], &now["changes"]), (&log["head_hash"], &json!([])));
}

#[tokio::test]
async fn an_administrator_is_told_once_a_key_or_at_every_place() {
    let (api, [_, restarts, administers, end]) = told().await;
    let folded = rows(&api, &format!("from={restarts}&to={administers}")).await;
    assert!(folded.iter().all(|row| row.ends_with(" everywhere")), "{folded:?}");
    assert!(folded.contains(&"dave gained core.user.read everywhere".to_owned()), "{folded:?}");
    let query =
        format!("from={restarts}&to={administers}&every_place=true&permission=minecraft.server.restart");
    // He had it on the folder and in it.
    assert_eq!(
        rows(&api, &query).await,
        ["dave gained minecraft.server.restart global", "dave gained minecraft.server.restart s2"]
    );
    let lost = rows(&api, &format!("from={administers}&to={end}&user=dave&object=global")).await;
    assert!(lost.iter().all(|row| row.starts_with("dave lost ") && row.ends_with(" global")), "{lost:?}");
    assert_eq!(lost.len(), folded.len());
}

#[tokio::test]
async fn a_moment_is_a_version_and_an_end_is_seen_when_it_comes() {
    let (api, clock) = with_clock().await;
    let end = later(clock.now(), 60_000_000).to_string();
    let grant = json!({"subject": "user:dave", "permissions": ["core.user.read"], "scope": "global",
                       "expires_at": end});
    let made = api.admin("POST", "/grants", grant).await.ok(201);
    let then = made.body["issued_at"].as_str().unwrap().to_owned();
    assert_eq!(rows(&api, &format!("from={then}")).await, [""; 0]);
    clock.advance(60_000_000);
    assert_eq!(rows(&api, &format!("from={then}")).await, ["dave lost core.user.read global"]);
}

#[tokio::test]
async fn an_erased_user_has_no_name_in_what_he_gained() {
    let (api, clock) = with_clock().await;
    let start = api.head().get();
    api.give("user:dave", &["core.user.read"], "global").await;
    let given = api.head().get();
    let erase_at = later(clock.now(), 1_000_000).to_string();
    api.admin("POST", "/users/dave/schedule-deletion", json!({"erase_at": erase_at})).await.ok(200);
    let query = format!("from={start}&to={given}");
    assert_eq!(rows(&api, &query).await, ["dave gained core.user.read global"]);
    clock.advance(1_000_000);
    let erase = EraseUser { user: api.id_of("dave") };
    let request = Request::new(Caller::System, erase.into(), RequestMeta::new(Via::System));
    api.control.submit(request).await.unwrap();
    assert_eq!(rows(&api, &query).await, [" gained core.user.read global"]);
}

/// A clock that is moved by hand.
#[derive(Clone)]
struct Hands(Arc<AtomicI64>);

impl Hands {
    fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

const fn later(moment: Timestamp, micros: i64) -> Timestamp {
    moment.saturating_add_micros(micros)
}

/// An installation with a user `dave`, and its clock.
async fn with_clock() -> (Api, Hands) {
    let clock = Hands(Arc::new(AtomicI64::new(1_780_000_000_000_000)));
    let api = Api::set_up(Config { clock: Arc::new(clock.clone()), ..Config::default() }).await;
    api.user_without_token("dave").await;
    (api, clock)
}

#[tokio::test]
async fn bad_ends_names_and_bounds_are_refused() {
    let (api, [start, ..]) = told().await;
    let head = api.head();
    for (query, status, code, field) in [
        (String::new(), 400, "invalid_parameter", "from"),
        ("from=yesterday".to_owned(), 400, "invalid_parameter", "from"),
        ("from=0".to_owned(), 422, "before_first_event", "from"),
        ("from=1999-01-01T00:00:00Z".to_owned(), 422, "before_first_event", "from"),
        (format!("from={start}&to=999999"), 422, "beyond_head", "to"),
        (format!("from={start}&rows=0"), 400, "invalid_parameter", "rows"),
        (format!("from={start}&rows=10001"), 400, "invalid_parameter", "rows"),
        (format!("from={start}&user=nobody"), 404, "not_found", "user"),
        (format!("from={start}&object=server:none"), 404, "not_found", "object"),
        (format!("from={start}&object=s1"), 422, "invalid_reference", "object"),
        (format!("from={start}&permission=a.b.c"), 422, "unknown_permission", "permission"),
        (format!("from={start}&permission=x"), 400, "invalid_parameter", "permission"),
        (format!("from={start}&every_place=maybe"), 400, "invalid_parameter", "every_place"),
        (format!("from={start}&as_of=3"), 400, "unsupported_parameter", "as_of"),
    ] {
        let reply =
            api.admin("GET", &format!("/history/diff?{query}"), Value::Null).await.refused(status, code);
        assert_eq!(reply.body["field"], field, "{query}");
    }
    let path = format!("/history/diff?from={start}&rows=1&user=dave");
    let reply = api.admin("GET", &path, Value::Null).await.refused(422, "diff_too_large");
    let detail = reply.body["detail"].as_str().unwrap();
    assert!(detail.contains("`object`, `permission`") && !detail.contains("`user`"), "{detail}");
    api.unchanged_since(head);
}

#[tokio::test]
async fn only_who_may_read_the_whole_log_may_compare() {
    let (api, [start, ..]) = told().await;
    let carol = api.user("carol").await;
    let path = format!("/history/diff?from={start}");
    api.by(&carol, "GET", &path, Value::Null).await.refused(403, "forbidden");
    api.give("user:carol", &["core.audit.read"], "server:s1").await;
    api.by(&carol, "GET", &path, Value::Null).await.refused(403, "forbidden");
    api.give("user:carol", &["core.audit.read"], "global").await;
    api.by(&carol, "GET", &path, Value::Null).await.ok(200);
}

/// The earlier state is folded while others write: the end that is now is one version all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hash_of_an_end_is_that_of_its_version_whatever_is_written_meanwhile() {
    let api = Arc::new(Api::furnished().await);
    let known = api.head().get();
    let writes = Arc::clone(&api);
    let writing = tokio::spawn(async move {
        for number in 0..300 {
            writes.admin("POST", "/groups", json!({"slug": format!("g{number}")})).await.ok(201);
        }
    });
    let mut ends = Vec::new();
    while !writing.is_finished() {
        for from in known - 10..known {
            let path = format!("/history/diff?from={from}");
            let to = api.admin("GET", &path, Value::Null).await.ok(200).body["to"].clone();
            ends.push((to["policy_version"].as_u64().unwrap(), to["hash"].clone()));
        }
    }
    writing.await.unwrap();
    let events = api.control.events(charter_events::Offset::ZERO, 1_000).await.unwrap();
    for (version, hash) in ends {
        let event = events.iter().find(|event| event.offset.get() == version).unwrap();
        assert_eq!(json!(event.hash), hash, "of version {version}");
    }
}
