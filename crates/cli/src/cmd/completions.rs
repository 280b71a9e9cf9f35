//! `charter completions`: a script for a shell, made from the command line itself.

use crate::{
    app::App,
    cli::Cli,
    exit::{Exit, Outcome},
};
use clap::CommandFactory;

/// Which shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell to complete for; put the script where it looks for them
    shell: clap_complete::Shell,
}

/// Prints the script.
pub(crate) fn run(app: &App, args: Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "charter", &mut script);
    app.out.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
