//! Undoing a command.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::Body,
    dto,
};

/// Undoes the command that an event is part of: what leads back is appended as a command of its own, for which the
/// caller needs what each part of it needs, all or nothing. What was changed again since is left alone, and what can't
/// be undone says why, event by event. Roles and groups that come back get new ids.
#[utoipa::path(post, path = "/api/v1/history/undo", operation_id = "undo", tag = "history",
    request_body = dto::UndoAsk,
    responses((status = 200, description = "Undone", body = dto::Undone)))]
pub(crate) async fn undo(ask: Ask, body: Body<dto::UndoAsk>) -> Answered<dto::Undone> {
    let meta = ask.meta(body.hash).await?;
    let undone = ask.app.control.undo(ask.caller.clone(), body.value.offset, meta).await?;
    Ok(Answer::ok(undone.receipt.last, undone.into()))
}
