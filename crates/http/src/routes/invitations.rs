//! Invitations, and passwords that were forgotten: both end with a link that works once.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Visit},
    body::{Body, NoBody},
    dto,
    problem::Problem,
    read::{self, Names},
};
use charter_control::{Acceptance, Invited, LetterState, RequestMeta, SecretText};
use charter_events::{Hash, Profile, Scope, UserId};
use charter_policy::UserStatus;

/// Invites a person. The account waits until the link is taken; grants may wait on it. The link is sent to the address
/// given; without one, or where the server sends no mail, it is in the answer, once.
#[utoipa::path(post, path = "/api/v1/invitations", operation_id = "invite", tag = "users",
    request_body = dto::InvitationCreate,
    responses((status = 201, description = "Invited", body = dto::Invitation)))]
pub(crate) async fn invite(ask: Ask, body: Body<dto::InvitationCreate>) -> Answered<dto::Invitation> {
    let Body { value: new, hash } = body;
    let profile = Profile {
        username: new.username,
        display_name: new.display_name,
        email: new.email,
        login_name: new.login_name,
        external_id: new.external_id,
        identity: None,
    };
    let invited = ask.app.control.invite(ask.caller.clone(), profile, ask.meta(hash).await?).await?;
    let location = format!("/api/v1/users/{}", invited.user);
    Ok(Answer::created(invited.receipt.last, location, shown(&ask, invited).await?))
}

/// The accounts that wait for their people, in the order they came, with how the letter to each stands.
#[utoipa::path(get, path = "/api/v1/invitations", operation_id = "list_invitations", tag = "users",
    responses((status = 200, description = "One page", body = dto::List<dto::WaitingInvitation>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::WaitingInvitation>> {
    ask.require("core.user.read", Scope::Global)?;
    let page = ask.page()?;
    let waiting = ask.policy.users_after(page.after()).filter(|user| user.status == UserStatus::Invited);
    let (views, next) = page.take(waiting, |user| user.position);
    let names = Names::of(&ask, views.iter().map(|view| view.id)).await;
    let mut items = Vec::with_capacity(views.len());
    for view in views {
        let link = ask.app.control.waiting_invitation(view.id).await?;
        items.push(dto::WaitingInvitation {
            user: names.user(view.id),
            expires_at: link.and_then(|link| link.expires_at),
            letter: link.and_then(|link| link.letter).map(|letter| match letter {
                LetterState::Sent => dto::LetterState::Sent,
                LetterState::Waiting => dto::LetterState::Waiting,
                LetterState::Failed => dto::LetterState::Failed,
            }),
        });
    }
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

/// Sends the link of an invitation anew. The one before works no longer.
#[utoipa::path(post, path = "/api/v1/invitations/{id}/resend", operation_id = "resend_invitation", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id of the account")),
    responses((status = 200, description = "As it is now", body = dto::Invitation)))]
pub(crate) async fn resend(ask: Ask, body: NoBody) -> Answered<dto::Invitation> {
    let user = named(&ask, "core.user.create")?;
    let meta = ask.meta(body.hash).await?;
    let invited = ask.app.control.renew_invitation(ask.caller.clone(), user, meta).await?;
    Ok(Answer::ok(invited.receipt.last, shown(&ask, invited).await?))
}

/// Takes an invitation back. The account is gone, and its names are free again; while grants or memberships wait on it
/// this is refused.
#[utoipa::path(delete, path = "/api/v1/invitations/{id}", operation_id = "withdraw_invitation", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id of the account")),
    responses((status = 204, description = "Withdrawn")))]
pub(crate) async fn withdraw(ask: Ask, body: NoBody) -> Answered<()> {
    let user = named(&ask, "core.user.delete")?;
    let meta = ask.meta(body.hash).await?;
    let receipt = ask.app.control.withdraw_invitation(ask.caller.clone(), user, meta).await?;
    Ok(Answer::done(receipt.last))
}

/// Accepts an invitation, for whoever has its link. From then on he signs in.
#[utoipa::path(post, path = "/api/v1/invitations/accept", operation_id = "accept_invitation", tag = "users",
    request_body = dto::InvitationAccept,
    responses((status = 201, description = "Done: sign in", body = dto::UserRef)))]
pub(crate) async fn accept(visit: Visit, body: Body<dto::InvitationAccept>) -> Answered<dto::UserRef> {
    let Body { value: request, hash } = body;
    let acceptance = Acceptance {
        secret: SecretText::new(request.secret.into_inner()),
        password: SecretText::new(request.password.into_inner()),
        display_name: request.display_name,
    };
    let control = &visit.app.control;
    let (id, receipt) = control.accept_invitation(acceptance, meta(&visit, hash)?).await?;
    let profile = control.profile(id).await;
    let shown = dto::UserRef {
        id,
        username: profile.as_ref().map(|profile| profile.username.to_string()),
        display_name: profile.and_then(|profile| profile.display_name).map(|name| name.to_string()),
    };
    Ok(Answer::created(receipt.last, format!("/api/v1/users/{id}"), shown))
}

/// Has a link sent to whoever goes by this name and has forgotten his password. The answer is the same, and as quick,
/// whether or not there is such an account; where the server sends no mail it is 409 `no_mail` for all.
#[utoipa::path(post, path = "/api/v1/password/forgotten", operation_id = "forgot_password", tag = "me",
    request_body = dto::ForgottenRequest,
    responses((status = 204, description = "If there is such an account, a letter is on its way")))]
pub(crate) async fn forgotten(visit: Visit, body: Body<dto::ForgottenRequest>) -> Answered<()> {
    visit.app.control.forgot_password(&body.value.username)?;
    Ok(Answer::done(visit.policy.version()))
}

/// Sets another password, for whoever has the link that was sent for a forgotten one. All his sessions end.
#[utoipa::path(post, path = "/api/v1/password/reset", operation_id = "reset_password", tag = "me",
    request_body = dto::ResetRequest,
    responses((status = 204, description = "Done: sign in")))]
pub(crate) async fn reset(visit: Visit, body: Body<dto::ResetRequest>) -> Answered<()> {
    let Body { value: request, hash } = body;
    let secret = SecretText::new(request.secret.into_inner());
    let password = SecretText::new(request.password.into_inner());
    let meta = meta(&visit, hash)?;
    let (_, receipt) = visit.app.control.reset_forgotten_password(&secret, &password, meta).await?;
    Ok(Answer::done(receipt.last))
}

/// What is recorded. Strangers share no answers: what a link did is done once.
pub(crate) fn meta(visit: &Visit, body: Hash) -> Result<RequestMeta, Problem> {
    Ok(RequestMeta { idempotency: None, ..visit.meta(body)? })
}

/// The user of the path, for whom a key is needed: 403 for all users alike without it, then 404.
fn named(ask: &Ask, key: &str) -> Result<UserId, Problem> {
    ask.require(key, Scope::Global)?;
    ask.user_named(ask.named("id")).ok_or_else(Problem::not_found)
}

async fn shown(ask: &Ask, invited: Invited) -> Result<dto::Invitation, Problem> {
    let Invited { user, expires_at, link, receipt } = invited;
    let after = ask.after(receipt.last).await?;
    Ok(dto::Invitation {
        user: read::user_ref(&after, user).await,
        expires_at,
        delivery: if link.is_some() { dto::Delivery::Shown } else { dto::Delivery::Mailed },
        secret: link.as_ref().map(|link| dto::Secret::new(link.secret.expose())),
        link: link.and_then(|link| link.url).map(|url| dto::Secret::new(url.expose())),
    })
}
