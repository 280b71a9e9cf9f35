//! `charter replay verify`: whether a log, in a store or a file, is what was written, and what it was when checkpoints
//! of it were kept elsewhere.

use super::{counted, failed, notes::Notes, reader};
use crate::{
    app::App,
    cmd::store::{Access, Opened, StoreArgs, opening},
    exit::{Exit, Failure, Outcome, chain},
    output::Format,
};
use charter_replay_tools::{
    EvidenceError, Progress, ToolError,
    verify::{Sound, verify_against},
    verify_file::verify_file,
};
use charter_store::merkle::{Checkpoint, NoteError, Signer, VerifierKey, origin};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Which log, and what to compare it with.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
    /// An exported log, instead of one in a store; `-` is stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A checkpoint of it that was kept elsewhere, as `charter log checkpoint` gave it; may be given several times.
    /// Only a checkpoint shows that the log was cut or rewritten as a whole
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,
    /// The key that the checkpoints are signed with, as `charter log show` gave it, kept elsewhere too
    #[arg(long, value_name = "KEY", value_parser = key)]
    key: Option<VerifierKey>,
}

/// Reads a verifier key.
pub(super) fn key(text: &str) -> Result<VerifierKey, NoteError> {
    text.parse()
}

pub(super) async fn verifying(app: &App, args: Verify) -> Outcome {
    let notes = Notes::read(&args.checkpoint)?;
    if let Some(key) = &args.key {
        notes.check(key)?;
    }
    let sound = match &args.file {
        Some(path) => {
            args.store.require_none_beside(path)?;
            if args.key.is_none() && !notes.is_empty() {
                app.out.warn(
                    "Signatures of checkpoints were not checked: `--key` takes the key to check them with.",
                );
            }
            in_file(app, path, &notes.checkpoints)?
        }
        None => {
            let opened = args.store.place()?.open(Access::ReadOnly).await?;
            let done = in_store(app, &opened, &args, &notes).await;
            opened.close().await;
            done?
        }
    };
    tell(app, &sound, &notes.checkpoints)?;
    if notes.is_empty() {
        app.out.note(
            "A log that was rewritten or cut together with its head verifies too: `--checkpoint` compares it with \
             one kept elsewhere.",
        );
    }
    Ok(Exit::Done)
}

fn in_file(app: &App, path: &std::path::Path, checkpoints: &[Checkpoint]) -> Outcome<Sound> {
    let mut input = reader(path)?;
    let mut bar = None;
    let sound = verify_file(input.as_mut(), checkpoints, |Progress { at, end }| {
        bar.get_or_insert_with(|| app.out.progress("verifying", Some(end.get()))).at(at.get());
    });
    if let Some(bar) = bar {
        bar.finish();
    }
    sound.map_err(|error| faulty(app, &error))
}

async fn in_store(app: &App, opened: &Opened, args: &Verify, notes: &Notes) -> Outcome<Sound> {
    if args.key.is_none() && !notes.is_empty() {
        match own_key(opened).await? {
            Some(signer) => {
                notes.check(&signer.verifier_key())?;
                app.out.note(
                    "Signatures were checked with the store's own key, with which whoever has the store can sign: \
                     `--key` takes one kept elsewhere.",
                );
            }
            None => app.out.warn("Signatures of checkpoints were not checked: the store has no key yet."),
        }
    }
    sound(app, opened, &notes.checkpoints).await
}

/// The store's own key; none in a store that an older build made.
pub(super) async fn own_key(opened: &Opened) -> Outcome<Option<Signer>> {
    let log_id = opened.store.head().await.map_err(|error| opening(&error))?.log_id;
    let secrets = opened.store.installation_secrets().await.map_err(|error| {
        opening(&error)
            .hint("the key that checkpoints are signed with can't be read: `--key` takes it instead")
    })?;
    Ok(secrets.signing_key.map(|key| Signer::new(&origin(log_id), &key)))
}

/// Verifies a store's log, with a bar.
pub(super) async fn sound(app: &App, opened: &Opened, checkpoints: &[Checkpoint]) -> Outcome<Sound> {
    let total = opened.store.head().await.map_err(|error| opening(&error))?.offset;
    let bar = app.out.progress("verifying", Some(total.get()));
    let sound =
        verify_against(opened.store.as_ref(), checkpoints, |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    sound.map_err(|error| faulty(app, &error))
}

/// Tells programs of a fault, and returns what people are told.
fn faulty(app: &App, error: &EvidenceError) -> Failure {
    if let Some(value) = fault(error).filter(|_| !matches!(app.out.format(), Format::Table | Format::Name))
        && let Err(failure) = app.out.answer(&value, String::new)
    {
        return failure;
    }
    unsound(error)
}

/// A fault of the log itself: the first bad offset and line, as far as they are known. None when it was not looked at.
fn fault(error: &EvidenceError) -> Option<Value> {
    let (offset, line) = match error {
        EvidenceError::Tool(ToolError::Store(error)) => (Some(error.fault()?.offset), None),
        EvidenceError::Tool(ToolError::Chain { line, fault }) => (Some(fault.offset), Some(*line)),
        EvidenceError::Tool(ToolError::Line { line, .. }) => (None, Some(*line)),
        EvidenceError::Tool(ToolError::Fold { offset, .. }) | EvidenceError::Cut { offset, .. } => {
            (Some(*offset), None)
        }
        EvidenceError::Rewritten { after, .. } => (after.plus(1), None),
        EvidenceError::TwoHistories { .. } => (None, None),
        EvidenceError::Tool(_) | EvidenceError::Unproven(_) => return None,
    };
    Some(json!({"sound": false, "offset": offset, "line": line, "why": chain(error)}))
}

/// What it means that a log is not sound, or not what it was.
pub(super) fn unsound(error: &EvidenceError) -> Failure {
    match error {
        EvidenceError::Tool(ToolError::Chain { .. } | ToolError::Line { .. }) => {
            Failure::error(format!("the file is not what was exported: {}", chain(error)))
        }
        EvidenceError::Tool(error) => failed(error),
        EvidenceError::Cut { .. } | EvidenceError::Rewritten { .. } => Failure::error(chain(error))
            .hint("keep the store as it is; a backup or an export from before tells what was there")
            .hint("more checkpoints, from other days, tell more exactly where it begins"),
        EvidenceError::TwoHistories { .. } => {
            Failure::error(chain(error)).hint("keep both: they prove it, whatever the log is now")
        }
        EvidenceError::Unproven(_) => Failure::error(chain(error)),
    }
}

/// Tells of a sound log.
pub(super) fn tell(app: &App, sound: &Sound, checkpoints: &[Checkpoint]) -> Outcome<()> {
    let Sound { scanned, digest, root, .. } = sound;
    let digest = hex::encode(digest);
    let newest = checkpoints.iter().map(|checkpoint| checkpoint.size).max();
    let value = json!({
        "sound": true,
        "log_id": scanned.head.log_id,
        "events": scanned.events,
        "head": scanned.head.offset,
        "head_hash": scanned.head.hash,
        "root": root,
        "state_digest": digest,
        "checkpoints": checkpoints.len(),
        "checkpoint_size": newest,
    });
    app.out.answer(&value, || {
        let mut text = format!(
            "{} of log {} verify and replay.\nhead {}  hash {}\nroot {root}\nstate {digest}",
            counted(scanned.events, "event"),
            scanned.head.log_id,
            scanned.head.offset,
            scanned.head.hash
        );
        if let Some(newest) = newest {
            let given = match checkpoints.len() {
                1 => "the checkpoint given".to_owned(),
                count => format!("all {count} checkpoints given"),
            };
            text.push_str(&format!("\nThe first {newest} events are those of {given}."));
        }
        text
    })
}
