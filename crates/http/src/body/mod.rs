//! Request bodies: JSON, read strictly. Owns what counts as well formed; must not know what any member means.
//!
//! Malformed (400): no JSON, a key twice. Semantic (422, naming the field): a member that is unknown, missing, of
//! another type or outside its alphabet. Beyond a mebibyte: 413. Another content type: 415. A body that doesn't
//! come: 408.

mod strict;

use crate::{edge::digest, problem::Problem};
use axum::{
    body::{Body as HttpBody, to_bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use charter_events::Hash;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::{borrow::Cow, time::Duration};

pub(crate) use strict::{fit, parse};

/// The largest body, in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How long a body may take to arrive, in seconds.
const BODY_SECONDS_MAX: u64 = 10;

/// A JSON body, and the hash it has, but for its secrets, together with method and path: what an idempotency key is
/// held to.
pub(crate) struct Body<T> {
    pub(crate) value: T,
    pub(crate) hash: Hash,
}

/// The body of a request that needs none: nothing, or `{}`.
pub(crate) struct NoBody {
    pub(crate) hash: Hash,
}

/// A merge patch (RFC 7396), sent as JSON or as `application/merge-patch+json`.
pub(crate) struct Patch<T> {
    pub(crate) value: T,
    pub(crate) hash: Hash,
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        content_type(request.headers(), &["application/json"])?;
        let (bytes, hash) = read(request).await?;
        Ok(Self { value: parse(&bytes)?, hash })
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Patch<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        content_type(request.headers(), &["application/json", "application/merge-patch+json"])?;
        let (bytes, hash) = read(request).await?;
        Ok(Self { value: parse(&bytes)?, hash })
    }
}

/// A SCIM message: a JSON object, sent as `application/scim+json` or as plain JSON. What its members mean is not read
/// here, for their names are in any case.
pub(crate) struct Message {
    pub(crate) members: Map<String, Value>,
    pub(crate) hash: Hash,
}

impl<S: Sync> FromRequest<S> for Message {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        content_type(request.headers(), &["application/scim+json", "application/json"])?;
        let (bytes, hash) = read(request).await?;
        Ok(Self { members: parse(&bytes)?, hash })
    }
}

impl<S: Sync> FromRequest<S> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let declared = request.headers().get(header::CONTENT_TYPE).is_some();
        let of_json = content_type(request.headers(), &["application/json"]);
        let (bytes, hash) = read(request).await?;
        if bytes.is_empty() {
            return Ok(Self { hash });
        }
        if declared {
            of_json?;
        }
        parse::<Nothing>(&bytes)?;
        Ok(Self { hash })
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Whether the body says it is of one of these types; the charset, if given, is UTF-8.
fn content_type(headers: &HeaderMap, accepted: &[&str]) -> Result<(), Problem> {
    let wrong = || Problem::unsupported_media_type(accepted);
    let mut values = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(wrong()) };
    let text = value.to_str().map_err(|_| wrong())?.to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let utf8 = parts.all(|p| p.is_empty() || p == "charset=utf-8" || p == "charset=\"utf-8\"");
    if utf8 && accepted.contains(&essence) { Ok(()) } else { Err(wrong()) }
}

async fn read(request: Request) -> Result<(Vec<u8>, Hash), Problem> {
    let (parts, body) = request.into_parts();
    if parts.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::unsupported_encoding());
    }
    let bytes = collect(body, &parts.headers).await?;
    let target = parts.uri.path_and_query().map(|p| p.as_str()).unwrap_or_default();
    let hash = hash(parts.method.as_str(), target, &bytes);
    Ok((bytes, hash))
}

/// What a request is recognised by when it comes again.
fn hash(method: &str, target: &str, body: &[u8]) -> Hash {
    Hash::new(digest(&[method.as_bytes(), target.as_bytes(), &without_secrets(body)]))
}

/// The members of bodies that hold secrets, in any case: SCIM's names are. The hash of a request is stored, and a
/// password could be guessed by it.
const SECRET_MEMBERS: [&str; 6] = ["password", "current", "new", "code", "secret", "handle"];

/// What a body is recognised by: its bytes, or, if it holds secrets, its members without what the secrets are.
fn without_secrets(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(bytes) else { return bytes.into() };
    let mut found = false;
    for (name, member) in &mut members {
        if SECRET_MEMBERS.iter().any(|secret| secret.eq_ignore_ascii_case(name)) {
            *member = Value::String("secret".to_owned());
            found = true;
        }
    }
    if found { Value::Object(members).to_string().into_bytes().into() } else { bytes.into() }
}

async fn collect(body: HttpBody, headers: &HeaderMap) -> Result<Vec<u8>, Problem> {
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > BODY_BYTES_MAX as u64) {
        return Err(Problem::body_too_large(BODY_BYTES_MAX));
    }
    let reading = to_bytes(body, BODY_BYTES_MAX);
    match tokio::time::timeout(Duration::from_secs(BODY_SECONDS_MAX), reading).await {
        Ok(Ok(bytes)) => Ok(bytes.into()),
        Ok(Err(error)) if is_length_limit(&error) => Err(Problem::body_too_large(BODY_BYTES_MAX)),
        Ok(Err(_)) => Err(Problem::malformed("the body broke off")),
        Err(_) => Err(Problem::body_timeout()),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.to_string().contains("length limit") {
            return true;
        }
        source = cause.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_recognised_by_everything_but_its_secrets() {
        let a = br#"{"username": "bob", "password": "first of many"}"#;
        let b = br#"{"username": "bob", "password": "another one"}"#;
        let c = br#"{"username": "eve", "password": "first of many"}"#;
        let none = br#"{"username": "bob"}"#;
        assert_eq!(without_secrets(a), without_secrets(b));
        assert_ne!(without_secrets(a), without_secrets(c));
        assert_ne!(without_secrets(a), without_secrets(none));
        assert_eq!(&*without_secrets(none), none);
        for member in SECRET_MEMBERS.into_iter().chain(["Password", "PASSWORD"]) {
            let body = format!("{{\"{member}\":\"first of many\"}}");
            assert!(
                !String::from_utf8_lossy(&without_secrets(body.as_bytes())).contains("first"),
                "{member}"
            );
        }
    }

    #[test]
    fn no_two_requests_are_recognised_as_one_that_differ_in_more_than_a_secret() {
        let bodies = [
            "",
            "{}",
            "{\"a\":1}",
            "{\"a\":1.0}",
            "{\"a\": 1}",
            "[\"secret\"]",
            "{\"password\":\"secret\"}",
            "{\"Password\":\"secret\"}",
            "{\"password\":\"secret\",\"a\":\"secret\"}",
            "{\"a\":{\"password\":\"x\"}}",
            "{\"a\":{\"password\":\"y\"}}",
            "/a{}",
            "\0",
            "a",
        ];
        let mut seen = std::collections::HashMap::new();
        for method in ["", "P", "PO", "POST"] {
            for target in ["", "/", "/a", "/a{}", "ST/", "OST", "\0"] {
                for body in bodies {
                    let known = seen.insert(hash(method, target, body.as_bytes()), (method, target, body));
                    assert_eq!(known, None, "the same as {method} {target} {body}");
                }
            }
        }
    }
}
