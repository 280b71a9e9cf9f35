//! Answers: status, body and the headers every answer of a kind has.

use crate::problem::Problem;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use charter_events::Offset;
use serde::Serialize;

/// The header that names the policy version an answer was made at.
pub(crate) const POLICY_VERSION: &str = "policy-version";

/// What a handler returns.
pub(crate) type Answered<T> = Result<Answer<T>, Problem>;

/// An answer with a body.
pub(crate) struct Answer<T> {
    status: StatusCode,
    body: Option<T>,
    version: Offset,
    etag: Option<Offset>,
    location: Option<String>,
    cookies: Vec<HeaderValue>,
}

impl<T> Answer<T> {
    /// 200.
    pub(crate) const fn ok(version: Offset, body: T) -> Self {
        Self {
            status: StatusCode::OK,
            body: Some(body),
            version,
            etag: None,
            location: None,
            cookies: Vec::new(),
        }
    }

    /// 201, and where the new thing is.
    pub(crate) fn created(version: Offset, location: String, body: T) -> Self {
        Self { status: StatusCode::CREATED, location: Some(location), ..Self::ok(version, body) }
    }

    /// 202, and where it is told how it comes along.
    pub(crate) fn accepted(version: Offset, location: String, body: T) -> Self {
        Self { status: StatusCode::ACCEPTED, location: Some(location), ..Self::ok(version, body) }
    }

    /// The same with another body.
    pub(crate) fn map<U>(self, to: impl FnOnce(T) -> U) -> Answer<U> {
        let Self { status, body, version, etag, location, cookies } = self;
        Answer { status, body: body.map(to), version, etag, location, cookies }
    }

    /// With what a browser is to keep, or to forget.
    #[must_use]
    pub(crate) fn cookie(mut self, cookie: Option<HeaderValue>) -> Self {
        self.cookies.extend(cookie);
        self
    }

    /// With the version of the thing shown, which `If-Match` takes.
    #[must_use]
    pub(crate) const fn etag(mut self, changed_at: Offset) -> Self {
        self.etag = Some(changed_at);
        self
    }
}

impl Answer<()> {
    /// 204.
    pub(crate) const fn done(version: Offset) -> Self {
        Self {
            status: StatusCode::NO_CONTENT,
            body: None,
            version,
            etag: None,
            location: None,
            cookies: Vec::new(),
        }
    }

    /// 303: where a browser goes from here.
    pub(crate) fn elsewhere(version: Offset, location: String) -> Self {
        Self { status: StatusCode::SEE_OTHER, location: Some(location), ..Self::done(version) }
    }
}

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        let mut response = match self.body.as_ref().map(serde_json::to_vec) {
            None => self.status.into_response(),
            Some(Ok(text)) => {
                (self.status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
            }
            Some(Err(error)) => {
                tracing::error!(%error, "an answer that is no JSON");
                return Problem::internal().into_response();
            }
        };
        let headers = response.headers_mut();
        headers.insert(POLICY_VERSION, HeaderValue::from(self.version.get()));
        if let Some(version) = self.etag
            && let Ok(value) = HeaderValue::from_str(&format!("\"{version}\""))
        {
            headers.insert(header::ETAG, value);
        }
        for cookie in self.cookies {
            headers.append(header::SET_COOKIE, cookie);
        }
        if let Some(value) = self.location.and_then(|path| HeaderValue::from_str(&path).ok()) {
            headers.insert(header::LOCATION, value);
        }
        response
    }
}
