//! Lists of users and groups: sifted, sorted, paged. Users are found by name in memory, for names are in no table; a
//! filter that says whose name or id is meant searches nothing.

use super::{
    answer::{Answer, Answered},
    asked::Asked,
    facts::{fits, place},
    fault::{Fault, fault},
    filter::{Field, Filter, Kind},
    group::{Team, exact_id},
    members::Members,
    user::{self, Person},
};
use crate::{ask::Ask, body::Message, dto, problem::Problem, read::Names};
use charter_control::is_in_directory;
use charter_events::{GroupId, Profile, Scope, UserId};
use charter_policy::{Policy, UserView};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

/// The schema of a list.
const SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
/// The most members of groups in one answer; a page that has more ends before them.
const MEMBERS_MAX: usize = 100_000;

/// One resource of a list.
#[derive(Debug, Clone, Copy)]
enum Row {
    User(UserId),
    Group(GroupId),
}

/// What a row is sorted by.
type Place = (bool, String);

/// Searches users and groups at once.
#[utoipa::path(post, path = "/scim/v2/.search", operation_id = "scim_search", tag = "scim",
    request_body(content = dto::ScimSearch, content_type = "application/scim+json"),
    responses((status = 200, description = "One page of those the caller may read", body = dto::ScimList,
        content_type = "application/scim+json")))]
pub(crate) async fn search(ask: Ask, message: Message) -> Answered {
    let asked = Asked::in_body(Members::new(message.members)?)?;
    let kinds = [(Kind::User, "core.user.read"), (Kind::Group, "core.group.read")];
    let may: Vec<Kind> =
        kinds.iter().filter(|(_, key)| ask.may_core(key, Scope::Global)).map(|(kind, _)| *kind).collect();
    if may.is_empty() {
        ask.require("core.user.read", Scope::Global)?;
    }
    answer(&ask, &may, &asked).await
}

/// A page of the resources of some kinds.
///
/// # Errors
/// `invalidFilter`, `invalidValue`, `tooMany`.
pub(super) async fn answer(ask: &Ask, kinds: &[Kind], asked: &Asked) -> Answered {
    let mut found: Vec<(Place, Row)> = Vec::new();
    let mut refused = None;
    let mut known = false;
    for kind in kinds {
        match sought(ask, *kind, asked).await {
            Ok(rows) => {
                known = true;
                found.extend(rows);
            }
            // What one kind has no attribute for, another may have.
            Err(problem) if kinds.len() > 1 && problem.code() == "invalid_filter" => refused = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    if let Some(problem) = refused.filter(|_| !known) {
        return Err(problem);
    }
    if asked.sort_by.is_some() {
        found.sort_by(|(one, _), (other, _)| {
            // What has no value comes last in either order.
            let order = one.1.cmp(&other.1);
            one.0.cmp(&other.0).then(if asked.descending { order.reverse() } else { order })
        });
    }
    let total = found.len();
    let page = found.into_iter().skip(asked.start.saturating_sub(1)).take(asked.count);
    let rows: Vec<Row> = page.map(|(_, row)| row).collect();
    let resources = rendered(ask, &rows, asked).await?;
    let body = json!({
        "schemas": [SCHEMA],
        "totalResults": total,
        "startIndex": asked.start,
        "itemsPerPage": resources.len(),
        "Resources": resources,
    });
    Ok(Answer::ok(ask.policy.version(), body))
}

async fn rendered(ask: &Ask, rows: &[Row], asked: &Asked) -> Result<Vec<Value>, Problem> {
    let users = rows.iter().filter_map(|row| match row {
        Row::User(user) => Some(*user),
        Row::Group(_) => None,
    });
    let names = Names::of(ask, users).await;
    let groups = user::sees_groups(ask) && asked.shown.shows("groups");
    let mut members = 0_usize;
    let mut resources = Vec::with_capacity(rows.len());
    for row in rows {
        match row {
            Row::User(id) => {
                let Some(view) = ask.policy.user(*id) else { continue };
                let person = Person::of(&ask.policy, view, names.profile(*id), groups);
                resources.push(person.shown(&asked.shown)?);
            }
            Row::Group(id) => {
                let Some(view) = ask.policy.group(*id) else { continue };
                if asked.shown.shows("members") {
                    members = members.saturating_add(view.member_count);
                    if members > MEMBERS_MAX && !resources.is_empty() {
                        break;
                    }
                }
                resources.push(Team { view, policy: &ask.policy }.shown(&asked.shown));
            }
        }
    }
    Ok(resources)
}

/// The resources of a kind that are asked for, in the order they came, each with what it is sorted by.
async fn sought(ask: &Ask, kind: Kind, asked: &Asked) -> Result<Vec<(Place, Row)>, Problem> {
    let filter = asked.filter.as_deref().map(|text| Filter::parse(kind, text)).transpose()?;
    let sort = match asked.sort_by.as_deref() {
        None => None,
        Some(name) => Some(
            Field::named(kind, name)
                .ok_or_else(|| fault(Fault::Filter, "`sortBy` names no attribute that is sorted by"))?,
        ),
    };
    match kind {
        Kind::User => users(ask, filter, sort).await,
        Kind::Group => {
            let policy = Arc::clone(&ask.policy);
            aside(move || groups(&policy, filter.as_ref(), sort)).await
        }
    }
}

fn groups(policy: &Policy, filter: Option<&Filter>, sort: Option<Field>) -> Vec<(Place, Row)> {
    let teams = policy.groups().map(|view| Team { view, policy });
    let fit = teams.filter(|team| filter.is_none_or(|filter| fits(filter, team)));
    fit.map(|team| (sort.map(|field| place(&team, field)).unwrap_or_default(), Row::Group(team.view.id)))
        .collect()
}

async fn users(ask: &Ask, filter: Option<Filter>, sort: Option<Field>) -> Result<Vec<(Place, Row)>, Problem> {
    let control = &ask.app.control;
    let sees_groups = user::sees_groups(ask);
    let policy = Arc::clone(&ask.policy);
    let candidate = filter.as_ref().and_then(Filter::key).map(|(field, text)| match field {
        Field::UserName => control.user_by_login_name(&policy, text),
        Field::ExternalId => control.user_by_external_id(&policy, text),
        _ => exact_id(text).map(UserId::new),
    });
    if let Some(candidate) = candidate {
        let profiles = match candidate {
            Some(user) => control.profiles(&[user]).await,
            None => HashMap::new(),
        };
        let view = candidate.and_then(|user| policy.user(user)).filter(is_in_directory);
        let person = view.map(|view| Person::of(&policy, view, profiles.get(&view.id), sees_groups));
        let filter = filter.as_ref();
        let fit = person.filter(|person| filter.is_none_or(|filter| fits(filter, person)));
        return Ok(fit.map(|person| (Place::default(), Row::User(person.view.id))).into_iter().collect());
    }
    let named = filter.as_ref().is_some_and(Filter::needs_names) || sort.is_some_and(Field::is_sealed);
    let profiles = if named { control.all_profiles(&policy).await? } else { HashMap::new() };
    aside(move || sifted(&policy, &profiles, filter.as_ref(), sort, sees_groups)).await
}

fn sifted(
    policy: &Policy,
    profiles: &HashMap<UserId, Arc<Profile>>,
    filter: Option<&Filter>,
    sort: Option<Field>,
    sees_groups: bool,
) -> Vec<(Place, Row)> {
    let row = |view: UserView<'_>| {
        if filter.is_none() && sort.is_none() {
            return Some((Place::default(), Row::User(view.id)));
        }
        let profile = profiles.get(&view.id).map(AsRef::as_ref);
        let person = Person::of(policy, view, profile, sees_groups);
        let fit = filter.is_none_or(|filter| fits(filter, &person));
        let place = || sort.map(|field| place(&person, field)).unwrap_or_default();
        fit.then(|| (place(), Row::User(view.id)))
    };
    policy.users().filter(is_in_directory).filter_map(row).collect()
}

/// Looking at everybody takes long where there are many, and is not done on the threads that answer.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a filter could not be answered");
        Problem::internal()
    })
}
