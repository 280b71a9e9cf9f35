//! Users.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody, Patch},
    dto,
    problem::Problem,
    read::{self, Names},
};
use charter_commands::{CancelDeletion, Command, ReactivateUser, ScheduleDeletion, SuspendUser};
use charter_control::{NewUser, ProfilePatch, SecretText, SentReset};
use charter_events::{Hash, Offset, Profile, Scope, UserId, UserKind};

/// How long a deletion can be called off when the request names no moment, in microseconds: 30 days.
pub(crate) const GRACE_MICROSECONDS: i64 = 30 * 24 * 3_600 * 1_000_000;

/// All users, in the order they came; searched, sorted or sifted when that is asked for.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "list_users", tag = "users",
    responses((status = 200, description = "One page", body = dto::List<dto::User>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::User>> {
    ask.require("core.user.read", Scope::Global)?;
    let page = ask.page()?;
    let (views, next) = if read::search::is_asked(&ask, &["kind", "status"]) {
        read::search::users(&ask, &page).await?
    } else {
        page.take(ask.policy.users_after(page.after()), |user| user.position)
    };
    let names = Names::of(&ask, views.iter().map(|view| view.id)).await;
    let items = views.iter().map(|view| read::user(&ask, view, &names)).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

/// Creates a user with an account that works at once.
#[utoipa::path(post, path = "/api/v1/users", operation_id = "create_user", tag = "users",
    request_body = dto::UserCreate,
    responses((status = 201, description = "Created", body = dto::User)))]
pub(crate) async fn create(ask: Ask, body: Body<dto::UserCreate>) -> Answered<dto::User> {
    let Body { value: new, hash } = body;
    let profile = Profile {
        username: new.username,
        display_name: new.display_name,
        email: new.email,
        login_name: new.login_name,
        external_id: new.external_id,
        identity: None,
    };
    let password = new.password.map(|password| SecretText::new(password.into_inner()));
    let new = NewUser { kind: new.kind.unwrap_or(UserKind::Person), profile, password };
    let receipt = ask.app.control.register_user(ask.caller.clone(), new, ask.meta(hash).await?).await?;
    let id = UserId::new(receipt.created.ok_or_else(Problem::internal)?);
    let (user, changed_at) = shown(&ask, receipt.last, id).await?;
    Ok(Answer::created(receipt.last, format!("/api/v1/users/{id}"), user).etag(changed_at))
}

/// One user.
#[utoipa::path(get, path = "/api/v1/users/{id}", operation_id = "get_user", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "The user", body = dto::User)))]
pub(crate) async fn get(ask: Ask) -> Answered<dto::User> {
    let id = named(&ask, "core.user.read")?;
    let (user, changed_at) = shown_at(&ask, id).await?;
    Ok(Answer::ok(ask.policy.version(), user).etag(changed_at))
}

/// Edits a user.
#[utoipa::path(patch, path = "/api/v1/users/{id}", operation_id = "edit_user", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    request_body(content = dto::UserPatch, content_type = "application/merge-patch+json"),
    responses((status = 200, description = "As it is now", body = dto::User)))]
pub(crate) async fn patch(ask: Ask, body: Patch<dto::UserPatch>) -> Answered<dto::User> {
    let id = named(&ask, "core.user.edit")?;
    let Patch { value, hash } = body;
    let patch = ProfilePatch {
        kind: value.kind,
        username: value.username,
        display_name: value.display_name,
        email: value.email,
        login_name: value.login_name,
        external_id: value.external_id,
        identity: None,
    };
    let receipt = ask.app.control.edit_user(ask.caller.clone(), id, patch, ask.meta(hash).await?).await?;
    answer(&ask, receipt.last, id).await
}

/// Stops an account at once; nothing is lost.
#[utoipa::path(post, path = "/api/v1/users/{id}/suspend", operation_id = "suspend_user", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "As it is now", body = dto::User)))]
pub(crate) async fn suspend(ask: Ask, body: NoBody) -> Answered<dto::User> {
    let user = named(&ask, "core.user.suspend")?;
    changed(&ask, user, SuspendUser { user }, body.hash).await
}

/// Lets a suspended account work again.
#[utoipa::path(post, path = "/api/v1/users/{id}/reactivate", operation_id = "reactivate_user", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "As it is now", body = dto::User)))]
pub(crate) async fn reactivate(ask: Ask, body: NoBody) -> Answered<dto::User> {
    let user = named(&ask, "core.user.suspend")?;
    changed(&ask, user, ReactivateUser { user }, body.hash).await
}

/// Stops an account and schedules its erasure.
#[utoipa::path(post, path = "/api/v1/users/{id}/schedule-deletion", operation_id = "schedule_user_deletion",
    tag = "users", params(("id" = String, Path, description = "Id, username or external id")),
    request_body = dto::ScheduleDeletionRequest,
    responses((status = 200, description = "As it is now", body = dto::User)))]
pub(crate) async fn schedule_deletion(
    ask: Ask,
    body: Body<dto::ScheduleDeletionRequest>,
) -> Answered<dto::User> {
    let user = named(&ask, "core.user.delete")?;
    let erase_at = body.value.erase_at.unwrap_or_else(|| ask.now.saturating_add_micros(GRACE_MICROSECONDS));
    changed(&ask, user, ScheduleDeletion { user, erase_at }, body.hash).await
}

/// Calls a scheduled deletion off; the account works again.
#[utoipa::path(post, path = "/api/v1/users/{id}/restore", operation_id = "restore_user", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "As it is now", body = dto::User)))]
pub(crate) async fn restore(ask: Ask, body: NoBody) -> Answered<dto::User> {
    let user = named(&ask, "core.user.delete")?;
    changed(&ask, user, CancelDeletion { user }, body.hash).await
}

/// Gives a user another password. His sessions end.
#[utoipa::path(post, path = "/api/v1/users/{id}/credential-reset", operation_id = "reset_credential", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    request_body = dto::CredentialResetRequest, responses((status = 204, description = "Done")))]
pub(crate) async fn credential_reset(ask: Ask, body: Body<dto::CredentialResetRequest>) -> Answered<()> {
    let id = named(&ask, "core.user.edit")?;
    let password = SecretText::new(body.value.password.expose());
    let meta = ask.meta(body.hash).await?;
    let receipt = ask.app.control.reset_password(ask.caller.clone(), id, &password, meta).await?;
    Ok(Answer::done(receipt.last))
}

/// Links a user to an identity at a provider: who is that there signs in as him. Guarded as a reset; his sessions end.
#[utoipa::path(put, path = "/api/v1/users/{id}/identity", operation_id = "link_identity", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    request_body = dto::Identity, responses((status = 200, description = "As he is now", body = dto::User)))]
pub(crate) async fn link(ask: Ask, body: Body<dto::Identity>) -> Answered<dto::User> {
    let id = named(&ask, "core.user.edit")?;
    let Body { value, hash } = body;
    let (caller, meta) = (ask.caller.clone(), ask.meta(hash).await?);
    let receipt = ask.app.control.set_identity(caller, id, Some(value.into()), meta).await?;
    answer(&ask, receipt.last, id).await
}

/// Unlinks a user from his identity at a provider; guarded as linking him. His sessions end.
#[utoipa::path(delete, path = "/api/v1/users/{id}/identity", operation_id = "unlink_identity", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 204, description = "He is linked to none")))]
pub(crate) async fn unlink(ask: Ask, body: NoBody) -> Answered<()> {
    let id = named(&ask, "core.user.edit")?;
    let (caller, meta) = (ask.caller.clone(), ask.meta(body.hash).await?);
    let receipt = ask.app.control.set_identity(caller, id, None, meta).await?;
    Ok(Answer::done(receipt.last))
}

/// Makes a link with which a user chooses another password, or his first one. It is sent to the address on record;
/// without one, or where the server sends no mail, it is in the answer, once. His sessions end, and links that were
/// sent before. Administrators have none: 409 `invalid_state`.
#[utoipa::path(post, path = "/api/v1/users/{id}/reset-link", operation_id = "send_reset_link", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "On its way, or to be handed over", body = dto::ResetLink)))]
pub(crate) async fn reset_link(ask: Ask, body: NoBody) -> Answered<dto::ResetLink> {
    let id = named(&ask, "core.user.edit")?;
    let meta = ask.meta(body.hash).await?;
    let SentReset { user, expires_at, link, receipt } =
        ask.app.control.send_reset_link(ask.caller.clone(), id, meta).await?;
    let after = ask.after(receipt.last).await?;
    let shown = dto::ResetLink {
        user: read::user_ref(&after, user).await,
        expires_at,
        delivery: if link.is_some() { dto::Delivery::Shown } else { dto::Delivery::Mailed },
        secret: link.as_ref().map(|link| dto::Secret::new(link.secret.expose())),
        link: link.and_then(|link| link.url).map(|url| dto::Secret::new(url.expose())),
    };
    Ok(Answer::ok(receipt.last, shown))
}

/// The user of the path, for whom a key is needed: 403 for all users alike without it, then 404.
fn named(ask: &Ask, key: &str) -> Result<UserId, Problem> {
    ask.require(key, Scope::Global)?;
    ask.user_named(ask.named("id")).ok_or_else(Problem::not_found)
}

async fn changed(ask: &Ask, user: UserId, command: impl Into<Command>, body: Hash) -> Answered<dto::User> {
    let receipt = ask.submit(command, body).await?;
    answer(ask, receipt.last, user).await
}

async fn answer(ask: &Ask, version: Offset, id: UserId) -> Answered<dto::User> {
    let (user, changed_at) = shown(ask, version, id).await?;
    Ok(Answer::ok(version, user).etag(changed_at))
}

/// A user at the version a command led to.
async fn shown(ask: &Ask, version: Offset, id: UserId) -> Result<(dto::User, Offset), Problem> {
    shown_at(&ask.after(version).await?, id).await
}

/// A user, with his groups where the caller may see groups. Who may change users, or read the log, and not read users
/// is told no more than which account it is and how it stands: names are sealed in the log, so reading it shows none.
async fn shown_at(ask: &Ask, id: UserId) -> Result<(dto::User, Offset), Problem> {
    let view = ask.policy.user(id).ok_or_else(Problem::not_found)?;
    if !ask.may_core_now("core.user.read") {
        return Ok((read::user_in_brief(&view), view.changed_at));
    }
    let names = Names::of(ask, [id]).await;
    let mut user = read::user(ask, &view, &names);
    if ask.may_core("core.group.read", Scope::Global) {
        let groups = ask.policy.groups_of(id).filter_map(|group| ask.policy.group(group));
        user.groups = Some(groups.map(|group| read::group_ref(&group)).collect());
    }
    Ok((user, view.changed_at))
}
