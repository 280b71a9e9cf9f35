//! The one place where an error becomes an answer: `application/problem+json` (RFC 9457) with a stable code.

mod backups;
mod oidc;
mod operations;
mod tables;
mod undo;

use crate::{
    dto::{EventReason, ProblemBody},
    edge::Left,
};
use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use charter_commands::{Class, Refusal};
use charter_control::{
    AsOfError, AuthError, CommandError, DiffError, IdentityError, SignInError, VersionNotReached,
};
use charter_policy::AccessError;
use charter_store::{StoreError, causes};

/// How long a client should wait before it asks again, in seconds.
const RETRY_SECONDS: &str = "1";

/// Why a request was not answered. Boxed: it travels in the error of nearly every function here.
#[derive(Debug, Clone)]
pub(crate) struct Problem(Box<Told>);

#[derive(Debug, Clone)]
struct Told {
    status: StatusCode,
    code: &'static str,
    detail: Option<String>,
    field: Option<String>,
    missing: Vec<String>,
    more: bool,
    objects: Vec<String>,
    events: Vec<EventReason>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The code of a problem, kept beside the response for the access log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProblemCode(pub(crate) &'static str);

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Told {
            status,
            code,
            detail: Some(detail.into()),
            field: None,
            missing: Vec::new(),
            more: false,
            objects: Vec::new(),
            events: Vec::new(),
            headers: Vec::new(),
        }))
    }

    pub(crate) fn of(mut self, field: &str) -> Self {
        self.0.field = (!field.is_empty()).then(|| field.to_owned());
        self
    }

    fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.0.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }

    /// All of it in words, for a form that has room for nothing else.
    pub(crate) fn in_words(&self) -> String {
        let Told { code, detail, field, missing, more, objects, .. } = &*self.0;
        let mut words = detail.clone().unwrap_or_else(|| (*code).to_owned());
        let more = if *more { " and more" } else { "" };
        if let Some(field) = field {
            words = format!("{field}: {words}");
        }
        if !missing.is_empty() {
            words = format!("{words}; missing: {}{more}", missing.join(", "));
        }
        if !objects.is_empty() {
            words = format!("{words}; objects: {}{more}", objects.join(", "));
        }
        words
    }

    pub(crate) fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    pub(crate) fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// The same where a standard knows one status for all that is wrong with a body.
    pub(crate) fn bad_request(mut self) -> Self {
        if [StatusCode::UNSUPPORTED_MEDIA_TYPE, StatusCode::UNPROCESSABLE_ENTITY].contains(&self.0.status) {
            self.0.status = StatusCode::BAD_REQUEST;
        }
        self
    }

    /// No such thing, or none the caller may know of: word for word the same.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is no such thing, or none you may know of")
    }

    /// No route has this path.
    pub(crate) fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_route", "no route has this path")
    }

    /// The path has routes, but not with this method.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "the path takes other methods, see `Allow`",
        )
    }

    /// Nobody is signed in.
    pub(crate) fn unauthenticated() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", "sign in, or send a token")
            .with(header::WWW_AUTHENTICATE, "Bearer realm=\"charter\"")
    }

    /// What was sent signs nobody in.
    pub(crate) fn invalid_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "invalid_token",
            "the session or token is unknown, ended or expired",
        )
        .with(header::WWW_AUTHENTICATE, "Bearer realm=\"charter\", error=\"invalid_token\"")
    }

    /// A browser sent its cookie, and it may be another site that made it.
    pub(crate) fn cross_site(detail: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "cross_site", detail)
    }

    /// The caller lacks a key.
    pub(crate) fn forbidden(key: &str) -> Self {
        let mut problem =
            Self::new(StatusCode::FORBIDDEN, "forbidden", format!("permission `{key}` is needed"));
        problem.0.missing.push(key.to_owned());
        problem
    }

    /// Says what for.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.0.detail = self.0.detail.map(|detail| format!("{detail} {what}"));
        self
    }

    pub(crate) fn token_too_narrow(key: &str) -> Self {
        let detail = format!("the token does not reach permission `{key}`");
        let mut problem = Self::new(StatusCode::FORBIDDEN, "token_too_narrow", detail);
        problem.0.missing.push(key.to_owned());
        problem
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", detail)
    }

    pub(crate) fn duplicate_member(key: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "duplicate_member", "the body names a member twice").of(key)
    }

    pub(crate) fn invalid_member(code: &'static str, field: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail).of(field)
    }

    /// Only what changes something, and is one command, can be previewed.
    pub(crate) fn not_a_command() -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "not_a_command", "only a change can be previewed")
    }

    pub(crate) fn unsupported_parameter(name: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unsupported_parameter", "the route takes no such parameter")
            .of(name)
    }

    pub(crate) fn invalid_parameter(name: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_parameter", detail).of(name)
    }

    pub(crate) fn invalid_header(name: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_header", detail).of(name)
    }

    pub(crate) fn invalid_cursor() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_cursor", "the cursor is not one of this list")
            .of("cursor")
    }

    pub(crate) fn credential_in_query(name: &str) -> Self {
        let detail = "secrets are never sent in a query: use the header `Authorization`";
        Self::new(StatusCode::BAD_REQUEST, "credential_in_query", detail).of(name)
    }

    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let detail = format!("the body must be sent as `{}`", accepted.join("` or `"));
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail).of("Content-Type")
    }

    pub(crate) fn unsupported_encoding() -> Self {
        let detail = "bodies are taken as they are, without a content encoding";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", detail).of("Content-Encoding")
    }

    pub(crate) fn body_too_large(bytes: usize) -> Self {
        let detail = format!("a body has at most {bytes} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
    }

    pub(crate) fn body_timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", "the body took too long to arrive")
    }

    pub(crate) fn precondition_required() -> Self {
        let detail = "send `If-Match` with the `ETag` you last saw, or `*`";
        Self::new(StatusCode::PRECONDITION_REQUIRED, "precondition_required", detail).of("If-Match")
    }

    /// The store has not been reached for too long: what was revoked since is not known.
    pub(crate) fn unavailable() -> Self {
        Self::overloaded("unavailable", "the store has not been reached for too long")
    }

    /// Whether it is for want of the store.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.0.status == StatusCode::SERVICE_UNAVAILABLE && self.0.code == "unavailable"
    }

    /// The server is too busy or too slow.
    pub(crate) fn overloaded(code: &'static str, detail: &'static str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail).with(header::RETRY_AFTER, RETRY_SECONDS)
    }

    /// Something here is broken; the log says what.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "something went wrong here; the server's log says what",
        )
    }
}

/// A command's field as the API's bodies name it.
fn member(field: &str) -> &str {
    match field {
        "keys" | "add" | "remove" => "permissions",
        "object_type" => "type",
        other => other,
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code.class() {
            Class::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Class::Forbidden => StatusCode::FORBIDDEN,
            Class::NotFound => return Self::not_found().of(refusal.field.as_deref().unwrap_or_default()),
            Class::Conflict => StatusCode::CONFLICT,
            Class::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        };
        let mut problem = Self::new(status, refusal.code.as_str(), refusal.detail);
        problem.0.field = refusal.field.map(|field| member(&field).to_owned());
        problem.0.missing = refusal.missing;
        problem.0.more = refusal.more;
        problem.0.objects = refusal.objects.iter().map(ToString::to_string).collect();
        problem
    }
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        let detail = error.to_string();
        match error {
            CommandError::Refused(refusal) => refusal.into(),
            CommandError::IdempotencyKeyReused => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail)
                    .of("Idempotency-Key")
            }
            CommandError::SecretShownOnce => {
                Self::new(StatusCode::CONFLICT, "secret_shown_once", detail).of("Idempotency-Key")
            }
            CommandError::Unavailable { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
                    .with(header::RETRY_AFTER, RETRY_SECONDS)
            }
            CommandError::UpgradeInProgress { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "upgrade_in_progress", detail)
                    .with(header::RETRY_AFTER, RETRY_SECONDS)
            }
            CommandError::QueueFull => Self::new(StatusCode::SERVICE_UNAVAILABLE, "queue_full", detail)
                .with(header::RETRY_AFTER, RETRY_SECONDS),
            CommandError::PreviewsBusy => Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail)
                .with(header::RETRY_AFTER, RETRY_SECONDS),
            // Whoever previews takes what is in the slot instead.
            CommandError::Previewed => Self::internal(),
        }
    }
}

impl From<IdentityError> for Problem {
    fn from(error: IdentityError) -> Self {
        let shown = error.to_string();
        match error {
            IdentityError::Command(error) => error.into(),
            IdentityError::Invalid { field, code, detail } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail).of(field)
            }
            IdentityError::Wrong { what } => {
                let member = if what == "password" { "current" } else { "code" };
                Self::new(StatusCode::FORBIDDEN, "wrong_secret", shown).of(member)
            }
            IdentityError::TooManyAttempts { retry_after_seconds } => Self::too_many(retry_after_seconds),
            IdentityError::InvalidLink => Self::new(StatusCode::UNAUTHORIZED, "invalid_link", shown)
                .of("secret")
                .with(header::WWW_AUTHENTICATE, "Bearer realm=\"charter\""),
            IdentityError::NoMail => Self::new(StatusCode::CONFLICT, "no_mail", shown),
            IdentityError::TooManyLetters => {
                Self::overloaded("overloaded", "too many letters are being sent")
            }
        }
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Unavailable => Self::overloaded("unavailable", "the store can't be reached"),
            AuthError::Malformed | AuthError::Unknown | AuthError::Ended => Self::invalid_token(),
        }
    }
}

impl From<SignInError> for Problem {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Refused => Self::new(StatusCode::UNAUTHORIZED, "sign_in_refused", error.to_string())
                .with(header::WWW_AUTHENTICATE, "Bearer realm=\"charter\""),
            SignInError::TooManyAttempts { retry_after_seconds } => Self::too_many(retry_after_seconds),
            SignInError::Unavailable => Self::overloaded("unavailable", "nobody can sign in now"),
        }
    }
}

impl Problem {
    /// Somebody asks more often than he may.
    pub(crate) fn asks_too_often(seconds: u64, left: &Left) -> Self {
        let detail = "you ask too often; `Retry-After` says when there is room again";
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
        let mut headers = HeaderMap::new();
        left.tell(&mut headers);
        problem.0.headers.extend(headers.into_iter().filter_map(|(name, value)| Some((name?, value))));
        problem.0.headers.push((header::RETRY_AFTER, HeaderValue::from(seconds.max(1))));
        problem
    }

    fn too_many(seconds: u64) -> Self {
        let mut problem =
            Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", "too many attempts, wait a while");
        problem.0.headers.push((header::RETRY_AFTER, HeaderValue::from(seconds.max(1))));
        problem
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::UnknownPermission(key) => {
                let detail = format!("permission `{key}` is not in the catalog");
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_permission", detail).of("permission")
            }
            AccessError::Forbidden { permission, .. } => Self::forbidden(permission.as_str()),
            AccessError::TokenTooNarrow { permission } => Self::token_too_narrow(permission.as_str()),
            AccessError::Unavailable(_) => Self::overloaded("unavailable", "no decision can be made now"),
        }
    }
}

impl From<VersionNotReached> for Problem {
    fn from(error: VersionNotReached) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "version_not_reached", error.to_string())
            .of("Policy-Version-Min")
            .with(header::RETRY_AFTER, RETRY_SECONDS)
    }
}

impl From<DiffError> for Problem {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Busy => Self::overloaded("overloaded", "too many versions are being compared"),
            DiffError::Failed => Self::internal(),
        }
    }
}

impl From<AsOfError> for Problem {
    fn from(error: AsOfError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            AsOfError::BeyondHead { .. } | AsOfError::BeforeFirstEvent { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail).of("as_of")
            }
            AsOfError::Busy | AsOfError::StillFolding => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
                    .with(header::RETRY_AFTER, RETRY_SECONDS)
            }
            AsOfError::Unavailable(_) => {
                tracing::error!(error = %causes(&error), "the past can't be read");
                Self::overloaded(code, "the store can't be reached")
            }
            AsOfError::Unreadable(_) => {
                tracing::error!(error = %causes(&error), "the past can't be replayed");
                Self::internal()
            }
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = %causes(&error), "the store did not answer");
        Self::overloaded("unavailable", "the store can't be reached")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kept = self.clone();
        let told = *self.0;
        let body = ProblemBody {
            kind: "about:blank".to_owned(),
            title: told.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: told.status.as_u16(),
            code: told.code.to_owned(),
            detail: told.detail,
            field: told.field,
            missing: told.missing,
            more: told.more,
            objects: told.objects,
            events: told.events,
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response =
            (told.status, [(header::CONTENT_TYPE, "application/problem+json")], text).into_response();
        for (name, value) in told.headers {
            response.headers_mut().append(name, value);
        }
        response.extensions_mut().insert(ProblemCode(told.code));
        // For faces that tell it in another form.
        response.extensions_mut().insert(kept);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_may_be_tried_again_says_when() {
        for (error, code) in [
            (CommandError::UpgradeInProgress { reason: "an older server".into() }, "upgrade_in_progress"),
            (CommandError::Unavailable { reason: "the store can't be reached" }, "unavailable"),
            (CommandError::QueueFull, "queue_full"),
            (CommandError::PreviewsBusy, "overloaded"),
        ] {
            let response = Problem::from(error).into_response();
            assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(response.headers().get(header::RETRY_AFTER).unwrap(), RETRY_SECONDS);
            assert_eq!(response.extensions().get::<ProblemCode>().unwrap().0, code);
        }
    }
}
