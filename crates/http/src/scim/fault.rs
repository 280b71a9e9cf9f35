//! Faults as SCIM tells them (RFC 7644, 3.12). Everything here fails with the problems of the rest of the API; on the
//! way out those of these routes are put into this form, in one place.

use crate::problem::{Problem, ProblemCode};
use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

/// What is wrong with a request, where SCIM has a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Filter,
    Path,
    Syntax,
    Value,
    Mutability,
    NoTarget,
}

/// A request that can't be carried out as it is written.
pub(crate) fn fault(of: Fault, detail: impl Into<String>) -> Problem {
    let code = match of {
        Fault::Filter => "invalid_filter",
        Fault::Path => "invalid_path",
        Fault::Syntax => "invalid_syntax",
        Fault::Value => "invalid_value",
        Fault::Mutability => "mutability",
        Fault::NoTarget => "no_target",
    };
    Problem::new(StatusCode::BAD_REQUEST, code, detail)
}

/// What SCIM calls a problem, and with which status: it knows no 422.
fn words(status: StatusCode, code: &str) -> (StatusCode, Option<&'static str>) {
    let word = match code {
        "invalid_filter" => Some("invalidFilter"),
        "invalid_path" => Some("invalidPath"),
        "mutability" => Some("mutability"),
        "no_target" => Some("noTarget"),
        "too_many_users_to_search" => Some("tooMany"),
        "name_taken" => Some("uniqueness"),
        "invalid_value" | "invalid_parameter" => Some("invalidValue"),
        "invalid_syntax" | "malformed" | "duplicate_member" | "unknown_member" | "invalid_type" => {
            Some("invalidSyntax")
        }
        _ if status == StatusCode::UNPROCESSABLE_ENTITY => Some("invalidValue"),
        _ => None,
    };
    let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
    (status, word)
}

/// A problem's answer in SCIM's form; any other answer as it is.
pub(crate) fn told(response: Response) -> Response {
    let Some(problem) = response.extensions().get::<Problem>().cloned() else { return response };
    let code = problem.code();
    let (status, word) = words(problem.status(), code);
    let mut body = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
        "status": status.as_u16().to_string(),
        "detail": problem.in_words(),
    });
    if let (Some(word), Some(members)) = (word, body.as_object_mut()) {
        members.insert("scimType".to_owned(), word.into());
    }
    let mut told =
        (status, [(header::CONTENT_TYPE, "application/scim+json")], body.to_string()).into_response();
    for (name, value) in response.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            told.headers_mut().append(name, value.clone());
        }
    }
    *told.extensions_mut() = response.extensions().clone();
    told.extensions_mut().insert(ProblemCode(code));
    told
}
