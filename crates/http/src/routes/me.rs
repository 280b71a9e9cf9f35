//! What a caller sees and changes of himself.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody},
    dto,
    problem::Problem,
    read::Names,
};
use charter_control::{Credential, SecretText};
use charter_events::{Pattern, Scope, SessionId};
use charter_policy::{AccessControl, EffectiveState};

/// Who is calling, what he may do platform-wide, and until when that can be relied on.
#[utoipa::path(get, path = "/api/v1/user/me", operation_id = "me", tag = "me",
    responses((status = 200, description = "The caller", body = dto::Me)))]
pub(crate) async fn me(ask: Ask) -> Answered<dto::Me> {
    let names = Names::of(&ask, [ask.user]).await;
    let entries = ask.policy.at(ask.now).effective(&ask.caller, Scope::Global)?;
    let whole = ask.caller.ceiling().is_none_or(|mask| mask.contains(&Pattern::all()));
    let me = dto::Me {
        user: names.user(ask.user),
        email: names.profile(ask.user).and_then(|profile| profile.email.clone()),
        administrator: whole && ask.policy.is_administrator(ask.user, ask.now),
        permissions: entries
            .iter()
            .filter(|entry| entry.state == EffectiveState::Allowed)
            .map(|entry| entry.key.to_string())
            .collect(),
        policy_version: ask.policy.version(),
        valid_until: ask.policy.valid_until(ask.user, ask.now),
        mask: ask.caller.ceiling().map(<[_]>::to_vec),
    };
    Ok(Answer::ok(ask.policy.version(), me))
}

/// Changes the caller's own password. His other sessions end.
#[utoipa::path(put, path = "/api/v1/user/me/password", operation_id = "change_password", tag = "me",
    request_body = dto::ChangePasswordRequest, responses((status = 204, description = "Changed")))]
pub(crate) async fn change_password(ask: Ask, body: Body<dto::ChangePasswordRequest>) -> Answered<()> {
    let current = SecretText::new(body.value.current.expose());
    let new = SecretText::new(body.value.new.expose());
    let receipt =
        ask.app.control.change_password(&ask.who, &current, &new, ask.meta(body.hash).await?).await?;
    Ok(Answer::done(receipt.last))
}

/// The caller's sessions.
#[utoipa::path(get, path = "/api/v1/user/me/sessions", operation_id = "sessions", tag = "me",
    responses((status = 200, description = "Live sessions: at most 100", body = dto::List<dto::Session>)))]
pub(crate) async fn sessions(ask: Ask) -> Answered<dto::List<dto::Session>> {
    let sessions = ask.app.control.sessions(ask.user).await?;
    let items = sessions
        .into_iter()
        .map(|session| dto::Session {
            id: session.id,
            began_at: session.began_at,
            expires_at: session.expires_at,
            last_used: session.last_used,
            current: ask.who.credential == Credential::Session(session.id),
        })
        .collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next: None }))
}

/// Ends all the caller's sessions, this one included.
#[utoipa::path(delete, path = "/api/v1/user/me/sessions", operation_id = "end_sessions", tag = "me",
    responses((status = 204, description = "Ended")))]
pub(crate) async fn end_sessions(ask: Ask, body: NoBody) -> Answered<()> {
    let receipt =
        ask.app.control.end_sessions(ask.caller.clone(), ask.user, ask.meta(body.hash).await?).await?;
    Ok(Answer::done(receipt.last))
}

/// Ends one of the caller's sessions.
#[utoipa::path(delete, path = "/api/v1/user/me/sessions/{id}", operation_id = "end_session", tag = "me",
    params(("id" = String, Path, description = "The session")),
    responses((status = 204, description = "Ended")))]
pub(crate) async fn end_session(ask: Ask, body: NoBody) -> Answered<()> {
    let session: SessionId = ask.named("id").parse().map_err(|_| Problem::not_found())?;
    let own = ask.app.control.sessions(ask.user).await?;
    if !own.iter().any(|known| known.id == session) {
        return Err(Problem::not_found());
    }
    let meta = ask.meta(body.hash).await?;
    let receipt = ask.app.control.end_session(ask.caller.clone(), ask.user, session, meta).await?;
    Ok(Answer::done(receipt.last))
}
