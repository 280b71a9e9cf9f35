//! `charter replay`: a whole log read for its own sake: verified and folded, exported as lines of JSON, imported into
//! another store; and what stands beside it carried along.

mod as_of;
mod changes;
mod import;
mod inventory;
mod notes;
mod prove;
mod rebuild;
mod source;
mod verify;

use super::{
    common::now,
    store::{Access, Opened, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Doing, Exit, Failure, Outcome, chain},
};
use charter_events::Head;
use charter_replay_tools::{
    Progress, ToolError,
    export::{Format, export_as},
    secrets,
};
use std::{
    fmt::Display,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

/// What to do with a log.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Write it as lines of JSON, beside a running server or without one, also for CloudEvents and OCSF readers
    Export(Export),
    /// Take over an exported log into an empty store, event for event; made again, it goes on where it ended
    Import(import::Import),
    /// Recompute every hash, compare with checkpoints kept elsewhere, and replay every event
    Verify(verify::Verify),
    /// Who was there and what was allowed at a past version, folded from the first event on, without a server
    AsOf(as_of::Args),
    /// Who gained and lost what between two versions, from the log alone
    Diff(changes::DiffArgs),
    /// What commands would do at a version, decided one after the other on a copy: nothing is written. Exit code 3: one
    /// of them would be refused
    Simulate(changes::SimulateArgs),
    /// Count the events by type and version
    Inventory(inventory::Args),
    /// Print a proof that an event is in the log, which anyone with the log's key can check
    Prove(prove::Prove),
    /// Check such a proof, without the log
    CheckProof(prove::CheckProof),
    /// Build the tables of read models anew in a store of their own, and compare them row by row with those that are
    /// read
    Rebuild(rebuild::Rebuild),
}

/// Which log, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
    /// The file to make; `-` is stdout
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// The form of the lines. Only the first can be imported and verified
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    /// Also make a file, readable by you alone, of all that an installation needs beside its log: keys, password
    /// hashes, sessions, tokens. No server may run. Whoever has it opens every name in the log: destroy it after the
    /// move
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Form {
    /// Charter's own
    #[default]
    Charter,
    /// CloudEvents 1.0, JSON format
    Cloudevents,
    /// Open Cybersecurity Schema Framework
    Ocsf,
}

impl From<Form> for Format {
    fn from(form: Form) -> Self {
        match form {
            Form::Charter => Self::Charter,
            Form::Cloudevents => Self::CloudEvents,
            Form::Ocsf => Self::Ocsf,
        }
    }
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Export(args) => exporting(app, args).await,
        Verb::Import(args) => import::importing(app, args).await,
        Verb::Verify(args) => verify::verifying(app, args).await,
        Verb::AsOf(args) => as_of::run(app, args).await,
        Verb::Diff(args) => changes::differing(app, args).await,
        Verb::Simulate(args) => changes::simulating(app, args).await,
        Verb::Inventory(args) => inventory::run(app, args).await,
        Verb::Prove(args) => prove::proving(app, args).await,
        Verb::CheckProof(args) => prove::checking(app, &args),
        Verb::Rebuild(args) => rebuild::rebuilding(app, args).await,
    }
}

async fn exporting(app: &App, args: Export) -> Outcome {
    if args.secrets.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("secrets are written to a file, never to stdout"));
    }
    if args.secrets.is_some() && args.format != Form::Charter {
        return Err(Failure::usage("secrets go with an export that can be imported")
            .hint("leave `--format` out, or `--secrets`"));
    }
    // A server's folder is locked by opening it as one; beside servers on a database, there are leases.
    let access = if args.secrets.is_some() { Access::Server } else { Access::ReadOnly };
    let place = args.store.place()?;
    if access == Access::Server {
        // Opening to write makes what is missing: there is nothing to export then.
        place.open(Access::ReadOnly).await?.close().await;
    }
    let opened = place.open(access).await?;
    let done = write_both(app, &opened, &args).await;
    opened.close().await;
    done?;
    Ok(Exit::Done)
}

async fn write_both(app: &App, opened: &Opened, args: &Export) -> Outcome<()> {
    if args.secrets.is_some() {
        opened.alone(now()).await?;
    }
    let head = write_log(app, opened, args).await?;
    let events = counted(head.offset.get(), "event");
    app.out.note(&format!("{events} of log {}, hash {}.", head.log_id, head.hash));
    let Some(path) = &args.secrets else {
        app.out.note(match args.format {
            Form::Charter => {
                "Secrets are not in it: names stay sealed without them. `--secrets` writes them."
            }
            Form::Cloudevents => "People's names stay sealed in it. It can't be imported.",
            Form::Ocsf => "People's names are not in it. It can't be imported.",
        });
        return Ok(());
    };
    let mut out = BufWriter::new(new_file(path)?);
    let rows = secrets::export(opened.store.as_ref(), &head, &mut out).await;
    let rows = rows.map_err(|error| {
        // Half a file of secrets is of no use to anyone who should have it.
        drop(std::fs::remove_file(path));
        failed(&error)
    })?;
    synced(out, path)?;
    app.out.warn(&format!(
        "`{}` has {rows} secrets: keep it from everybody, and destroy it after the move.",
        path.display()
    ));
    Ok(())
}

async fn write_log(app: &App, opened: &Opened, args: &Export) -> Outcome<Head> {
    let (path, format) = (args.out.as_path(), args.format.into());
    let total = opened.store.head().await.map_err(|error| opening(&error))?.offset;
    let bar = app.out.progress("exporting", Some(total.get()));
    let progress = |Progress { at, .. }| bar.at(at.get());
    let head = if path == Path::new("-") {
        export_as(format, opened.store.as_ref(), &mut BufWriter::new(io::stdout()), progress).await
    } else {
        let mut out = BufWriter::new(new_file(path)?);
        let head = export_as(format, opened.store.as_ref(), &mut out, progress).await;
        synced(out, path)?;
        head
    };
    bar.finish();
    head.map_err(|error| failed(&error))
}

/// Makes a file that only its owner reads; one that is there is left alone.
fn new_file(path: &Path) -> Outcome<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).doing(format_args!("make `{}`", path.display()))
}

fn synced(mut out: BufWriter<File>, path: &Path) -> Outcome<()> {
    let done = out.flush().and_then(|()| out.get_ref().sync_all());
    done.doing(format_args!("write `{}`", path.display()))
}

fn reader(path: &Path) -> Outcome<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    Ok(Box::new(BufReader::new(file)))
}

/// So many of something.
fn counted<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn failed(error: &ToolError) -> Failure {
    match error {
        ToolError::Store(error) => opening(error),
        ToolError::OtherLog(_) => Failure::new(Exit::Conflict, chain(error)),
        ToolError::Line { .. } | ToolError::Chain { .. } => {
            Failure::error(format!("the file is not what was exported: {}", chain(error)))
        }
        _ => Failure::error(chain(error)),
    }
}
