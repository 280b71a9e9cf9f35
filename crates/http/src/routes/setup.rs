//! First run: the first administrator, once, with the code the server printed.

use crate::{
    answer::{Answer, Answered},
    ask::Visit,
    body::Body,
    dto,
    problem::Problem,
};
use charter_control::SecretText;
use charter_events::{Profile, UserId};

/// Whether the installation still waits for its first administrator.
#[utoipa::path(get, path = "/api/v1/setup", operation_id = "setup_state", tag = "first run",
    responses((status = 200, description = "The state", body = dto::SetupState)))]
pub(crate) async fn state(visit: Visit) -> Answer<dto::SetupState> {
    Answer::ok(visit.policy.version(), dto::SetupState { needed: visit.app.control.setup_is_open() })
}

/// Creates the first administrator. Once there has been one, this stays closed.
#[utoipa::path(post, path = "/api/v1/setup", operation_id = "setup", tag = "first run",
    request_body = dto::SetupRequest,
    responses((status = 201, description = "Done: sign in", body = dto::UserRef)))]
pub(crate) async fn first_administrator(
    visit: Visit,
    body: Body<dto::SetupRequest>,
) -> Answered<dto::UserRef> {
    let Body { value: request, hash } = body;
    let profile = Profile {
        username: request.username.clone(),
        display_name: request.display_name.clone(),
        email: request.email,
        login_name: None,
        external_id: None,
        identity: None,
    };
    let (code, password) =
        (SecretText::new(request.code.into_inner()), SecretText::new(request.password.into_inner()));
    let receipt = visit.app.control.setup(&code, profile, password, visit.meta(hash)?).await?;
    let id = UserId::new(receipt.created.ok_or_else(Problem::internal)?);
    let shown = dto::UserRef {
        id,
        username: Some(request.username.to_string()),
        display_name: request.display_name.map(|name| name.to_string()),
    };
    Ok(Answer::created(receipt.last, format!("/api/v1/users/{id}"), shown))
}
