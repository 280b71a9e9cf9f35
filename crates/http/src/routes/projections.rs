//! Read models in tables: how they stand, and what operators do about it.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody},
    dto,
    problem::Problem,
};
use charter_control::{AfterBuild, ProjectionError};
use charter_events::Scope;
use charter_store::Operation;

/// Every projection, and how it stands.
#[utoipa::path(get, path = "/api/v1/projections", operation_id = "list_projections", tag = "operations",
    responses((status = 200, description = "All of them", body = dto::List<dto::Projection>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::Projection>> {
    ask.require("core.projection.read", Scope::Global)?;
    let items = ask.app.control.projections().await?.into_iter().map(dto::Projection::from).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next: None }))
}

/// Builds a projection anew, beside what is read; what is read is switched when both are the same, or when a difference
/// is accepted. Poll the operation.
#[utoipa::path(post, path = "/api/v1/projections/{name}/rebuild", operation_id = "rebuild_projection",
    tag = "operations", params(("name" = String, Path, description = "The projection")),
    request_body = dto::RebuildRequest,
    responses((status = 202, description = "Begun", body = dto::Operation)))]
pub(crate) async fn rebuild(ask: Ask, body: Body<dto::RebuildRequest>) -> Answered<dto::Operation> {
    may_still(&ask).await?;
    let control = &ask.app.control;
    let then = match (body.value.switch, body.value.accept_difference) {
        (true, false) => AfterBuild::Switch,
        (true, true) => AfterBuild::SwitchThoughItDiffers,
        (false, false) => AfterBuild::Hold,
        (false, true) => {
            let why = "what is built and held is compared: only one that is switched to may differ";
            return Err(Problem::invalid_member("not_with_hold", "accept_difference", why));
        }
    };
    begun(&ask, control.rebuild(ask.named("name"), then, &ask.caller).await)
}

/// Has the generation read that was built and waits for it.
#[utoipa::path(post, path = "/api/v1/projections/{name}/switch", operation_id = "switch_projection",
    tag = "operations", params(("name" = String, Path, description = "The projection")),
    responses((status = 202, description = "Begun", body = dto::Operation)))]
pub(crate) async fn switch(ask: Ask, _body: NoBody) -> Answered<dto::Operation> {
    may_still(&ask).await?;
    begun(&ask, ask.app.control.switch(ask.named("name"), &ask.caller).await)
}

/// Has the generation read again that was read before, once it has caught up.
#[utoipa::path(post, path = "/api/v1/projections/{name}/rollback", operation_id = "roll_back_projection",
    tag = "operations", params(("name" = String, Path, description = "The projection")),
    responses((status = 202, description = "Begun", body = dto::Operation)))]
pub(crate) async fn rollback(ask: Ask, _body: NoBody) -> Answered<dto::Operation> {
    may_still(&ask).await?;
    begun(&ask, ask.app.control.roll_back(ask.named("name"), &ask.caller).await)
}

/// Lets a projection go on without the event it stopped at. `X-Reason` is needed, and recorded. Decisions count the
/// event all the same.
#[utoipa::path(post, path = "/api/v1/projections/{name}/skip", operation_id = "skip_event", tag = "operations",
    params(("name" = String, Path, description = "The projection")),
    request_body = dto::SkipRequest,
    responses((status = 200, description = "As it stands", body = dto::Projection)))]
pub(crate) async fn skip(ask: Ask, body: Body<dto::SkipRequest>) -> Answered<dto::Projection> {
    ask.require("core.projection.rebuild", Scope::Global)?;
    let (control, name, meta) = (&ask.app.control, ask.named("name"), ask.meta(body.hash).await?);
    let version = control.skip_event(name, body.value.offset, &ask.caller, meta).await?;
    Ok(Answer::ok(version, control.projection(name).await?.into()))
}

/// Refuses whoever may not rebuild, or no longer: none of this is a command that would be judged again.
async fn may_still(ask: &Ask) -> Result<(), Problem> {
    ask.require("core.projection.rebuild", Scope::Global)?;
    if ask.app.control.is_still_good(&ask.who).await { Ok(()) } else { Err(Problem::invalid_token()) }
}

fn begun(ask: &Ask, begun: Result<Operation, ProjectionError>) -> Answered<dto::Operation> {
    let operation = begun?;
    let location = format!("/api/v1/operations/{}", operation.id);
    Ok(Answer::accepted(ask.policy.version(), location, operation.into()))
}
