//! `charter projections`: read models in tables: how they stand, and building them anew while the server goes on.

use super::common::Yes;
use crate::{
    app::App,
    client::{Client, route},
    exit::{Exit, Failure, Outcome},
    output::{Column, Progress, Shape, as_sent},
};
use charter_http::dto::{Operation, Projection, RebuildRequest, SkipRequest};
use reqwest::Method;
use serde_json::{Value, json};
use std::{borrow::Cow, time::Duration};

/// How often it is asked how far an operation is.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// So many times in a row the server may not answer: it may be starting again.
const UNANSWERED_MAX: u32 = 120;

const PROJECTION: Shape = Shape {
    columns: &[
        Column { heading: "PROJECTION", at: "/name" },
        Column { heading: "STATUS", at: "/status" },
        Column { heading: "BEHIND", at: "/behind" },
        Column { heading: "VERSION", at: "/version" },
        Column { heading: "READ", at: "/read" },
        Column { heading: "KEPT", at: "/kept" },
        Column { heading: "NEW", at: "/new" },
        Column { heading: "STOPPED AT", at: "/stopped" },
        Column { heading: "OPERATION", at: "/operation" },
    ],
    name: "/name",
    view: with_generations,
};

const OPERATION: Shape = Shape {
    columns: &[
        Column { heading: "OPERATION", at: "/id" },
        Column { heading: "KIND", at: "/kind" },
        Column { heading: "TARGET", at: "/target" },
        Column { heading: "STATE", at: "/state" },
        Column { heading: "DONE", at: "/done" },
        Column { heading: "OF", at: "/total" },
        Column { heading: "DETAIL", at: "/detail" },
    ],
    name: "/id",
    view: as_sent,
};

/// The generations as a table shows them: the one that is read, those that are kept, how far new ones are, and why one
/// stopped.
fn with_generations(row: &Value) -> Cow<'_, Value> {
    let generations = row.get("generations").and_then(Value::as_array);
    let all: Vec<&Value> = generations.into_iter().flatten().collect();
    let is_read = |one: &&&Value| one.get("active") == Some(&Value::Bool(true));
    let number = |one: &&Value| one.get("number").cloned().unwrap_or_default();
    let read = all.iter().find(is_read).map(number);
    let is_new = |one: &&&Value| one.get("new") == Some(&Value::Bool(true));
    let kept: Vec<Value> = all.iter().filter(|one| !is_read(one) && !is_new(one)).map(number).collect();
    let new: Vec<String> = all
        .iter()
        .filter(is_new)
        .map(|one| format!("{} at {}", number(one), one.get("offset").cloned().unwrap_or_default()))
        .collect();
    let stopped = all.iter().find_map(|one| {
        let fault = one.get("fault")?;
        let why = fault.get("why").and_then(Value::as_str).unwrap_or_default();
        Some(format!("{}: {why}", fault.get("offset")?))
    });
    let mut shown = row.clone();
    if let Some(members) = shown.as_object_mut() {
        members.insert("read".to_owned(), json!(read));
        members.insert("kept".to_owned(), json!(kept));
        members.insert("new".to_owned(), json!(new));
        members.insert("stopped".to_owned(), json!(stopped));
    }
    Cow::Owned(shown)
}

/// Whether to stay until it is done.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Wait {
    /// Begin it and print the operation, without waiting until it is done
    #[arg(long)]
    no_wait: bool,
}

/// What to do with projections.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// List them: whether they follow the log, and what is kept of each
    #[command(alias = "list")]
    Ls,
    /// List what works or worked on them, and other long work, newest first
    Operations,
    /// Build one anew beside what is read, compare the two, and have the new one read
    Rebuild {
        /// Its name
        name: String,
        /// Stop before the switch: `switch` does it later
        #[arg(long)]
        hold: bool,
        /// Have the new one read also where its rows differ: what is read now is wrong
        #[arg(long, conflicts_with = "hold")]
        accept_difference: bool,
        /// Whether to stay
        #[command(flatten)]
        wait: Wait,
    },
    /// Stop the operation that works on one; nothing that is read changes
    Cancel {
        /// Its name
        name: String,
    },
    /// Go on where the last operation on one was stopped
    Resume {
        /// Its name
        name: String,
        /// Whether to stay
        #[command(flatten)]
        wait: Wait,
    },
    /// Have the generation read that was built with `--hold`
    Switch {
        /// Its name
        name: String,
        /// Whether to stay
        #[command(flatten)]
        wait: Wait,
    },
    /// Have the generation read again that was read before
    Rollback {
        /// Its name
        name: String,
        /// Whether to stay
        #[command(flatten)]
        wait: Wait,
    },
    /// Go on without the event one stopped at; `--reason` is needed, and recorded
    Skip {
        /// Its name
        name: String,
        /// The offset it stopped at
        offset: u64,
        /// Leave to leave the event out
        #[command(flatten)]
        yes: Yes,
    },
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let client = app.client()?;
    match verb {
        Verb::Ls => app.out.rows(&PROJECTION, &client.whole("/projections").await?)?,
        Verb::Operations => app.out.rows(&OPERATION, &client.whole("/operations").await?)?,
        Verb::Rebuild { name, hold, accept_difference, wait } => {
            let body = RebuildRequest { switch: !hold, accept_difference };
            let begun = client.post(&route(&["projections", &name, "rebuild"])?, &body).await?;
            return watched(app, &client, begun.read()?, wait).await;
        }
        Verb::Switch { name, wait } => return asked(app, &client, &name, "switch", wait).await,
        Verb::Rollback { name, wait } => return asked(app, &client, &name, "rollback", wait).await,
        Verb::Cancel { name } => {
            let id = working_on(&client, &name).await?;
            client.send(Method::POST, &route(&["operations", &id, "cancel"])?).await?;
            app.out.note(&format!("Stopped: `charter projections resume {name}` goes on."));
        }
        Verb::Resume { name, wait } => {
            let id = last_on(&client, &name).await?;
            let resumed = client.send(Method::POST, &route(&["operations", &id, "resume"])?).await?;
            return watched(app, &client, resumed.read()?, wait).await;
        }
        Verb::Skip { name, offset, yes } => skip(app, &client, &name, offset, yes).await?,
    }
    Ok(Exit::Done)
}

async fn asked(app: &App, client: &Client, name: &str, what: &str, wait: Wait) -> Outcome {
    let begun = client.send(Method::POST, &route(&["projections", name, what])?).await?;
    watched(app, client, begun.read()?, wait).await
}

async fn skip(app: &App, client: &Client, name: &str, offset: u64, yes: Yes) -> Outcome<()> {
    if app.reason().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(Failure::usage("say why with `--reason`: it is recorded"));
    }
    app.confirm(yes.yes, &format!("leave the event at offset {offset} out of {name} for good"), name)?;
    let body = SkipRequest { offset };
    let made = client.post(&route(&["projections", name, "skip"])?, &body).await?;
    app.made("Projection", &format!("goes on without the event at offset {offset}"), &PROJECTION, &made.body)
}

/// The operation that works on a projection now.
async fn working_on(client: &Client, name: &str) -> Outcome<String> {
    let all: Vec<Projection> = read(client.whole("/projections").await?)?;
    let found = all.into_iter().find(|projection| projection.name == name);
    let found = found.ok_or_else(|| Failure::error(format!("there is no projection `{name}`")))?;
    let id = found.operation.map(|id| id.to_string());
    id.ok_or_else(|| Failure::new(Exit::Conflict, format!("nothing works on `{name}`")))
}

/// The last operation on a projection.
async fn last_on(client: &Client, name: &str) -> Outcome<String> {
    let all: Vec<Operation> = read(client.whole("/operations").await?)?;
    let on_it = |operation: &&Operation| {
        operation.kind.starts_with("projection.")
            && operation.target.rsplit_once('/').is_some_and(|(projection, _)| projection == name)
    };
    let last = all.iter().find(on_it).map(|operation| operation.id.to_string());
    last.ok_or_else(|| Failure::error(format!("nothing ever worked on `{name}`")))
}

fn read<T: serde::de::DeserializeOwned>(rows: Vec<Value>) -> Outcome<Vec<T>> {
    Ok(serde_json::from_value(Value::Array(rows))?)
}

/// Watches an operation until it ends; whoever leaves earlier stops nothing.
async fn watched(app: &App, client: &Client, begun: Operation, wait: Wait) -> Outcome {
    let id = begun.id.to_string();
    if wait.no_wait {
        app.out.one(&OPERATION, &serde_json::to_value(&begun)?)?;
        return Ok(Exit::Done);
    }
    let at = route(&["operations", &id])?;
    let mut bar: Option<Progress> = None;
    let mut unanswered = 0;
    let ended = loop {
        let operation: Operation = tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                app.out.note(&format!("Operation {id} goes on at the server."));
                return Ok(Exit::Error);
            }
            told = told(client, &at, &mut unanswered) => match told? {
                Some(operation) => operation,
                None => continue,
            },
        };
        if operation.state != "running" {
            break operation;
        }
        if operation.total > 0 {
            let what = format!("{}: {}", operation.target, operation.kind);
            bar.get_or_insert_with(|| app.out.progress(&what, Some(operation.total))).at(operation.done);
        }
    };
    if let Some(bar) = bar {
        bar.finish();
    }
    outcome(app, &ended)
}

fn outcome(app: &App, ended: &Operation) -> Outcome {
    let Operation { target, detail, .. } = ended;
    match ended.state.as_str() {
        "done" => {
            app.out.one(&OPERATION, &serde_json::to_value(ended)?)?;
            Ok(Exit::Done)
        }
        "cancelled" => Err(Failure::new(Exit::Conflict, format!("`{target}` was stopped: {detail}"))
            .hint("`charter projections resume` goes on; `skip` leaves out an event it can't take")),
        _ => Err(Failure::error(format!("`{target}`: {detail}"))),
    }
}

/// How an operation stands, after a little while. None: the server does not answer, which a while is no failure.
async fn told(client: &Client, at: &str, unanswered: &mut u32) -> Outcome<Option<Operation>> {
    tokio::time::sleep(POLL_EVERY).await;
    match client.get(at, &[]).await {
        Ok(answer) => {
            *unanswered = 0;
            answer.read().map(Some)
        }
        Err(failure) if failure.exit == Exit::Error && *unanswered < UNANSWERED_MAX => {
            *unanswered += 1;
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_which_generation_is_read_which_are_kept_how_far_new_ones_are_and_why_one_stopped() {
        let row = json!({"name": "directory", "status": "stopped", "behind": 3, "version": 1, "generations": [
            {"number": 1, "active": false},
            {"number": 2, "active": true, "fault": {"offset": 7, "why": "no such row"}},
            {"number": 3, "active": false, "new": true, "offset": 1200},
        ]});
        assert_eq!(
            PROJECTION.cells(&row),
            ["directory", "stopped", "3", "1", "2", "1", "3 at 1200", "7: no such row", "-"]
        );
    }
}
