//! Around every request: its id, a bound on how many run and how long, what happens when a handler panics, the headers
//! every answer has, and its line in the access log.

use super::{
    client::{Peer, client},
    gate::LoggedUser,
    trace,
};
use crate::{
    App,
    access::{self, Gate},
    answer::POLICY_VERSION,
    authzen,
    problem::{Problem, ProblemCode},
    scim,
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use charter_control::Freshness;
use charter_events::envelope::REQUEST_ID_BYTES_MAX;
use futures_util::FutureExt;
use std::{net::IpAddr, panic::AssertUnwindSafe, time::Instant};
use tokio::sync::Semaphore;
use tracing::Instrument;
use uuid::Uuid;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// For how many seconds the server has not reached its store; absent when it has.
const POLICY_STALE: HeaderName = HeaderName::from_static("policy-stale");

/// What an answer over TLS says to browsers: for a year from now, in no other way.
const ONLY_ENCRYPTED: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The address a request is from, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub(super) IpAddr);

/// Runs the rest of the stack for one request.
pub(crate) async fn around(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id(request.headers());
    let echo = echoed(&request).unwrap_or_else(|| id.clone());
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let peer = request.extensions().get::<Peer>().copied();
    let from = peer.map(|peer| client(peer, request.headers(), &app.config.trusted_proxies));
    if let Some(from) = from {
        request.extensions_mut().insert(ClientAddress(from));
    }
    let span = trace::span(known(request.method()), route_of(&request), request.headers());
    let line = Line::of(&request, from, trace::sent_id(&span), id);
    let of_scim = scim::is_path(request.uri().path());
    let mut response = bounded(&app, request, next).instrument(span.clone()).await;
    finish(&app, &mut response, echo);
    if of_scim {
        response = scim::told(response);
    }
    if peer.is_some_and(|peer| peer.encrypted) {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, ONLY_ENCRYPTED);
    }
    trace::answered(&span, &response);
    line.log(&response, began);
    response
}

/// The caller's own id for the request, when it is one; else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let mut sent = headers.get_all(&REQUEST_ID).iter();
    if let (Some(value), None) = (sent.next(), sent.next())
        && (1..=REQUEST_ID_BYTES_MAX).contains(&value.len())
        && value.as_bytes().iter().all(u8::is_ascii_graphic)
    {
        return value.clone();
    }
    HeaderValue::from_str(&Uuid::now_v7().to_string()).unwrap_or(HeaderValue::from_static("unnamed"))
}

/// The caller's own id where a standard wants it back whatever it is; nothing else is made of it.
fn echoed(request: &Request) -> Option<HeaderValue> {
    let mut sent = request.headers().get_all(&REQUEST_ID).iter();
    let (only, other) = (sent.next(), sent.next());
    only.filter(|_| other.is_none() && authzen::is_route(request.uri().path())).cloned()
}

/// The handler's answer, unless too many requests run, it takes too long, or it panics.
async fn bounded(app: &App, request: Request, next: Next) -> Response {
    let running = match pool(app, &request).map(Semaphore::try_acquire) {
        None => None,
        Some(Ok(permit)) => Some(permit),
        Some(Err(_)) => {
            return Problem::overloaded("overloaded", "too many requests are being answered").into_response();
        }
    };
    let answering = AssertUnwindSafe(next.run(request)).catch_unwind();
    let answered = tokio::time::timeout(app.config.request_timeout, answering).await;
    drop(running);
    match answered {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!("a handler panicked");
            Problem::internal().into_response()
        }
        Err(_) => {
            Problem::overloaded("timeout", "the answer took too long; a command may still be carried out")
                .into_response()
        }
    }
}

/// Which requests this one is counted among. Probes are among none: a busy server is alive. Those anybody may send
/// are among their own, so that strangers who send their bodies slowly keep out other strangers only. So are changes:
/// they wait when another server holds the log's end, and questions must not wait with them.
fn pool<'a>(app: &'a App, request: &Request) -> Option<&'a Semaphore> {
    match (route_of(request), access::row_of(request.method(), route_of(request))) {
        ("/healthz" | "/readyz", _) => None,
        (_, Some(row)) if row.gate == Gate::Public => Some(&app.visiting),
        (_, Some(row)) if row.writes => Some(&app.writing),
        _ => Some(&app.running),
    }
}

fn route_of(request: &Request) -> &str {
    request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str)
}

/// What every answer has: problems in one form, the policy version and how stale it is, the request's id, and headers
/// that keep browsers and caches from making more of it.
fn finish(app: &App, response: &mut Response, id: HeaderValue) {
    if response.status().is_client_error() || response.status().is_server_error() {
        as_problem(response);
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    if !headers.contains_key(POLICY_VERSION) {
        headers.insert(POLICY_VERSION, HeaderValue::from(app.control.policy().version().get()));
    }
    if let Freshness::Stale { seconds } | Freshness::TooStale { seconds } = app.control.freshness() {
        headers.insert(POLICY_STALE, HeaderValue::from(seconds));
    }
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Only a page says otherwise.
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
}

/// Turns a refusal of the framework (its own text) into a problem; one of ours stays.
fn as_problem(response: &mut Response) {
    if response.extensions().get::<ProblemCode>().is_some() {
        return;
    }
    let problem = match response.status() {
        StatusCode::NOT_FOUND => Problem::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => Problem::method_not_allowed(),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::body_too_large(crate::body::BODY_BYTES_MAX),
        status if status.is_client_error() => Problem::malformed("the request can't be read"),
        _ => Problem::internal(),
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    *response = problem.into_response();
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
}

/// A request's line in the access log. Never the query, a header or a body, nor of the path more than the route and
/// the ids in it: all of them may hold secrets and names.
struct Line {
    method: &'static str,
    path: String,
    route: String,
    from: Option<IpAddr>,
    trace: Option<String>,
    id: HeaderValue,
}

/// What machines ask all the time: told only when it fails.
const POLLED: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/api/v1/log"];

/// The method as logs and metrics name it. A client may make up any number of others: they are all one.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The route with those of its variable segments filled in that are ids.
fn masked(route: &str, path: &str) -> String {
    let shown = route.split('/').zip(path.split('/')).map(|(name, segment)| {
        let is_id = segment.len() == UUID_CHARS && Uuid::try_parse(segment).is_ok();
        if name.starts_with('{') && is_id { segment } else { name }
    });
    shown.collect::<Vec<_>>().join("/")
}

const UUID_CHARS: usize = 36;

impl Line {
    fn of(request: &Request, from: Option<IpAddr>, sent: Option<String>, id: HeaderValue) -> Self {
        let route = route_of(request);
        Self {
            method: known(request.method()),
            path: masked(route, request.uri().path()),
            route: route.to_owned(),
            from,
            trace: sent.or_else(|| trace::trace_id(request.headers())),
            id,
        }
    }

    fn log(self, response: &Response, began: Instant) {
        let status = response.status().as_u16();
        let seconds = began.elapsed().as_secs_f64();
        let user = response.extensions().get::<LoggedUser>().map(|user| user.0.to_string());
        let client = self.from.map(tracing::field::display);
        let code = response.extensions().get::<ProblemCode>().map(|code| code.0);
        macro_rules! tell {
            ($at:ident) => {
                tracing::$at!(
                    target: "charter::access",
                    method = %self.method,
                    path = %self.path,
                    status,
                    code,
                    user,
                    client,
                    trace_id = self.trace,
                    request_id = self.id.to_str().unwrap_or_default(),
                    milliseconds = (seconds * 1_000_000.0).round() / 1_000.0,
                    "answered"
                )
            };
        }
        if response.status().is_success() && POLLED.contains(&self.route.as_str()) {
            tell!(debug);
        } else {
            tell!(info);
        }
        let labels =
            [("method", self.method.to_owned()), ("route", self.route), ("status", status.to_string())];
        metrics::counter!("charter_http_requests_total", &labels).increment(1);
        metrics::histogram!("charter_http_request_seconds", &labels).record(seconds);
    }
}

/// What answers where no route is.
pub(crate) async fn no_route() -> Problem {
    Problem::no_route()
}

/// What answers where a route has no such method.
pub(crate) async fn method_not_allowed() -> Problem {
    Problem::method_not_allowed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HttpConfig;
    use axum::{Router, body::Body, middleware::from_fn_with_state, routing::get};
    use charter_control::{Config, Control};
    use charter_store::MemoryStore;
    use std::{sync::Arc, time::Duration};
    use tower::ServiceExt;

    async fn answered(config: HttpConfig, path: &str) -> (u16, String, HeaderMap) {
        let control =
            Control::start(Arc::new(MemoryStore::default()), Config::default()).await.unwrap().control;
        let app = App::new(control, config, Arc::from(""));
        let router: Router = Router::new()
            .route(
                "/panics",
                get(|| async {
                    if true {
                        panic!("secret words")
                    }
                }),
            )
            .route("/hangs", get(std::future::pending::<()>))
            .route("/fails", get(|| async { (StatusCode::INTERNAL_SERVER_ERROR, "secret words") }))
            .route("/works", get(|| async { "fine" }))
            .route("/healthz", get(|| async { "fine" }))
            .route("/readyz", get(|| async { "fine" }))
            .layer(from_fn_with_state(app, around));
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        (parts.status.as_u16(), String::from_utf8(bytes.to_vec()).unwrap(), parts.headers)
    }

    #[tokio::test]
    async fn a_panic_or_a_bare_failure_is_a_500_that_says_nothing_of_what_happened() {
        for path in ["/panics", "/fails"] {
            let (status, text, headers) = answered(HttpConfig::default(), path).await;
            assert_eq!(status, 500);
            assert!(text.contains("\"code\":\"internal\"") && !text.contains("secret words"), "{text}");
            assert_eq!(headers["content-type"], "application/problem+json");
            assert!(headers.contains_key(POLICY_VERSION) && headers.contains_key(REQUEST_ID));
        }
    }

    #[tokio::test]
    async fn an_answer_that_takes_too_long_is_a_503_that_may_be_tried_again() {
        let config = HttpConfig { request_timeout: Duration::from_millis(10), ..HttpConfig::default() };
        let (status, text, headers) = answered(config, "/hangs").await;
        assert!(status == 503 && text.contains("\"code\":\"timeout\""), "{text}");
        assert_eq!(headers["retry-after"], RETRY);
    }

    #[tokio::test]
    async fn more_requests_than_may_run_at_once_are_turned_away() {
        let none = HttpConfig { requests_at_once_max: 0, ..HttpConfig::default() };
        let (status, text, headers) = answered(none, "/works").await;
        assert!(status == 503 && text.contains("\"code\":\"overloaded\""), "{text}");
        assert_eq!(headers["retry-after"], RETRY);
        assert_eq!(answered(HttpConfig::default(), "/works").await.0, 200);
    }

    #[tokio::test]
    async fn a_probe_is_answered_however_much_there_is_to_do() {
        for path in ["/healthz", "/readyz"] {
            let none = HttpConfig { requests_at_once_max: 0, ..HttpConfig::default() };
            assert_eq!(answered(none, path).await.0, 200, "{path}");
        }
    }

    #[test]
    fn a_method_nobody_knows_has_no_name_of_its_own() {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            assert_eq!(known(&method.parse().unwrap()), method);
        }
        for method in ["PURGE", "X1", "X2", "get"] {
            assert_eq!(known(&method.parse().unwrap()), "other");
        }
    }

    #[test]
    fn of_a_path_the_route_and_its_ids_are_shown() {
        let id = "0190e9a0-0000-7000-8000-000000000001";
        for (route, path, shown) in [
            ("/a/{id}", format!("/a/{id}"), format!("/a/{id}")),
            ("/a/{id}", "/a/cht_secret".to_owned(), "/a/{id}".to_owned()),
            ("/a/{id}/b/{user}", format!("/a/ops/b/{id}"), format!("/a/{{id}}/b/{id}")),
            ("/a/{id}", format!("/a/{}", id.replace('-', "")), "/a/{id}".to_owned()),
            ("none", "/alice/cht_secret".to_owned(), "none".to_owned()),
        ] {
            assert_eq!(masked(route, &path), shown);
        }
    }

    const RETRY: &str = "1";
}
