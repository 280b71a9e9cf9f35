//! The AuthZEN Authorization API 1.0.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Visit},
    authzen::{self, Judge, Posted, shapes},
};
use axum::http::Uri;

/// May this subject do this on that resource? A refusal is an answer, and so is `false` to what is not there.
#[utoipa::path(post, path = "/access/v1/evaluation", operation_id = "authzen_evaluation", tag = "authzen",
    request_body = shapes::EvaluationRequest,
    responses((status = 200, description = "The answer", body = shapes::Decision)))]
pub(crate) async fn evaluation(
    ask: Ask,
    Posted(question): Posted<shapes::EvaluationRequest>,
) -> Answered<shapes::Decision> {
    Ok(Answer::ok(ask.policy.version(), authzen::judge(&ask).decide(&question)))
}

/// Several questions, answered at one version.
#[utoipa::path(post, path = "/access/v1/evaluations", operation_id = "authzen_evaluations", tag = "authzen",
    request_body = shapes::EvaluationsRequest,
    responses((status = 200, description = "The answers, in order", body = shapes::Evaluations)))]
pub(crate) async fn evaluations(
    ask: Ask,
    Posted(questions): Posted<shapes::EvaluationsRequest>,
) -> Answered<shapes::Evaluations> {
    Ok(Answer::ok(ask.policy.version(), authzen::all(&authzen::judge(&ask), questions)?))
}

/// Which subjects may do this on that resource?
#[utoipa::path(post, path = "/access/v1/search/subject", operation_id = "authzen_search_subject", tag = "authzen",
    request_body = shapes::SubjectSearch,
    responses((status = 200, description = "One page", body = shapes::Found<shapes::FoundEntity>)))]
pub(crate) async fn search_subject(
    ask: Ask,
    Posted(search): Posted<shapes::SubjectSearch>,
) -> Answered<shapes::Found<shapes::FoundEntity>> {
    Ok(Answer::ok(ask.policy.version(), authzen::subjects(&ask, &search).await?))
}

/// On which resources of a type may this subject do this?
#[utoipa::path(post, path = "/access/v1/search/resource", operation_id = "authzen_search_resource", tag = "authzen",
    request_body = shapes::ResourceSearch,
    responses((status = 200, description = "One page", body = shapes::Found<shapes::FoundEntity>)))]
pub(crate) async fn search_resource(
    ask: Ask,
    Posted(search): Posted<shapes::ResourceSearch>,
) -> Answered<shapes::Found<shapes::FoundEntity>> {
    Ok(Answer::ok(ask.policy.version(), authzen::resources(&ask, &search)?))
}

/// Which actions may this subject do on that resource?
#[utoipa::path(post, path = "/access/v1/search/action", operation_id = "authzen_search_action", tag = "authzen",
    request_body = shapes::ActionSearch,
    responses((status = 200, description = "One page", body = shapes::Found<shapes::FoundAction>)))]
pub(crate) async fn search_action(
    ask: Ask,
    Posted(search): Posted<shapes::ActionSearch>,
) -> Answered<shapes::Found<shapes::FoundAction>> {
    Ok(Answer::ok(ask.policy.version(), authzen::actions(&ask, &search)?))
}

/// Where all of this is: the metadata of the policy decision point.
#[utoipa::path(get, path = "/.well-known/authzen-configuration", operation_id = "authzen_configuration",
    tag = "authzen",
    responses((status = 200, description = "The endpoints", body = shapes::Configuration)))]
pub(crate) async fn configuration(visit: Visit, uri: Uri) -> Answered<shapes::Configuration> {
    let document = authzen::configuration(&visit.app.config, uri.authority(), &visit.headers)?;
    Ok(Answer::ok(visit.policy.version(), document))
}
