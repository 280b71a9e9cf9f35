//! `/events` as they come: what a live stream sends, when it ends, and what it holds up.

use crate::support::{Api, Reply, read};
use axum::{
    body::{Body, BodyDataStream},
    http::Request,
};
use charter_http::{HttpConfig, router};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use tower::ServiceExt;

/// Whatever a test waits for comes long before.
const LONG: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_millis(10);

/// An open stream and what came so far.
pub(crate) struct Reader {
    body: BodyDataStream,
    text: String,
}

impl Reader {
    async fn more(&mut self) -> bool {
        // An error: the stream is silent.
        match tokio::time::timeout(LONG, self.body.next()).await.unwrap() {
            Some(bytes) => {
                self.text.push_str(std::str::from_utf8(&bytes.unwrap()).unwrap());
                true
            }
            None => false,
        }
    }

    pub(crate) async fn until(&mut self, text: &str) {
        while !self.text.contains(text) {
            assert!(self.more().await, "ended before `{text}`: {}", self.text);
        }
    }

    /// Everything to its end.
    pub(crate) async fn rest(&mut self) -> &str {
        while self.more().await {}
        &self.text
    }

    pub(crate) fn offsets(&self) -> Vec<u64> {
        let ids = self.text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.map(|id| id.parse().unwrap()).collect()
    }

    fn data(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }
}

async fn asked(api: &Api, secret: &str, path: &str, headers: &[(&str, &str)]) -> Result<Reader, Reply> {
    let mut request = Request::builder()
        .uri(format!("/api/v1{path}"))
        .header("authorization", format!("Bearer {secret}"))
        .header("accept", "text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    if response.status() != 200 {
        return Err(read(response).await);
    }
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store");
    Ok(Reader { body: response.into_body().into_data_stream(), text: String::new() })
}

pub(crate) async fn opened(api: &Api, secret: &str, path: &str) -> Reader {
    asked(api, secret, path, &[]).await.unwrap_or_else(|reply| panic!("{}", reply.text))
}

async fn api_with(config: HttpConfig) -> Api {
    let mut api = Api::new().await;
    api.router = router(api.control.clone(), config);
    api
}

pub(crate) async fn group(api: &Api, slug: &str) -> u64 {
    api.admin("POST", "/groups", json!({"slug": slug})).await.ok(201);
    api.head().get()
}

#[tokio::test]
async fn events_come_as_they_are_recorded_each_as_a_page_has_it() {
    let api = Api::new().await;
    let before = api.head();
    let mut reader = opened(&api, &api.admin, &format!("/events?after={before}")).await;
    reader.until(": events follow").await;
    for slug in ["ops", "dev"] {
        let offset = group(&api, slug).await;
        reader.until(&format!("id: {offset}\nevent: group.created\ndata: {{")).await;
    }
    reader.until("\"slug\":\"dev\"").await;
    assert_eq!(reader.offsets(), (before.get() + 1..=api.head().get()).collect::<Vec<_>>());
    let page = api.admin("GET", &format!("/events?after={before}"), Value::Null).await.ok(200).text;
    assert_eq!(reader.data(), page.lines().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stream_begins_with_the_first_event_or_after_the_last_one_seen() {
    let api = Api::furnished().await;
    let head = api.head().get();
    let mut reader = opened(&api, &api.admin, "/events").await;
    reader.until(&format!("id: {head}\n")).await;
    assert_eq!(reader.offsets(), (1..=head).collect::<Vec<_>>());
    let seen = [("last-event-id", "3")];
    let mut reader = asked(&api, &api.admin, "/events?after=1", &seen).await.unwrap_or_else(|_| panic!());
    reader.until("id: 5\n").await;
    assert_eq!(reader.offsets()[..2], [4, 5]);
}

#[tokio::test]
async fn what_a_stream_can_not_take_is_refused() {
    let api = Api::new().await;
    for (path, headers, code) in [
        ("/events", &[("last-event-id", "x")][..], "invalid_header"),
        ("/events", &[("last-event-id", "")], "invalid_header"),
        ("/events", &[("last-event-id", "9223372036854775808")], "invalid_header"),
        ("/events?after=x", &[], "invalid_parameter"),
        ("/events?limit=5", &[], "invalid_parameter"),
    ] {
        let Err(reply) = asked(&api, &api.admin, path, headers).await else { panic!("{path} {headers:?}") };
        reply.refused(400, code);
    }
    let bob = api.user("bob").await;
    let Err(reply) = asked(&api, &bob, "/events", &[]).await else { panic!() };
    reply.refused(403, "forbidden");
    let page =
        api.call("GET", "/events").by(&api.admin).header("accept", "text/html, */*;q=0.1").send().await;
    assert_eq!(page.ok(200).header("content-type"), "application/x-ndjson");
}

#[tokio::test]
async fn a_quiet_stream_shows_that_it_lives_and_no_time_ends_it() {
    let api = api_with(HttpConfig {
        request_timeout: SOON,
        requests_at_once_max: 1,
        heartbeat_every: SOON,
        ..HttpConfig::default()
    })
    .await;
    let mut reader = opened(&api, &api.admin, &format!("/events?after={}", api.head())).await;
    while reader.text.matches(": \n\n").count() < 5 {
        assert!(reader.more().await, "{}", reader.text);
    }
    // It takes the place of no request.
    api.admin("GET", "/user/me", Value::Null).await.ok(200);
}

#[tokio::test]
async fn whoever_loses_the_right_to_read_sees_nothing_from_then_on() {
    let api = Api::new().await;
    let bob = api.user("bob").await;
    let grant = api.give("user:bob", &["core.audit.read"], "global").await;
    let mut reader = opened(&api, &bob, &format!("/events?after={}", api.head())).await;
    let last = group(&api, "ops").await;
    reader.until(&format!("id: {last}\n")).await;
    api.admin("DELETE", &format!("/grants/{grant}"), Value::Null).await.ok(204);
    group(&api, "dev").await;
    assert!(reader.rest().await.ends_with(": the permission to read events is gone\n\n"), "{}", reader.text);
    assert_eq!(reader.offsets(), [last]);
}

#[tokio::test]
async fn a_stream_ends_with_the_credential_it_was_opened_with() {
    let api = Api::new().await;
    api.user_without_token("bob").await;
    api.give("user:bob", &["core.audit.read"], "global").await;
    for end in ["token", "user"] {
        let bob = api.token(api.id_of("bob"), None).await;
        let mut reader = opened(&api, &bob, &format!("/events?after={}", api.head())).await;
        reader.until(": events follow").await;
        let tokens = api.by(&bob, "GET", "/user/me/tokens", Value::Null).await.ok(200).ids("items");
        match end {
            "token" => {
                api.by(&bob, "DELETE", &format!("/user/me/tokens/{}", tokens[0]), Value::Null).await.ok(204)
            }
            _ => api.admin("POST", "/users/bob/suspend", Value::Null).await.ok(200),
        };
        assert!(reader.rest().await.ends_with(": the credential is no longer good\n\n"), "{}", reader.text);
        assert_eq!(reader.offsets(), [0_u64; 0], "{end}");
    }
}

/// Opens a stream once there is room for it.
async fn opened_at_last(api: &Api) -> Reader {
    let open = async {
        loop {
            match asked(api, &api.admin, "/events", &[]).await {
                Ok(reader) => return reader,
                Err(reply) => drop(reply.refused(503, "overloaded")),
            }
            tokio::time::sleep(SOON).await;
        }
    };
    tokio::time::timeout(LONG, open).await.unwrap()
}

#[tokio::test]
async fn more_streams_than_may_be_are_turned_away_until_one_ends() {
    let api = api_with(HttpConfig { streams_at_once_max: 1, ..HttpConfig::default() }).await;
    let first = opened(&api, &api.admin, "/events").await;
    let Err(reply) = asked(&api, &api.admin, "/events", &[]).await else { panic!() };
    assert_eq!(reply.refused(503, "overloaded").header("retry-after"), "1");
    drop(first);
    opened_at_last(&api).await;
}

#[tokio::test]
async fn who_takes_nothing_loses_his_place() {
    let config = HttpConfig { streams_at_once_max: 1, heartbeat_every: SOON, ..HttpConfig::default() };
    let api = api_with(config).await;
    let mut idle = opened(&api, &api.admin, "/events").await;
    opened_at_last(&api).await;
    // What was sent before is still there, and then the end.
    idle.rest().await;
}

#[tokio::test]
async fn a_stream_ends_in_order_when_the_store_can_not_be_read() {
    let api = Api::new().await;
    // More than a page has.
    for number in 0..120 {
        group(&api, &format!("g{number}")).await;
    }
    let mut reader = opened(&api, &api.admin, "/events").await;
    assert!(reader.more().await);
    api.store.hooks().set_unavailable(true);
    let text = reader.rest().await;
    assert!(text.ends_with("\n\n: the store can't be reached\n\n"), "{text}");
    assert!(!reader.offsets().contains(&api.head().get()));
}
