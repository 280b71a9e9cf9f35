//! Signing in at an identity provider: a browser is sent there and comes back; a client without one shows a code.

use crate::{
    answer::{Answer, Answered},
    ask::Visit,
    body::{Body, NoBody},
    dto,
    edge::{cookies, digest},
    oidc::{Carried, DeviceFlow, Door, Invited, ReturnTo, Turn, identity, seconds},
    problem::Problem,
    routes::{invitations, session},
};
use axum::http::Method;
use charter_control::SecretText;
use charter_events::{Hash, Timestamp};
use charter_oidc::{CodeAnswer, Flow, OidcError, Poll};

/// How long a browser may be on its way, in seconds.
const ON_THE_WAY_SECONDS: i64 = 600;

/// Sends a browser to the identity provider to sign in there. It comes back to `/api/v1/session/oidc/callback`, and
/// goes on to `return_to`: a path of this installation, `/` when absent. A page of another site can't begin it.
#[utoipa::path(get, path = "/api/v1/session/oidc", operation_id = "begin_oidc", tag = "me",
    responses((status = 303, description = "To the identity provider",
        headers(("Location" = String, description = "Where"), ("Set-Cookie" = String, description = "To be brought back")))))]
pub(crate) async fn begin(visit: Visit) -> Answered<()> {
    let door = visit.app.door()?;
    cookies::require_own_site(&visit.app.config, &Method::GET, &visit.headers)?;
    let return_to = visit.params.get("return_to")?.unwrap_or_default();
    let (location, sealed) = sent_off(door, return_to, None, visit.now).await?;
    let kept = cookies::taken_along(&visit.app.config, &sealed, ON_THE_WAY_SECONDS);
    Ok(Answer::elsewhere(visit.policy.version(), location).cookie(kept))
}

/// Begins the same for whoever has the link of an invitation: when the browser comes back, the invitation is accepted,
/// the account is linked to whom the identity provider recognised, and he is signed in. For a page of this
/// installation, with the header `X-Charter-Request`; it sends the browser to `location`. Whether the link works is
/// seen then.
#[utoipa::path(post, path = "/api/v1/invitations/oidc", operation_id = "begin_invitation_oidc", tag = "users",
    request_body = dto::InvitationByProvider,
    responses((status = 200, description = "Where to send the browser", body = dto::GoThere)))]
pub(crate) async fn begin_invitation(
    visit: Visit,
    body: Body<dto::InvitationByProvider>,
) -> Answered<dto::GoThere> {
    let door = visit.app.door()?;
    cookies::require_own_site(&visit.app.config, &Method::POST, &visit.headers)?;
    let dto::InvitationByProvider { secret, display_name, return_to } = body.value;
    let wrong = |error: <ReturnTo as std::str::FromStr>::Err| {
        Problem::invalid_member("invalid_path", "return_to", error.to_string())
    };
    let return_to = return_to.map(|path| path.parse().map_err(wrong)).transpose()?.unwrap_or_default();
    let invitation = Invited::new(&SecretText::new(secret.into_inner()), display_name);
    let (location, sealed) = sent_off(door, return_to, Some(invitation), visit.now).await?;
    let kept = cookies::taken_along(&visit.app.config, &sealed, ON_THE_WAY_SECONDS);
    Ok(Answer::ok(visit.policy.version(), dto::GoThere { location }).cookie(kept))
}

/// Where a browser is sent, and what it takes along.
async fn sent_off(
    door: &Door,
    return_to: ReturnTo,
    invitation: Option<Invited>,
    now: Timestamp,
) -> Result<(String, String), Problem> {
    let flow = Flow::new().ok_or(OidcError::NoRandomness)?;
    let location = door.party.authorization(&flow, seconds(now)).await?;
    let expires_at = now.saturating_add_micros(ON_THE_WAY_SECONDS * 1_000_000);
    let sealed = door.sealer.seal(&Carried::new(&flow, return_to, expires_at, invitation));
    Ok((location, sealed.ok_or_else(Problem::internal)?))
}

/// Where a browser comes back to from the identity provider. It is signed in as whoever is linked to whom the provider
/// recognised, and goes on to where it was to return to. Nobody is found by a name or an address: who is linked to
/// nobody here, and whose account does not work, is refused alike (403 `identity_unknown`). It works once, in the
/// browser that was sent off.
#[utoipa::path(get, path = "/api/v1/session/oidc/callback", operation_id = "finish_oidc", tag = "me",
    responses((status = 303, description = "Signed in",
        headers(("Location" = String, description = "Where the browser goes on"), ("Set-Cookie" = String, description = "The session")))))]
pub(crate) async fn callback(visit: Visit) -> Answered<()> {
    let config = &visit.app.config;
    // Whatever it comes to, what was brought back is not brought again.
    came_back(&visit)
        .await
        .map(|answer| answer.cookie(cookies::arrived(config)))
        .map_err(|problem| problem.cookie(cookies::arrived(config)))
}

async fn came_back(visit: &Visit) -> Answered<()> {
    let (door, control) = (visit.app.door()?, &visit.app.control);
    let brought = cookies::brought_back(&visit.app.config, &visit.headers)?;
    let carried: Option<Carried> = brought.and_then(|text| door.sealer.open(text, visit.now));
    let carried = carried.ok_or_else(Problem::not_this_sign_in)?;
    let flow = carried.flow();
    let is_the_same = visit.params.text("state").is_some_and(|state| flow.is_state(state));
    let id = digest(&[b"browser", flow.state.expose().as_bytes()]);
    if !is_the_same || !door.memory.is_first(id, carried.expires_at(), visit.now)? {
        return Err(Problem::not_this_sign_in());
    }
    let text = |name| visit.params.text(name);
    let answer = CodeAnswer { code: text("code"), error: text("error"), issuer: text("iss") };
    let subject = door.party.came_back(answer, &flow, seconds(visit.now)).await?;
    let identity = identity(&subject)?;
    if let Some(invited) = carried.invitation {
        let (secret, name) = (invited.secret(), invited.display_name);
        let meta = invitations::meta(visit, Hash::new(id))?;
        control.accept_invitation_with_identity(&secret, identity.clone(), name, meta).await?;
    }
    let begun = control.sign_in_with_identity(&identity).await.map_err(Problem::of_identity)?;
    let kept = cookies::kept(&visit.app.config, begun.secret.expose(), control.now(), begun.expires_at);
    let version = control.policy().version();
    Ok(Answer::elsewhere(version, carried.return_to.into_path()).cookie(kept))
}

/// Begins a sign-in for a client without a browser: somebody opens the address, anywhere, and types the code. The
/// client asks `/api/v1/session/device/token` with the handle until he has.
#[utoipa::path(post, path = "/api/v1/session/device", operation_id = "begin_device", tag = "me",
    responses((status = 200, description = "Begun", body = dto::DeviceStarted)))]
pub(crate) async fn begin_device(visit: Visit, _body: NoBody) -> Answered<dto::DeviceStarted> {
    let door = visit.app.door()?;
    let device = door.party.begin_device(seconds(visit.now)).await?;
    let micros = i64::try_from(device.expires_in).unwrap_or(i64::MAX).saturating_mul(1_000_000);
    let flow = DeviceFlow::new(&device.code, device.interval, visit.now.saturating_add_micros(micros));
    let handle = door.sealer.seal(&flow).ok_or_else(Problem::internal)?;
    let started = dto::DeviceStarted {
        handle: dto::Secret::new(handle),
        user_code: device.user_code,
        verification_uri: device.address,
        verification_uri_complete: device.complete_address,
        expires_in: device.expires_in,
        interval: device.interval,
    };
    Ok(Answer::ok(visit.policy.version(), started))
}

/// Asks whether somebody has typed the code of a handle, and begins his session if so. Until then it is 409
/// `authorization_pending`, and 429 `slow_down` for whoever asks more often than the identity provider wants to be
/// asked: `Retry-After` says when again. It ends with 403 `denied`, 403 `identity_unknown` or 410 `expired`.
#[utoipa::path(post, path = "/api/v1/session/device/token", operation_id = "finish_device", tag = "me",
    request_body = dto::DeviceAsk,
    responses((status = 201, description = "Signed in", body = dto::SessionStarted)))]
pub(crate) async fn finish_device(visit: Visit, body: Body<dto::DeviceAsk>) -> Answered<dto::SessionStarted> {
    let (door, control) = (visit.app.door()?, &visit.app.control);
    let handle = body.value.handle.into_inner();
    let flow: DeviceFlow = door.sealer.open(&handle, visit.now).ok_or_else(Problem::device_expired)?;
    let code = flow.code();
    let id = digest(&[b"device", code.expose().as_bytes()]);
    match door.memory.turn(id, flow.interval, flow.expires_at(), visit.now)? {
        Turn::Now => {}
        Turn::Later(seconds) => return Err(Problem::slow_down(seconds)),
        Turn::Over => return Err(Problem::device_expired()),
    }
    let polled = door.party.poll_device(&code, seconds(visit.now)).await;
    if !matches!(
        polled,
        Ok(Poll::Pending | Poll::SlowDown)
            | Err(OidcError::Away(_) | OidcError::Busy | OidcError::Misconfigured(_))
    ) {
        door.memory.over(id);
    }
    match polled? {
        Poll::Pending => Err(Problem::authorization_pending(flow.interval)),
        Poll::SlowDown => Err(Problem::slow_down(door.memory.slower(id, visit.now))),
        Poll::Expired => Err(Problem::device_expired()),
        Poll::Denied => Err(Problem::declined()),
        Poll::Done(subject) => {
            let begun = control.sign_in_with_identity(&identity(&subject)?).await;
            session::started(&visit, begun.map_err(Problem::of_identity)?).await
        }
    }
}
