//! `charter replay`: a whole log read for its own sake: verified and folded, exported as lines of JSON, imported into
//! another store; and what stands beside it carried along.

use super::{
    common::now,
    schema::{OwnerArgs, bring_up_to_date},
    store::{Access, Opened, StoreArgs, opening},
};
use crate::{
    app::App,
    exit::{Doing, Exit, Failure, Outcome, chain},
};
use charter_events::Head;
use charter_replay_tools::{
    Progress, ToolError,
    export::export,
    import::import,
    secrets::{self, Imported},
    verify::{Sound, verify},
};
use serde_json::json;
use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

/// What to do with a log.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Write it as lines of JSON, beside a running server or without one
    Export(Export),
    /// Take over an exported log into an empty store, event for event; made again, it goes on where it ended
    Import(Import),
    /// Recompute every hash and replay every event
    Verify(Verify),
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
    /// Also make a file, readable by you alone, of all that an installation needs beside its log: keys, password
    /// hashes, sessions, tokens. No server may run. Whoever has it opens every name in the log: destroy it after the
    /// move
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
}

/// Which log, and where from.
#[derive(Debug, clap::Args)]
pub(crate) struct Import {
    /// Where it is to be kept
    #[command(flatten)]
    store: StoreArgs,
    /// Who may make a schema there
    #[command(flatten)]
    owner: OwnerArgs,
    /// The exported log; `-` is stdin
    file: PathBuf,
    /// The exported secrets that belong to it
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
}

/// Which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    match verb {
        Verb::Export(args) => exporting(app, args).await,
        Verb::Import(args) => importing(app, args).await,
        Verb::Verify(args) => verifying(app, args).await,
    }
}

async fn exporting(app: &App, args: Export) -> Outcome {
    if args.secrets.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("secrets are written to a file, never to stdout"));
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
    let head = write_log(app, opened, &args.out).await?;
    app.out.note(&format!("{} events of log {}, hash {}.", head.offset, head.log_id, head.hash));
    let Some(path) = &args.secrets else {
        app.out.note("Secrets are not in it: names stay sealed without them. `--secrets` writes them.");
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

async fn write_log(app: &App, opened: &Opened, path: &Path) -> Outcome<Head> {
    let total = opened.store.head().await.map_err(|error| opening(&error))?.offset;
    let bar = app.out.progress("exporting", Some(total.get()));
    let progress = |Progress { at, .. }| bar.at(at.get());
    let head = if path == Path::new("-") {
        export(opened.store.as_ref(), &mut BufWriter::new(io::stdout()), progress).await
    } else {
        let mut out = BufWriter::new(new_file(path)?);
        let head = export(opened.store.as_ref(), &mut out, progress).await;
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

async fn importing(app: &App, args: Import) -> Outcome {
    let place = args.store.place()?;
    // Both files are there before anything is made.
    let mut log = reader(&args.file)?;
    let beside = args.secrets.as_deref().map(reader).transpose()?;
    bring_up_to_date(app, &place, &args.owner).await?;
    let opened = place.open(Access::Server).await?;
    let done = read_both(app, &opened, log.as_mut(), beside).await;
    opened.close().await;
    done?;
    Ok(Exit::Done)
}

async fn read_both(
    app: &App,
    opened: &Opened,
    log: &mut (dyn BufRead + Send),
    beside: Option<Box<dyn BufRead + Send>>,
) -> Outcome<()> {
    opened.alone(now()).await?;
    let store = opened.store.as_ref();
    let mut bar = None;
    let shown = |Progress { at, end }| {
        bar.get_or_insert_with(|| app.out.progress("importing", Some(end.get()))).at(at.get());
    };
    let head = import(store, log, shown).await;
    if let Some(bar) = bar {
        bar.finish();
    }
    let head = head.map_err(|error| failed(&error))?;
    // A server that was started meanwhile works with keys that are replaced now.
    opened.alone(now()).await?;
    match beside {
        Some(mut beside) => match secrets::import(store, beside.as_mut()).await.map_err(|e| failed(&e))? {
            Imported::Rows(rows) => app.out.note(&format!("{rows} secrets.")),
            Imported::Before => app.out.note("The secrets were there already."),
        },
        None if store.user_keys_after(None, 1).await.map_err(|error| opening(&error))?.is_empty() => {
            app.out.warn(
                "Secrets were not imported: names stay sealed and nobody can sign in. `--secrets` takes them, \
                 before a server starts here.",
            );
        }
        None => {}
    }
    let sound = sound(app, opened).await?;
    if sound.scanned.head != head {
        return Err(Failure::error("the store does not end where the file does"));
    }
    tell(app, &sound)
}

fn reader(path: &Path) -> Outcome<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    Ok(Box::new(BufReader::new(file)))
}

async fn verifying(app: &App, args: Verify) -> Outcome {
    let opened = args.store.place()?.open(Access::ReadOnly).await?;
    let sound = sound(app, &opened).await;
    opened.close().await;
    tell(app, &sound?)?;
    Ok(Exit::Done)
}

async fn sound(app: &App, opened: &Opened) -> Outcome<Sound> {
    let total = opened.store.head().await.map_err(|error| opening(&error))?.offset;
    let bar = app.out.progress("verifying", Some(total.get()));
    let sound = verify(opened.store.as_ref(), |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    sound.map_err(|error| failed(&error))
}

fn tell(app: &App, sound: &Sound) -> Outcome<()> {
    let Sound { scanned, digest, .. } = sound;
    let digest = hex::encode(digest);
    let value = json!({
        "log_id": scanned.head.log_id,
        "events": scanned.events,
        "head": scanned.head.offset,
        "head_hash": scanned.head.hash,
        "state_digest": digest,
    });
    app.out.answer(&value, || {
        format!(
            "{} events of log {} verify and replay.\nhead {}  hash {}\nstate {digest}",
            scanned.events, scanned.head.log_id, scanned.head.offset, scanned.head.hash
        )
    })
}

fn failed(error: &ToolError) -> Failure {
    match error {
        ToolError::Store(error) => opening(error),
        ToolError::OtherLog(_) => Failure::new(Exit::Conflict, chain(error)),
        ToolError::Line { .. } | ToolError::Chain { .. } => {
            Failure::error(format!("the file is not what was exported: {}", chain(error)))
                .hint("what stood before that line is kept; import a whole file, and it goes on from there")
        }
        _ => Failure::error(chain(error)),
    }
}
