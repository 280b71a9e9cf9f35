//! The gate of a route: who is calling, at which version, with which parameters, and whether he holds the row's key
//! anywhere. It fails closed and puts what it learned into the request; a handler can't get it any other way.

use super::{around::ClientAddress, cookies, params::Params, rates::Left};
use crate::{
    App,
    access::{Gate, Row, TypeKey},
    answer::POLICY_VERSION,
    ask::{Ask, Asked, Needs, core_key, only},
    authzen, live, oidc,
    problem::Problem,
    scim,
};
use axum::{
    extract::{RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use charter_control::{Authenticated, Freshness, PreviewSlot, SESSION_PREFIX};
use charter_events::{Head, Offset, PermissionKey, Scope, Timestamp, UserId};
use charter_policy::{AccessControl, AccessError, Policy};
use charter_store::past::{AsOf, InvalidAsOf};
use std::{net::IpAddr, sync::Arc};

/// Who asked, kept beside the response for the access log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoggedUser(pub(crate) UserId);

/// What asks whether the server is there.
pub(crate) const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The parameter that asks about the past.
const AS_OF: &str = "as_of";
const AS_OF_TIME: HeaderName = HeaderName::from_static("as-of-time");
const AS_OF_HASH: HeaderName = HeaderName::from_static("as-of-hash");

type Gated = (App, &'static Row);

/// Lets a request through to its handler, or answers it.
pub(crate) async fn gate(
    State((app, row)): State<Gated>,
    segments: RawPathParams,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let preview = request.extensions().get::<PreviewSlot>().cloned();
    if preview.is_some() && !row.writes {
        return Err(Problem::not_a_command());
    }
    let decides = authzen::decides(row);
    let fresh = fresh_enough(&app, row);
    if !decides {
        fresh.clone()?;
    }
    let params = Params::parse(request.uri().query(), row.query)?;
    let headers = request.headers();
    let from = request.extensions().get::<ClientAddress>().map(|address| address.0);
    let (who, left) = match known(&app, row, (request.method(), headers, from), preview.is_some()).await {
        Err(problem) if decides && problem.is_unavailable() => {
            return authzen::closed(&app, row, request).await;
        }
        known => known?,
    };
    // Whoever decides says no rather than nothing, to those who may ask at all.
    if fresh.is_err() {
        return authzen::closed(&app, row, request).await;
    }
    let policy = match &who {
        // Waiting is for those who are signed in.
        None => app.control.policy(),
        Some(who) => {
            // It may name what another server has just made: not knowing it is no reason to say that it is not there.
            if row.writes && !app.control.follow_others().await {
                return Err(Problem::overloaded("unavailable", "the store can't be reached"));
            }
            at_least(&app, headers, who).await?
        }
    };
    let now = app.control.now();
    let segments: Vec<(String, String)> =
        segments.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let if_match = if_match(headers, row)?;
    let headers = headers.clone();
    let asked =
        Arc::new(Asked { app, policy, past: None, now, row, params, segments, if_match, headers, preview });
    let Some(who) = who else {
        request.extensions_mut().insert(asked);
        return Ok(told_what_is_left(next.run(request).await, &left));
    };
    let ask = Ask::new(asked, who);
    let user = LoggedUser(ask.user);
    let admitted = match ask.params.text(AS_OF) {
        None => passes(&ask).map(|()| ask),
        Some(text) => back_then(&ask, text).await,
    };
    let mut response = match admitted {
        Ok(ask) => {
            let past = ask.past.map(|head| (head, ask.now));
            request.extensions_mut().insert(ask);
            let mut response = next.run(request).await;
            tell_past(&mut response, past);
            response
        }
        Err(problem) => problem.into_response(),
    };
    response.extensions_mut().insert(user);
    Ok(told_what_is_left(response, &left))
}

/// Who asks, where that matters, and how often he still may.
async fn known(
    app: &App,
    row: &Row,
    (method, headers, from): (&Method, &HeaderMap, Option<IpAddr>),
    previews: bool,
) -> Result<(Option<Authenticated>, Left), Problem> {
    if row.gate == Gate::Public {
        // Probes are answered however often: a busy server is alive.
        let left = match row.path {
            path if PROBES.contains(&path) => Left::default(),
            path if oidc::ASK_PROVIDER.contains(&path) => app.rates.at_provider(from)?,
            _ => app.rates.stranger(from)?,
        };
        return Ok((None, left));
    }
    let who = match authenticate(app, method, headers).await {
        Ok(who) => who,
        // Above the bound nobody learns whether a credential is good.
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            return Err(app.rates.stranger(from).err().unwrap_or(problem));
        }
        Err(problem) => return Err(problem),
    };
    // What is previewed is one request with the preview.
    let left = if previews { Left::default() } else { app.rates.caller(&who)? };
    Ok((Some(who), left))
}

fn told_what_is_left(mut response: Response, left: &Left) -> Response {
    left.tell(response.headers_mut());
    response
}

/// Refuses to answer from a policy that is too old: what was revoked since is not known here. How the server is doing
/// is told all the same.
fn fresh_enough(app: &App, row: &Row) -> Result<(), Problem> {
    let tells_how_it_is = row.gate == Gate::Public || row.path == "/metrics";
    match app.control.freshness() {
        Freshness::TooStale { .. } if !tells_how_it_is => Err(Problem::unavailable()),
        _ => Ok(()),
    }
}

/// The policy at the version the request asks for, or at the newest. Who waited for it is asked for again: a
/// credential that was revoked meanwhile is worth nothing.
async fn at_least(app: &App, headers: &HeaderMap, who: &Authenticated) -> Result<Arc<Policy>, Problem> {
    let Some(version) = header_number(headers, "policy-version-min")? else {
        return Ok(app.control.policy());
    };
    let policy = app.control.at_least(version).await?;
    if app.control.is_still_good(who).await { Ok(policy) } else { Err(Problem::invalid_token()) }
}

/// The request as it would have been asked then, for whoever may read the whole log now: what he could fold himself.
/// What is sealed in the log he could not: for a person's profile he needs the right of now (`users::get`). He is
/// judged again when the state is there, for that may take long.
async fn back_then(ask: &Ask, text: &str) -> Result<Ask, Problem> {
    let asked: AsOf =
        text.parse().map_err(|error: InvalidAsOf| Problem::invalid_parameter(AS_OF, error.to_string()))?;
    let control = &ask.app.control;
    let may = |policy: &Policy| {
        policy.at(control.now()).require(&ask.caller, &core_key(live::KEY)?, Scope::Global)?;
        Ok::<_, Problem>(())
    };
    may(&ask.policy)?;
    let past = control.as_of(asked).await?;
    may(&control.policy())?;
    if control.is_still_good(&ask.who).await {
        Ok(ask.back_then(past))
    } else {
        Err(Problem::invalid_token())
    }
}

/// Which past an answer is of: the moment it was judged at, and the hash of the log's end then.
fn tell_past(response: &mut Response, past: Option<(Head, Timestamp)>) {
    let Some((head, now)) = past else { return };
    let headers = response.headers_mut();
    headers.insert(POLICY_VERSION, HeaderValue::from(head.offset.get()));
    for (name, text) in [(AS_OF_TIME, now.to_string()), (AS_OF_HASH, head.hash.to_string())] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
}

/// Whether the caller holds the row's key anywhere.
fn passes(ask: &Ask) -> Result<(), Problem> {
    match ask.row.gate {
        Gate::Public | Gate::SelfOnly => Ok(()),
        Gate::Key(key) => anywhere(ask, &core_key(key)?),
        Gate::TypeKey(which) => match ask.segment("type") {
            Some(name) => match ask.policy.object_type(name) {
                Some(of) => match anywhere(ask, type_key(&of, which)) {
                    Ok(()) => Ok(()),
                    // Whoever may know the object may know which key he lacks: the use case says it.
                    Err(_) => ask.path_object(&Needs::Nothing).map(drop),
                },
                None => Err(Problem::not_found()),
            },
            None => any_type(ask, which),
        },
    }
}

fn type_key<'a>(of: &charter_policy::ObjectTypeView<'a>, which: TypeKey) -> &'a PermissionKey {
    match which {
        TypeKey::Read => &of.definition.read,
        TypeKey::Create => &of.definition.create,
        TypeKey::Manage => &of.definition.manage,
    }
}

fn any_type(ask: &Ask, which: TypeKey) -> Result<(), Problem> {
    let policy: &Policy = &ask.policy;
    let mut lacking = None;
    for of in policy.object_types() {
        match anywhere(ask, type_key(&of, which)) {
            Ok(()) => return Ok(()),
            // Core's folders are what a refusal names: other types are none of a stranger's business.
            Err(problem) if of.namespace.is_core() => lacking = Some(problem),
            Err(_) => {}
        }
    }
    Err(lacking.unwrap_or_else(Problem::not_found))
}

fn anywhere(ask: &Ask, key: &PermissionKey) -> Result<(), Problem> {
    if !ask.caller.reaches(key) {
        return Err(AccessError::TokenTooNarrow { permission: key.clone() }.into());
    }
    if ask.policy.allows_anywhere(ask.user, key, ask.now) {
        Ok(())
    } else {
        Err(Problem::forbidden(key.as_str()))
    }
}

/// Who is calling. What the caller sends on purpose counts before what a browser sends by itself: with a header
/// `Authorization` a cookie is not looked at.
async fn authenticate(app: &App, method: &Method, headers: &HeaderMap) -> Result<Authenticated, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return by_cookie(app, method, headers).await };
    if values.next().is_some() {
        return Err(Problem::invalid_header("Authorization", "it is sent twice"));
    }
    let text = value.to_str().map_err(|_| Problem::invalid_token())?;
    let Some((scheme, secret)) = text.split_once(' ') else { return Err(Problem::invalid_token()) };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Problem::unauthenticated());
    }
    Ok(app.control.authenticate(secret.trim()).await?)
}

/// Who is calling with a browser's session, from a page of this installation.
async fn by_cookie(app: &App, method: &Method, headers: &HeaderMap) -> Result<Authenticated, Problem> {
    let Some(secret) = cookies::secret(&app.config, headers)? else { return Err(Problem::unauthenticated()) };
    cookies::require_own_site(&app.config, method, headers)?;
    if !secret.starts_with(SESSION_PREFIX) {
        return Err(Problem::invalid_token());
    }
    Ok(app.control.authenticate(secret).await?)
}

/// A header that holds an offset.
fn header_number(headers: &HeaderMap, name: &'static str) -> Result<Option<Offset>, Problem> {
    let Some(value) = only(headers, name)? else { return Ok(None) };
    let number = value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    match number.and_then(|text| text.parse().ok()).and_then(Offset::new) {
        Some(offset) => Ok(Some(offset)),
        None => Err(Problem::invalid_header(name, "it takes the offset of an event")),
    }
}

/// The version a change is held to: an `ETag` of ours, or `*` for any.
fn if_match(headers: &HeaderMap, row: &Row) -> Result<Option<Offset>, Problem> {
    let mut values = headers.get_all(header::IF_MATCH).iter();
    let Some(value) = values.next() else {
        return if row.if_match { Err(Problem::precondition_required()) } else { Ok(None) };
    };
    let wrong = || Problem::invalid_header("If-Match", "it takes one `ETag` of this API, in quotes, or `*`");
    let text = value.to_str().map_err(|_| wrong())?.trim();
    if values.next().is_some() {
        return Err(wrong());
    }
    if text == "*" {
        return Ok(None);
    }
    let text = if scim::is_path(row.path) { scim::version_of(text) } else { text.to_owned() };
    let number = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or_else(wrong)?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    // An `ETag` too large to be ours is simply not the current one.
    Ok(Some(number.parse().ok().and_then(Offset::new).unwrap_or(Offset::MAX)))
}
