//! For those who run a server: is it alive, is it ready, how is it doing, what does it offer.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Visit, accepts},
    dto,
    openmetrics::{OPENMETRICS, openmetrics},
    problem::Problem,
};
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use charter_events::Scope;

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "operations",
    responses((status = 200, description = "It answers", body = dto::Health)))]
pub(crate) async fn healthz(visit: Visit) -> Answer<dto::Health> {
    Answer::ok(visit.policy.version(), dto::Health { status: "ok".to_owned(), degraded: Vec::new() })
}

/// Whether the server may be asked: its log is whole and its store answers.
#[utoipa::path(get, path = "/readyz", operation_id = "readiness", tag = "operations",
    responses((status = 200, description = "It may", body = dto::Health)))]
pub(crate) async fn readyz(visit: Visit) -> Answered<dto::Health> {
    let readiness = visit.app.control.readiness();
    match readiness.not_ready {
        None => {
            let degraded = visit.app.control.degraded();
            Ok(Answer::ok(readiness.version, dto::Health { status: "ready".to_owned(), degraded }))
        }
        Some(reason) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, reason.code(), reason.to_string())),
    }
}

/// Counters and timings: as OpenMetrics for whoever accepts that, else in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operations",
    responses((status = 200, description = "The metrics", content(
        (String = "text/plain"), (String = "application/openmetrics-text")))))]
pub(crate) async fn metrics(ask: Ask) -> Result<Response, Problem> {
    ask.require("core.projection.read", Scope::Global)?;
    let text = ask.app.config.metrics.as_ref().map(|metrics| metrics.render()).unwrap_or_default();
    let (form, text) = if accepts(&ask.headers, OPENMETRICS) {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", openmetrics(&text))
    } else {
        ("text/plain; version=0.0.4", text)
    };
    Ok(([(header::CONTENT_TYPE, form), (header::VARY, "accept")], text).into_response())
}

/// The servers that are alive on this installation's store, as of this server's last look: whoever is missing from it
/// has not renewed its lease.
#[utoipa::path(get, path = "/api/v1/servers", operation_id = "servers", tag = "operations",
    responses((status = 200, description = "The servers, oldest first", body = dto::List<dto::Server>)))]
pub(crate) async fn servers(ask: Ask) -> Answered<dto::List<dto::Server>> {
    ask.require("core.projection.read", Scope::Global)?;
    let mut items: Vec<dto::Server> = ask.app.control.servers().into_iter().map(dto::Server::from).collect();
    items.sort_by_key(|server| (server.started_at, server.id));
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next: None }))
}

/// This document.
#[utoipa::path(get, path = "/api/openapi.json", operation_id = "openapi", tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub(crate) async fn openapi_json(visit: Visit) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], visit.app.document.to_string()).into_response()
}
