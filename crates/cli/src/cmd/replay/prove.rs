//! `charter replay prove` and `check-proof`: that an event is in the log, shown to somebody who has neither the log nor
//! trust in who keeps it.

use super::{
    notes::{self, Notes},
    verify::{key, own_key, unsound},
};
use crate::{
    app::App,
    cmd::store::{Access, Opened, StoreArgs},
    exit::{Exit, Failure, Outcome, chain},
};
use charter_events::{EventJson, LogId, Offset, json::EVENT_JSON_BYTES_MAX};
use charter_replay_tools::{
    Progress,
    prove::{By, prove},
};
use charter_store::{
    chain::write_record,
    merkle::{InclusionText, PROOF_BYTES_MAX, VerifierKey, origin},
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Which event of which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Prove {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
    /// The event's offset
    #[arg(long, value_name = "OFFSET", value_parser = clap::value_parser!(u64).range(1..))]
    offset: u64,
    /// A checkpoint that has the event and that the other side knows already; a new one of the whole log when left out,
    /// signed with the store's key
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

/// Which proof, and by what to check it.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckProof {
    /// The proof, as `charter replay prove` or `charter log prove` gave it
    file: PathBuf,
    /// The log's key, known from elsewhere
    #[arg(long, value_name = "KEY", value_parser = key)]
    key: VerifierKey,
    /// The event it is about, as one line of an exported log: that the proof is about this event, to the byte
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
}

pub(super) async fn proving(app: &App, args: Prove) -> Outcome {
    let offset = Offset::new(args.offset).ok_or_else(|| Failure::usage("no log has so large an offset"))?;
    let notes = Notes::read(args.checkpoint.as_slice())?;
    let opened = args.store.place()?.open(Access::ReadOnly).await?;
    let proof = proven(app, &opened, offset, &notes).await;
    opened.close().await;
    let proof = proof?.to_string();
    app.out.answer(&json!({"offset": offset, "proof": proof}), || proof.clone())?;
    Ok(Exit::Done)
}

async fn proven(app: &App, opened: &Opened, offset: Offset, notes: &Notes) -> Outcome<InclusionText> {
    let own = match notes.first() {
        Some(_) => None,
        None => own_key(opened).await?,
    };
    let by = match (notes.first(), &own) {
        (Some(note), _) => By::Known(note),
        (None, Some(signer)) => By::New(signer),
        (None, None) => {
            return Err(Failure::error("the store has no key to sign a checkpoint with yet")
                .hint("start a server on it once, or give a checkpoint with `--checkpoint`"));
        }
    };
    let bar = app.out.progress("hashing", Some(0));
    let proof = prove(opened.store.as_ref(), offset, by, |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    proof.map_err(|error| unsound(&error))
}

pub(super) fn checking(app: &App, args: &CheckProof) -> Outcome {
    let wrong = |why: String| Failure::error(format!("`{}` proves nothing: {why}", args.file.display()));
    let text = notes::text(&args.file, PROOF_BYTES_MAX)?;
    let proof: InclusionText = text.parse().map_err(|error| wrong(chain(&error)))?;
    let checkpoint = proof.check(&args.key).map_err(|error| wrong(chain(&error)))?;
    let offset = proof.index.saturating_add(1);
    if let Some(path) = &args.event
        && record(path, &args.key)? != proof.record
    {
        return Err(wrong(format!("it is about another event than the one in `{}`", path.display())));
    }
    let value = json!({
        "log": checkpoint.origin,
        "offset": offset,
        "checkpoint_size": checkpoint.size,
        "root": checkpoint.root,
        "event_compared": args.event.is_some(),
    });
    app.out.answer(&value, || {
        let what = if args.event.is_some() { "The event given" } else { "An event" };
        format!(
            "{what} is at offset {offset} of the log `{}`, as it was with {} events.",
            checkpoint.origin, checkpoint.size
        )
    })?;
    if args.event.is_none() {
        app.out
            .note("Which event that is, the proof's record says: `--event` compares it with one you have.");
    }
    Ok(Exit::Done)
}

/// The record of the event in a file, in the log that the key is of.
fn record(path: &Path, key: &VerifierKey) -> Outcome<Vec<u8>> {
    let text = notes::text(path, EVENT_JSON_BYTES_MAX)?;
    let event: EventJson<'_> = serde_json::from_str(text.trim_end())
        .map_err(|error| Failure::error(format!("`{}` is no event: {error}", path.display())))?;
    let event = event.into_event();
    let id = key.name().rsplit('/').next().and_then(|id| id.parse::<LogId>().ok());
    let id = id.filter(|id| origin(*id) == key.name());
    let id = id.ok_or_else(|| Failure::error("the key is not that of a log of Charter"))?;
    let mut record = Vec::new();
    write_record(id, &event, &mut record);
    Ok(record)
}
