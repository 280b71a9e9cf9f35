//! The server's API as a follower uses it: where the log ends, a page of events, the live stream. Owns the bounds on
//! what is read and the errors people see; must not know what the events mean.

use crate::{config::FollowerConfig, error::FollowerError, sse::Parser};
use charter_events::{
    EventJson, Hash, Head, LogId, Offset, StoredEvent, Timestamp, json::EVENT_JSON_BYTES_MAX,
};
use reqwest::{RequestBuilder, Response, StatusCode, Url, header};
use serde::Deserialize;
use std::time::Duration;

/// The most events asked for at once.
pub(crate) const PAGE_EVENTS: usize = 500;
/// The largest page read, in bytes: the server adds no event to a page of 8 MiB.
const PAGE_BYTES_MAX: usize = 8 * 1024 * 1024 + EVENT_JSON_BYTES_MAX;
/// The largest other answer read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long connecting may take, in seconds.
const CONNECT_SECONDS_MAX: u64 = 5;

/// A client of one server.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    http: reqwest::Client,
    /// The address as errors show it.
    pub(crate) server: String,
    timeout: Duration,
    silence_max: Duration,
}

#[derive(Deserialize)]
struct LogBody {
    log_id: LogId,
    head: Offset,
    head_hash: Hash,
    recorded_at: Timestamp,
}

#[derive(Deserialize, Default)]
struct Problem {
    #[serde(default)]
    code: String,
}

impl Api {
    pub(crate) fn new(config: &FollowerConfig) -> Result<Self, FollowerError> {
        let server = address(&config.server)?;
        let bearer = zeroize::Zeroizing::new(format!("Bearer {}", config.token.expose()));
        let mut bearer = header::HeaderValue::from_str(&bearer).map_err(|_| FollowerError::Token)?;
        bearer.set_sensitive(true);
        // One provider of cryptography in the process: the first that was chosen. Ours is taken when none was.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let http = reqwest::Client::builder()
            .user_agent(concat!("charter-follower/", env!("CARGO_PKG_VERSION")))
            .default_headers([(header::AUTHORIZATION, bearer)].into_iter().collect())
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| FollowerError::Address { why: innermost(&error) })?;
        Ok(Self { http, server, timeout: config.request_timeout, silence_max: config.silence_max })
    }

    /// Where the server's log ends, and for how long the server had been cut off from its store when it said so.
    pub(crate) async fn head(&self, wait: Duration) -> Result<(Head, Duration), FollowerError> {
        let request = self.get("/log").timeout(wait.min(self.timeout));
        let response = self.send(request, "application/json").await?;
        let stale = response.headers().get("policy-stale").and_then(|value| value.to_str().ok());
        // what can't be read is not taken for fresh
        let stale = stale.map_or(0, |seconds| seconds.parse().unwrap_or(u64::from(u32::MAX)));
        let bytes = self.read(response, ANSWER_BYTES_MAX).await?;
        let log: LogBody = serde_json::from_slice(&bytes)
            .map_err(|error| self.not_a_server(format!("its log can't be read: {error}")))?;
        let LogBody { log_id, head: offset, head_hash: hash, recorded_at } = log;
        Ok((Head { log_id, offset, hash, recorded_at }, Duration::from_secs(stale)))
    }

    /// Events after an offset, as many as a page holds; none when there are no more yet.
    pub(crate) async fn page(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, FollowerError> {
        let limit = limit.clamp(1, PAGE_EVENTS);
        let request = self.get(&format!("/events?after={after}&limit={limit}")).timeout(self.timeout);
        let response = self.send(request, "application/x-ndjson").await?;
        let bytes = self.read(response, PAGE_BYTES_MAX).await?;
        let text = std::str::from_utf8(&bytes).map_err(|_| self.not_a_server("a page is no text".into()))?;
        text.lines().map(|line| self.event(line)).collect()
    }

    /// The events after an offset as they come.
    pub(crate) async fn stream(&self, after: Offset) -> Result<Stream, FollowerError> {
        let request = self.get(&format!("/events?after={after}")).header(header::ACCEPT, "text/event-stream");
        let opening = tokio::time::timeout(self.timeout, self.send(request, "text/event-stream"));
        let response = opening.await.map_err(|_| self.unreachable("it took too long to answer"))??;
        Ok(Stream { api: self.clone(), response, parser: Parser::default() })
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}/api/v1{path}", self.server))
    }

    async fn send(&self, request: RequestBuilder, form: &'static str) -> Result<Response, FollowerError> {
        let response = request.send().await.map_err(|error| self.unreachable(innermost(&error)))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let sent = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if sent.is_some_and(|sent| sent.starts_with(form)) {
            return Ok(response);
        }
        Err(self.not_a_server(format!("it sends no `{form}`")))
    }

    async fn refusal(&self, response: Response) -> FollowerError {
        let status = response.status();
        let bytes = self.read(response, ANSWER_BYTES_MAX).await.unwrap_or_default();
        let problem: Option<Problem> = serde_json::from_slice(&bytes).ok();
        let code = problem.as_ref().map_or("none", |problem| problem.code.as_str());
        // Only what could be one of ours is shown: the text is somebody else's.
        let is_code =
            |code: &str| code.len() <= 64 && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let code = if is_code(code) { code } else { "none" };
        let server = self.server.clone();
        match status {
            StatusCode::UNAUTHORIZED => FollowerError::Unauthenticated { server },
            StatusCode::FORBIDDEN if code == "token_too_narrow" => {
                FollowerError::Forbidden { narrow: ", and the token's own mask does not reach it" }
            }
            StatusCode::FORBIDDEN if code != "none" => FollowerError::Forbidden { narrow: "" },
            StatusCode::NOT_FOUND => self.not_a_server("it has no such route; is the address right?".into()),
            _ if status.is_redirection() => self.not_a_server(format!("it redirects ({status})")),
            _ => FollowerError::Refused { server, status: status.as_u16(), code: code.to_owned() },
        }
    }

    async fn read(&self, mut response: Response, bytes_max: usize) -> Result<Vec<u8>, FollowerError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(innermost(&error)))? {
            if bytes.len().saturating_add(chunk.len()) > bytes_max {
                return Err(self.not_a_server(format!("an answer of over {bytes_max} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn event(&self, text: &str) -> Result<StoredEvent, FollowerError> {
        match serde_json::from_str::<EventJson<'_>>(text) {
            Ok(event) => Ok(event.into_event()),
            Err(error) => Err(self.not_a_server(format!("an event can't be read: {error}"))),
        }
    }

    fn unreachable(&self, why: impl Into<String>) -> FollowerError {
        FollowerError::Unreachable { server: self.server.clone(), why: why.into() }
    }

    fn not_a_server(&self, why: String) -> FollowerError {
        FollowerError::NotAServer { server: self.server.clone(), why }
    }
}

/// Events as they come.
pub(crate) struct Stream {
    api: Api,
    response: Response,
    parser: Parser,
}

impl Stream {
    /// The events that came with the next bytes, perhaps none: a heartbeat. `None` when the server ended the stream.
    ///
    /// # Errors
    /// When the connection breaks off, nothing comes for too long, or what comes is no event.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<StoredEvent>>, FollowerError> {
        let api = &self.api;
        let chunk = tokio::time::timeout(api.silence_max, self.response.chunk()).await;
        let chunk = chunk.map_err(|_| api.unreachable("the stream is silent"))?;
        let Some(chunk) = chunk.map_err(|error| api.unreachable(innermost(&error)))? else { return Ok(None) };
        let blocks = self.parser.take(&chunk).map_err(|error| api.not_a_server(error.to_string()))?;
        blocks.iter().map(|data| api.event(data)).collect::<Result<_, _>>().map(Some)
    }
}

/// The address without what follows its path, when it is one that may be used and shown.
fn address(text: &str) -> Result<String, FollowerError> {
    let wrong = |why: &str| Err(FollowerError::Address { why: why.to_owned() });
    let Ok(url) = Url::parse(text) else { return wrong("it can't be read") };
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return wrong("it begins with neither `http://` nor `https://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("it holds a name or password: the token is all that is needed");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("something follows its path");
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The innermost cause: the outer ones repeat the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() { "it took too long to answer".to_owned() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_a_servers_address_is_taken_and_none_with_a_password() {
        for (text, taken) in [
            ("http://127.0.0.1:7400", "http://127.0.0.1:7400"),
            ("https://charter.example/", "https://charter.example"),
            ("https://example.org/charter/", "https://example.org/charter"),
        ] {
            assert_eq!(address(text).unwrap(), taken);
        }
        for text in
            ["", "127.0.0.1:7400", "ftp://x", "http://u:hush@x", "http://x/?token=hush", "http://x/#y"]
        {
            let error = address(text).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
