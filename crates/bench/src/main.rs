//! The in-process benchmark: `Policy` beside the floor, Cedar and Casbin, on the same questions in the same run.
//!
//! Outside the product: nothing stands on it. Agreement comes first, on a world full of conflict too; no figure is
//! worth anything of an engine that answers otherwise. Writes a report; decides nothing.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark that is wrong about its own arrays should stop, and it reports to people"
)]

mod agreement;
mod child;
mod facts;
mod floor;
mod logs;
mod measure;
mod ours;
mod peers;
mod questions;
mod report;
mod size;

use agreement::{Counts, Engines};
use clap::{Parser, Subcommand};
use facts::Facts;
use floor::Floor;
use peers::{Index, casbin::Casbin, cedar::Cedar};
use questions::Workload;
use report::Report;
use std::path::PathBuf;

/// Questions asked of X.
const CONFLICT_QUESTIONS: usize = 20_000;

/// Measure the policy engine against its goals and its peers.
#[derive(Parser)]
struct Cli {
    /// Sizes of RBAC-W: S, M, L
    #[arg(long, value_delimiter = ',', default_value = "S,M")]
    sizes: Vec<String>,
    /// What the workloads follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the report and the files it needs go
    #[arg(long, default_value = "target/bench")]
    folder: PathBuf,
    /// Only what a log in a database costs, without the peers
    #[arg(long)]
    logs_alone: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// Measured in a process of its own.
#[derive(Subcommand)]
enum Part {
    /// Load a snapshot and print the bytes the process occupies
    #[command(hide = true)]
    Resident { snapshot: PathBuf },
    /// Load a snapshot and ask the questions of a file so many times over
    #[command(hide = true)]
    Checks { snapshot: PathBuf, questions: PathBuf, rounds: usize },
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match &cli.part {
        Some(Part::Resident { snapshot }) => println!("{}", child::resident(snapshot)?),
        Some(Part::Checks { snapshot, questions, rounds }) => {
            println!("{}", child::checks(snapshot, questions, *rounds)?);
        }
        None => bench(&cli)?,
    }
    Ok(())
}

fn bench(cli: &Cli) -> anyhow::Result<()> {
    std::fs::create_dir_all(&cli.folder)?;
    let mut report = Report::default();
    if !cli.logs_alone {
        println!("X: does everybody agree?");
        conflict(&mut report, cli.seed)?;
    }
    let mut commands = Vec::new();
    for name in &cli.sizes {
        println!("RBAC-W {name}");
        let size = name.parse().map_err(anyhow::Error::msg)?;
        if !cli.logs_alone {
            commands.push((name, size::run(&mut report, &cli.folder, name, size, cli.seed)?));
        }
        println!("the log of {name} in a database");
        logs::run(&mut report, name, size, cli.seed)?;
    }
    if let [(first, base), .., (last, grown)] = commands.as_slice() {
        for ((kind, small), (_, large)) in base.iter().zip(grown) {
            let ratio = large / small;
            let measured = format!("{ratio:.1} × ({} to {})", measure::time(*large), measure::time(*small));
            report.goal(
                &format!("one {kind:?} at {last} to {first}"),
                "≤ 3 × (L to S)",
                &measured,
                ratio <= 3.0,
            );
        }
    }
    let path = cli.folder.join("report.md");
    report.write(&path)?;
    println!("{}\nwritten to {}", report.text(), path.display());
    Ok(())
}

fn conflict(report: &mut Report, seed: u64) -> anyhow::Result<()> {
    report.section("X: agreement where it is hard");
    report.say(
        "100 users, 1,000 objects, folders carry grants, a third deny; grants begin and end, reach down so far or so \
         far, objects are sealed, users suspended. Nothing is timed here.",
    );
    let workload = Workload::conflict(seed);
    let facts = Facts::of(workload.events())?;
    let policy = ours::replay(&workload)?.policy;
    let events: Vec<_> = workload.events().map(|(_, event)| event).collect();
    let model = charter_testkit::model::World::of(&events);
    let questions = workload.questions(&facts, seed, CONFLICT_QUESTIONS)?;
    let floor = Floor::new(&facts);
    let index = Index::new(&facts, workload.now());
    let (cedar, casbin) = (Cedar::new(&index)?, Casbin::new(&index)?);
    let engines = Engines { policy: &policy, floor: &floor, cedar: &cedar, casbin: &casbin, index: &index };
    let counts = Counts { all: CONFLICT_QUESTIONS, cedar: 5_000, casbin: 2_000 };
    agreement::show(report, &workload, &engines, &questions, &counts, Some(&model))
}
