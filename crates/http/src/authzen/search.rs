//! The three searches: `/who-can`, `/allowed-objects` and `/effective` in other words. What is not there is found
//! nowhere; a caller who may not ask is told so, for he would take an empty list at its word.

use super::{
    names,
    shapes::{
        ActionSearch, Found, FoundAction, FoundEntity, PageAnswer, PageRequest, ResourceSearch, SubjectSearch,
    },
};
use crate::{
    ask::{Ask, Needs, PAGE_ROWS_MAX, PageAsk},
    problem::Problem,
    read::{self, Names},
};
use axum::http::StatusCode;
use charter_events::Scope;
use charter_policy::{EffectiveState, ObjectView};
use std::collections::BTreeSet;

/// The page a search asks for, of at least one row; and whether it wants none.
struct Wished {
    page: PageAsk,
    nothing: bool,
}

/// The page that is asked for, of a list that the parts name. A limit is a maximum: a larger one than ours is ours.
fn wished(ask: &Ask, page: Option<&PageRequest>, parts: &[&str]) -> Result<Wished, Problem> {
    let rows = page.and_then(|page| page.limit);
    let limit = rows.map(|rows| u16::try_from(rows.clamp(1, PAGE_ROWS_MAX as u64)).unwrap_or(u16::MAX));
    // Programs that can't leave a member out send an empty token at first.
    let token = page.and_then(|page| page.token.as_deref()).filter(|token| !token.is_empty());
    let page = ask.page_asked(parts, limit, token).map_err(|problem| problem.of("page.token"))?;
    Ok(Wished { page, nothing: rows == Some(0) })
}

impl Wished {
    /// What was found of it. Who wants no row gets none, and where they begin, when there are any.
    fn found<T>(&self, results: Vec<T>, next: Option<String>) -> Found<T> {
        if self.nothing && !results.is_empty() {
            return Found { page: PageAnswer { next_token: self.page.same() }, results: Vec::new() };
        }
        Found { page: PageAnswer { next_token: next.unwrap_or_default() }, results }
    }
}

/// Nothing, at the end of it.
fn nothing<T>() -> Found<T> {
    Found { page: PageAnswer::default(), results: Vec::new() }
}

/// A refusal that means: there is nothing. Others are told.
fn is_nothing(problem: &Problem) -> bool {
    [StatusCode::NOT_FOUND, StatusCode::UNPROCESSABLE_ENTITY].contains(&problem.status())
}

/// What was found, if anything.
fn or_nothing<T>(found: Result<Found<T>, Problem>) -> Result<Found<T>, Problem> {
    match found {
        Err(problem) if is_nothing(&problem) => Ok(nothing()),
        found => found,
    }
}

/// Who may.
///
/// # Errors
/// 400 for a token of another search; 403 for a caller who may know the resource and may not ask about others there.
pub(crate) async fn subjects(ask: &Ask, search: &SubjectSearch) -> Result<Found<FoundEntity>, Problem> {
    let SubjectSearch { subject, action, resource, page, .. } = search;
    let wished = wished(ask, page.as_ref(), &[&subject.kind, &action.name, &resource.kind, &resource.id])?;
    let found = match who_can(ask, search, &wished.page) {
        Err(problem) if is_nothing(&problem) => return Ok(nothing()),
        found => found?,
    };
    let names = Names::of(ask, found.users.iter().map(|holder| holder.user)).await;
    let entity = |id: String| FoundEntity { kind: subject.kind.clone(), id };
    let results = found.users.iter().map(|holder| entity(names::user(&names, holder.user))).collect();
    Ok(wished.found(results, found.next.map(|last| wished.page.next(last))))
}

fn who_can(ask: &Ask, search: &SubjectSearch, page: &PageAsk) -> Result<charter_policy::WhoCan, Problem> {
    let SubjectSearch { subject, action, resource, .. } = search;
    let object = ask.object(&resource.kind, &resource.id, &Needs::Nothing)?;
    let scope = Scope::Object(object.id);
    ask.require("core.decision.read", scope)?;
    let key = names::permission(&ask.policy, &resource.kind, &action.name);
    let key =
        key.filter(|_| names::is_user(&ask.app.config, &subject.kind)).ok_or_else(Problem::not_found)?;
    read::in_catalog(ask, &key, "action")?;
    let mut found = ask.policy.who_can(&key, scope, ask.now, page.page());
    if !ask.caller.reaches(&key) {
        // Whom an evaluation would deny is not found: the caller himself, asking with a token that is too narrow.
        found.users.retain(|holder| holder.user != ask.user);
    }
    Ok(found)
}

/// On what.
///
/// # Errors
/// 400 for a token of another search; 403 for a caller who may not ask about others.
pub(crate) fn resources(ask: &Ask, search: &ResourceSearch) -> Result<Found<FoundEntity>, Problem> {
    let ResourceSearch { subject, action, resource, page, .. } = search;
    let wished = wished(ask, page.as_ref(), &[&subject.kind, &subject.id, &action.name, &resource.kind])?;
    or_nothing(allowed(ask, search, &wished))
}

fn allowed(ask: &Ask, search: &ResourceSearch, wished: &Wished) -> Result<Found<FoundEntity>, Problem> {
    let ResourceSearch { subject, action, resource, .. } = search;
    let who = read::about(ask, Some(&subject.id), Scope::Global)?;
    let key = names::permission(&ask.policy, &resource.kind, &action.name);
    let key =
        key.filter(|_| names::is_user(&ask.app.config, &subject.kind)).ok_or_else(Problem::not_found)?;
    read::in_catalog(ask, &key, "action")?;
    ask.policy.object_type(&resource.kind).ok_or_else(Problem::not_found)?;
    let (_, views, next) = read::allowed_objects(ask, &who, &key, &resource.kind, &wished.page);
    let entity =
        |view: &ObjectView<'_>| FoundEntity { kind: resource.kind.clone(), id: read::external_id(view) };
    Ok(wished.found(views.iter().map(entity).collect(), next))
}

/// To do what.
///
/// # Errors
/// 400 for a token of another search; 403 for a caller who may know the resource and may not ask about others there.
pub(crate) fn actions(ask: &Ask, search: &ActionSearch) -> Result<Found<FoundAction>, Problem> {
    let ActionSearch { subject, resource, page, .. } = search;
    let wished = wished(ask, page.as_ref(), &[&subject.kind, &subject.id, &resource.kind, &resource.id])?;
    or_nothing(doable(ask, search, &wished))
}

fn doable(ask: &Ask, search: &ActionSearch, wished: &Wished) -> Result<Found<FoundAction>, Problem> {
    let ActionSearch { subject, resource, .. } = search;
    let found = ask.app.control.resolve_object_of(&ask.policy, &resource.kind, &resource.id);
    let scope = Scope::Object(found.ok_or_else(Problem::not_found)?);
    let of = ask.policy.object_type(&resource.kind).ok_or_else(Problem::not_found)?;
    let (_, entries) = read::effective(ask, Some(&subject.id), scope)?;
    if !names::is_user(&ask.app.config, &subject.kind) {
        return Ok(nothing());
    }
    let allowed = entries.iter().filter(|entry| entry.state == EffectiveState::Allowed);
    let of_type = allowed.filter(|entry| {
        ask.policy.permission(entry.key.as_str()).is_some_and(|key| names::is_action_of(&of, &key))
    });
    let names: BTreeSet<String> =
        of_type.flat_map(|entry| names::called(of.definition, &entry.key)).collect();
    let begin = wished.page.begin.key.as_str();
    let mut rest = names.into_iter().filter(|name| name.as_str() > begin);
    let results: Vec<FoundAction> =
        rest.by_ref().take(wished.page.limit).map(|name| FoundAction { name }).collect();
    let next = rest.next().and(results.last()).map(|last| wished.page.next_key(&last.name));
    Ok(wished.found(results, next))
}
