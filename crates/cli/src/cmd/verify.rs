//! `charter verify`: every hash of a log recomputed, beside a running server or without one.

use super::store::{Access, StoreArgs, opening};
use crate::{
    app::App,
    exit::{Exit, Outcome},
};
use charter_events::Offset;
use charter_store::verify::{Progress, scan};
use serde_json::json;

/// Which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
}

/// Verifies it.
pub(crate) async fn run(app: &App, args: Args) -> Outcome {
    let opened = args.store.place()?.open(Access::ReadOnly).await?;
    let store = &opened.store;
    let head = store.head().await.map_err(|error| opening(&error))?;
    let bar = app.out.progress("verifying", Some(head.offset.get()));
    let scanned = scan(store.as_ref(), Offset::ZERO, |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    let scanned = scanned.map_err(|error| opening(&error))?;
    opened.close().await;
    let value = json!({
        "log_id": scanned.head.log_id,
        "events": scanned.events,
        "head": scanned.head.offset,
        "head_hash": scanned.head.hash,
    });
    app.out.answer(&value, || {
        format!(
            "{} events of log {} verify.\nhead {}  hash {}",
            scanned.events, scanned.head.log_id, scanned.head.offset, scanned.head.hash
        )
    })?;
    app.out.note(
        "A log that was rewritten or cut together with its head verifies too: `charter replay verify --checkpoint` \
         compares it with one kept elsewhere.",
    );
    Ok(Exit::Done)
}
