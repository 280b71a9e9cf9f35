//! Answers as SCIM has them: their type, their entity tags.

use crate::{answer::POLICY_VERSION, edge::digest, problem::Problem};
use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use charter_events::Offset;
use serde_json::Value;

/// So long is the digest in an entity tag, in characters.
const DIGEST_CHARS: usize = 8;

/// What a handler returns.
pub(crate) type Answered = Result<Answer, Problem>;

/// An answer.
pub(crate) struct Answer {
    status: StatusCode,
    body: Option<Value>,
    version: Offset,
    tag: Option<String>,
    location: Option<String>,
}

impl Answer {
    /// 200.
    pub(super) const fn ok(version: Offset, body: Value) -> Self {
        Self { status: StatusCode::OK, body: Some(body), version, tag: None, location: None }
    }

    /// 204.
    pub(super) const fn done(version: Offset) -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, version, tag: None, location: None }
    }

    /// 201 instead, and where the new thing is.
    pub(super) fn created(self, location: String) -> Self {
        Self { status: StatusCode::CREATED, location: Some(location), ..self }
    }

    /// With an entity tag.
    pub(super) fn tagged(self, tag: String) -> Self {
        Self { tag: Some(tag), ..self }
    }

    /// 304 instead, if whoever asks has this already.
    pub(super) fn unless_known(self, headers: &HeaderMap) -> Self {
        match &self.tag {
            Some(tag) if knows(headers, tag) => Self { status: StatusCode::NOT_MODIFIED, body: None, ..self },
            _ => self,
        }
    }
}

/// Whether `If-None-Match` names a tag, weakly compared.
fn knows(headers: &HeaderMap, tag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let tag = strong(tag);
    let mut sent = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    sent.any(|value| value.trim() == "*" || value.split(',').any(|one| strong(one) == tag))
}

/// The entity tag of something that changed last with an event. It is weak: what is shown beside it, if anything, is
/// in it as a digest, which `If-Match` does not ask about.
pub(super) fn tag(changed_at: Offset, beside: Option<&Value>) -> String {
    match beside {
        None => format!("W/\"{changed_at}\""),
        Some(value) => {
            let bytes = digest(&[value.to_string().as_bytes()]);
            let hex: String = bytes.iter().take(DIGEST_CHARS / 2).map(|byte| format!("{byte:02x}")).collect();
            format!("W/\"{changed_at}-{hex}\"")
        }
    }
}

/// A tag as `If-Match` compares it: not weak, and without its digest.
pub(super) fn comparable(tag: &str) -> String {
    let strong = tag.strip_prefix("W/").unwrap_or(tag);
    let inner = strong.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.and_then(|inner| inner.split_once('-')) {
        Some((number, rest)) if rest.len() == DIGEST_CHARS && rest.bytes().all(|b| b.is_ascii_hexdigit()) => {
            format!("\"{number}\"")
        }
        _ => strong.to_owned(),
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = match self.body {
            None => self.status.into_response(),
            Some(body) => (self.status, [(header::CONTENT_TYPE, "application/scim+json")], body.to_string())
                .into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(POLICY_VERSION, HeaderValue::from(self.version.get()));
        for (name, value) in [(header::ETAG, self.tag), (header::LOCATION, self.location)] {
            if let Some(value) = value.and_then(|text| HeaderValue::from_str(&text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_held_to_the_version_alone_and_compared_whole_otherwise() {
        let offset = Offset::new(412).unwrap();
        assert_eq!(tag(offset, None), "W/\"412\"");
        let with = tag(offset, Some(&Value::from(vec!["a"])));
        assert_eq!(comparable(&with), "\"412\"");
        assert_ne!(with, tag(offset, Some(&Value::from(vec!["b"]))));
        for (sent, compared) in
            [("\"412\"", "\"412\""), ("W/\"412\"", "\"412\""), ("412", "412"), ("\"a-b\"", "\"a-b\"")]
        {
            assert_eq!(comparable(sent), compared);
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&format!("\"7\", {with}")).unwrap());
        assert!(knows(&headers, &with) && !knows(&headers, "W/\"412\"") && knows(&headers, "\"7\""));
    }
}
