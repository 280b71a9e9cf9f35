//! `charter replay inventory`: what a log is made of.

use super::{counted, failed, source::Source};
use crate::{
    app::App,
    cmd::shapes::column,
    exit::{Exit, Outcome},
    output::{Format, Shape, as_sent},
};
use charter_replay_tools::{
    Progress,
    inventory::{Inventory, Kind, inventory},
};
use serde_json::{Value, json};

const KIND: Shape = Shape {
    columns: &[
        column("TYPE", "/type"),
        column("VERSION", "/version"),
        column("EVENTS", "/events"),
        column("BYTES", "/payload_bytes"),
        column("FIRST", "/first"),
        column("LAST", "/last"),
        column("READABLE", "/readable"),
    ],
    name: "/type",
    view: as_sent,
};

/// Which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it is
    #[command(flatten)]
    source: Source,
}

pub(super) async fn run(app: &App, args: Args) -> Outcome {
    let log = args.source.open(app).await?;
    let bar = app.out.progress("counting", Some(log.end().await?.get()));
    let found = inventory(log.store(), |Progress { at, .. }| bar.at(at.get())).await;
    bar.finish();
    log.close().await;
    tell(app, &found.map_err(|error| failed(&error))?)?;
    Ok(Exit::Done)
}

fn tell(app: &App, found: &Inventory) -> Outcome<()> {
    let kinds: Vec<Value> = found.kinds.iter().map(row).collect();
    if app.out.format() != Format::Table {
        let value = json!({
            "log_id": found.head.log_id,
            "head": found.head.offset,
            "head_hash": found.head.hash,
            "began": found.began,
            "events": found.events,
            "commands": found.commands,
            "payload_bytes": found.payload_bytes,
            "kinds": kinds,
        });
        return app.out.answer(&value, String::new);
    }
    app.out.rows(&KIND, &kinds)?;
    app.out.note(&format!(
        "{} of {}, {} of payloads, in log {}.",
        counted(found.events, "event"),
        counted(found.commands, "command"),
        counted(found.payload_bytes, "byte"),
        found.head.log_id
    ));
    let unreadable: Vec<_> = found.kinds.iter().filter_map(|kind| kind.unreadable).collect();
    if let Some(first) = unreadable.iter().min() {
        app.out.warn(&format!("This build can't read the event at offset {first}: a newer one wrote it."));
    }
    Ok(())
}

fn row(kind: &Kind) -> Value {
    json!({
        "type": kind.type_name,
        "version": kind.schema,
        "events": kind.events,
        "payload_bytes": kind.payload_bytes,
        "first": kind.first,
        "last": kind.last,
        "readable": kind.unreadable.is_none(),
    })
}
