//! Somebody who calls the API, and what comes back.

use anyhow::{Context, ensure};
use serde_json::Value;
use std::time::Duration;

/// How long a request may take before it counts as lost.
const REQUEST_SECONDS_MAX: u64 = 60;

/// An HTTP client that gives up in the end.
pub(crate) fn client() -> reqwest::Client {
    // More than one test of a process may come here first.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(Duration::from_secs(REQUEST_SECONDS_MAX));
    client.build().unwrap_or_default()
}

/// Somebody who calls the API.
#[derive(Clone)]
pub struct Caller {
    http: reqwest::Client,
    url: String,
    secret: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header `Policy-Version`.
    pub version: Option<u64>,
    /// The header `Policy-Stale`, in seconds: for how long the server has not heard of the database.
    pub stale: Option<u64>,
    /// The header `ETag`.
    pub etag: Option<String>,
    /// The body as JSON; null when there was none, a string when it was something else.
    pub body: Value,
}

impl Answer {
    /// The answer, if it has this status.
    ///
    /// # Errors
    /// When it has another; with the whole answer.
    pub fn expect(self, status: u16) -> anyhow::Result<Self> {
        ensure!(self.status == status, "expected {status}, got {self:?}");
        Ok(self)
    }

    /// The problem's stable code.
    pub fn code(&self) -> &str {
        self.text("code").unwrap_or_default()
    }

    /// A member of the body that is a text.
    pub fn text(&self, member: &str) -> Option<&str> {
        self.body.get(member)?.as_str()
    }
}

impl Caller {
    /// A caller with a credential, or none.
    pub fn new(url: &str, secret: Option<String>) -> Self {
        Self { http: client(), url: url.to_owned(), secret }
    }

    /// The same caller, at another server.
    #[must_use]
    pub fn at(&self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self.clone() }
    }

    /// Where he calls.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// His credential.
    ///
    /// # Errors
    /// When he has none.
    pub fn secret(&self) -> anyhow::Result<&str> {
        self.secret.as_deref().context("the caller has no credential")
    }

    /// A request with this caller's credential, to be completed.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.secret {
            Some(secret) => request.bearer_auth(secret),
            None => request,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Answer> {
        let answer = request.send().await?;
        let header = |name: &str| answer.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let number = |name: &str| header(name).and_then(|v| v.parse().ok());
        let status = answer.status().as_u16();
        let (version, stale, etag) = (number("policy-version"), number("policy-stale"), header("etag"));
        let text = answer.text().await?;
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        };
        Ok(Answer { status, version, stale, etag, body })
    }

    /// GET.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::GET, path)).await
    }

    /// GET, at no version before this one.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn get_at_least(&self, path: &str, version: u64) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::GET, path).header("policy-version-min", version)).await
    }

    /// GET, as text whatever it is.
    ///
    /// # Errors
    /// When no whole answer comes back, or it is a refusal.
    pub async fn text(&self, path: &str) -> anyhow::Result<String> {
        let answer = self.request(reqwest::Method::GET, path).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "GET {path}: {status} {text}");
        Ok(text)
    }

    /// POST with a JSON body.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::POST, path).json(body)).await
    }

    /// PUT with a JSON body.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::PUT, path).json(body)).await
    }

    /// PATCH with a JSON body.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::PATCH, path).json(body)).await
    }

    /// DELETE.
    ///
    /// # Errors
    /// When no whole answer comes back.
    pub async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(self.request(reqwest::Method::DELETE, path)).await
    }
}
