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
use charter_control::{SecretText, SignedIn};
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
    if !request.cookie {
        return started(&visit, begun).await;
    }
    let now = visit.app.control.now();
    let kept = cookies::kept(&config, begun.secret.expose(), now, begun.expires_at);
    Ok(started(&visit, begun).await?.map(|told| dto::SessionStarted { secret: None, ..told }).cookie(kept))
}

/// What a client is told of a session that has just begun.
pub(crate) async fn started(visit: &Visit, begun: SignedIn) -> Answered<dto::SessionStarted> {
    let profile = visit.app.control.profile(begun.user).await;
    let started = dto::SessionStarted {
        secret: Some(dto::Secret::new(begun.secret.expose())),
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

/// How people sign in here: by name and password, and at an identity provider where one is set up.
#[utoipa::path(get, path = "/api/v1/sign-in", operation_id = "sign_in_ways", tag = "me",
    responses((status = 200, description = "How", body = dto::SignInWays)))]
pub(crate) async fn ways(visit: Visit) -> Answered<dto::SignInWays> {
    let oidc = visit.app.door.as_ref().map(|door| dto::SignInProvider { name: door.name.clone() });
    Ok(Answer::ok(visit.policy.version(), dto::SignInWays { password: true, oidc }))
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
