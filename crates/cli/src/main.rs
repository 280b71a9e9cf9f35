//! The binary `charter`: the server and its clients. Owns how the program starts and ends; the command line is in
//! `cli`, each command in a file of its own under `cmd`.

mod app;
mod cli;
mod client;
mod cmd;
mod contexts;
mod exit;
mod output;
mod settings;

use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    // One TLS provider in the whole program, chosen here and nowhere else; a second install can't happen this early.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let cli = match settings::parsed() {
        Ok(cli) => cli,
        Err(failure) => return report(&failure),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return report(&Failure::error(format!("can't start: {error}"))),
    };
    match runtime.block_on(cli::run(cli)) {
        Ok(exit) => exit.into(),
        Err(failure) => report(&failure),
    }
}

fn report(failure: &Failure) -> ExitCode {
    // A reader that had enough, as `head` does, is no error worth a line.
    if failure.message.contains("Broken pipe") {
        return Exit::Done.into();
    }
    output::to_stderr(&format!("error: {}", failure.message));
    for hint in &failure.hints {
        output::to_stderr(&format!("hint: {hint}"));
    }
    failure.exit.into()
}
