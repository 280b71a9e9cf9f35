//! The command `services`: both servers for a person, or around another command.

use crate::{
    Database, Nats, NatsSettings, Postgres, PostgresSettings,
    process::signal,
    shared::{NATS_VARIABLE, POSTGRES_VARIABLE},
};
use anyhow::Context;
use clap::{Args, Subcommand};
use std::{ffi::OsString, io::IsTerminal, path::PathBuf, process::ExitCode};
use tokio::signal::unix::{SignalKind, signal as signals};

/// The database that is made for people.
const DATABASE: &str = "charter";

/// What the command takes.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Keep the data in this folder and find it there again; without it everything is thrown away at the end
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Start NATS only
    #[arg(long, conflicts_with = "without_nats")]
    without_postgres: bool,
    /// Start PostgreSQL only
    #[arg(long)]
    without_nats: bool,
    #[command(subcommand)]
    then: Option<Then>,
}

#[derive(Debug, Subcommand)]
enum Then {
    /// Run a command that finds the services in its environment, and end them with it
    ///
    /// CHARTER_TEST_POSTGRES_URL and CHARTER_TEST_NATS_URL are set; with --folder, also CHARTER_DATABASE_URL,
    /// CHARTER_MIGRATION_URL and CHARTER_NATS_URL.
    Run {
        /// The command and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
}

/// The servers that run, and what tells of them.
struct Services {
    postgres: Option<Postgres>,
    nats: Option<Nats>,
}

impl Services {
    fn start(arguments: &Arguments) -> anyhow::Result<Self> {
        let within = |name: &str| arguments.folder.as_ref().map(|folder| folder.join(name));
        // Tests that run inside lose no power; people's data is theirs.
        let durable = arguments.folder.is_some() || arguments.then.is_none();
        let settings =
            PostgresSettings { folder: within("postgres"), durable, ..PostgresSettings::default() };
        let postgres = (!arguments.without_postgres).then(|| Postgres::start_with(&settings)).transpose()?;
        let nats = (!arguments.without_nats)
            .then(|| Nats::start_with(NatsSettings { folder: within("nats"), ..NatsSettings::default() }))
            .transpose()?;
        Ok(Self { postgres, nats })
    }

    fn for_tests(&self) -> Vec<(&'static str, String)> {
        let postgres = self.postgres.iter().map(|server| (POSTGRES_VARIABLE, server.admin_url()));
        let nats = self.nats.iter().map(|server| (NATS_VARIABLE, server.url()));
        postgres.chain(nats).collect()
    }

    fn for_charter(&self) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut variables = Vec::new();
        if let Some(postgres) = &self.postgres {
            let Database { owner_url, server_url, .. } = postgres.database(DATABASE)?;
            variables.push(("CHARTER_DATABASE_URL", server_url));
            variables.push(("CHARTER_MIGRATION_URL", owner_url));
        }
        variables.extend(self.nats.iter().map(|server| ("CHARTER_NATS_URL", server.url())));
        Ok(variables)
    }
}

/// Starts the services and, when there is one, the command; ends them with it, or when asked to.
///
/// # Errors
/// When a service is not installed or does not start, or the command can't be started.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let services = Services::start(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &arguments.then {
        None => {
            show(arguments, &services.for_charter()?);
            runtime.block_on(asked_to_end())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Then::Run { command }) => {
            let mut variables = services.for_tests();
            if arguments.folder.is_some() {
                variables.extend(services.for_charter()?);
            }
            runtime.block_on(run_inside(command, variables))
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command that speaks to people")]
fn show(arguments: &Arguments, variables: &[(&'static str, String)]) {
    for (name, value) in variables {
        println!("export {name}={value}");
    }
    match &arguments.folder {
        Some(folder) => eprintln!("The data is kept in {}. Ctrl-C ends the services.", folder.display()),
        None => eprintln!("Ctrl-C ends the services and throws their data away."),
    }
}

async fn asked_to_end() -> anyhow::Result<()> {
    let mut terminate = signals(SignalKind::terminate())?;
    let mut hang_up = signals(SignalKind::hangup())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}

async fn run_inside(
    command: &[OsString],
    variables: Vec<(&'static str, String)>,
) -> anyhow::Result<ExitCode> {
    let (program, arguments) = command.split_first().context("no command")?;
    let mut terminate = signals(SignalKind::terminate())?;
    let mut hang_up = signals(SignalKind::hangup())?;
    let mut interrupt = signals(SignalKind::interrupt())?;
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .envs(variables)
        .spawn()
        .with_context(|| format!("{} could not be started", program.display()))?;
    let pid = child.id();
    let pass_on = |name: &str| pid.is_some_and(|pid| signal(pid, name).is_ok());
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = terminate.recv() => { pass_on("TERM"); }
            _ = hang_up.recv() => { pass_on("HUP"); }
            // A terminal sends Ctrl-C to the command as well.
            _ = interrupt.recv() => { if !std::io::stdin().is_terminal() { pass_on("INT"); } }
        }
    };
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
