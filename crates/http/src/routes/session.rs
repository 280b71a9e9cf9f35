//! Signing in and out.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Visit},
    body::{Body, NoBody},
    dto,
    problem::Problem,
};
use axum::http::StatusCode;
use charter_control::SecretText;

/// Begins a session with a password. The secret in the answer is shown once.
#[utoipa::path(post, path = "/api/v1/session", operation_id = "sign_in", tag = "me",
    request_body = dto::SignInRequest,
    responses((status = 201, description = "Signed in", body = dto::SessionStarted)))]
pub(crate) async fn sign_in(visit: Visit, body: Body<dto::SignInRequest>) -> Answered<dto::SessionStarted> {
    let request = body.value;
    let password = SecretText::new(request.password.into_inner());
    let begun = visit.app.control.sign_in(&request.username, password).await?;
    let profile = visit.app.control.profile(begun.user).await;
    let started = dto::SessionStarted {
        secret: dto::Secret::new(begun.secret.expose()),
        session: begun.session,
        user: dto::UserRef {
            id: begun.user,
            username: profile.as_ref().map(|p| p.username.to_string()),
            display_name: profile.and_then(|p| p.display_name).map(|name| name.to_string()),
        },
        expires_at: begun.expires_at,
    };
    let location = format!("/api/v1/user/me/sessions/{}", begun.session);
    Ok(Answer::created(visit.policy.version(), location, started))
}

/// Ends the session this is asked with.
#[utoipa::path(delete, path = "/api/v1/session", operation_id = "sign_out", tag = "me",
    responses((status = 204, description = "Signed out")))]
pub(crate) async fn sign_out(ask: Ask, body: NoBody) -> Answered<()> {
    match ask.app.control.sign_out(&ask.who, ask.meta(body.hash).await?).await? {
        Some(receipt) => Ok(Answer::done(receipt.last)),
        None => Err(Problem::new(StatusCode::CONFLICT, "no_session", "a token is revoked, not signed out")),
    }
}
