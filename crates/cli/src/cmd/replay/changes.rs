//! `charter replay diff` and `simulate`: who gained and lost what, and what commands would do, from the log alone.
//! Nothing is written anywhere; names of people stay sealed.

use super::{
    as_of::{object, scope_ref, user},
    counted, failed, reader,
    source::{Log, Source},
};
use crate::{
    app::App,
    cmd::{
        changes,
        common::{now, version},
    },
    exit::{Doing, Exit, Failure, Outcome},
    output::Format,
};
use charter_events::{PermissionKey, Scope, UserId};
use charter_http::dto::{
    AccessChange, Because, Change, ChangePlace, Decision, ScopeRef, SubjectKind, UserRef, Verdict,
};
use charter_policy::{Diff, DiffBound, DiffBounds, DiffChange, DiffFilter, DiffPlace, Policy};
use charter_replay_tools::{
    Progress, ToolError,
    as_of::{Past, as_of},
    diff::{Compared, diff},
    simulate::{Simulation, read, simulate},
};
use charter_store::AsOf;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A comparison on a machine of one's own may take longer than a server's.
const STEPS_MAX: u64 = 100_000_000;

/// Which log, and what of it.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Where it is
    #[command(flatten)]
    source: Source,
    /// The one version: an offset, a time such as 2026-03-01T12:00:00Z, or back from now such as `90m`, `12h`, `30d`
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    from: AsOf,
    /// The other; the end of the log, now, when left out
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    to: Option<AsOf>,
    /// Of this user only: username, external id or id; with a file, the id
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
    #[arg(long, default_value_t = 100_000, value_name = "ROWS")]
    rows: usize,
}

/// Which log, when, and what to try.
#[derive(Debug, clap::Args)]
pub(crate) struct SimulateArgs {
    /// Where it is
    #[command(flatten)]
    source: Source,
    /// The commands, one JSON object a line, such as {"as": "01a2…", "command": "grant.issue", "subject": "group:ops",
    /// "role": "operator", "scope": "folder:eu"}; `-` is stdin. `as` is the id of the user who gives it. Without it the
    /// system gives it, and nobody's rights are asked
    commands: PathBuf,
    /// At which version: an offset, or a time such as 2026-03-01T12:00:00Z; the end of the log, now, when left out
    #[arg(long, value_parser = version, value_name = "OFFSET|TIME")]
    at: Option<AsOf>,
    /// The most changes that are told
    #[arg(long, default_value_t = 100_000, value_name = "ROWS")]
    rows: usize,
}

pub(super) async fn differing(app: &App, args: DiffArgs) -> Outcome {
    let log = args.source.open(app).await?;
    let done = compared(app, &args, &log).await;
    log.close().await;
    let Compared { from, to, diff } = done?;
    if let Some(bound) = diff.ended_by {
        let what = match bound {
            DiffBound::Rows => format!("there are more than {} changes", args.rows),
            DiffBound::Steps => "there is too much to compare".to_owned(),
        };
        return Err(Failure::error(what).hint("narrow it by `--user`, `--object` or `--permission`"));
    }
    let told = told(&from.policy, &to.policy, &diff);
    let end = |past: &Past| {
        let head = past.version.head;
        json!({"policy_version": head.offset, "at": past.version.now, "hash": head.hash})
    };
    if is_for_people(app) {
        changes::show(app, &told)?;
        app.out.note(&format!(
            "{} between version {} ({}) and version {} ({}).",
            counted(told.len(), "change"),
            from.version.head.offset,
            from.version.now,
            to.version.head.offset,
            to.version.now
        ));
    } else {
        app.out.answer(&json!({"from": end(&from), "to": end(&to), "changes": told}), String::new)?;
    }
    Ok(Exit::Done)
}

async fn compared(app: &App, args: &DiffArgs, log: &Log) -> Outcome<Compared> {
    let present = now();
    let ends = (args.from, args.to.unwrap_or(AsOf::Time(present)));
    // Who is meant may be known by a name he has at the end of the log, or had in either version.
    let named = match &args.user {
        Some(text) => Some(who(log, ends, text).await?),
        None => None,
    };
    let filter = |from: &Past, to: &Past| {
        let scope = args.object.as_deref().map(|text| {
            if text == "global" {
                return Ok(Scope::Global);
            }
            object(&to.policy, text).or_else(|_| object(&from.policy, text))
        });
        let (key, every_place) = (args.permission.clone(), args.every_place);
        Ok(DiffFilter { user: named, scope: scope.transpose()?, key, every_place })
    };
    let bounds = DiffBounds { rows_max: args.rows, steps_max: STEPS_MAX };
    let bar = app.out.progress("replaying", None);
    let done = diff(log.store(), ends, present, filter, bounds, |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    done.map_err(Ended::into_failure)
}

async fn who(log: &Log, (from, to): (AsOf, AsOf), text: &str) -> Outcome<UserId> {
    let later = as_of(log.store(), to, now(), |_| ()).await.map_err(|error| failed(&error))?;
    match user(log, &later.policy, text).await {
        Ok(id) => Ok(id),
        Err(failure) => {
            let earlier = as_of(log.store(), from, now(), |_| ()).await.map_err(|error| failed(&error))?;
            user(log, &earlier.policy, text).await.map_err(|_| failure)
        }
    }
}

/// Why a comparison ended: the log, or what was to be narrowed by.
enum Ended {
    Tool(ToolError),
    Names(Failure),
}

impl Ended {
    fn into_failure(self) -> Failure {
        match self {
            Self::Tool(error) => failed(&error),
            Self::Names(failure) => failure,
        }
    }
}

impl From<ToolError> for Ended {
    fn from(error: ToolError) -> Self {
        Self::Tool(error)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Names(failure)
    }
}

pub(super) async fn simulating(app: &App, args: SimulateArgs) -> Outcome {
    let commands = read(reader(&args.commands)?.as_mut()).map_err(|error| not_commands(&error))?;
    if commands.iter().any(|(_, line)| line.caller.is_none()) {
        app.out.warn(
            "Commands without `as` are given by the system: whether somebody may give them is not asked. `\"as\": \
             \"USER ID\"` asks it.",
        );
    }
    let log = args.source.open(app).await?;
    let asked = args.at.unwrap_or_else(|| AsOf::Time(now()));
    let bar = app.out.progress("replaying", None);
    let past = as_of(log.store(), asked, now(), |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    log.close().await;
    let past = past.map_err(|error| failed(&error))?;
    let bounds = DiffBounds { rows_max: args.rows, steps_max: STEPS_MAX };
    let done = simulate(&past, &commands, bounds).map_err(|error| not_commands(&error))?;
    show(app, &past, &done)
}

fn not_commands(error: &ToolError) -> Failure {
    match error {
        ToolError::Line { line, why } => Failure::usage(format!("line {line} is no command here: {why}")),
        _ => failed(error),
    }
}

fn show(app: &App, past: &Past, done: &Simulation) -> Outcome {
    let told = told(&past.policy, &done.after, &done.diff);
    let complete = done.diff.ended_by.is_none();
    let lines: Vec<Value> = done.lines.iter().map(line).collect::<Outcome<_>>()?;
    if is_for_people(app) {
        for line in &done.lines {
            match &line.outcome {
                Ok(events) if events.is_empty() => {
                    app.out.line(&format!("{}: {}: is so already", line.line, line.command))?
                }
                Ok(events) => {
                    let names: Vec<&str> = events.iter().map(|event| event.type_name()).collect();
                    app.out.line(&format!("{}: {}: {}", line.line, line.command, names.join(", ")))?;
                }
                Err(refusal) => {
                    let mark = app.out.mark("refused", false);
                    app.out.line(&format!("{}: {}: {mark}: {refusal}", line.line, line.command))?;
                }
            }
        }
        if !told.is_empty() {
            app.out.line("")?;
            changes::show(app, &told)?;
        }
        if !complete {
            app.out.warn("There are more changes than are told.");
        }
        app.out.note(&format!("Nothing was changed: simulated at version {}.", past.version.head.offset));
    } else {
        let at = json!({"policy_version": past.version.head.offset, "at": past.version.now});
        let value = json!({"at": at, "commands": lines, "changes": told, "complete": complete});
        app.out.answer(&value, String::new)?;
    }
    let refused = done.lines.iter().any(|line| line.outcome.is_err());
    Ok(if refused { Exit::Denied } else { Exit::Done })
}

fn line(line: &charter_replay_tools::simulate::Simulated) -> Outcome<Value> {
    let mut value = json!({"line": line.line, "command": line.command});
    let (name, told) = match &line.outcome {
        Ok(events) => {
            let events = events.iter().map(|event| {
                let payload = event.encode().doing("write an event")?;
                let payload: Value = serde_json::from_slice(&payload).doing("write an event")?;
                Ok(json!({"type": event.type_name(), "payload": payload}))
            });
            ("events", Value::from(events.collect::<Outcome<Vec<Value>>>()?))
        }
        Err(refusal) => {
            let code = refusal.code.as_str();
            let (field, detail, missing) = (&refusal.field, &refusal.detail, &refusal.missing);
            ("refused", json!({"code": code, "field": field, "detail": detail, "missing": missing}))
        }
    };
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), told);
    }
    Ok(value)
}

fn is_for_people(app: &App) -> bool {
    matches!(app.out.format(), Format::Table | Format::Name)
}

/// The changes in the API's shape, but for the names of people, which the log seals.
fn told(before: &Policy, after: &Policy, diff: &Diff) -> Vec<AccessChange> {
    let place = |scope| scope_ref(&[after, before], scope);
    let decision = |made: &charter_policy::Decision| Decision {
        allowed: made.allowed(),
        verdict: if made.allowed() { Verdict::Allow } else { Verdict::Deny },
        because: because(made.because),
        scope: made.scope.map(place),
        subject: made.subject.map(|subject| match subject {
            charter_policy::SubjectKind::User => SubjectKind::User,
            charter_policy::SubjectKind::Group => SubjectKind::Group,
        }),
        grants: made.grants.to_vec(),
        policy_version: made.version,
        at: made.at,
    };
    let rows = diff.rows.iter().filter_map(|row| {
        let place = match row.place {
            DiffPlace::Everywhere => ChangePlace::Everywhere,
            DiffPlace::At(scope) => match place(scope) {
                ScopeRef::Global => ChangePlace::Global,
                ScopeRef::Object { object } => ChangePlace::Object { object },
                ScopeRef::Hidden => return None,
            },
        };
        Some(AccessChange {
            user: UserRef { id: row.user, username: None, display_name: None },
            permission: row.key.clone(),
            place,
            change: match row.change {
                DiffChange::Gained => Change::Gained,
                DiffChange::Lost => Change::Lost,
            },
            before: decision(&row.before),
            after: decision(&row.after),
        })
    });
    rows.collect()
}

const fn because(why: charter_policy::Because) -> Because {
    match why {
        charter_policy::Because::Administrator => Because::Administrator,
        charter_policy::Because::Grant => Because::Grant,
        charter_policy::Because::NotSet => Because::NotSet,
        charter_policy::Because::InactiveSubject => Because::InactiveSubject,
        charter_policy::Because::UnknownPermission => Because::UnknownPermission,
        charter_policy::Because::TokenTooNarrow => Because::TokenTooNarrow,
    }
}
