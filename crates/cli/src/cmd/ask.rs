//! The daily questions: `check`, `why`, `who`, `what`, `where`. Exit code 0 is yes, 3 is no; a permission or object
//! that does not exist is an error, never a no.

use super::{
    common::Then,
    shapes::{EFFECTIVE, GRANT, HOLDER, OBJECT_REF},
};
use crate::{
    app::App,
    client::Client,
    exit::{Exit, Outcome},
    output::Format,
};
use charter_events::PermissionKey;
use charter_http::dto::{
    AllowedObjectsRequest, CheckRequest, Decision, EffectiveRequest, Explanation, WhoCanRequest,
};
use serde::Serialize;
use serde_json::Value;

/// The most rows one page of an answer holds.
const PAGE_ROWS: u16 = 500;

/// May this user do this?
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Who: username, external id or id; `me` is whoever is signed in
    user: String,
    /// What, such as minecraft.server.restart
    permission: PermissionKey,
    /// Where, as `type:id` such as server:s1; platform-wide when left out
    object: Option<String>,
    /// When
    #[command(flatten)]
    then: Then,
}

/// Who may do this?
#[derive(Debug, clap::Args)]
pub(crate) struct Who {
    /// What, such as minecraft.server.restart
    permission: PermissionKey,
    /// Where, as `type:id` such as server:s1; platform-wide when left out
    object: Option<String>,
    /// The most rows to print; a note says when there are more
    #[arg(long, default_value_t = 1000, value_name = "ROWS")]
    limit: usize,
    /// When
    #[command(flatten)]
    then: Then,
}

/// What may this user do?
#[derive(Debug, clap::Args)]
pub(crate) struct What {
    /// Who: username, external id or id; `me` is whoever is signed in
    user: String,
    /// Where, as `type:id` such as server:s1; platform-wide when left out
    object: Option<String>,
    /// Everything he has and from where, as one report: memberships, grants, permissions at each place, owned objects
    #[arg(long, conflicts_with_all = ["object", "unset"])]
    all: bool,
    /// Also what is not set: what nobody gave and nobody denied
    #[arg(long)]
    unset: bool,
    /// When
    #[command(flatten)]
    then: Then,
}

/// On which objects may this user do this?
#[derive(Debug, clap::Args)]
pub(crate) struct Where {
    /// Who: username, external id or id; `me` is whoever is signed in
    user: String,
    /// What, such as minecraft.server.restart
    permission: PermissionKey,
    /// Objects of this type
    object_type: String,
    /// The most rows to print; a note says when there are more
    #[arg(long, default_value_t = 1000, value_name = "ROWS")]
    limit: usize,
    /// When
    #[command(flatten)]
    then: Then,
}

/// `me` is whoever is signed in, whom the API means by naming nobody.
fn somebody(user: String) -> Option<String> {
    Some(user).filter(|user| user != "me")
}

const fn exit_of(allowed: bool) -> Exit {
    if allowed { Exit::Done } else { Exit::Denied }
}

impl From<Check> for CheckRequest {
    fn from(args: Check) -> Self {
        Self { user: somebody(args.user), permission: args.permission, object: args.object }
    }
}

/// `charter check`.
pub(crate) async fn check(app: &App, args: Check) -> Outcome {
    let then = args.then.query();
    let answer = app.client()?.ask("/check", &then, &CheckRequest::from(args)).await?;
    let decision: Decision = answer.read()?;
    app.out.answer(&answer.body, || yes_or_no(app, decision.allowed))?;
    Ok(exit_of(decision.allowed))
}

/// `charter why`.
pub(crate) async fn why(app: &App, args: Check) -> Outcome {
    let then = args.then.query();
    let answer = app.client()?.ask("/explain", &then, &CheckRequest::from(args)).await?;
    let explanation: Explanation = answer.read()?;
    let decision = &explanation.decision;
    app.out
        .answer(&answer.body, || format!("{}: {}", yes_or_no(app, decision.allowed), explanation.summary))?;
    if app.out.format() == Format::Table {
        let grants = answer.body.get("grants").and_then(Value::as_array).cloned().unwrap_or_default();
        if !grants.is_empty() {
            app.out.line("")?;
            app.out.rows(&GRANT, &grants)?;
        }
        let hidden = decision.grants.len().saturating_sub(grants.len());
        if hidden > 0 {
            app.out.note(&format!("{hidden} more that you may not see."));
        }
    }
    Ok(exit_of(decision.allowed))
}

fn yes_or_no(app: &App, allowed: bool) -> String {
    app.out.mark(if allowed { "yes" } else { "no" }, allowed)
}

/// `charter who`.
pub(crate) async fn who(app: &App, args: Who) -> Outcome {
    let request = WhoCanRequest {
        permission: args.permission,
        object: args.object,
        limit: Some(PAGE_ROWS),
        cursor: None,
    };
    let from = Rows { path: "/who-can", member: "users", query: args.then.query() };
    let page = |cursor| WhoCanRequest { cursor, ..request.clone() };
    let (users, more) = all(&app.client()?, &from, args.limit, page).await?;
    app.out.rows(&HOLDER, &users)?;
    tell_of_more(app, more, args.limit);
    Ok(Exit::Done)
}

/// `charter where`.
pub(crate) async fn where_(app: &App, args: Where) -> Outcome {
    let request = AllowedObjectsRequest {
        user: somebody(args.user),
        permission: args.permission,
        object_type: args.object_type,
        limit: Some(PAGE_ROWS),
        cursor: None,
    };
    let from = Rows { path: "/allowed-objects", member: "objects", query: args.then.query() };
    let page = |cursor| AllowedObjectsRequest { cursor, ..request.clone() };
    let (objects, more) = all(&app.client()?, &from, args.limit, page).await?;
    app.out.rows(&OBJECT_REF, &objects)?;
    tell_of_more(app, more, args.limit);
    Ok(Exit::Done)
}

/// `charter what`.
pub(crate) async fn what(app: &App, args: What) -> Outcome {
    if args.all {
        return super::review::run(app, &args.user, args.then).await;
    }
    let request = EffectiveRequest { user: somebody(args.user), object: args.object };
    let answer = app.client()?.ask("/effective", &args.then.query(), &request).await?;
    let rows = answer.body.get("permissions").and_then(Value::as_array).cloned().unwrap_or_default();
    let count = rows.len();
    let is_set = |row: &Value| row.get("state").and_then(Value::as_str) != Some("not_set");
    let rows: Vec<Value> = rows.into_iter().filter(|row| args.unset || is_set(row)).collect();
    app.out.rows(&EFFECTIVE, &rows)?;
    if rows.len() < count {
        app.out.note(&format!("{} more are not set: `--unset` lists them.", count - rows.len()));
    }
    Ok(Exit::Done)
}

fn tell_of_more(app: &App, more: bool, limit: usize) {
    if more {
        app.out.note(&format!("There are more than these {limit}: `--limit` shows more."));
    }
}

/// Where rows come from.
struct Rows {
    path: &'static str,
    member: &'static str,
    query: Vec<(&'static str, String)>,
}

/// Asks page by page until the answer ends or there are enough rows.
async fn all<R: Serialize>(
    client: &Client,
    from: &Rows,
    rows_max: usize,
    request: impl Fn(Option<String>) -> R,
) -> Outcome<(Vec<Value>, bool)> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let mut page = client.ask(from.path, &from.query, &request(cursor)).await?.body;
        if let Some(Value::Array(items)) = page.get_mut(from.member).map(Value::take) {
            rows.extend(items);
        }
        cursor = page.get("next").and_then(Value::as_str).map(str::to_owned);
        if cursor.is_none() || rows.len() >= rows_max {
            let more = cursor.is_some() || rows.len() > rows_max;
            rows.truncate(rows_max);
            return Ok((rows, more));
        }
    }
}
