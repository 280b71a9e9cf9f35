//! The house's own checks and generators: `cargo xtask layers | tidy | schemas | openapi | asyncapi |
//! services`.
//!
//! Owns what is checked of the tree as a whole. Must not know anything of the product beyond its schemas and its
//! API document. Each check is a test too, so that `cargo nextest run` is enough.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that reports to people")]

mod asyncapi;
mod compat;
mod layers;
mod links;
mod metadata;
mod openapi;
mod schemas;
mod tidy;
mod tree;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Checks and generators of the workspace")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Fail on a dependency between crates that the layer table does not have.
    Layers {
        /// Print the table as ARCHITECTURE.md must show it, and check nothing.
        #[arg(long)]
        table: bool,
    },
    /// Fail on files that break the rules of the house, and list those that grow too long.
    Tidy,
    /// Write `event-schemas/`: one JSON Schema for each version of each event type, and the index.
    Schemas {
        /// Write nothing; fail when a file is not what would be written.
        #[arg(long)]
        check: bool,
        /// Freeze every version that is not yet: from now on it may gain optional members only.
        #[arg(long, conflicts_with = "check")]
        freeze: bool,
    },
    /// Write `crates/http/openapi.json`.
    Openapi {
        /// Write nothing; fail when the file is not what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Write `event-schemas/asyncapi.yaml`.
    Asyncapi {
        /// Write nothing; fail when the file is not what would be written.
        #[arg(long)]
        check: bool,
    },
    /// Start a PostgreSQL and a NATS server on loopback, and print their URLs or run a command with them.
    Services(charter_services::Arguments),
}

fn main() -> ExitCode {
    run(Cli::parse().task).unwrap_or_else(|error| {
        eprintln!("error: {}", error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": "));
        ExitCode::FAILURE
    })
}

/// Success when nothing was found.
fn run(task: Task) -> anyhow::Result<ExitCode> {
    let good = match task {
        Task::Layers { table: true } => {
            print!("{}", layers::table());
            true
        }
        Task::Layers { table: false } => report("layers", &layers::check_workspace()?),
        Task::Tidy => {
            let tree = tree::Tree::read()?;
            for file in tidy::long_files(&tree) {
                println!("tidy: growing long: {file}");
            }
            report("tidy", &tidy::check(&tree))
        }
        Task::Schemas { check: true, .. } => report("schemas", &schemas::check()?),
        Task::Schemas { freeze, .. } => {
            let task = if freeze { schemas::Task::Freeze } else { schemas::Task::Write };
            report("schemas", &schemas::write(task)?)
        }
        Task::Openapi { check: true } => report("openapi", &openapi::check()?),
        Task::Openapi { check: false } => report("openapi", &openapi::write()?),
        Task::Asyncapi { check: true } => report("asyncapi", &asyncapi::check()?),
        Task::Asyncapi { check: false } => report("asyncapi", &asyncapi::write()?),
        Task::Services(arguments) => return charter_services::run(&arguments),
    };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what was found, one line each; whether it was nothing.
fn report(task: &str, faults: &[String]) -> bool {
    for fault in faults {
        println!("{task}: {fault}");
    }
    match faults.len() {
        0 => println!("{task}: good"),
        count => println!("{task}: {count} fault(s)"),
    }
    faults.is_empty()
}
