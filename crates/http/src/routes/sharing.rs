//! The sharing screen.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs},
    dto, read,
};
use charter_events::Scope;

/// Who has what on an object: its own entries, those above that reach it, and the state of each key for each subject
/// they name.
#[utoipa::path(get, path = "/api/v1/objects/{type}/{id}/access", operation_id = "object_access", tag = "objects",
    params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    responses((status = 200, description = "One page of entries", body = dto::ObjectAccess)))]
pub(crate) async fn access(ask: Ask) -> Answered<dto::ObjectAccess> {
    let object = ask.path_object(&Needs::Core("core.grant.read"))?;
    ask.require("core.grant.read", Scope::Object(object.id))?;
    let page = ask.page()?;
    Ok(Answer::ok(ask.policy.version(), read::sharing(&ask, &object, &page).await))
}
