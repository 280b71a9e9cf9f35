//! What a list is asked for: filter, order, page and attributes, from a query or from the body of a search.

use super::{
    fault::{Fault, fault},
    members::{self, Members, require_schema},
    shown::Shown,
};
use crate::{ask::Ask, ask::PAGE_ROWS_MAX, problem::Problem};
use serde_json::Value;

/// The schema of a search.
const SCHEMA: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
/// The resources of a page when the request names no number.
const PAGE_ROWS_DEFAULT: usize = 100;

/// What is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) filter: Option<String>,
    pub(super) sort_by: Option<String>,
    pub(super) descending: bool,
    /// From 1 on.
    pub(super) start: usize,
    /// At most so many.
    pub(super) count: usize,
    pub(super) shown: Shown,
}

impl Asked {
    /// From the query.
    ///
    /// # Errors
    /// `invalidValue`.
    pub(super) fn in_query(ask: &Ask) -> Result<Self, Problem> {
        let text = |name| ask.params.text(name).map(str::to_owned);
        let number = |name| match ask.params.text(name).map(str::parse::<i64>) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(not_a_number(name)),
        };
        Ok(Self {
            filter: text("filter"),
            sort_by: text("sortBy"),
            descending: descending(ask.params.text("sortOrder"))?,
            start: from_one(number("startIndex")?),
            count: rows(number("count")?),
            shown: Shown::new(ask.params.text("attributes"), ask.params.text("excludedAttributes"))?,
        })
    }

    /// From the body of a search.
    ///
    /// # Errors
    /// `invalidSyntax`, `invalidValue`.
    pub(super) fn in_body(mut message: Members) -> Result<Self, Problem> {
        require_schema(&mut message, SCHEMA)?;
        let mut take = |name: &str, shown: &str| {
            message.take(&name.to_ascii_lowercase()).map_or(Ok(None), |value| members::text(shown, value))
        };
        let filter = take("filter", "filter")?;
        let sort_by = take("sortBy", "sortBy")?;
        let sort_order = take("sortOrder", "sortOrder")?;
        let number = |name: &str, value: Option<Value>| match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| not_a_number(name)),
        };
        let (start, count) = (message.take("startindex"), message.take("count"));
        let only = names("attributes", message.take("attributes"))?;
        let without = names("excludedAttributes", message.take("excludedattributes"))?;
        if let Some((name, _)) = message.rest().first() {
            return Err(fault(Fault::Syntax, format!("`{}` is not known", members::shown(name))));
        }
        Ok(Self {
            filter,
            sort_by,
            descending: descending(sort_order.as_deref())?,
            start: from_one(number("startIndex", start)?),
            count: rows(number("count", count)?),
            shown: Shown::new(only.as_deref(), without.as_deref())?,
        })
    }
}

fn not_a_number(name: &str) -> Problem {
    fault(Fault::Value, format!("`{name}` takes a whole number"))
}

/// Below 1 is 1 (RFC 7644, 3.4.2.4).
fn from_one(start: Option<i64>) -> usize {
    start.and_then(|start| usize::try_from(start).ok()).unwrap_or(1).max(1)
}

/// Below 0 is 0, and more than a page's most is that.
fn rows(count: Option<i64>) -> usize {
    match count {
        None => PAGE_ROWS_DEFAULT,
        Some(count) => usize::try_from(count.max(0)).unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX),
    }
}

fn descending(order: Option<&str>) -> Result<bool, Problem> {
    match order.map(str::to_ascii_lowercase).as_deref() {
        None | Some("ascending") => Ok(false),
        Some("descending") => Ok(true),
        Some(_) => Err(fault(Fault::Value, "`sortOrder` is `ascending` or `descending`")),
    }
}

/// A list of attributes, as a query has it.
fn names(name: &str, value: Option<Value>) -> Result<Option<String>, Problem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let texts: Result<Vec<_>, _> =
        members::several(value).into_iter().map(|value| members::text(name, value)).collect();
    Ok(Some(texts?.into_iter().flatten().collect::<Vec<_>>().join(",")))
}
