//! API tokens: one's own, and those of users one may edit, such as services.

use crate::{
    answer::{Answer, Answered},
    ask::Ask,
    body::{Body, NoBody},
    dto,
    problem::Problem,
};
use charter_control::{NewToken, TokenInfo};
use charter_events::{Hash, Scope, TokenId, UserId};

/// The caller's API tokens.
#[utoipa::path(get, path = "/api/v1/user/me/tokens", operation_id = "tokens", tag = "me",
    responses((status = 200, description = "His tokens: at most 100", body = dto::List<dto::Token>)))]
pub(crate) async fn own(ask: Ask) -> Answered<dto::List<dto::Token>> {
    listed(&ask, ask.user).await
}

/// Issues the caller an API token. The secret in the answer is shown once.
#[utoipa::path(post, path = "/api/v1/user/me/tokens", operation_id = "issue_token", tag = "me",
    request_body = dto::TokenRequest,
    responses((status = 201, description = "Issued", body = dto::TokenIssued)))]
pub(crate) async fn issue_own(ask: Ask, body: Body<dto::TokenRequest>) -> Answered<dto::TokenIssued> {
    issued(&ask, ask.user, body, "/api/v1/user/me/tokens").await
}

/// Revokes one of the caller's API tokens.
#[utoipa::path(delete, path = "/api/v1/user/me/tokens/{id}", operation_id = "revoke_token", tag = "me",
    params(("id" = String, Path, description = "The token")),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke_own(ask: Ask, body: NoBody) -> Answered<()> {
    revoked(&ask, ask.user, ask.named("id"), body.hash).await
}

/// A user's API tokens.
#[utoipa::path(get, path = "/api/v1/users/{id}/tokens", operation_id = "user_tokens", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    responses((status = 200, description = "Those that stand: at most 100", body = dto::List<dto::Token>)))]
pub(crate) async fn of_user(ask: Ask) -> Answered<dto::List<dto::Token>> {
    let user = named(&ask)?;
    listed(&ask, user).await
}

/// Issues an API token that speaks for a user, as a service needs one. Whoever has it can do what that user can, so the
/// caller must hold as much. The secret in the answer is shown once.
#[utoipa::path(post, path = "/api/v1/users/{id}/tokens", operation_id = "issue_user_token", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id")),
    request_body = dto::TokenRequest,
    responses((status = 201, description = "Issued", body = dto::TokenIssued)))]
pub(crate) async fn issue_for(ask: Ask, body: Body<dto::TokenRequest>) -> Answered<dto::TokenIssued> {
    let user = named(&ask)?;
    issued(&ask, user, body, &format!("/api/v1/users/{user}/tokens")).await
}

/// Revokes one of a user's API tokens.
#[utoipa::path(delete, path = "/api/v1/users/{id}/tokens/{token}", operation_id = "revoke_user_token", tag = "users",
    params(("id" = String, Path, description = "Id, username or external id"),
           ("token" = String, Path, description = "The token")),
    responses((status = 204, description = "Revoked")))]
pub(crate) async fn revoke_of(ask: Ask, body: NoBody) -> Answered<()> {
    let user = named(&ask)?;
    revoked(&ask, user, ask.named("token"), body.hash).await
}

/// The user of the path: 403 for all users alike without the key, then 404.
fn named(ask: &Ask) -> Result<UserId, Problem> {
    ask.require("core.user.edit", Scope::Global)?;
    ask.user_named(ask.named("id")).ok_or_else(Problem::not_found)
}

async fn listed(ask: &Ask, user: UserId) -> Answered<dto::List<dto::Token>> {
    let tokens = ask.app.control.tokens(user).await?;
    let items = tokens.into_iter().map(shown).collect();
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next: None }))
}

fn shown(token: TokenInfo) -> dto::Token {
    dto::Token {
        id: token.id,
        name: token.name.to_string(),
        issued_at: token.issued_at,
        expires_at: token.expires_at,
        mask: token.mask,
        last_used: token.last_used,
    }
}

async fn issued(
    ask: &Ask,
    user: UserId,
    body: Body<dto::TokenRequest>,
    path: &str,
) -> Answered<dto::TokenIssued> {
    let Body { value: dto::TokenRequest { name, expires_at, mask }, hash } = body;
    let new = NewToken { user, name, expires_at, mask };
    let issued = ask.app.control.issue_token(ask.caller.clone(), new, ask.meta(hash).await?).await?;
    let after = ask.after(issued.receipt.last).await?;
    let view = after.policy.token(issued.token).ok_or_else(Problem::internal)?;
    let token = dto::Token {
        id: view.id,
        name: view.name.to_string(),
        issued_at: view.issued_at,
        expires_at: view.expires_at,
        mask: view.mask.map(|mask| mask.to_vec()),
        last_used: None,
    };
    let secret = dto::Secret::new(issued.secret.expose());
    let location = format!("{path}/{}", token.id);
    Ok(Answer::created(issued.receipt.last, location, dto::TokenIssued { secret, token }))
}

async fn revoked(ask: &Ask, user: UserId, token: &str, body: Hash) -> Answered<()> {
    let token: TokenId = token.parse().map_err(|_| Problem::not_found())?;
    if ask.policy.token(token).is_none_or(|known| known.user != user) {
        return Err(Problem::not_found());
    }
    let receipt = ask.app.control.revoke_token(ask.caller.clone(), token, ask.meta(body).await?).await?;
    Ok(Answer::done(receipt.last))
}
