//! `charter diff`, and what a preview shows: who gains and loses what.

use super::{common::version, shapes::CHANGE};
use crate::{
    app::App,
    exit::{Doing, Exit, Outcome},
    output::Format,
};
use charter_events::PermissionKey;
use charter_http::dto::{AccessChange, Change, ChangePlace, DiffAnswer, PreviewAnswer};
use charter_store::AsOf;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// So many permissions of one line are named; more are counted by namespace.
const NAMED_MAX: usize = 8;

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The one version: an offset, a time such as 2026-03-01T12:00:00Z, or back from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    from: AsOf,
    /// The other; now when left out
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    to: Option<AsOf>,
    /// Of this user only: username, external id or id
    #[arg(long)]
    user: Option<String>,
    /// On this object only, as `type:id` such as server:s1; `global` is what is allowed platform-wide
    #[arg(long)]
    object: Option<String>,
    /// Of this permission only
    #[arg(long)]
    permission: Option<PermissionKey>,
    /// Tell an administrator's gains and losses place by place instead of once
    #[arg(long)]
    every_place: bool,
    /// The most changes; what has more is refused, never cut off
    #[arg(long, default_value_t = 1000, value_name = "ROWS")]
    rows: usize,
}

/// `charter diff`.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let mut query = vec![("from", args.from.to_string()), ("rows", args.rows.to_string())];
    query.extend(args.to.map(|to| ("to", to.to_string())));
    query.extend(args.user.map(|user| ("user", user)));
    query.extend(args.object.map(|object| ("object", object)));
    query.extend(args.permission.map(|key| ("permission", key.to_string())));
    query.extend(args.every_place.then(|| ("every_place", "true".to_owned())));
    let answer = app.client()?.get("/history/diff", &query).await?;
    if !matches!(app.out.format(), Format::Table | Format::Name) {
        app.out.answer(&answer.body, String::new)?;
        return Ok(Exit::Done);
    }
    let told: DiffAnswer = answer.read()?;
    show(app, &told.changes)?;
    app.out.note(&format!(
        "{} between version {} ({}) and version {} ({}).",
        counted(told.changes.len(), "change"),
        told.from.policy_version,
        told.from.at,
        told.to.policy_version,
        told.to.at
    ));
    Ok(Exit::Done)
}

/// Shows what a change would do.
pub(crate) fn show_preview(app: &App, told: &Value) -> Outcome {
    if !matches!(app.out.format(), Format::Table | Format::Name) {
        app.out.answer(told, String::new)?;
        return Ok(Exit::Done);
    }
    let told: PreviewAnswer = serde_json::from_value(told.clone()).doing("read the server's answer")?;
    for event in &told.events {
        app.out.line(&format!("{} {}", event.type_name, event.payload))?;
    }
    if !told.changes.is_empty() {
        app.out.line("")?;
        show(app, &told.changes)?;
    }
    let events = counted(usize::try_from(told.event_count).unwrap_or(usize::MAX), "event");
    let changes = counted(told.changes.len(), "change");
    app.out.note(&format!("It would append {events}: {changes} in who may do what."));
    if !told.complete {
        app.out.warn("There is more than a preview tells.");
    }
    app.out.warn(&format!("Nothing was changed: this is a preview at version {}.", told.policy_version));
    Ok(Exit::Done)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Changes for people: one line for a user, a place and a reason, whatever the number of permissions.
pub(crate) fn show(app: &App, changes: &[AccessChange]) -> Outcome<()> {
    let rows: Vec<Value> = lines(changes);
    app.out.rows(&CHANGE, &rows)
}

fn lines(changes: &[AccessChange]) -> Vec<Value> {
    let mut lines: Vec<(Value, Vec<&PermissionKey>)> = Vec::new();
    for change in changes {
        let decision = match change.change {
            Change::Gained => &change.after,
            Change::Lost => &change.before,
        };
        let place = match &change.place {
            ChangePlace::Everywhere => "everywhere".to_owned(),
            ChangePlace::Global => "platform-wide".to_owned(),
            ChangePlace::Object { object } => format!("{}:{}", object.object_type, object.external_id),
        };
        let line = json!({
            "user": change.user.username.clone().unwrap_or_else(|| change.user.id.to_string()),
            "change": change.change,
            "place": place,
            "because": decision.because,
        });
        match lines.iter_mut().find(|(seen, _)| *seen == line) {
            Some((_, keys)) => keys.push(&change.permission),
            None => lines.push((line, vec![&change.permission])),
        }
    }
    let told = lines.into_iter().map(|(mut line, keys)| {
        if let Some(members) = line.as_object_mut() {
            members.insert("permissions".to_owned(), shortened(&keys).into());
        }
        line
    });
    told.collect()
}

/// The keys by name, or, when they are many, how many of each namespace.
fn shortened(keys: &[&PermissionKey]) -> String {
    if keys.len() <= NAMED_MAX {
        return keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(", ");
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    for key in keys {
        *counts.entry(key.namespace()).or_default() += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|(name, count)| format!("{count} of {name}")).collect();
    counts.join(", ")
}
