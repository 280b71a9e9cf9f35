//! `/Groups`.

use super::{
    answer::{Answer, Answered},
    asked::Asked,
    fault::{Fault, fault},
    filter::Kind,
    group::{self, Team, Wish, exact_id},
    list,
    members::Members,
    patch,
    shown::Shown,
    users::unchanged,
};
use crate::{
    ask::Ask,
    body::{Message, NoBody},
    dto,
    problem::Problem,
};
use charter_commands::DeleteGroup;
use charter_control::GroupChange;
use charter_events::{GroupId, Hash, Scope};
use charter_policy::GroupView;

const READ: &str = "core.group.read";

/// Groups, in the order they came.
#[utoipa::path(get, path = "/scim/v2/Groups", operation_id = "scim_list_groups", tag = "scim",
    responses((status = 200, description = "One page", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn list(ask: Ask) -> Answered {
    ask.require(READ, Scope::Global)?;
    list::answer(&ask, &[Kind::Group], &Asked::in_query(&ask)?).await
}

/// The same, asked for in a body.
#[utoipa::path(post, path = "/scim/v2/Groups/.search", operation_id = "scim_search_groups", tag = "scim",
    request_body(content = dto::ScimSearch, content_type = "application/scim+json"),
    responses((status = 200, description = "One page", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn search(ask: Ask, message: Message) -> Answered {
    ask.require(READ, Scope::Global)?;
    list::answer(&ask, &[Kind::Group], &Asked::in_body(Members::new(message.members)?)?).await
}

/// Creates a group with its members, all at once or not at all.
#[utoipa::path(post, path = "/scim/v2/Groups", operation_id = "scim_create_group", tag = "scim",
    request_body(content = dto::ScimGroup, content_type = "application/scim+json"),
    responses((status = 201, description = "Created", body = dto::ScimGroup,
        content_type = "application/scim+json")))]
pub(crate) async fn create(ask: Ask, message: Message) -> Answered {
    ask.require("core.group.create", Scope::Global)?;
    ask.require(READ, Scope::Global)?;
    let shown = shown(&ask)?;
    let new = Wish::read(&ask, Members::new(message.members)?)?.group()?;
    let meta = ask.meta(message.hash).await?;
    let receipt = ask.app.control.provision_group(ask.caller.clone(), new, meta).await?;
    let id = GroupId::new(receipt.created.ok_or_else(Problem::internal)?);
    let answer = at(&ask.after(receipt.last).await?, id, &shown)?;
    Ok(answer.created(group::location(id)))
}

/// One group.
#[utoipa::path(get, path = "/scim/v2/Groups/{id}", operation_id = "scim_get_group", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    responses((status = 200, description = "The group", body = dto::ScimGroup,
        content_type = "application/scim+json"),
        (status = 304, description = "As `If-None-Match` says")))]
pub(crate) async fn get(ask: Ask) -> Answered {
    let view = named(&ask, READ)?;
    Ok(at(&ask, view.id, &shown(&ask)?)?.unless_known(&ask.headers))
}

/// Makes a group what the message says it is, all at once or not at all. Members that are not named stay; an empty
/// list of them is nobody.
#[utoipa::path(put, path = "/scim/v2/Groups/{id}", operation_id = "scim_replace_group", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    request_body(content = dto::ScimGroup, content_type = "application/scim+json"),
    responses((status = 200, description = "As it is now", body = dto::ScimGroup,
        content_type = "application/scim+json")))]
pub(crate) async fn replace(ask: Ask, message: Message) -> Answered {
    let view = editable(&ask)?;
    let wish = Wish::read(&ask, Members::new(message.members)?)?;
    change(&ask, &view, wish.changes()?, message.hash).await
}

/// Changes a group and its members, all operations at once or none.
#[utoipa::path(patch, path = "/scim/v2/Groups/{id}", operation_id = "scim_patch_group", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    request_body(content = dto::ScimPatch, content_type = "application/scim+json"),
    responses((status = 200, description = "As it is now", body = dto::ScimGroup,
        content_type = "application/scim+json")))]
pub(crate) async fn patch(ask: Ask, message: Message) -> Answered {
    let view = editable(&ask)?;
    let team = Team { view, policy: &ask.policy };
    let mut wish = Wish::default();
    for one in patch::operations(Kind::Group, Members::new(message.members)?)? {
        let which = (one.filter.as_ref(), one.part.as_deref());
        if !wish.set(&ask, Some(&team), &one.name, which, one.what)? {
            let detail = format!("`{}` is not known", super::members::shown(&one.name));
            return Err(fault(Fault::Path, detail));
        }
    }
    change(&ask, &view, wish.changes()?, message.hash).await
}

/// Deletes a group, and thereby its memberships and grants.
#[utoipa::path(delete, path = "/scim/v2/Groups/{id}", operation_id = "scim_delete_group", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(ask: Ask, body: NoBody) -> Answered {
    let group = named(&ask, "core.group.delete")?.id;
    let receipt = ask.submit(DeleteGroup { group }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

fn shown(ask: &Ask) -> Result<Shown, Problem> {
    Shown::new(ask.params.text("attributes"), ask.params.text("excludedAttributes"))
}

/// The group of the path, for which a key is needed: 403 for all groups alike without it, then 404.
fn named<'a>(ask: &'a Ask, key: &str) -> Result<GroupView<'a>, Problem> {
    ask.require(key, Scope::Global)?;
    let id = exact_id(ask.named("id")).map(GroupId::new);
    id.and_then(|id| ask.policy.group(id)).ok_or_else(Problem::not_found)
}

/// The group of the path, for a change that is answered with it.
fn editable(ask: &Ask) -> Result<GroupView<'_>, Problem> {
    ask.require("core.group.manage", Scope::Global)?;
    named(ask, READ)
}

async fn change(ask: &Ask, view: &GroupView<'_>, change: GroupChange, body: Hash) -> Answered {
    let shown = shown(ask)?;
    let group = view.id;
    let mut meta = ask.meta(body).await?;
    // It is held to the version by all of its commands together, not by each.
    meta.if_match = None;
    let change = GroupChange { seen: ask.if_match, ..change };
    match ask.app.control.change_group(ask.caller.clone(), group, change, meta).await? {
        Some(receipt) => at(&ask.after(receipt.last).await?, group, &shown),
        None => {
            unchanged(ask, view.changed_at)?;
            at(ask, group, &shown)
        }
    }
}

/// A group at the version of a request.
fn at(ask: &Ask, id: GroupId, shown: &Shown) -> Answered {
    let view = ask.policy.group(id).ok_or_else(Problem::not_found)?;
    let team = Team { view, policy: &ask.policy };
    Ok(Answer::ok(ask.policy.version(), team.shown(shown)).tagged(team.tag()))
}
