//! Backups: begun here, watched as an operation. Nothing of one is sent: it stays where the server keeps it.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::NoBody,
    dto,
};
use charter_events::Scope;

/// Takes a backup of everything into the server's folder for them; poll the operation. One at a time. `X-Reason` is
/// recorded with it.
#[utoipa::path(post, path = "/api/v1/backups", operation_id = "create_backup", tag = "operations",
    responses((status = 202, description = "Begun", body = dto::Operation)))]
pub(crate) async fn create(ask: Ask, body: NoBody) -> Answered<dto::Operation> {
    ask.require("core.backup.create", Scope::Global)?;
    let meta = ask.meta(body.hash).await?;
    let operation = ask.app.control.start_backup(Some(ask.user), meta).await?;
    let location = format!("/api/v1/operations/{}", operation.id);
    Ok(Answer::accepted(ask.policy.version(), location, operation.into()))
}
