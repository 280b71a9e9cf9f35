//! The HTTP client: sends requests of the native API, turns problem documents into failures, follows cursors.
//! Knows the API's conventions, not its routes.

mod preview;
mod told;

use crate::exit::{Doing, Exit, Failure, Outcome, chain};
use charter_http::dto::{EventReason, Secret};
use reqwest::{Method, Response, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use told::Told;

/// How long one request may take, in seconds.
const REQUEST_SECONDS_MAX: u64 = 60;
/// How long connecting may take, in seconds.
const CONNECT_SECONDS_MAX: u64 = 5;
/// The most rows one page holds.
const PAGE_ROWS_MAX: usize = 500;
/// The largest answer read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A client of one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    server: String,
    secret: Option<Secret>,
    reason: Option<String>,
    /// Why nobody is signed in although somebody is elsewhere.
    held_back: Option<String>,
    told: Arc<Told>,
    /// Changes are previewed instead of made.
    previews: bool,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The body, null when there is none.
    pub(crate) body: Value,
    etag: Option<String>,
}

impl Answer {
    fn guard(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.etag {
            Some(etag) => request.header(header::IF_MATCH, etag),
            None => request,
        }
    }

    /// The body as one of the API's shapes.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Outcome<T> {
        serde_json::from_value(self.body.clone()).doing("read the server's answer: is it of another version?")
    }
}

/// A list, and whether there was more than was asked for.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The rows, in the server's order.
    pub(crate) rows: Vec<Value>,
    /// Whether rows were left out.
    pub(crate) more: bool,
}

impl Client {
    /// A client of the server at this address.
    pub(crate) fn new(server: String, secret: Option<Secret>, reason: Option<String>) -> Outcome<Self> {
        if !server.starts_with("http://") && !server.starts_with("https://") {
            return Err(Failure::usage(format!("`{server}` is no address of a server"))
                .hint("an address looks like `http://127.0.0.1:7400`"));
        }
        let http = reqwest::Client::builder()
            .user_agent(concat!("charter/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()?;
        let told = Arc::default();
        Ok(Self { http, server, secret, reason, held_back: None, told, previews: false })
    }

    /// The same; to whom it is refused for want of a sign-in, this is told too.
    pub(crate) fn held_back(self, why: Option<String>) -> Self {
        Self { held_back: why, ..self }
    }

    /// The server's address.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// `GET` of a route below `/api/v1`.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, String)]) -> Outcome<Answer> {
        let request = self.request(Method::GET, &format!("{path}{}", asked(query)));
        self.answer(request).await
    }

    /// `GET` of text that is no JSON document, such as one JSON value a line.
    pub(crate) async fn text(&self, path: &str, query: &[(&str, String)]) -> Outcome<String> {
        let request = self.request(Method::GET, &format!("{path}{}", asked(query)));
        let request = request.timeout(Duration::from_secs(REQUEST_SECONDS_MAX));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.told.tell(&response);
        let bytes = read(response).await.map_err(|error| self.unreachable(&error))?;
        String::from_utf8(bytes).doing("read the server's answer")
    }

    /// `POST` with a body.
    pub(crate) async fn post(&self, path: &str, body: &impl Serialize) -> Outcome<Answer> {
        self.send_or_preview(Method::POST, path, None, preview::json(body)?).await
    }

    /// A question: a `POST` that changes nothing, with parameters.
    pub(crate) async fn ask(
        &self,
        path: &str,
        query: &[(&str, String)],
        body: &impl Serialize,
    ) -> Outcome<Answer> {
        self.answer(self.request(Method::POST, &format!("{path}{}", asked(query))).json(body)).await
    }

    /// A request without a body and without a precondition.
    pub(crate) async fn send(&self, method: Method, path: &str) -> Outcome<Answer> {
        self.send_or_preview(method, path, None, None).await
    }

    /// `PUT` of something that needs no precondition.
    pub(crate) async fn put(&self, path: &str, body: &impl Serialize) -> Outcome<Answer> {
        self.send_or_preview(Method::PUT, path, None, preview::json(body)?).await
    }

    /// A change of what was seen: refused if it changed meanwhile.
    pub(crate) async fn patch(&self, path: &str, seen: &Answer, body: &impl Serialize) -> Outcome<Answer> {
        self.send_or_preview(Method::PATCH, path, Some(seen), preview::json(body)?).await
    }

    /// Any other change of what was seen, without a body.
    pub(crate) async fn change(&self, method: Method, path: &str, seen: &Answer) -> Outcome<Answer> {
        self.send_or_preview(method, path, Some(seen), None).await
    }

    /// Every row of a list up to a number, page by page.
    pub(crate) async fn list(&self, path: &str, query: &[(&str, String)], rows_max: usize) -> Outcome<Rows> {
        let mut rows: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let limit = PAGE_ROWS_MAX.min(rows_max.saturating_sub(rows.len()).max(1));
            let mut query = query.to_vec();
            query.push(("limit", limit.to_string()));
            query.extend(cursor.take().map(|c| ("cursor", c)));
            let mut page = self.get(path, &query).await?.body;
            rows.extend(take_items(&mut page));
            cursor = page.get("next").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() || rows.len() >= rows_max {
                rows.truncate(rows_max);
                return Ok(Rows { rows, more: cursor.is_some() });
            }
        }
    }

    /// Every row of a list that comes in one piece.
    pub(crate) async fn whole(&self, path: &str) -> Outcome<Vec<Value>> {
        Ok(take_items(&mut self.get(path, &[]).await?.body))
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let writes = method != Method::GET;
        let request = self.http.request(method, format!("{}/api/v1{path}", self.server));
        let request = match &self.secret {
            Some(secret) => request.bearer_auth(secret.expose()),
            None => request,
        };
        match &self.reason {
            Some(reason) if writes => request.header("X-Reason", reason),
            _ => request,
        }
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Outcome<Answer> {
        let request = request.timeout(Duration::from_secs(REQUEST_SECONDS_MAX));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        self.told.tell(&response);
        let etag = response.headers().get(header::ETAG).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let bytes = read(response).await.map_err(|error| self.unreachable(&error))?;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes)
                .map_err(|_| Failure::error(format!("{} does not answer as a Charter server", self.server)))?
        };
        Ok(Answer { body, etag })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let error = error.without_url_text();
        let failure = Failure::error(format!("can't reach {}: {error}", self.server));
        failure.hint("`charter serve` starts a server; `--server` or `charter context use` choose another")
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status();
        let bytes = read(response).await.unwrap_or_default();
        let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let failure = failure_of(status, &problem);
        match &self.held_back {
            Some(why) if status == StatusCode::UNAUTHORIZED => failure.hint(why),
            _ => failure,
        }
    }
}

trait WithoutUrl {
    fn without_url_text(&self) -> String;
}

impl WithoutUrl for reqwest::Error {
    /// The innermost cause: the outer ones repeat the address.
    fn without_url_text(&self) -> String {
        let mut cause: &dyn std::error::Error = self;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        chain(cause)
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            bytes.clear();
            break;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn take_items(page: &mut Value) -> Vec<Value> {
    match page.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// What a problem document means for whoever called: one line, hints, and the exit code.
fn failure_of(status: StatusCode, problem: &Value) -> Failure {
    let text = |member: &str| problem.get(member).and_then(Value::as_str);
    let code = text("code");
    let exit = match status {
        // Whoever takes a link is not signed in, and need not be.
        StatusCode::UNAUTHORIZED if code == Some("invalid_link") => Exit::Error,
        StatusCode::UNAUTHORIZED => Exit::NotAuthenticated,
        StatusCode::FORBIDDEN => Exit::Denied,
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED => {
            Exit::Conflict
        }
        _ => Exit::Error,
    };
    let mut message = text("detail")
        .or_else(|| text("title"))
        .map_or_else(|| format!("the server answered {status}"), str::to_owned);
    if let Some(field) = text("field").filter(|field| !message.contains(field)) {
        message = format!("{field}: {message}");
    }
    if let Some(code) = code {
        message = format!("{message} ({code})");
    }
    let mut failure = Failure::new(exit, message);
    failure.status = Some(status.as_u16());
    failure.code = code.map(str::to_owned);
    let missing: Vec<&str> = problem
        .get("missing")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !missing.is_empty() {
        let more = if problem.get("more") == Some(&Value::Bool(true)) { ", and more" } else { "" };
        failure = failure.hint(format!("it takes {}{more}", missing.join(", ")));
    }
    for (place, event) in reasons(problem).iter().enumerate() {
        // The detail tells of the first.
        if place > 0 {
            let EventReason { offset, type_name, detail, .. } = event;
            failure = failure.hint(format!("`{type_name}` at offset {offset}: {detail}"));
        }
    }
    match (status, code) {
        (StatusCode::UNAUTHORIZED, Some("invalid_link")) => failure.hint("ask for a new one"),
        (StatusCode::UNAUTHORIZED, _) => failure.hint("`charter login` signs you in"),
        (StatusCode::PRECONDITION_FAILED, _) => {
            failure.hint("somebody changed it meanwhile: look again, then repeat")
        }
        (StatusCode::TOO_MANY_REQUESTS, _) => failure.hint("wait a moment, then repeat"),
        _ => failure,
    }
}

/// The events that stand in the way of an undo.
fn reasons(problem: &Value) -> Vec<EventReason> {
    let events = problem.get("events").cloned();
    events.and_then(|events| serde_json::from_value(events).ok()).unwrap_or_default()
}

/// A route of these segments, each of them kept whole.
pub(crate) fn route(segments: &[&str]) -> Outcome<String> {
    let mut path = String::new();
    for segment in segments {
        if matches!(*segment, "" | "." | "..") {
            return Err(
                Failure::usage(format!("`{segment}` can't be named in an address")).hint("use its id")
            );
        }
        path.push('/');
        encode(segment, &mut path);
    }
    Ok(path)
}

/// The part of an address that begins with `?`, or nothing.
fn asked(query: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in query {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        encode(value, &mut text);
    }
    text
}

fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => {
                into.push(char::from(byte))
            }
            other => into.push_str(&format!("%{other:02X}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_problem_becomes_one_line_hints_and_a_code() {
        let problem = json!({"detail": "the name is taken", "code": "slug_taken", "field": "slug"});
        let failure = failure_of(StatusCode::CONFLICT, &problem);
        assert_eq!(
            (failure.exit, failure.message.as_str()),
            (Exit::Conflict, "slug: the name is taken (slug_taken)")
        );
        let refusal = json!({"title": "Forbidden", "code": "forbidden", "missing": ["core.role.create"]});
        let failure = failure_of(StatusCode::FORBIDDEN, &refusal);
        assert_eq!(failure.exit, Exit::Denied);
        assert_eq!(failure.hints, ["it takes core.role.create"]);
        assert_eq!(failure_of(StatusCode::UNAUTHORIZED, &Value::Null).exit, Exit::NotAuthenticated);
        assert_eq!(failure_of(StatusCode::NOT_FOUND, &Value::Null).exit, Exit::Error);
    }

    #[test]
    fn a_segment_never_leaves_its_place() {
        assert_eq!(route(&["users", "a/b c"]).unwrap(), "/users/a%2Fb%20c");
        assert_eq!(route(&["users", "s1.eu"]).unwrap(), "/users/s1.eu");
        for text in ["", ".", ".."] {
            assert_eq!(route(&["users", text]).unwrap_err().exit, Exit::Usage);
        }
    }
}
