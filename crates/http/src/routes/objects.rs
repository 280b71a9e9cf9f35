//! Objects, folders among them.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs},
    body::{Body, NoBody, Patch},
    dto,
    problem::Problem,
    read::{self, Names},
};
use charter_commands::{
    Command, CreateObject, DeleteObject, MoveObject, RenameObject, SetInheritance, TransferObject,
};
use charter_control::Receipt;
use charter_events::{Hash, ObjectId, Scope, UserId};

/// The objects the caller may read, in the order they came: of a type, in a folder, of an owner; searched or sorted
/// when that is asked for.
#[utoipa::path(get, path = "/api/v1/objects", operation_id = "list_objects", tag = "objects",
    responses((status = 200, description = "One page, with what the caller may do on each",
               body = dto::List<dto::ObjectRow>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::ObjectRow>> {
    let page = ask.page()?;
    let (views, next) = match ask.params.text("parent") {
        _ if read::search::is_asked(&ask, &["owner"]) => read::search::objects(&ask, &page).await?,
        Some(parent) => read::objects_in(&ask, parent, ask.params.text("type"), &page)?,
        None => read::objects(&ask, ask.params.text("type"), &page),
    };
    let names = Names::of(&ask, views.iter().filter_map(|view| view.owner)).await;
    let items = views.iter().map(|view| read::object(&ask, view, &names)).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

/// Creates an object; the caller owns it.
#[utoipa::path(post, path = "/api/v1/objects", operation_id = "create_object", tag = "objects",
    request_body = dto::ObjectCreate,
    responses((status = 201, description = "Created", body = dto::ObjectRow)))]
pub(crate) async fn create(ask: Ask, body: Body<dto::ObjectCreate>) -> Answered<dto::ObjectRow> {
    let Body { value: new, hash } = body;
    let parent = folder(&ask, new.parent.as_deref(), new.object_type.as_str())?;
    let location = format!("/api/v1/objects/{}", new.object_type);
    let command =
        CreateObject { object_type: new.object_type, external_id: new.external_id, name: new.name, parent };
    let receipt = ask.submit(command, hash).await?;
    let id = ObjectId::new(receipt.created.ok_or_else(Problem::internal)?);
    let object = at(&ask, &receipt, id).await?;
    let changed_at = object.changed_at;
    Ok(Answer::created(receipt.last, format!("{location}/{id}"), object).etag(changed_at))
}

/// One object.
#[utoipa::path(get, path = "/api/v1/objects/{type}/{id}", operation_id = "get_object", tag = "objects",
    params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    responses((status = 200, description = "The object, with what the caller may do on it", body = dto::ObjectRow)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::ObjectRow> {
    let view = ask.path_object(&Needs::Nothing)?;
    // Who may only ask about others there knows that it is there, and is told which key shows it.
    let of = ask.policy.object_type(view.object_type.as_str()).ok_or_else(Problem::not_found)?;
    ask.require(of.definition.read.as_str(), Scope::Object(view.id))?;
    let names = Names::of(&ask, view.owner).await;
    Ok(Answer::ok(ask.policy.version(), read::object(&ask, &view, &names)).etag(view.changed_at))
}

/// Renames an object, or gives it another external id.
#[utoipa::path(patch, path = "/api/v1/objects/{type}/{id}", operation_id = "edit_object", tag = "objects",
    params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    request_body(content = dto::ObjectPatch, content_type = "application/merge-patch+json"),
    responses((status = 200, description = "As it is now", body = dto::ObjectRow)))]
pub(crate) async fn patch(ask: Ask, body: Patch<dto::ObjectPatch>) -> Answered<dto::ObjectRow> {
    let object = ask.path_object(&Needs::Manage)?.id;
    let dto::ObjectPatch { name, external_id } = body.value;
    changed(&ask, object, RenameObject { object, name, external_id }, body.hash).await
}

/// Deletes an object; a folder must be empty.
#[utoipa::path(delete, path = "/api/v1/objects/{type}/{id}", operation_id = "delete_object", tag = "objects",
    params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(ask: Ask, body: NoBody) -> Answered<()> {
    let object = ask.path_object(&Needs::Manage)?.id;
    let receipt = ask.submit(DeleteObject { object }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// Gives an object to another owner.
#[utoipa::path(post, path = "/api/v1/objects/{type}/{id}/transfer", operation_id = "transfer_object",
    tag = "objects", params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    request_body = dto::TransferRequest,
    responses((status = 200, description = "As it is now", body = dto::ObjectRow)))]
pub(crate) async fn transfer(ask: Ask, body: Body<dto::TransferRequest>) -> Answered<dto::ObjectRow> {
    let object = ask.path_object(&Needs::Core("core.object.transfer"))?.id;
    // Whether the name is there is told by the command, which first asks whether the caller may transfer at all.
    let owner = ask.app.control.resolve_user(&ask.policy, &body.value.owner).unwrap_or(UserId::from_u128(0));
    changed(&ask, object, TransferObject { object, owner }, body.hash).await
}

/// Moves an object to another folder, or to the top.
#[utoipa::path(post, path = "/api/v1/objects/{type}/{id}/move", operation_id = "move_object", tag = "objects",
    params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    request_body = dto::MoveRequest,
    responses((status = 200, description = "As it is now", body = dto::ObjectRow)))]
pub(crate) async fn relocate(ask: Ask, body: Body<dto::MoveRequest>) -> Answered<dto::ObjectRow> {
    let object = ask.path_object(&Needs::Core("core.object.move"))?;
    let parent = folder(&ask, body.value.parent.as_deref(), object.object_type.as_str())?;
    let object = object.id;
    changed(&ask, object, MoveObject { object, parent }, body.hash).await
}

/// Says whether what stands above an object counts for it.
#[utoipa::path(post, path = "/api/v1/objects/{type}/{id}/inheritance", operation_id = "set_inheritance",
    tag = "objects", params(("type" = String, Path, description = "The object's type"),
           ("id" = String, Path, description = "Id or external id")),
    request_body = dto::InheritanceRequest,
    responses((status = 200, description = "As it is now", body = dto::ObjectRow)))]
pub(crate) async fn set_inheritance(
    ask: Ask,
    body: Body<dto::InheritanceRequest>,
) -> Answered<dto::ObjectRow> {
    let object = ask.path_object(&Needs::Core("core.grant.manage"))?.id;
    changed(&ask, object, SetInheritance { object, inherits: body.value.inherits }, body.hash).await
}

/// The folder an object of a type shall lie in: the caller may know it, or may create such objects there.
fn folder(ask: &Ask, parent: Option<&str>, object_type: &str) -> Result<Option<ObjectId>, Problem> {
    let creates = ask.policy.object_type(object_type).map(|of| of.definition.create.clone());
    let needs = creates.map_or(Needs::Nothing, Needs::Key);
    parent.map(|parent| ask.object_ref(parent, "parent", &needs)).transpose()
}

async fn changed(
    ask: &Ask,
    object: ObjectId,
    command: impl Into<Command>,
    body: Hash,
) -> Answered<dto::ObjectRow> {
    let receipt = ask.submit(command, body).await?;
    let object = at(ask, &receipt, object).await?;
    let changed_at = object.changed_at;
    Ok(Answer::ok(receipt.last, object).etag(changed_at))
}

/// An object after the caller's own change; he may have lost sight of it by that, and is shown what he just did. Not
/// so when the request is a repeated one: what he did once does not show him what the object is now.
async fn at(ask: &Ask, receipt: &Receipt, id: ObjectId) -> Result<dto::ObjectRow, Problem> {
    let ask = ask.after(receipt.last).await?;
    let view = ask.policy.object(id).filter(|view| !receipt.repeated || ask.knows(view));
    let view = view.ok_or_else(Problem::not_found)?;
    let names = Names::of(&ask, view.owner).await;
    Ok(read::object(&ask, &view, &names))
}
