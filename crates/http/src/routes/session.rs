//! Signing in and out.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Visit},
    body::{Body, NoBody},
    dto,
    edge::cookies,
    problem::Problem,
};
use axum::http::{Method, StatusCode, header};
use charter_control::SecretText;
use std::sync::Arc;

/// Begins a session with a password. The secret in the answer is shown once; with `cookie` it is in a cookie instead.
#[utoipa::path(post, path = "/api/v1/session", operation_id = "sign_in", tag = "me",
    request_body = dto::SignInRequest,
    responses((status = 201, description = "Signed in", body = dto::SessionStarted)))]
pub(crate) async fn sign_in(visit: Visit, body: Body<dto::SignInRequest>) -> Answered<dto::SessionStarted> {
    let request = body.value;
    let config = Arc::clone(&visit.app.config);
    if request.cookie {
        // Nobody is signed in as somebody else by a site he visits.
        cookies::require_own_site(&config, &Method::POST, &visit.headers)?;
    }
    let password = SecretText::new(request.password.into_inner());
    let begun = visit.app.control.sign_in(&request.username, password).await?;
    let profile = visit.app.control.profile(begun.user).await;
    let started = dto::SessionStarted {
        secret: (!request.cookie).then(|| dto::Secret::new(begun.secret.expose())),
        session: begun.session,
        user: dto::UserRef {
            id: begun.user,
            username: profile.as_ref().map(|p| p.username.to_string()),
            display_name: profile.and_then(|p| p.display_name).map(|name| name.to_string()),
        },
        expires_at: begun.expires_at,
    };
    let location = format!("/api/v1/user/me/sessions/{}", begun.session);
    let now = visit.app.control.now();
    let kept = request.cookie.then(|| cookies::kept(&config, begun.secret.expose(), now, begun.expires_at));
    Ok(Answer::created(visit.policy.version(), location, started).cookie(kept.flatten()))
}

/// Ends the session this is asked with.
#[utoipa::path(delete, path = "/api/v1/session", operation_id = "sign_out", tag = "me",
    responses((status = 204, description = "Signed out")))]
pub(crate) async fn sign_out(ask: Ask, body: NoBody) -> Answered<()> {
    let by_cookie = !ask.headers.contains_key(header::AUTHORIZATION);
    let forgotten = by_cookie.then(|| cookies::forgotten(&ask.app.config)).flatten();
    match ask.app.control.sign_out(&ask.who, ask.meta(body.hash).await?).await? {
        Some(receipt) => Ok(Answer::done(receipt.last).cookie(forgotten)),
        None => Err(Problem::new(StatusCode::CONFLICT, "no_session", "a token is revoked, not signed out")),
    }
}
