//! Lists that are searched and sorted. Which rows a caller may see is said by the policy; the tables find, sort and
//! page those. People are found in memory, for their names are in no table.

use crate::{
    ask::{Ask, PageAsk},
    problem::Problem,
};
use axum::http::StatusCode;
use charter_control::{UserOrder, UserQuery};
use charter_events::{ObjectId, Scope, UserId, UserKind};
use charter_policy::{AccessControl, ObjectView, Page, Policy, UserStatus, UserView};
use charter_store::{Filter, Query};
use charter_tables::{DIRECTORY, Row, Value};
use uuid::Uuid;

/// The longest text that is searched for, in characters.
pub(crate) const SEARCH_CHARS_MAX: usize = 200;
/// The most objects among which one search finds, where the caller may not read all of them.
const OBJECTS_MAX: usize = 1_000_000;

/// Words to sort by, and the column behind each.
type Orders = &'static [(&'static str, &'static str)];

/// What a list is searched and sorted by.
struct Search {
    text: Option<String>,
    column: &'static str,
    descending: bool,
}

/// Whether the request searches or sorts: the other lists are in order of creation.
pub(crate) fn is_asked(ask: &Ask, others: &[&str]) -> bool {
    ["q", "sort"].iter().chain(others).any(|name| ask.params.text(name).is_some())
}

fn text(ask: &Ask) -> Result<Option<String>, Problem> {
    let Some(text) = ask.params.text("q").map(str::trim) else { return Ok(None) };
    if text.is_empty() || text.chars().count() > SEARCH_CHARS_MAX {
        let detail = format!("it takes 1 to {SEARCH_CHARS_MAX} characters to look for");
        return Err(Problem::invalid_parameter("q", detail));
    }
    Ok(Some(text.to_lowercase()))
}

/// The word to sort by, and whether it is turned round.
fn sort(ask: &Ask, words: &[&'static str]) -> Result<Option<(&'static str, bool)>, Problem> {
    let Some(text) = ask.params.text("sort") else { return Ok(None) };
    let (descending, asked) = text.strip_prefix('-').map_or((false, text), |word| (true, word));
    match words.iter().find(|word| **word == asked) {
        Some(word) => Ok(Some((word, descending))),
        None => {
            let detail =
                format!("it is one of `{}`, with `-` before it for the largest first", words.join("`, `"));
            Err(Problem::invalid_parameter("sort", detail))
        }
    }
}

/// Who looks for a text wants names in order; who only sifts, the order of creation.
const fn unsaid(searches: bool) -> &'static str {
    if searches { "name" } else { "created" }
}

impl Search {
    fn of(ask: &Ask, orders: Orders) -> Result<Self, Problem> {
        if ask.past.is_some() {
            let detail = "a list of the past is neither searched nor sorted";
            return Err(Problem::invalid_parameter("as_of", detail));
        }
        let words: Vec<&'static str> = orders.iter().map(|(word, _)| *word).collect();
        let text = text(ask)?;
        let (word, descending) = sort(ask, &words)?.unwrap_or((unsaid(text.is_some()), false));
        let found = orders.iter().find(|(known, _)| *known == word);
        Ok(Self { text, column: found.map_or("position", |(_, column)| column), descending })
    }
}

/// A table of `directory` as a list reads it.
struct Listed {
    table: &'static str,
    /// The column of ids, which is its key.
    id: &'static str,
    orders: Orders,
}

const GROUPS: Listed = Listed {
    table: "groups",
    id: "group_id",
    orders: &[("name", "name_key"), ("slug", "slug"), ("created", "position"), ("changed", "changed_at")],
};
const ROLES: Listed = Listed { table: "roles", id: "role_id", ..GROUPS };
const OBJECTS: Listed = Listed {
    table: "objects",
    id: "object_id",
    orders: &[
        ("name", "name_key"),
        ("type", "object_type"),
        ("created", "position"),
        ("changed", "changed_at"),
    ],
};

/// The groups that are searched for: ids in their order, and the cursor of the next page.
pub(crate) async fn groups(ask: &Ask, page: &PageAsk) -> Result<(Vec<Uuid>, Option<String>), Problem> {
    find(ask, page, &GROUPS, Vec::new()).await
}

/// The same of roles, among these where not all are meant.
pub(crate) async fn roles(
    ask: &Ask,
    page: &PageAsk,
    among: Option<Vec<Uuid>>,
) -> Result<(Vec<Uuid>, Option<String>), Problem> {
    let filters = among.map(|ids| Filter::OneOf(ROLES.id, ids)).into_iter().collect();
    find(ask, page, &ROLES, filters).await
}

/// The objects the caller may read, searched: of a type, in a folder, of an owner.
///
/// # Errors
/// 404 for a folder he may not know, and for an owner who is nobody if he may read who there is; 422 when he may read
/// too many to search among, but not all.
pub(crate) async fn objects<'a>(
    ask: &'a Ask,
    page: &PageAsk,
) -> Result<(Vec<ObjectView<'a>>, Option<String>), Problem> {
    let only = ask.params.text("type");
    let mut filters = Vec::new();
    if let Some(only) = only {
        filters.push(Filter::Is("object_type", Value::text(only)));
    }
    match ask.params.text("parent") {
        None => {}
        Some("none") => filters.push(Filter::Is("parent_id", Value::Null)),
        Some(folder) => {
            let folder = ask.object_ref(folder, "parent", &crate::ask::Needs::Nothing)?;
            filters.push(Filter::Is("parent_id", Value::Uuid(folder.as_uuid())));
        }
    }
    if let Some(owner) = ask.params.text("owner") {
        let owner = match ask.user_named(owner) {
            Some(owner) => owner,
            None if ask.may_core("core.user.read", Scope::Global) => {
                let detail = format!("there is no user `{owner}`");
                return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", detail).of("owner"));
            }
            // To others nobody's objects and those of nobody known are the same.
            None => return Ok((Vec::new(), None)),
        };
        filters.push(Filter::Is("owner_id", Value::Uuid(owner.as_uuid())));
    }
    if let Some(ids) = readable(ask, only).await? {
        filters.push(Filter::OneOf(OBJECTS.id, ids));
    }
    let (ids, next) = find(ask, page, &OBJECTS, filters).await?;
    let views = ids.into_iter().filter_map(|id| ask.policy.object(ObjectId::new(id))).collect();
    Ok((views, next))
}

/// The objects of a type, or of all, that the caller may read; `None` when these are all of them.
async fn readable(ask: &Ask, only: Option<&str>) -> Result<Option<Vec<Uuid>>, Problem> {
    let (policy, caller, now) = (ask.policy.clone(), ask.caller.clone(), ask.now);
    let only = only.map(str::to_owned);
    let work = move || {
        let at = policy.at(now);
        let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
        let reads = |limit| {
            let types = policy.object_types().filter(|of| wanted(of.definition.name.as_str()));
            types
                .map(|of| {
                    let name = of.definition.name.as_str();
                    let page = Page { after: None, limit };
                    // A type whose read key the caller's token doesn't reach has no rows for him.
                    at.allowed_objects(&caller, &of.definition.read, name, page).unwrap_or_default()
                })
                .collect::<Vec<_>>()
        };
        if reads(0).iter().all(|answer| answer.all) {
            return Ok(None);
        }
        let ids: Vec<Uuid> = reads(OBJECTS_MAX.saturating_add(1))
            .into_iter()
            .flat_map(|answer| answer.objects)
            .map(|id| id.as_uuid())
            .take(OBJECTS_MAX.saturating_add(1))
            .collect();
        if ids.len() > OBJECTS_MAX { Err(()) } else { Ok(Some(ids)) }
    };
    // Not on the threads that answer: it walks over all he may read.
    let ids = tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "the objects somebody may read");
        Problem::internal()
    })?;
    ids.map_err(|()| {
        let detail = format!("more than {OBJECTS_MAX} objects are yours to read: name a `type`");
        Problem::invalid_member("too_many_objects_to_search", "type", detail)
    })
}

/// A page of a table: ids in the order asked for, and the cursor of the next one.
async fn find(
    ask: &Ask,
    page: &PageAsk,
    of: &Listed,
    mut filters: Vec<Filter>,
) -> Result<(Vec<Uuid>, Option<String>), Problem> {
    let search = Search::of(ask, of.orders)?;
    let spec = &DIRECTORY;
    let (table, columns) = spec.table(of.table).ok_or_else(Problem::internal)?;
    let at = columns.column(search.column).ok_or_else(Problem::internal)?;
    if let Some(text) = search.text {
        filters.push(Filter::Contains(vec!["search"], text));
    }
    let query = Query {
        spec,
        table,
        filters,
        order_by: Some(search.column),
        descending: search.descending,
        after: place(page)?,
        limit: page.limit.saturating_add(1),
    };
    let mut rows = ask.app.control.list_rows(&query, ask.policy.version()).await?.rows;
    let more = rows.len() > page.limit;
    rows.truncate(page.limit);
    let next =
        rows.last().filter(|_| more).and_then(|row| place_after(row, at)).map(|key| page.next_key(&key));
    let id = |row: Row| match row.into_iter().next() {
        Some(Value::Uuid(id)) => Some(id),
        _ => None,
    };
    Ok((rows.into_iter().filter_map(id).collect(), next))
}

/// A place in a list: the last row's id, and what it was sorted by.
fn place_after(row: &Row, at: usize) -> Option<String> {
    let Some(Value::Uuid(id)) = row.first() else { return None };
    Some(match row.get(at)? {
        Value::Text(text) => format!("{id}t{text}"),
        Value::Int(number) => format!("{id}i{number}"),
        _ => format!("{id}n"),
    })
}

fn place(page: &PageAsk) -> Result<Option<Row>, Problem> {
    let key = page.begin.key.as_str();
    if key.is_empty() {
        return Ok(None);
    }
    let read = || {
        let (id, rest) = key.split_at_checked(36)?;
        let (kind, text) = rest.split_at_checked(1)?;
        let value = match kind {
            "t" => Value::text(text),
            "i" => Value::Int(text.parse().ok()?),
            _ => Value::Null,
        };
        Some(vec![value, Value::Uuid(id.parse().ok()?)])
    };
    read().map(Some).ok_or_else(Problem::invalid_cursor)
}

const USER_ORDERS: [&str; 3] = ["name", "created", "changed"];

/// The users who are searched for.
pub(crate) async fn users<'a>(
    ask: &'a Ask,
    page: &PageAsk,
) -> Result<(Vec<UserView<'a>>, Option<String>), Problem> {
    let search = text(ask)?;
    let (word, descending) = sort(ask, &USER_ORDERS)?.unwrap_or((unsaid(search.is_some()), false));
    let order = match word {
        "name" => UserOrder::Name,
        "changed" => UserOrder::Changed,
        _ => UserOrder::Created,
    };
    let kind = ask.params.word("kind", &["person", "service"])?.map(|word| match word {
        "service" => UserKind::Service,
        _ => UserKind::Person,
    });
    let query = UserQuery { search: search.as_deref(), kind, status: status(ask)?, order, descending };
    let all = ask.app.control.find_users(&ask.policy, query).await?;
    let from = begin(ask, page, &all)?;
    let rows = all.get(from..).unwrap_or_default();
    let shown = rows.get(..page.limit).unwrap_or(rows);
    let next = shown.last().filter(|_| rows.len() > shown.len()).map(|last| {
        // Never his name: a cursor travels in addresses, which are logged.
        page.next_key(&format!("{last}{}", from + shown.len()))
    });
    Ok((views(&ask.policy, shown), next))
}

fn views<'a>(policy: &'a Policy, users: &[UserId]) -> Vec<UserView<'a>> {
    users.iter().filter_map(|user| policy.user(*user)).collect()
}

fn status(ask: &Ask) -> Result<Option<UserStatus>, Problem> {
    let words = ["active", "invited", "suspended", "awaiting_deletion", "erased"];
    Ok(ask.params.word("status", &words)?.map(|word| match word {
        "active" => UserStatus::Active,
        "invited" => UserStatus::Invited,
        "suspended" => UserStatus::Suspended,
        "awaiting_deletion" => UserStatus::AwaitingDeletion,
        _ => UserStatus::Erased,
    }))
}

/// Where a page of people begins: after the last one of the page before, unless he was changed since the first page;
/// then where he stood. Whoever is renamed meanwhile must not take the page with him, and nobody is left out for him.
fn begin(ask: &Ask, page: &PageAsk, all: &[UserId]) -> Result<usize, Problem> {
    let key = page.begin.key.as_str();
    if key.is_empty() {
        return Ok(0);
    }
    let read = || {
        let (id, rows) = key.split_at_checked(36)?;
        Some((UserId::new(id.parse().ok()?), rows.parse::<usize>().ok()?))
    };
    let (last, rows) = read().ok_or_else(Problem::invalid_cursor)?;
    let unchanged = |user: UserView<'_>| user.changed_at <= page.begin.first_version;
    let stays = ask.policy.user(last).is_some_and(unchanged);
    Ok(match all.iter().position(|user| *user == last) {
        Some(at) if stays => at + 1,
        Some(at) if at < rows => rows,
        // He is behind the place now, or gone: all who stood behind him have moved up.
        Some(_) | None => rows.saturating_sub(1),
    })
}
