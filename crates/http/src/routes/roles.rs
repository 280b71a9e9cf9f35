//! Roles.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody, Patch},
    dto,
    problem::Problem,
    read,
};
use charter_commands::{ChangeRole, CreateRole, DeleteRole};
use charter_events::{DisplayName, Offset, Pattern, RoleId, RoleScope, Scope, Slug};
use charter_policy::RoleView;

/// The roles; with `scope`, those that can be assigned there, as a sharing screen or a role list needs. Searched or
/// sorted when that is asked for.
#[utoipa::path(get, path = "/api/v1/roles", operation_id = "list_roles", tag = "roles",
    responses((status = 200, description = "One page", body = dto::List<dto::Role>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::Role>> {
    ask.require("core.role.read", Scope::Global)?;
    let page = ask.page()?;
    let fits = match ask.params.word("scope", &["global", "object"])? {
        None => |_: RoleScope| true,
        Some("global") => |scope: RoleScope| scope != RoleScope::Object,
        Some(_) => |scope: RoleScope| scope != RoleScope::Global,
    };
    if read::search::is_asked(&ask, &[]) {
        let fitting = ask.policy.roles().filter(|role| fits(role.scope)).map(|role| role.id.as_uuid());
        let among = ask.params.text("scope").map(|_| fitting.collect());
        let (ids, next) = read::search::roles(&ask, &page, among).await?;
        let views = ids.into_iter().filter_map(|id| ask.policy.role(RoleId::new(id)));
        let items = views.map(|view| read::role(&view)).collect();
        return Ok(Answer::ok(ask.policy.version(), dto::List { items, next }));
    }
    let roles = ask
        .policy
        .roles()
        .filter(|role| fits(role.scope) && page.after().is_none_or(|after| role.position > after));
    let (views, next) = page.take(roles, |role| role.position);
    Ok(Answer::ok(ask.policy.version(), dto::List { items: views.iter().map(read::role).collect(), next }))
}

/// Creates a role.
#[utoipa::path(post, path = "/api/v1/roles", operation_id = "create_role", tag = "roles",
    request_body = dto::RoleCreate,
    responses((status = 201, description = "Created", body = dto::Role)))]
pub(crate) async fn create(ask: Ask, body: Body<dto::RoleCreate>) -> Answered<dto::Role> {
    let Body { value: new, hash } = body;
    let name = new.name.map_or_else(|| shown_slug(&new.slug), Ok)?;
    let command = CreateRole { slug: new.slug, name, scope: new.scope, permissions: new.permissions };
    let receipt = ask.submit(command, hash).await?;
    let id = RoleId::new(receipt.created.ok_or_else(Problem::internal)?);
    let role = at(&ask, receipt.last, id).await?;
    let changed_at = role.changed_at;
    Ok(Answer::created(receipt.last, format!("/api/v1/roles/{id}"), role).etag(changed_at))
}

/// One role.
#[utoipa::path(get, path = "/api/v1/roles/{id}", operation_id = "get_role", tag = "roles",
    params(("id" = String, Path, description = "Id or slug")),
    responses((status = 200, description = "The role", body = dto::Role)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::Role> {
    let role = read::role(&named(&ask, "core.role.read")?);
    let changed_at = role.changed_at;
    Ok(Answer::ok(ask.policy.version(), role).etag(changed_at))
}

/// Edits a role: its name, or what it holds.
#[utoipa::path(patch, path = "/api/v1/roles/{id}", operation_id = "edit_role", tag = "roles",
    params(("id" = String, Path, description = "Id or slug")),
    request_body(content = dto::RolePatch, content_type = "application/merge-patch+json"),
    responses((status = 200, description = "As it is now", body = dto::Role)))]
pub(crate) async fn patch(ask: Ask, body: Patch<dto::RolePatch>) -> Answered<dto::Role> {
    let role = named(&ask, "core.role.edit")?;
    let (add, remove) = match body.value.permissions {
        Some(wanted) => difference(role.permissions, wanted)?,
        None => (Vec::new(), Vec::new()),
    };
    let command = ChangeRole { role: role.id, name: body.value.name, add, remove };
    let receipt = ask.submit(command, body.hash).await?;
    let role = at(&ask, receipt.last, role.id).await?;
    let changed_at = role.changed_at;
    Ok(Answer::ok(receipt.last, role).etag(changed_at))
}

/// Deletes a role and thereby its grants.
#[utoipa::path(delete, path = "/api/v1/roles/{id}", operation_id = "delete_role", tag = "roles",
    params(("id" = String, Path, description = "Id or slug")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(ask: Ask, body: NoBody) -> Answered<()> {
    let role = named(&ask, "core.role.delete")?;
    let receipt = ask.submit(DeleteRole { role: role.id }, body.hash).await?;
    Ok(Answer::done(receipt.last))
}

/// What turns what a role holds into what it shall hold.
fn difference(held: &[Pattern], wanted: Vec<Pattern>) -> Result<(Vec<Pattern>, Vec<Pattern>), Problem> {
    let mut sorted = wanted;
    let count = sorted.len();
    sorted.sort();
    sorted.dedup();
    if sorted.len() != count {
        return Err(Problem::invalid_member("duplicate", "permissions", "a permission is named twice"));
    }
    let remove = held.iter().filter(|item| sorted.binary_search(item).is_err()).cloned().collect();
    let add = sorted.into_iter().filter(|item| !held.contains(item)).collect();
    Ok((add, remove))
}

/// The slug as a name, for what was given none.
pub(crate) fn shown_slug(slug: &Slug) -> Result<DisplayName, Problem> {
    slug.as_str().parse().map_err(|_| Problem::internal())
}

/// The role of the path, for which a key is needed: 403 for all roles alike without it, then 404.
fn named<'a>(ask: &'a Ask, key: &str) -> Result<RoleView<'a>, Problem> {
    ask.require(key, Scope::Global)?;
    let id = ask.app.control.resolve_role(&ask.policy, ask.named("id"));
    id.and_then(|id| ask.policy.role(id)).ok_or_else(Problem::not_found)
}

async fn at(ask: &Ask, version: Offset, id: RoleId) -> Result<dto::Role, Problem> {
    let ask = ask.after(version).await?;
    let view = ask.policy.role(id).ok_or_else(Problem::not_found)?;
    Ok(read::role(&view))
}
