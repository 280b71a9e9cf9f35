//! `charter test`: scenario files against the policy engine, in memory and without a server. Exit code 0 when all
//! hold, 1 when any differs, 2 when a file is refused.

use crate::{
    app::App,
    cmd::common::read_bounded,
    exit::{Exit, Failure, Outcome},
    output::Format as Output,
};
use charter_scenarios::{FILE_BYTES_MAX, Format, Outcome as Came, Report, parse, run as run_scenario};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Which files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Scenario files: .yaml, .yml, .json, or .jsonl with one scenario a line
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also name the scenarios that hold
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Debug, Default)]
struct Count {
    scenarios: usize,
    asked: usize,
    differ: usize,
    refused: usize,
}

/// Runs them.
pub(crate) fn run(app: &App, args: Args) -> Outcome {
    let people = app.out.format() == Output::Table;
    let mut count = Count::default();
    let mut rows = Vec::new();
    for file in &args.files {
        match read(file) {
            Ok(scenarios) => {
                let bar = app.out.progress(&file.display().to_string(), Some(scenarios.len() as u64));
                for (at, scenario) in scenarios.iter().enumerate() {
                    let report = run_scenario(scenario);
                    count.add(&report);
                    bar.at(at as u64);
                    if people && (args.verbose || report.exit_code() != 0) {
                        app.out.line(&report.to_string())?;
                    }
                    if !people {
                        rows.push(row(&report));
                    }
                }
                bar.finish();
            }
            Err(refused) => {
                count.refused += 1;
                if people {
                    app.out.line(&format!("refused {refused}"))?;
                } else {
                    rows.push(
                        json!({"file": file.display().to_string(), "outcome": "refused", "reason": refused}),
                    );
                }
            }
        }
    }
    if !people {
        app.out.answer(&Value::from(rows), || count.words())?;
    }
    app.out.note(&count.words());
    Ok(count.exit())
}

fn read(file: &Path) -> Result<Vec<charter_scenarios::Scenario>, String> {
    let name = file.display().to_string();
    let format = Format::of_name(&name)
        .ok_or_else(|| format!("{name}: its name ends in none of .yaml, .yml, .json, .jsonl"))?;
    let bytes = read_bounded(file, FILE_BYTES_MAX as u64).map_err(|failure: Failure| failure.message)?;
    parse(&name, &bytes, format).map_err(|refused| refused.to_string())
}

impl Count {
    fn add(&mut self, report: &Report) {
        self.scenarios += 1;
        self.asked += report.asked;
        match report.outcome {
            Came::Held => {}
            Came::Differs(_) => self.differ += 1,
            Came::Refused(_) => self.refused += 1,
        }
    }

    fn words(&self) -> String {
        let Self { scenarios, asked, differ, refused } = self;
        let verdict = match (differ, refused) {
            (0, 0) => "all hold".to_owned(),
            (differ, 0) => format!("{differ} differ"),
            (0, refused) => format!("{refused} refused"),
            (differ, refused) => format!("{differ} differ, {refused} refused"),
        };
        format!("{scenarios} scenarios, {asked} expectations: {verdict}")
    }

    const fn exit(&self) -> Exit {
        match (self.differ, self.refused) {
            (0, 0) => Exit::Done,
            (_, 0) => Exit::Error,
            _ => Exit::Usage,
        }
    }
}

fn row(report: &Report) -> Value {
    let (outcome, details) = match &report.outcome {
        Came::Held => ("held", Value::Null),
        Came::Refused(refused) => ("refused", json!(refused.to_string())),
        Came::Differs(differences) => {
            let shown = differences.iter().map(|d| {
                json!({
                    "line": d.line, "place": d.place, "question": d.question,
                    "expected": d.expected, "got": d.got, "explanation": d.explanation,
                })
            });
            ("differs", shown.collect())
        }
    };
    json!({
        "file": report.file, "scenario": report.scenario, "asked": report.asked,
        "outcome": outcome, "details": details,
    })
}
