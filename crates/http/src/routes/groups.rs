//! Groups and their members.

use super::roles::shown_slug;
use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody, Patch},
    dto,
    problem::Problem,
    read::{self, Names},
};
use charter_commands::{AddMember, CreateGroup, DeleteGroup, RemoveMember, RenameGroup};
use charter_control::is_id;
use charter_events::{GroupId, Offset, Scope, UserId};
use charter_policy::{GroupView, Position};

/// All groups, in the order they came; searched or sorted when that is asked for.
#[utoipa::path(get, path = "/api/v1/groups", operation_id = "list_groups", tag = "groups",
    responses((status = 200, description = "One page", body = dto::List<dto::Group>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::Group>> {
    ask.require("core.group.read", Scope::Global)?;
    let page = ask.page()?;
    let (views, next): (Vec<_>, _) = if read::search::is_asked(&ask, &[]) {
        let (ids, next) = read::search::groups(&ask, &page).await?;
        (ids.into_iter().filter_map(|id| ask.policy.group(GroupId::new(id))).collect(), next)
    } else {
        page.take(ask.policy.groups_after(page.after()), |group| group.position)
    };
    Ok(Answer::ok(ask.policy.version(), dto::List { items: views.iter().map(read::group).collect(), next }))
}

/// Creates a group.
#[utoipa::path(post, path = "/api/v1/groups", operation_id = "create_group", tag = "groups",
    request_body = dto::GroupCreate,
    responses((status = 201, description = "Created", body = dto::Group)))]
pub(crate) async fn create(ask: Ask, body: Body<dto::GroupCreate>) -> Answered<dto::Group> {
    let Body { value: new, hash } = body;
    let name = new.name.map_or_else(|| shown_slug(&new.slug), Ok)?;
    let receipt = ask.submit(CreateGroup { slug: new.slug, name }, hash).await?;
    let id = GroupId::new(receipt.created.ok_or_else(Problem::internal)?);
    let group = at(&ask, receipt.last, id).await?;
    let changed_at = group.changed_at;
    Ok(Answer::created(receipt.last, format!("/api/v1/groups/{id}"), group).etag(changed_at))
}

/// One group.
#[utoipa::path(get, path = "/api/v1/groups/{id}", operation_id = "get_group", tag = "groups",
    params(("id" = String, Path, description = "Id or slug")),
    responses((status = 200, description = "The group", body = dto::Group)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::Group> {
    let group = read::group(&named(&ask, "core.group.read")?);
    let changed_at = group.changed_at;
    Ok(Answer::ok(ask.policy.version(), group).etag(changed_at))
}

/// Renames a group.
#[utoipa::path(patch, path = "/api/v1/groups/{id}", operation_id = "edit_group", tag = "groups",
    params(("id" = String, Path, description = "Id or slug")),
    request_body(content = dto::GroupPatch, content_type = "application/merge-patch+json"),
    responses((status = 200, description = "As it is now", body = dto::Group)))]
pub(crate) async fn patch(ask: Ask, body: Patch<dto::GroupPatch>) -> Answered<dto::Group> {
    let group = named(&ask, "core.group.edit")?;
    let name = body.value.name.unwrap_or_else(|| group.name.clone());
    let receipt = ask.submit(RenameGroup { group: group.id, name }, body.hash).await?;
    let group = at(&ask, receipt.last, group.id).await?;
    let changed_at = group.changed_at;
    Ok(Answer::ok(receipt.last, group).etag(changed_at))
}

/// Deletes a group, and thereby its memberships and grants.
#[utoipa::path(delete, path = "/api/v1/groups/{id}", operation_id = "delete_group", tag = "groups",
    params(("id" = String, Path, description = "Id or slug")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(ask: Ask, body: NoBody) -> Answered<()> {
    let group = named(&ask, "core.group.delete")?;
    let receipt = ask.submit(DeleteGroup { group: group.id }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// A group's members, in the order their accounts came.
#[utoipa::path(get, path = "/api/v1/groups/{id}/members", operation_id = "list_members", tag = "groups",
    params(("id" = String, Path, description = "Id or slug")),
    responses((status = 200, description = "One page", body = dto::List<dto::UserRef>)))]
pub(crate) async fn members(ask: Ask) -> Answered<dto::List<dto::UserRef>> {
    let group = named(&ask, "core.group.read")?;
    let page = ask.page()?;
    let mut rest: Vec<(Position, UserId)> = ask
        .policy
        .members(group.id)
        .filter_map(|user| ask.policy.user(user).map(|view| (view.position, user)))
        .filter(|(position, _)| page.after().is_none_or(|after| *position > after))
        .collect();
    rest.sort_unstable_by_key(|(position, _)| *position);
    let (rows, next) = page.take(rest.into_iter(), |(position, _)| *position);
    let names = Names::of(&ask, rows.iter().map(|(_, user)| *user)).await;
    let items = rows.iter().map(|(_, user)| names.user(*user)).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

/// Adds a user to a group.
#[utoipa::path(put, path = "/api/v1/groups/{id}/members/{user}", operation_id = "add_member", tag = "groups",
    params(("id" = String, Path, description = "Id or slug of the group"),
           ("user" = String, Path, description = "The user's id; for those who may read users also his username or \
                                                  external id")),
    responses((status = 204, description = "He is in it")))]
pub(crate) async fn add_member(ask: Ask, body: NoBody) -> Answered<()> {
    let group = named(&ask, "core.group.manage")?.id;
    // Whether he is there is told by the command, which first asks whether the caller may add anybody.
    let user = member(&ask)?.unwrap_or(NOBODY);
    let receipt = ask.submit(AddMember { group, user }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// Takes a user out of a group; anyone may leave one that carries no deny.
#[utoipa::path(delete, path = "/api/v1/groups/{id}/members/{user}", operation_id = "remove_member", tag = "groups",
    params(("id" = String, Path, description = "Id or slug of the group"),
           ("user" = String, Path, description = "The user's id; for those who may read users also his username or \
                                                  external id")),
    responses((status = 204, description = "He is not in it")))]
pub(crate) async fn remove_member(ask: Ask, body: NoBody) -> Answered<()> {
    let group = ask.app.control.resolve_group(&ask.policy, ask.named("id"));
    let himself = ask.user_named(ask.named("user")) == Some(ask.user);
    let leaves = himself && group.is_some_and(|group| ask.policy.is_member(group, ask.user));
    if !leaves {
        // Without the key all groups and users are alike, there or not.
        ask.require("core.group.manage", Scope::Global)?;
    }
    let group = group.ok_or_else(Problem::not_found)?;
    let user = member(&ask)?.unwrap_or(NOBODY);
    let receipt = ask.submit(RemoveMember { group, user }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// A user who does not exist.
const NOBODY: UserId = UserId::from_u128(0);

/// Whom the path names, if he is there. Who may not read users names others by id alone: by names he would find out
/// who is a user and who is not.
///
/// # Errors
/// 403, alike for every name that is no id and not his own.
fn member(ask: &Ask) -> Result<Option<UserId>, Problem> {
    let text = ask.named("user");
    let found = ask.user_named(text);
    if found == Some(ask.user) || is_id(text) || ask.may_core("core.user.read", Scope::Global) {
        return Ok(found);
    }
    Err(Problem::forbidden("core.user.read").about("to name a user other than by id").of("user"))
}

/// The group of the path, for which a key is needed: 403 for all groups alike without it, then 404.
fn named<'a>(ask: &'a Ask, key: &str) -> Result<GroupView<'a>, Problem> {
    ask.require(key, Scope::Global)?;
    let id = ask.app.control.resolve_group(&ask.policy, ask.named("id"));
    id.and_then(|id| ask.policy.group(id)).ok_or_else(Problem::not_found)
}

async fn at(ask: &Ask, version: Offset, id: GroupId) -> Result<dto::Group, Problem> {
    let ask = ask.after(version).await?;
    let view = ask.policy.group(id).ok_or_else(Problem::not_found)?;
    Ok(read::group(&view))
}
