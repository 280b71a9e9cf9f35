//! The audit history: what happened, as people read it, newest first.

use crate::{
    answer::{Answer, Answered},
    ask::{Ask, Needs, PageAsk},
    dto, live,
    problem::Problem,
    read,
};
use axum::http::StatusCode;
use charter_control::AsOfError;
use charter_events::{EVENT_TYPES, Namespace, Offset, Scope, UserId};
use charter_policy::Position;
use charter_store::{
    Filter, Query,
    past::{AsOf, InvalidAsOf},
};
use charter_tables::{AUDIT_HISTORY, Value};
use uuid::Uuid;

/// The place of the table of entries.
const ENTRIES: usize = 0;
/// The longest text that is searched for, in characters.
const SEARCH_CHARS_MAX: usize = 200;
/// Stands for whom nobody is: to whoever may not know who there is, what asks for him has no entries.
const NOBODY: Uuid = Uuid::nil();

/// What happened, newest first: who did what, on whom, where, when, how and why, and what was before and after.
///
/// `actor` is a user's id, username or external id, `module:<name>`, or `system`; of a user also what the system did
/// because he had asked for it. `subject` is whom it is about,
/// `object` what it is about or where a grant is, `type` an event's type or its area. `from` and `to` are included,
/// each an offset or a time. `q` is looked for in types, names of roles, groups and objects, keys and reasons, whatever
/// the case; people's names are not searched, because they are sealed.
///
/// A `from` that is yet to come is refused (`beyond_head`), as is one after `to` (`invalid_range`). Who may read
/// everything is told when nobody has a name (404); to others that is an empty answer.
///
/// `core.audit.read` is needed platform-wide; with `object`, on that object is enough, but for `q`: it finds entries by
/// the names of folders, which may be hidden. Names are those of now, or those of then for what is gone; an erased user
/// has none.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "audit", tag = "history",
    responses((status = 200, description = "One page", body = dto::List<dto::AuditEntry>)))]
pub(crate) async fn list(ask: Ask) -> Answered<dto::List<dto::AuditEntry>> {
    let page = ask.page()?;
    let (object, may_all) = object(&ask)?;
    let mut filters: Vec<Filter> = object.into_iter().collect();
    filters.extend(actor(&ask, may_all)?);
    filters.extend(subject(&ask, may_all)?);
    filters.extend(kind(&ask)?);
    filters.extend(bounds(&ask).await?);
    filters.extend(search(&ask, may_all)?);
    let listed = ask.app.control.list_rows(&query(filters, &page), ask.policy.version()).await?;
    let mut rows = listed.rows;
    let more = rows.len() > page.limit;
    rows.truncate(page.limit);
    let items = read::audit_entries(&ask, &rows, may_all).await;
    let next = items.last().filter(|_| more).map(|last| page.next(Position::new(last.offset.get())));
    Ok(Answer::ok(ask.policy.version(), dto::List { items, next }))
}

fn query(filters: Vec<Filter>, page: &PageAsk) -> Query {
    let after = page.after().map(|last| vec![int(last.get())]);
    Query {
        spec: &AUDIT_HISTORY,
        table: ENTRIES,
        filters,
        order_by: None,
        descending: true,
        after,
        limit: page.limit.saturating_add(1),
    }
}

fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The object that is named, if one is, and whether the caller may read everything. This is where it is asked whether
/// he may read at all.
///
/// Who may read everything may also name an object that is gone, by its id.
fn object(ask: &Ask) -> Result<(Option<Filter>, bool), Problem> {
    let may_all = ask.may_core(live::KEY, Scope::Global);
    let Some(text) = ask.params.text("object") else {
        ask.require(live::KEY, Scope::Global)?;
        return Ok((None, may_all));
    };
    let of = |id: Uuid| Some(Filter::Is("object_id", Value::Uuid(id)));
    match ask.object_ref(text, "object", &Needs::Core(live::KEY)) {
        Ok(id) => {
            ask.require(live::KEY, Scope::Object(id))?;
            Ok((of(id.as_uuid()), may_all))
        }
        Err(problem) if may_all => {
            let gone = text.split_once(':').and_then(|(_, id)| id.parse().ok()).ok_or(problem)?;
            Ok((of(gone), may_all))
        }
        Err(problem) => Err(problem),
    }
}

fn actor(ask: &Ask, may_all: bool) -> Result<Option<Filter>, Problem> {
    let Some(text) = ask.params.text("actor") else { return Ok(None) };
    let user = |name| Ok(Filter::Is("asked_by_id", user(ask, may_all, ("actor", name))?));
    let filter = match text.split_once(':') {
        None if text == "system" => Ok(Filter::Is("actor_kind", Value::text("system"))),
        Some(("module", name)) => {
            let named: Result<Namespace, _> = name.parse();
            let name = named.map_err(|error| Problem::invalid_parameter("actor", error.to_string()))?;
            Ok(Filter::Is("actor_module", Value::text(name.as_str())))
        }
        Some(("user", name)) => user(name),
        None | Some(_) => user(text),
    };
    filter.map(Some)
}

/// A user who is named in a parameter. Whoever may read everything is told that there is none.
fn user(ask: &Ask, may_all: bool, (parameter, name): (&str, &str)) -> Result<Value, Problem> {
    match ask.user_named(name).map(UserId::as_uuid) {
        Some(id) => Ok(Value::Uuid(id)),
        None if may_all => Err(unknown(parameter, &format!("there is no user `{name}`"))),
        None => Ok(Value::Uuid(NOBODY)),
    }
}

fn unknown(parameter: &str, detail: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail).of(parameter)
}

/// A group that is gone is named by its id.
fn subject(ask: &Ask, may_all: bool) -> Result<Option<Filter>, Problem> {
    let Some(text) = ask.params.text("subject") else { return Ok(None) };
    match text.split_once(':') {
        Some(("user", name)) => Ok(Some(Filter::Is("user_id", user(ask, may_all, ("subject", name))?))),
        Some(("group", name)) => {
            let standing = ask.app.control.resolve_group(&ask.policy, name).map(|id| id.as_uuid());
            match standing.or_else(|| name.parse().ok()) {
                None if may_all => {
                    let detail = format!("there is no group `{name}`; one that is gone is named by its id");
                    Err(unknown("subject", &detail))
                }
                id => Ok(Some(Filter::Is("group_id", Value::Uuid(id.unwrap_or(NOBODY))))),
            }
        }
        _ => {
            let rule = "it takes `user:<id, username or external id>` or `group:<id or slug>`";
            Err(Problem::invalid_parameter("subject", rule))
        }
    }
}

/// A type of event, or all of an area's.
fn kind(ask: &Ask) -> Result<Vec<Filter>, Problem> {
    let Some(text) = ask.params.text("type") else { return Ok(Vec::new()) };
    if EVENT_TYPES.iter().any(|kind| kind.name == text) {
        return Ok(vec![Filter::Is("event_type", Value::text(text))]);
    }
    let area = |name: &str| name.split_once('.').is_some_and(|(area, _)| area == text);
    if EVENT_TYPES.iter().any(|kind| area(kind.name)) {
        // `/` comes right after `.`.
        let (first, end) = (format!("{text}."), format!("{text}/"));
        return Ok(vec![
            Filter::AtLeast("event_type", Value::text(first)),
            Filter::Below("event_type", Value::text(end)),
        ]);
    }
    Err(Problem::invalid_parameter("type", "it is an event's type such as `grant.issued`, or its area"))
}

/// From where to where, both included.
async fn bounds(ask: &Ask) -> Result<Vec<Filter>, Problem> {
    let (from, to) = (bound(ask, "from")?, bound(ask, "to")?);
    let turned = match (from, to) {
        (Some(AsOf::Offset(from)), Some(AsOf::Offset(to))) => from > to,
        (Some(AsOf::Time(from)), Some(AsOf::Time(to))) => from > to,
        _ => false,
    };
    if turned {
        return Err(Problem::invalid_member("invalid_range", "from", "it is after `to`"));
    }
    if let Some(from) = from {
        require_begun(ask, from).await?;
    }
    let mut filters = Vec::new();
    filters.extend(from.map(|from| match from {
        AsOf::Offset(offset) => Filter::AtLeast("event_offset", int(offset.get())),
        AsOf::Time(moment) => Filter::AtLeast("recorded_at", Value::Int(moment.as_micros())),
    }));
    filters.extend(to.map(|to| match to {
        AsOf::Offset(offset) => {
            Filter::Below("event_offset", int(offset.plus(1).unwrap_or(Offset::MAX).get()))
        }
        AsOf::Time(moment) => Filter::Below("recorded_at", Value::Int(moment.as_micros().saturating_add(1))),
    }));
    Ok(filters)
}

fn bound(ask: &Ask, name: &str) -> Result<Option<AsOf>, Problem> {
    let Some(text) = ask.params.text(name) else { return Ok(None) };
    let read = text.parse().map_err(|error: InvalidAsOf| Problem::invalid_parameter(name, error.to_string()));
    read.map(Some)
}

/// Refuses what is yet to come: an empty answer would say that nothing happened.
async fn require_begun(ask: &Ask, from: AsOf) -> Result<(), Problem> {
    let control = &ask.app.control;
    let is_to_come = || match from {
        AsOf::Offset(offset) => offset > control.head().offset,
        AsOf::Time(moment) => moment > control.now().max(control.head().recorded_at),
    };
    // Another server may be ahead.
    if is_to_come() && (!control.follow_others().await || is_to_come()) {
        let head = control.head().offset;
        return Err(Problem::from(AsOfError::BeyondHead { asked: from, head }).of("from"));
    }
    Ok(())
}

/// Entries are found by the names of folders too, which who may read one object only is not always shown: whether one
/// is found would tell him whether he guessed a name.
fn search(ask: &Ask, may_all: bool) -> Result<Option<Filter>, Problem> {
    let Some(text) = ask.params.text("q") else { return Ok(None) };
    if !may_all {
        ask.require(live::KEY, Scope::Global).map_err(|problem| problem.of("q"))?;
    }
    if !(1..=SEARCH_CHARS_MAX).contains(&text.chars().count()) {
        return Err(Problem::invalid_parameter("q", format!("it takes 1 to {SEARCH_CHARS_MAX} characters")));
    }
    Ok(Some(Filter::Contains(vec!["search"], text.to_lowercase())))
}
