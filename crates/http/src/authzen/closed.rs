//! Without its store for too long a server decides nothing: then every question is answered `false`, which is what a
//! gateway understands without knowing anything of servers. Searches are 503: an empty list would be taken at its word.

use super::{
    EVALUATION, EVALUATIONS, Posted,
    evaluate::{self, Judge, asks_why},
    shapes::{Decision, EvaluationRequest, EvaluationsRequest},
};
use crate::{App, access::Row, answer::Answer, problem::Problem};
use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};

/// Whether a route decides, so that it can say no where it knows nothing.
pub(crate) fn decides(row: &Row) -> bool {
    [EVALUATION, EVALUATIONS].contains(&row.path)
}

/// Answers a request to a route that decides with no, to whoever sent it: it says nothing of anybody.
///
/// # Errors
/// 400 for what can't be read, as ever.
pub(crate) async fn closed(app: &App, row: &Row, request: Request) -> Result<Response, Problem> {
    let version = app.control.policy().version();
    if row.path == EVALUATION {
        let Posted(question) = Posted::<EvaluationRequest>::from_request(request, &()).await?;
        Ok(Answer::ok(version, NoPolicy.decide(&question)).into_response())
    } else {
        let Posted(questions) = Posted::<EvaluationsRequest>::from_request(request, &()).await?;
        Ok(Answer::ok(version, evaluate::all(&NoPolicy, questions)?).into_response())
    }
}

/// Whoever has no state to decide by.
struct NoPolicy;

impl Judge for NoPolicy {
    fn decide(&self, question: &EvaluationRequest) -> Decision {
        Decision::failed(Problem::unavailable(), asks_why(question.context.as_ref()))
    }
}
