//! Lists in which each row needs a permission: filtered before they are paged, so that neither a page's size nor a
//! cursor says anything about rows the caller can't see.

use super::{questions::About, sees_grant_at};
use crate::{
    ask::{Ask, Needs, PageAsk},
    problem::Problem,
};
use charter_events::{PermissionKey, RoleId, Scope, Subject};
use charter_policy::{AccessControl, ContentView, GrantView, ObjectView, Page, Position};
use std::collections::HashMap;

/// At most so many rows are looked at for one page; the cursor goes on from there.
const SCANNED_ROWS_MAX: usize = 10_000;

type Rows<T> = (Vec<T>, Option<String>);

/// The objects the caller may read, of one type or of all, in the order they came: found from his grants.
pub(crate) fn objects<'a>(ask: &'a Ask, only: Option<&str>, page: &PageAsk) -> Rows<ObjectView<'a>> {
    let at = ask.policy.at(ask.now);
    let asked = Page { after: page.after(), limit: page.limit.saturating_add(1) };
    let mut rows: Vec<ObjectView<'a>> = Vec::new();
    for of in ask.policy.object_types() {
        let name = of.definition.name.as_str();
        if only.is_some_and(|only| only != name) {
            continue;
        }
        // A type whose read key the caller's token doesn't reach has no rows for him.
        if let Ok(allowed) = at.allowed_objects(&ask.caller, &of.definition.read, name, asked) {
            rows.extend(allowed.objects.into_iter().filter_map(|id| ask.policy.object(id)));
        }
    }
    rows.sort_unstable_by_key(|row| row.position);
    page.take(rows.into_iter(), |row| row.position)
}

/// The objects of a type on which somebody may do something, as far as the caller may ask about him there, and whether
/// that is on all of the type. Of himself, none that his token does not reach.
pub(crate) fn allowed_objects<'a>(
    ask: &'a Ask,
    who: &About,
    key: &PermissionKey,
    of: &str,
    page: &PageAsk,
) -> (bool, Vec<ObjectView<'a>>, Option<String>) {
    let reached = !who.himself || ask.caller.reaches(key);
    let Some(user) = who.user.filter(|_| reached) else { return (false, Vec::new(), None) };
    let part = |after| {
        let asked = Page { after, limit: page.limit.saturating_add(1) };
        ask.policy.allowed_objects(user, key, of, ask.now, asked)
    };
    let first = part(page.after());
    let all = first.all;
    let (mut first, mut last) = (Some(first), None);
    let rows = std::iter::from_fn(|| {
        let now = match first.take() {
            Some(first) => first,
            None => part(Some(last.take()?)),
        };
        last = now.next;
        Some(now.objects)
    });
    let views = rows.flatten().filter_map(|id| ask.policy.object(id));
    let may_ask =
        |view: &ObjectView<'a>| who.himself || ask.may_core("core.decision.read", Scope::Object(view.id));
    let (views, next) = scan(page, views, |view| view.position, may_ask);
    (all, views, next)
}

/// What of a folder, or of the top (`none`), the caller may read.
///
/// # Errors
/// 404 for a folder that is not there or that he may not know.
pub(crate) fn objects_in<'a>(
    ask: &'a Ask,
    parent: &str,
    only: Option<&str>,
    page: &PageAsk,
) -> Result<Rows<ObjectView<'a>>, Problem> {
    let folder =
        if parent == "none" { None } else { Some(ask.object_ref(parent, "parent", &Needs::Nothing)?) };
    let reads = |view: &ObjectView<'a>| {
        let name = view.object_type.as_str();
        only.is_none_or(|only| only == name)
            && ask
                .policy
                .object_type(name)
                .is_some_and(|of| ask.may(&of.definition.read, Scope::Object(view.id)))
    };
    Ok(scan(page, ask.policy.children_after(folder, page.after()), |view| view.position, reads))
}

/// Which grants are asked for.
#[derive(Default)]
pub(crate) struct GrantFilter {
    pub(crate) subject: Option<Subject>,
    pub(crate) scope: Option<Scope>,
    pub(crate) role: Option<RoleId>,
}

/// The grants the caller may see, in the order they were issued: what he is shown one by one is listed, too.
pub(crate) fn grants<'a>(ask: &'a Ask, filter: &GrantFilter, page: &PageAsk) -> Rows<GrantView<'a>> {
    let policy = &ask.policy;
    let after = page.after();
    let candidates: Box<dyn Iterator<Item = GrantView<'a>> + 'a> =
        match (filter.subject, filter.role, filter.scope) {
            (Some(subject), _, _) => Box::new(policy.grants_of_after(subject, after)),
            (None, Some(role), _) => Box::new(policy.grants_of_role_after(role, after)),
            (None, None, Some(scope)) => {
                let mut here: Vec<_> = policy
                    .grants_at(scope)
                    .filter(|view| after.is_none_or(|after| view.position > after))
                    .collect();
                here.sort_unstable_by_key(|view| view.position);
                Box::new(here.into_iter())
            }
            (None, None, None) => Box::new(policy.grants_after(after)),
        };
    let mut seen: HashMap<Scope, bool> = HashMap::new();
    let fits = |view: &GrantView<'a>| {
        filter.scope.is_none_or(|scope| view.scope == scope)
            && filter.role.is_none_or(|role| view.content == ContentView::Role(role))
            && sees_grant_at(ask, view, |scope| {
                *seen.entry(scope).or_insert_with(|| ask.may_core("core.grant.read", scope))
            })
    };
    scan(page, candidates, |view| view.position, fits)
}

/// A page of the rows that fit. Looks at a bounded number; where that is not enough to fill the page, the page is
/// short and its cursor goes on.
fn scan<T>(
    page: &PageAsk,
    rows: impl Iterator<Item = T>,
    position: impl Fn(&T) -> Position,
    mut fits: impl FnMut(&T) -> bool,
) -> Rows<T> {
    let mut found: Vec<T> = Vec::new();
    let mut last = None;
    for (looked, row) in rows.enumerate() {
        if looked == SCANNED_ROWS_MAX {
            let next = last.map(|last| page.next(last));
            return (found, next);
        }
        last = Some(position(&row));
        if !fits(&row) {
            continue;
        }
        if found.len() == page.limit {
            let next = found.last().map(|row| page.next(position(row)));
            return (found, next);
        }
        found.push(row);
    }
    (found, None)
}
