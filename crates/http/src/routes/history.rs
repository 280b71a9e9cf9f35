//! What happened: the events themselves, and where their log ends.

use crate::{
    answer::{Answer, Answered, POLICY_VERSION},
    ask::{Ask, PAGE_ROWS_MAX},
    dto,
    problem::Problem,
};
use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use charter_events::{EventJson, Offset, Scope, StoredEvent};

/// The events of an answer when the request names no number.
const EVENTS_DEFAULT: usize = 100;
/// No further event is added to an answer of this size, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Events after an offset, one JSON object a line. An empty answer: there are no more yet. A page may end inside a
/// command; `command_index` and `command_size` say so.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "events", tag = "history",
    responses((status = 200, description = "One page, as NDJSON", content_type = "application/x-ndjson",
               body = String)))]
pub(crate) async fn events(ask: Ask) -> Result<Response, Problem> {
    ask.require("core.audit.read", Scope::Global)?;
    let after = ask.params.get::<u64>("after")?.unwrap_or(0);
    let after = Offset::new(after).ok_or_else(|| Problem::invalid_parameter("after", "it is no offset"))?;
    let limit = ask.params.get::<usize>("limit")?.unwrap_or(EVENTS_DEFAULT);
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
#[utoipa::path(get, path = "/api/v1/log", operation_id = "log", tag = "history",
    responses((status = 200, description = "The log", body = dto::LogInfo)))]
pub(crate) async fn log(ask: Ask) -> Answered<dto::LogInfo> {
    ask.require("core.audit.read", Scope::Global)?;
    let head = ask.app.control.head();
    let info = dto::LogInfo {
        log_id: head.log_id,
        head: head.offset,
        head_hash: head.hash,
        recorded_at: head.recorded_at,
    };
    Ok(Answer::ok(head.offset, info))
}
