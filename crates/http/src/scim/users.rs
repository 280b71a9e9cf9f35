//! `/Users`.

use super::{
    answer::{Answer, Answered},
    asked::Asked,
    fault::{Fault, fault},
    filter::Kind,
    group::exact_id,
    list,
    members::Members,
    patch,
    shown::Shown,
    user::{self, Person},
    wish::Wish,
};
use crate::{
    ask::Ask,
    body::{Message, NoBody},
    dto,
    problem::Problem,
    routes::users::GRACE_MICROSECONDS,
};
use charter_commands::ScheduleDeletion;
use charter_control::{AccountChange, Request, Unchanged, is_in_directory};
use charter_events::{Hash, Offset, Profile, Scope, UserId};
use charter_policy::UserView;

const READ: &str = "core.user.read";

/// Users, in the order they came.
#[utoipa::path(get, path = "/scim/v2/Users", operation_id = "scim_list_users", tag = "scim",
    responses((status = 200, description = "One page", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn list(ask: Ask) -> Answered {
    ask.require(READ, Scope::Global)?;
    list::answer(&ask, &[Kind::User], &Asked::in_query(&ask)?).await
}

/// The same, asked for in a body: what is looked for is in no address.
#[utoipa::path(post, path = "/scim/v2/Users/.search", operation_id = "scim_search_users", tag = "scim",
    request_body(content = dto::ScimSearch, content_type = "application/scim+json"),
    responses((status = 200, description = "One page", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn search(ask: Ask, message: Message) -> Answered {
    ask.require(READ, Scope::Global)?;
    list::answer(&ask, &[Kind::User], &Asked::in_body(Members::new(message.members)?)?).await
}

/// Creates a person's account.
#[utoipa::path(post, path = "/scim/v2/Users", operation_id = "scim_create_user", tag = "scim",
    request_body(content = dto::ScimUser, content_type = "application/scim+json"),
    responses((status = 201, description = "Created", body = dto::ScimUser,
        content_type = "application/scim+json")))]
pub(crate) async fn create(ask: Ask, message: Message) -> Answered {
    ask.require("core.user.create", Scope::Global)?;
    ask.require(READ, Scope::Global)?;
    let shown = shown(&ask)?;
    let new = Wish::read(Members::new(message.members)?)?.account()?;
    let meta = ask.meta(message.hash).await?;
    let receipt = ask.app.control.provision_user(ask.caller.clone(), new, meta).await?;
    let id = UserId::new(receipt.created.ok_or_else(Problem::internal)?);
    let answer = at(&ask.after(receipt.last).await?, id, &shown).await?;
    Ok(answer.created(user::location(id)))
}

/// One user.
#[utoipa::path(get, path = "/scim/v2/Users/{id}", operation_id = "scim_get_user", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    responses((status = 200, description = "The user", body = dto::ScimUser,
        content_type = "application/scim+json"),
        (status = 304, description = "As `If-None-Match` says")))]
pub(crate) async fn get(ask: Ask) -> Answered {
    let view = named(&ask, READ)?;
    let answer = at(&ask, view.id, &shown(&ask)?).await?;
    Ok(answer.unless_known(&ask.headers))
}

/// Makes a user what the message says he is: what it does not name is cleared, but for `active`.
#[utoipa::path(put, path = "/scim/v2/Users/{id}", operation_id = "scim_replace_user", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    request_body(content = dto::ScimUser, content_type = "application/scim+json"),
    responses((status = 200, description = "As it is now", body = dto::ScimUser,
        content_type = "application/scim+json")))]
pub(crate) async fn replace(ask: Ask, message: Message) -> Answered {
    let (view, profile) = editable(&ask).await?;
    let wish = Wish::read(Members::new(message.members)?)?;
    change(&ask, &view, wish.changes(&view, &profile)?, message.hash).await
}

/// Changes a user, all operations at once or none.
#[utoipa::path(patch, path = "/scim/v2/Users/{id}", operation_id = "scim_patch_user", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    request_body(content = dto::ScimPatch, content_type = "application/scim+json"),
    responses((status = 200, description = "As it is now", body = dto::ScimUser,
        content_type = "application/scim+json")))]
pub(crate) async fn patch(ask: Ask, message: Message) -> Answered {
    let (view, profile) = editable(&ask).await?;
    let mut wish = Wish::present(&view, &profile);
    for one in patch::operations(Kind::User, Members::new(message.members)?)? {
        if !wish.set(&one.name, one.filter.as_ref(), one.part.as_deref(), one.what)? {
            let detail = format!("`{}` is not known", super::members::shown(&one.name));
            return Err(fault(Fault::Path, detail));
        }
    }
    change(&ask, &view, wish.changes(&view, &profile)?, message.hash).await
}

/// Stops an account and schedules its erasure. It is not there any more here; it can be restored by the other routes
/// until it is erased.
#[utoipa::path(delete, path = "/scim/v2/Users/{id}", operation_id = "scim_delete_user", tag = "scim",
    params(("id" = String, Path, description = "Id")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(ask: Ask, body: NoBody) -> Answered {
    let user = named(&ask, "core.user.delete")?.id;
    let erase_at = ask.now.saturating_add_micros(GRACE_MICROSECONDS);
    let unchanged = ask.if_match.map(|changed_at| Unchanged::Account { user, changed_at });
    let command = ScheduleDeletion { user, erase_at }.into();
    let request = Request::new(ask.caller.clone(), command, ask.meta(body.hash).await?);
    let receipt = ask.app.control.submit(Request { unchanged, ..request }).await?;
    Ok(Answer::done(receipt.last))
}

fn shown(ask: &Ask) -> Result<Shown, Problem> {
    Shown::new(ask.params.text("attributes"), ask.params.text("excludedAttributes"))
}

/// The user of the path, for whom a key is needed: 403 for all users alike without it, then 404.
fn named<'a>(ask: &'a Ask, key: &str) -> Result<UserView<'a>, Problem> {
    ask.require(key, Scope::Global)?;
    let id = exact_id(ask.named("id")).map(UserId::new);
    let view = id.and_then(|id| ask.policy.user(id)).filter(is_in_directory);
    view.ok_or_else(Problem::not_found)
}

/// The user of the path, and his names, for a change that is answered with him.
async fn editable(ask: &Ask) -> Result<(UserView<'_>, Profile), Problem> {
    ask.require("core.user.edit", Scope::Global)?;
    let view = named(ask, READ)?;
    let profile = ask.app.control.profile(view.id).await;
    Ok((view, profile.ok_or_else(|| Problem::overloaded("unavailable", "the names can't be opened now"))?))
}

async fn change(ask: &Ask, view: &UserView<'_>, change: Option<AccountChange>, body: Hash) -> Answered {
    let shown = shown(ask)?;
    let user = view.id;
    let Some(change) = change else {
        unchanged(ask, view.changed_at)?;
        return at(ask, user, &shown).await;
    };
    let meta = ask.meta(body).await?;
    let change = AccountChange { seen: ask.if_match, ..change };
    let receipt = ask.app.control.change_account(ask.caller.clone(), user, change, meta).await?;
    at(&ask.after(receipt.last).await?, user, &shown).await
}

/// `If-Match`, where nothing has to change.
pub(super) fn unchanged(ask: &Ask, changed_at: Offset) -> Result<(), Problem> {
    match ask.if_match {
        Some(seen) if seen != changed_at => {
            let detail = format!("it changed: you saw version {seen}, it is at {changed_at}");
            Err(Problem::new(axum::http::StatusCode::PRECONDITION_FAILED, "stale", detail))
        }
        _ => Ok(()),
    }
}

/// A user at the version of a request.
async fn at(ask: &Ask, id: UserId, shown: &Shown) -> Answered {
    let view = ask.policy.user(id).filter(is_in_directory).ok_or_else(Problem::not_found)?;
    let profile = ask.app.control.profile(id).await;
    let person = Person::of(&ask.policy, view, profile.as_ref(), user::sees_groups(ask));
    Ok(Answer::ok(ask.policy.version(), person.shown(shown)?).tagged(person.tag()))
}
