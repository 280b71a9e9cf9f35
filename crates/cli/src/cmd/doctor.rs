//! `charter doctor`: examines a store without changing it: can it be opened, has it the schema this build needs, do
//! both ends of the log verify, can this build fold it, who else runs on it; and whether the stream follows.

use super::{
    common::now,
    nats::NatsArgs,
    schema::versions,
    store::{Access, Opened, Place, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome, chain},
    output::{Column, Shape, as_sent},
};
use charter_control::{Progress, fold_log};
use charter_events::{EVENT_TYPES, Head};
use charter_policy::Policy;
use charter_store::verify::check_ends;
use serde_json::{Value, json};
use std::sync::Arc;

mod stream;

/// How many events at the end of the log are verified.
const TAIL_EVENTS: u64 = 10_000;

/// What to examine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where everything is kept
    #[command(flatten)]
    store: StoreArgs,
    /// Where the log is published
    #[command(flatten)]
    nats: NatsArgs,
    /// Do not fold the log; quicker
    #[arg(long)]
    no_fold: bool,
}

const SHAPE: Shape = Shape {
    columns: &[
        Column { heading: "CHECK", at: "/check" },
        Column { heading: "RESULT", at: "/result" },
        Column { heading: "DETAIL", at: "/detail" },
    ],
    name: "/check",
    view: as_sent,
};

/// What was found, in the order it was looked for.
struct Findings(Vec<Value>);

impl Findings {
    fn push(&mut self, check: &str, result: Result<String, String>) {
        let (word, detail) = match result {
            Ok(detail) => ("ok", detail),
            Err(detail) => ("WRONG", detail),
        };
        self.0.push(json!({"check": check, "result": word, "detail": detail}));
    }

    fn wrong(&self) -> usize {
        self.0.iter().filter(|row| row.get("result").and_then(Value::as_str) == Some("WRONG")).count()
    }
}

/// Examines it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let place = args.store.place()?;
    let nats = args.nats.config("charter doctor")?;
    let opened = place.open(Access::ReadOnly).await?;
    let mut findings = Findings(Vec::new());
    let build = format!("charter {}, {} event types", env!("CARGO_PKG_VERSION"), EVENT_TYPES.len());
    findings.push("this build", Ok(build));
    where_it_is(&mut findings, &place).await?;
    let head = the_log(&mut findings, &opened).await?;
    if !args.no_fold {
        fold(app, &mut findings, &opened, &head).await;
    }
    if place.is_shared() {
        findings.push("servers", alive(&opened).await);
    }
    if let Some(nats) = nats {
        findings.push("stream", stream::examine(&nats, opened.store.as_ref(), &head).await);
    }
    opened.close().await;
    app.out.rows(&SHAPE, &findings.0)?;
    match findings.wrong() {
        0 => Ok(Exit::Done),
        count => Err(Failure::error(format!("{count} of {} checks failed", findings.0.len()))),
    }
}

async fn where_it_is(findings: &mut Findings, place: &Place) -> Outcome<()> {
    let (found, known) = versions(place).await?;
    let what = if place.is_shared() { "database" } else { "folder" };
    findings.push(what, Ok(place.to_string()));
    findings.push("schema", Ok(format!("{found}; this build works with {known}")));
    // Opened as a server opens it: whoever lacks a right is told which.
    if place.is_shared() {
        let opened = place.open(Access::Server).await;
        findings.push(
            "rights",
            match opened {
                Ok(opened) => {
                    opened.close().await;
                    Ok("all that a server needs".to_owned())
                }
                Err(failure) => Err(failure.message),
            },
        );
    }
    Ok(())
}

async fn the_log(findings: &mut Findings, opened: &Opened) -> Outcome<Head> {
    let head = opened.store.head().await.map_err(|error| opening(&error))?;
    let recorded = format!("offset {} of log {}, recorded {}", head.offset, head.log_id, head.recorded_at);
    findings.push("head", Ok(recorded));
    let ends = check_ends(opened.store.as_ref(), TAIL_EVENTS).await;
    let checked = head.offset.get().min(TAIL_EVENTS);
    findings.push(
        "chain",
        ends.map(|_| format!("the first and the last {checked} events verify")).map_err(|e| chain(&e)),
    );
    Ok(head)
}

async fn fold(app: &App, findings: &mut Findings, opened: &Opened, head: &Head) {
    let bar = Arc::new(app.out.progress("folding", Some(head.offset.get())));
    let shown = Arc::clone(&bar);
    let progress: charter_control::ProgressFn = Arc::new(move |p: Progress| shown.at(p.done.get()));
    let folded = fold_log(opened.store.as_ref(), Some(&progress)).await;
    drop((bar, progress));
    match folded {
        Ok(folded) => {
            let from = folded.from_snapshot.map(|offset| offset.get());
            findings.push("fold", Ok(described(&folded.policy, from)));
            let digest = hex::encode(folded.policy.digest());
            findings.push("state", Ok(format!("version {} digest {digest}", folded.policy.version())));
        }
        Err(error) => findings.push("fold", Err(chain(&error))),
    }
}

async fn alive(opened: &Opened) -> Result<String, String> {
    let servers = opened.store.live_servers(now()).await.map_err(|error| chain(&error))?;
    let each = servers.iter().map(|s| format!("{} (build {}, version {})", s.server, s.build, s.version));
    match servers.len() {
        0 => Ok("none is alive".to_owned()),
        count => Ok(format!("{count} alive: {}", each.collect::<Vec<_>>().join(", "))),
    }
}

fn described(policy: &Policy, from_snapshot: Option<u64>) -> String {
    let start = from_snapshot
        .map_or_else(|| "without a snapshot".to_owned(), |at| format!("from the snapshot at {at}"));
    format!(
        "version {} {start}: {} users, {} groups, {} roles, {} permissions",
        policy.version(),
        policy.users().count(),
        policy.groups().count(),
        policy.roles().count(),
        policy.permissions().count()
    )
}
