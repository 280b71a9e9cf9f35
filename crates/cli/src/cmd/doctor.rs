//! `charter doctor`: examines a data folder without changing it: can it be opened, do both ends of the log verify,
//! can this build fold it, are the snapshots usable.

use super::data::{DataFolder, open, opening};
use crate::{
    app::App,
    exit::{Exit, Failure, Outcome, chain},
    output::{Column, Shape, as_sent},
};
use charter_control::{Progress, fold_log};
use charter_events::EVENT_TYPES;
use charter_policy::Policy;
use charter_store::verify::check_ends;
use charter_store_sqlite::Access;
use serde_json::{Value, json};
use std::sync::Arc;

/// How many events at the end of the log are verified.
const TAIL_EVENTS: u64 = 10_000;

/// Which folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The data folder
    #[command(flatten)]
    data: DataFolder,
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
    let path = args.data.path()?;
    let store = open(&path, Access::ReadOnly).await?;
    let mut findings = Findings(Vec::new());
    findings.push(
        "this build",
        Ok(format!("charter {}, {} event types", env!("CARGO_PKG_VERSION"), EVENT_TYPES.len())),
    );
    findings.push("folder", Ok(path.display().to_string()));
    let head = store.head().await.map_err(|error| opening(&error))?;
    findings.push(
        "head",
        Ok(format!("offset {} of log {}, recorded {}", head.offset, head.log_id, head.recorded_at)),
    );
    let ends = check_ends(store.as_ref(), TAIL_EVENTS).await;
    let checked = head.offset.get().min(TAIL_EVENTS);
    findings.push(
        "chain",
        ends.map(|_| format!("the first and the last {checked} events verify")).map_err(|e| chain(&e)),
    );
    if !args.no_fold {
        let bar = Arc::new(app.out.progress("folding", Some(head.offset.get())));
        let shown = Arc::clone(&bar);
        let folded =
            fold_log(store.as_ref(), Some(&(Arc::new(move |p: Progress| shown.at(p.done.get())) as _))).await;
        drop(bar);
        findings.push(
            "fold",
            folded.map(|f| described(&f.policy, f.from_snapshot.map(|o| o.get()))).map_err(|e| chain(&e)),
        );
    }
    app.out.rows(&SHAPE, &findings.0)?;
    match findings.wrong() {
        0 => Ok(Exit::Done),
        count => Err(Failure::error(format!("{count} of {} checks failed", findings.0.len()))),
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
