//! What happened: the events themselves, page by page or as they come, and where their log ends.

use crate::{
    answer::{Answer, Answered, POLICY_VERSION},
    ask::{Ask, PAGE_ROWS_MAX, accepts},
    dto,
    edge::Stopping,
    live,
    problem::Problem,
};
use axum::{
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use charter_events::{EventJson, Hash, Offset, Scope, StoredEvent};
use std::sync::Arc;

/// The events of an answer when the request names no number.
const EVENTS_DEFAULT: usize = 100;
/// No further event is added to an answer of this size, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Events after an offset, one JSON object a line. An empty answer: there are no more yet. A page may end inside a
/// command; `command_index` and `command_size` say so.
///
/// With `Accept: text/event-stream` it goes on: what is recorded is sent as it comes, each event with its offset as
/// `id`, its type as `event` and the same JSON object as `data`. `Last-Event-ID` goes before `after`; `limit` is not
/// taken. A comment comes when nothing happened for a while. It ends when the credential or the permission does, when
/// the server stops or can't read on, and when nobody takes what it sends.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "events", tag = "history",
    params(("Last-Event-ID" = Option<u64>, Header,
            description = "For a live stream: the offset of the last event seen")),
    responses((status = 200, description = "One page as NDJSON, or a live stream", content(
        (String = "application/x-ndjson"), (String = "text/event-stream")))))]
pub(crate) async fn events(ask: Ask, stopping: Stopping) -> Result<Response, Problem> {
    ask.require(live::KEY, Scope::Global)?;
    let after = ask.params.number::<u64>("after")?.unwrap_or(0);
    let after = Offset::new(after).ok_or_else(|| Problem::invalid_parameter("after", "it is no offset"))?;
    let limit = ask.params.number::<usize>("limit")?;
    let seen = last_event_id(&ask.headers)?;
    if accepts(&ask.headers, "text/event-stream") {
        if limit.is_some() {
            return Err(Problem::invalid_parameter("limit", "a live stream has none"));
        }
        return live::answer(&ask, seen.unwrap_or(after), stopping);
    }
    let limit = limit.unwrap_or(EVENTS_DEFAULT);
    if !(1..=PAGE_ROWS_MAX).contains(&limit) {
        return Err(Problem::invalid_parameter("limit", format!("it is 1 to {PAGE_ROWS_MAX}")));
    }
    let text = lines(&ask.app.control.events(after, limit).await?)?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/x-ndjson".to_owned()),
        (POLICY_VERSION, ask.policy.version().to_string()),
    ];
    Ok((headers, text).into_response())
}

/// Where a reader whose stream broke off goes on.
fn last_event_id(headers: &HeaderMap) -> Result<Option<Offset>, Problem> {
    const NAME: &str = "last-event-id";
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    match digits.and_then(|text| text.parse().ok()).and_then(Offset::new) {
        Some(offset) => Ok(Some(offset)),
        None => Err(Problem::invalid_header("Last-Event-ID", "it takes the offset of an event")),
    }
}

fn lines(events: &[StoredEvent]) -> Result<Vec<u8>, Problem> {
    let broken = |error: serde_json::Error| {
        tracing::error!(%error, "an event that is no JSON");
        Problem::internal()
    };
    let mut text = Vec::new();
    for event in events {
        if text.len() > ANSWER_BYTES_MAX {
            break;
        }
        serde_json::to_writer(&mut text, &EventJson::new(event).map_err(broken)?).map_err(broken)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Which log this is and how far it goes. The head's hash, kept elsewhere, gives a rewritten log away.
///
/// With `digest=true` it tells a digest of the state too, at the version the answer names: whoever folds the same log
/// has the same.
#[utoipa::path(get, path = "/api/v1/log", operation_id = "log", tag = "history",
    responses((status = 200, description = "The log", body = dto::LogInfo)))]
pub(crate) async fn log(ask: Ask) -> Answered<dto::LogInfo> {
    ask.require(live::KEY, Scope::Global)?;
    let head = ask.app.control.head();
    let mut version = head.offset;
    let mut state_digest = None;
    if ask.params.word("digest", &["true", "false"])? == Some("true") {
        version = ask.policy.version();
        state_digest = Some(digest(&ask).await?);
    }
    let info = dto::LogInfo {
        log_id: head.log_id,
        head: head.offset,
        head_hash: head.hash,
        recorded_at: head.recorded_at,
        verifier_key: ask.app.control.verifier_key(),
        state_digest,
    };
    Ok(Answer::ok(version, info))
}

/// The digest of the state the question was asked of. It takes processor time in proportion to the state: off the
/// async threads.
async fn digest(ask: &Ask) -> Result<Hash, Problem> {
    let policy = Arc::clone(&ask.policy);
    tokio::task::spawn_blocking(move || Hash::new(policy.digest())).await.map_err(|error| {
        tracing::error!(%error, "no digest could be made");
        Problem::internal()
    })
}
