//! `charter backup`: has the server take a backup, or takes one on the host, and verifies a file that is one.

mod folder;
#[cfg(test)]
mod tests;

pub(crate) use folder::{FolderArgs, Kept};

use super::store::{Access, Opened, StoreArgs};
use crate::{
    app::App,
    client::Client,
    exit::{Doing, Exit, Failure, Outcome, chain},
    output::Format,
};
use charter_control::{BackupFailed, BackupResult, BackupWatch, Config, Control, RequestMeta};
use charter_events::Via;
use charter_replay_tools::{
    Progress,
    backup::{BackupError, Contents, UserKeys, Verified, read_keys, verify},
};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// How often it is asked how far a backup is.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Take a backup, or verify one.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// What to do with one that is there
    #[command(subcommand)]
    verb: Option<Verb>,
    /// How to take one
    #[command(flatten)]
    take: Take,
}

/// What to do with a backup.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Read a backup to its last line: that it is whole and unchanged, and that this build can restore it
    Verify(Verify),
}

/// How to take a backup.
#[derive(Debug, clap::Args)]
struct Take {
    /// Take it here and not at the server, from the store that the options below name: a data folder while no server
    /// runs on it, a database also beside servers
    #[arg(long)]
    offline: bool,
    /// Do not wait for the server to have taken it
    #[arg(long, conflicts_with = "offline")]
    no_wait: bool,
    /// Which store, with `--offline`
    #[command(flatten)]
    store: StoreArgs,
    /// Where to, with `--offline`
    #[command(flatten)]
    folder: FolderArgs,
}

/// Which backup.
#[derive(Debug, clap::Args)]
struct Verify {
    /// The backup
    file: PathBuf,
    /// A file of users' keys to verify with it
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
}

/// Does it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    match args.verb {
        Some(Verb::Verify(args)) => verifying(app, &args),
        None if args.take.offline => here(app, &args.take).await,
        None => at_server(app, args.take.no_wait).await,
    }
}

async fn at_server(app: &App, no_wait: bool) -> Outcome {
    let client = app.client()?;
    let begun = client.post("/backups", &json!({})).await?.body;
    if no_wait {
        app.out.answer(&begun, || format!("The backup is operation {}.", text(&begun, "id")))?;
        return Ok(Exit::Done);
    }
    let ended = until_ended(app, &client, begun).await?;
    match text(&ended, "state") {
        "done" => {
            shown_as(app, &ended, ended.pointer("/result/file"))?;
            Ok(Exit::Done)
        }
        "cancelled" => Err(Failure::error("the backup was stopped")),
        _ => Err(Failure::error(format!("no backup was taken: {}", text(&ended, "detail")))),
    }
}

/// Waits until an operation has ended, and shows how far it is.
async fn until_ended(app: &App, client: &Client, mut operation: Value) -> Outcome<Value> {
    let path = format!("/operations/{}", text(&operation, "id"));
    let number = |operation: &Value, member| operation.get(member).and_then(Value::as_u64).unwrap_or(0);
    let mut bar = None;
    while text(&operation, "state") == "running" {
        tokio::time::sleep(ASK_EVERY).await;
        operation = client.get(&path, &[]).await?.body;
        let total = number(&operation, "total");
        if total > 0 {
            bar.get_or_insert_with(|| app.out.progress("backing up", Some(total)))
                .at(number(&operation, "done"));
        }
    }
    if let Some(bar) = bar {
        bar.finish();
    }
    Ok(operation)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

async fn here(app: &App, args: &Take) -> Outcome {
    let place = args.store.place()?;
    let folder = args.folder.required(&place)?;
    // Opening to write makes what is missing: there is nothing to back up then.
    place.open(Access::ReadOnly).await?.close().await;
    let opened = place.open(Access::Server).await.map_err(|failure| {
        if failure.message.contains("in use") {
            failure.hint("without `--offline` the server takes the backup")
        } else {
            failure
        }
    })?;
    let done = taken(app, &opened, Kept(folder)).await;
    opened.close().await;
    let made = done?;
    let told = json!({"detail": made.to_string(), "result": made});
    shown_as(app, &told, told.pointer("/result/file"))?;
    Ok(Exit::Done)
}

/// Prints a backup that was taken; by name it is its path.
fn shown_as(app: &App, made: &Value, file: Option<&Value>) -> Outcome<()> {
    let file = file.and_then(Value::as_str).filter(|_| app.out.format() == Format::Name);
    app.out.answer(made, || file.unwrap_or_else(|| text(made, "detail")).to_owned())
}

async fn taken(app: &App, opened: &Opened, kept: Kept) -> Outcome<BackupResult> {
    // Nothing but the backup: no setup code, no verification in the background.
    let config = Config { make_setup_code: false, verify_every: None, ..Config::default() };
    let control = Control::start(opened.store.clone(), config).await?.control;
    let meta = RequestMeta { reason: app.reason(), ..RequestMeta::new(Via::Cli) };
    let watch = Arc::new(BackupWatch::default());
    let taking = control.take_backup(&kept, None, meta, Arc::clone(&watch));
    let done = shown(app, taking, &watch).await;
    control.shutdown().await;
    done.map_err(|error| Failure::error(format!("no backup was taken: {}", chain(&error))))
}

async fn shown(
    app: &App,
    taking: impl Future<Output = Result<BackupResult, BackupFailed>>,
    watch: &BackupWatch,
) -> Result<BackupResult, BackupFailed> {
    tokio::pin!(taking);
    let mut bar = None;
    let taken = loop {
        tokio::select! {
            taken = &mut taking => break taken,
            () = tokio::time::sleep(ASK_EVERY) => {
                let (done, total) = watch.read();
                if total > 0 {
                    bar.get_or_insert_with(|| app.out.progress("backing up", Some(total))).at(done);
                }
            }
        }
    };
    if let Some(bar) = bar {
        bar.finish();
    }
    taken
}

fn verifying(app: &App, args: &Verify) -> Outcome {
    let (_, Verified { contents, policy }) = verified(app, &args.file)?;
    let keys = args.keys.as_deref().map(keys_from).transpose()?;
    let Contents { head, made_at, passwords, digest, bytes } = contents;
    if let Some(keys) = keys.as_ref().filter(|keys| keys.log_id != head.log_id) {
        let error = BackupError::OtherKeys { keys: keys.log_id, backup: head.log_id };
        return Err(Failure::new(Exit::Conflict, chain(&error)));
    }
    let names = keys.map(|keys| {
        let named = policy.users().filter(|user| user.profile.is_some());
        let (open, sealed): (Vec<_>, Vec<_>) = named.partition(|user| keys.keys.contains_key(&user.id));
        (open.len(), sealed.len())
    });
    let value = json!({
        "log_id": head.log_id,
        "head": head.offset,
        "head_hash": head.hash,
        "made_at": made_at,
        "passwords": passwords,
        "sha256": digest,
        "bytes": bytes,
        "state_digest": hex::encode(policy.digest()),
        "users_with_key": names.map(|(open, _)| open),
        "users_without_key": names.map(|(_, sealed)| sealed),
    });
    app.out.answer(&value, || {
        let mut told = format!(
            "{} events of log {}, as of {made_at}: whole, unchanged, and they replay.\nhead {}  hash {}\nSHA-256 {digest}",
            head.offset, head.log_id, head.offset, head.hash
        );
        if let Some((open, sealed)) = names {
            told.push_str(&format!("\nThe keys open the names of {open} users; {sealed} stay sealed."));
        }
        told
    })?;
    Ok(Exit::Done)
}

/// A backup that was verified, and its open file.
pub(crate) fn verified(app: &App, path: &Path) -> Outcome<(File, Verified)> {
    let mut file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    let mut bar = None;
    let mut shown = |Progress { at, end }| {
        bar.get_or_insert_with(|| app.out.progress("verifying", Some(end.get()))).at(at.get());
        true
    };
    let verified = verify(&mut BufReader::new(&mut file), &mut shown);
    if let Some(bar) = bar {
        bar.finish();
    }
    Ok((file, verified.map_err(|error| not_a_backup(path, &error))?))
}

/// A file of users' keys.
pub(crate) fn keys_from(path: &Path) -> Outcome<UserKeys> {
    let file = File::open(path).doing(format_args!("read `{}`", path.display()))?;
    read_keys(&mut BufReader::new(file)).map_err(|error| {
        Failure::error(format!(
            "`{}` is not a file of keys as it was written: {}",
            path.display(),
            chain(&error)
        ))
    })
}

fn not_a_backup(path: &Path, error: &BackupError) -> Failure {
    match error {
        BackupError::Replay { .. } => Failure::error(format!("`{}`: {}", path.display(), chain(error)))
            .hint("it was taken by a newer build: restore it with that"),
        _ => Failure::error(format!(
            "`{}` is not a backup as it was written: {}",
            path.display(),
            chain(error)
        ))
        .hint("nothing was changed; take another copy of it, or an earlier backup"),
    }
}
