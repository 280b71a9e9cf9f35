//! A server that shows whatever a test puts into it: one log in its pages, another in its stream.

use axum::{
    Router,
    body::Body,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};
use charter_events::{Actor, CommandId, CommandMeta, Event, EventJson, Hash, Head, LogId, StoredEvent, Via};
use charter_follower::FollowerConfig;
use charter_store::{Chain, chain};
use charter_testkit::{at, ids::SequentialIds};
use futures_util::stream;
use serde_json::json;
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
};

use crate::{
    server::quick,
    wait::{LONG, SOON},
};

/// The id of the logs made here.
const LOG: LogId = LogId::from_u128(5);

/// What it shows.
pub(crate) struct Shown {
    /// Which log it says it has.
    pub(crate) log_id: LogId,
    /// In pages, and where the log ends.
    pub(crate) log: Vec<StoredEvent>,
    /// In the stream, one after another, whoever reads it.
    pub(crate) stream: Vec<StoredEvent>,
    /// The stream that is open ends.
    pub(crate) cut: bool,
    /// There is no place among the streams.
    pub(crate) full: bool,
    /// So many pages are empty though there are events.
    pub(crate) empty_pages: u32,
    /// For how many seconds it says it has been cut off from its store.
    pub(crate) stale: Option<u64>,
}

/// A server that does what it is told.
#[derive(Clone)]
pub(crate) struct Fake {
    shown: Arc<Mutex<Shown>>,
    at: String,
}

impl Fake {
    pub(crate) async fn new(log: Vec<StoredEvent>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!("http://{}", listener.local_addr().unwrap());
        let fake = Self {
            shown: Arc::new(Mutex::new(Shown {
                log_id: LOG,
                log,
                stream: Vec::new(),
                cut: false,
                full: false,
                empty_pages: 0,
                stale: None,
            })),
            at,
        };
        let router = Router::new()
            .route("/api/v1/log", get(head))
            .route("/api/v1/events", get(events))
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        fake
    }

    pub(crate) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap()
    }

    /// What follows it. The server is not asked where its log ends but at the beginning.
    pub(crate) fn config(&self) -> FollowerConfig {
        FollowerConfig { check_every: LONG, stale_max: None, ..quick(&self.at, "cht_any") }
    }

    /// What follows it, asks it often, and decides nothing soon after it does not confirm.
    pub(crate) fn strict(&self) -> FollowerConfig {
        FollowerConfig { check_every: SOON * 5, stale_max: Some(SOON * 100), ..self.config() }
    }
}

async fn head(State(fake): State<Fake>) -> Response {
    let shown = fake.shown();
    let head = head_of(&shown.log);
    let body = axum::Json(json!({
        "log_id": shown.log_id, "head": head.offset, "head_hash": head.hash,
        "recorded_at": head.recorded_at.max(at("2026-01-01T00:00:00Z")),
    }));
    match shown.stale {
        Some(seconds) => ([("policy-stale", seconds.to_string())], body).into_response(),
        None => body.into_response(),
    }
}

async fn events(
    State(fake): State<Fake>,
    Query(query): Query<HashMap<String, u64>>,
    headers: HeaderMap,
) -> Response {
    if headers.get("accept").is_some_and(|value| value == "text/event-stream") {
        if fake.shown().full {
            let problem = axum::Json(json!({"code": "overloaded"}));
            return (StatusCode::SERVICE_UNAVAILABLE, problem).into_response();
        }
        let next = stream::unfold(fake, |fake| async move {
            tokio::time::sleep(SOON).await;
            if std::mem::take(&mut fake.shown().cut) {
                return None;
            }
            let sent: Vec<StoredEvent> = std::mem::take(&mut fake.shown().stream);
            let text: String = sent.iter().map(|event| format!("data: {}\n\n", line(event))).collect();
            Some((Ok::<_, Infallible>(if text.is_empty() { ":\n\n".to_owned() } else { text }), fake))
        });
        return ([("content-type", "text/event-stream")], Body::from_stream(next)).into_response();
    }
    let (after, limit) = (query["after"], query["limit"]);
    let mut shown = fake.shown();
    if shown.empty_pages > 0 {
        shown.empty_pages -= 1;
        return ([("content-type", "application/x-ndjson")], "").into_response();
    }
    let log = &shown.log;
    let page = log.iter().filter(|event| event.offset.get() > after).take(limit as usize);
    let text: String = page.map(|event| line(event) + "\n").collect();
    ([("content-type", "application/x-ndjson")], text).into_response()
}

pub(crate) fn line(event: &StoredEvent) -> String {
    serde_json::to_string(&EventJson::new(event).unwrap()).unwrap()
}

fn head_of(log: &[StoredEvent]) -> Head {
    let empty = chain::empty(LOG);
    log.last().map_or(empty, |last| Head {
        offset: last.offset,
        hash: last.hash,
        recorded_at: last.recorded_at,
        ..empty
    })
}

/// A log in which each of these is a command.
pub(crate) fn log_of(commands: &[Vec<Event>]) -> Vec<StoredEvent> {
    let mut log = Vec::new();
    for command in commands {
        let more = next(&log, command);
        log.extend(more);
    }
    log
}

/// The events of a command that goes on from a log.
pub(crate) fn next(log: &[StoredEvent], command: &[Event]) -> Vec<StoredEvent> {
    after(head_of(log), command)
}

/// The events of a command that goes on from a head.
pub(crate) fn after(head: Head, command: &[Event]) -> Vec<StoredEvent> {
    let mut ids = SequentialIds::new();
    let number = u128::from(head.offset.get()) + 1;
    let meta = CommandMeta {
        command_id: CommandId::from_u128(number),
        actor: Actor::System,
        via: Via::System,
        request_id: None,
        reason: None,
    };
    Chain::new(head)
        .extend(&meta, command, head.recorded_at.max(at("2026-02-01T00:00:00Z")), &mut || ids.next())
        .unwrap()
}

/// The same event with something changed, and a hash that is right for it.
pub(crate) fn changed(event: &StoredEvent, change: impl FnOnce(&mut StoredEvent)) -> StoredEvent {
    changed_in(LOG, event, change)
}

/// The same in another log.
pub(crate) fn changed_in(
    log_id: LogId,
    event: &StoredEvent,
    change: impl FnOnce(&mut StoredEvent),
) -> StoredEvent {
    let mut event = event.clone();
    change(&mut event);
    event.hash = Hash::ZERO;
    event.hash = chain::hash(log_id, &event);
    event
}
