//! `charter-services`: what `cargo xtask services` runs, without building the rest of the workspace first.

use clap::Parser;
use std::process::ExitCode;

/// Start a PostgreSQL and a NATS server on loopback.
#[derive(Parser)]
#[command(name = "charter-services")]
struct Cli {
    #[command(flatten)]
    arguments: charter_services::Arguments,
}

#[expect(clippy::print_stderr, reason = "a command that reports to people")]
fn main() -> ExitCode {
    charter_services::run(&Cli::parse().arguments).unwrap_or_else(|error| {
        eprintln!("error: {}", error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": "));
        ExitCode::FAILURE
    })
}
