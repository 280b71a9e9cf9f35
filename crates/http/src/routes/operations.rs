//! Long work: who may see one may be told how it stands; who may ask for such work may stop it and have it go on.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::NoBody,
    dto,
    problem::Problem,
};
use charter_control::BACKUP_OPERATION;
use charter_events::Scope;
use charter_store::Operation;
use uuid::Uuid;

/// The operations the caller may see, newest first, as many as are remembered: those on projections with
/// `core.projection.read` or `core.projection.rebuild`, backups with `core.backup.create`. Who has none of these is
/// refused.
#[utoipa::path(get, path = "/api/v1/operations", operation_id = "list_operations", tag = "operations",
    responses((status = 200, description = "All of them", body = dto::List<dto::Operation>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::Operation>> {
    if !KINDS.iter().flat_map(|kind| keys(kind)).any(|key| ask.may_core(key, Scope::Global)) {
        ask.require("core.projection.read", Scope::Global)?;
    }
    let all = ask.app.control.operations().await?.into_iter().filter(|one| sees(&ask, one));
    let items = all.map(dto::Operation::from).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next: None }))
}

/// One operation.
#[utoipa::path(get, path = "/api/v1/operations/{id}", operation_id = "get_operation", tag = "operations",
    params(("id" = Uuid, Path, description = "Its id")),
    responses((status = 200, description = "As it stands", body = dto::Operation)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::Operation> {
    let operation = seen(&ask).await?;
    Ok(Answer::ok(ask.policy.version(), operation.into()))
}

/// Stops an operation; what it has done is kept where it can be gone on with.
#[utoipa::path(post, path = "/api/v1/operations/{id}/cancel", operation_id = "cancel_operation",
    tag = "operations", params(("id" = Uuid, Path, description = "Its id")),
    responses((status = 200, description = "Stopped", body = dto::Operation)))]
pub(crate) async fn cancel(ask: Ask, _body: NoBody) -> Answered<dto::Operation> {
    let id = driven(&ask).await?;
    Ok(Answer::ok(ask.policy.version(), ask.app.control.cancel_operation(id).await?.into()))
}

/// Goes on with an operation that was stopped, where it was.
#[utoipa::path(post, path = "/api/v1/operations/{id}/resume", operation_id = "resume_operation",
    tag = "operations", params(("id" = Uuid, Path, description = "Its id")),
    responses((status = 200, description = "It goes on", body = dto::Operation)))]
pub(crate) async fn resume(ask: Ask, _body: NoBody) -> Answered<dto::Operation> {
    let id = driven(&ask).await?;
    Ok(Answer::ok(ask.policy.version(), ask.app.control.resume_operation(id).await?.into()))
}

/// One kind of each sort of work.
const KINDS: [&str; 2] = ["projection.rebuild", BACKUP_OPERATION];

/// What it takes to see work of a kind, and to ask for it.
fn keys(kind: &str) -> [&'static str; 2] {
    if kind.starts_with("projection.") {
        ["core.projection.read", "core.projection.rebuild"]
    } else {
        ["core.backup.create", "core.backup.create"]
    }
}

fn sees(ask: &Ask, operation: &Operation) -> bool {
    let [sees, drives] = keys(&operation.kind);
    ask.may_core(sees, Scope::Global) || ask.may_core(drives, Scope::Global)
}

/// The operation of the path: one the caller may not see is not there.
async fn seen(ask: &Ask) -> Result<Operation, Problem> {
    let id = Uuid::try_parse(ask.named("id")).map_err(|_| Problem::not_found())?;
    let operation = ask.app.control.operation(id).await?;
    if sees(ask, &operation) { Ok(operation) } else { Err(Problem::not_found()) }
}

/// The operation of the path, if the caller may ask for such work.
async fn driven(ask: &Ask) -> Result<Uuid, Problem> {
    let operation = seen(ask).await?;
    let [_, drives] = keys(&operation.kind);
    ask.require(drives, Scope::Global)?;
    if ask.app.control.is_still_good(&ask.who).await {
        Ok(operation.id)
    } else {
        Err(Problem::invalid_token())
    }
}
