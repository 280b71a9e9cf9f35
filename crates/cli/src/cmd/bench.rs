//! `charter bench`: logs to measure with, written through the store's own port into a folder a server can start on.

use super::store::{Access, Hidden, Opened, Place, database_url, opening};
use crate::{
    app::App,
    exit::{Doing, Exit, Failure, Outcome},
    output::Progress,
};
use charter_events::{Actor, CommandId, CommandMeta, Event, EventMeta, Offset, Via};
use charter_store::{Batch, Store, chain::Chain};
use charter_testkit::workload::{Conflict, RbacW, Size as Rbac};
use serde_json::json;
use std::path::PathBuf;
use uuid::Uuid;

/// How many events one transaction takes.
const BATCH_EVENTS: usize = 2_000;

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Verb {
    /// Write a generated log into a new data folder
    Gen(Gen),
}

/// Which log, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct Gen {
    /// How large
    #[arg(long, value_enum, ignore_case = true)]
    size: Size,
    /// The same seed gives the same log, but for the ids of events
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The data folder to make; it must be new or empty
    #[arg(long, value_name = "FOLDER", required_unless_present = "database_url")]
    out: Option<PathBuf>,
    /// A migrated PostgreSQL database with an empty log, instead of a data folder
    #[arg(long, value_name = "URL", conflicts_with = "out")]
    database_url: Option<Hidden>,
}

/// How large a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Size {
    /// 1,000 users, 10,000 objects
    S,
    /// 10,000 users, 100,000 objects
    M,
    /// 100,000 users, 1,000,000 objects
    L,
    /// 100 users, 1,000 objects, full of conflict
    X,
}

/// Does it.
pub(crate) async fn run(app: &App, verb: Verb) -> Outcome {
    let Verb::Gen(args) = verb;
    let place = place(&args)?;
    let opened = place.open(Access::Server).await?;
    let written = fill(app, &opened, &args).await;
    let head = opened.store.head().await;
    opened.close().await;
    let (written, head) = (written?, head.map_err(|error| opening(&error))?);
    let place = place.to_string();
    let value = json!({"events": written, "store": place, "log_id": head.log_id, "head_hash": head.hash});
    app.out.answer(&value, || format!("{written} events in {place}"))?;
    Ok(Exit::Done)
}

fn place(args: &Gen) -> Outcome<Place> {
    if let Some(text) = args.database_url.as_ref().and_then(Hidden::given) {
        let url = database_url(text, "--database-url")?;
        return Ok(Place::Database { url: Box::new(url), data: std::env::temp_dir().join("charter-bench") });
    }
    let Some(out) = &args.out else { return Err(Failure::usage("`--out` is missing")) };
    if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::new(Exit::Conflict, format!("`{}` is not empty", out.display())));
    }
    Ok(Place::Folder(out.clone()))
}

async fn fill(app: &App, opened: &Opened, args: &Gen) -> Outcome<u64> {
    let store = opened.store.as_ref();
    match args.size {
        Size::S => rbac(app, store, Rbac::S, args.seed).await,
        Size::M => rbac(app, store, Rbac::M, args.seed).await,
        Size::L => rbac(app, store, Rbac::L, args.seed).await,
        Size::X => write(app, store, Conflict::new(args.seed).events()).await,
    }
}

async fn rbac(app: &App, store: &dyn Store, size: Rbac, seed: u64) -> Outcome<u64> {
    write(app, store, RbacW::new(size, seed).events()).await
}

async fn write(
    app: &App,
    store: &dyn Store,
    mut events: impl Iterator<Item = (EventMeta, Event)>,
) -> Outcome<u64> {
    let bar = app.out.progress("writing events", None);
    let mut head = store.head().await.map_err(|error| opening(&error))?;
    if head.offset != Offset::ZERO {
        return Err(Failure::new(Exit::Conflict, "there is a log already"));
    }
    loop {
        let page: Vec<(EventMeta, Event)> = events.by_ref().take(BATCH_EVENTS).collect();
        if page.is_empty() {
            break;
        }
        let mut chain = Chain::new(head);
        let mut batch = Batch::default();
        for (meta, event) in page {
            let command = CommandMeta {
                command_id: CommandId::new(Uuid::now_v7()),
                actor: Actor::System,
                via: Via::Import,
                request_id: None,
                reason: None,
            };
            let stored = chain.extend(&command, &[event], meta.recorded_at, &mut Uuid::now_v7);
            batch.events.extend(stored.doing("make an event")?);
        }
        head = append(store, &batch, &bar).await?;
    }
    bar.finish();
    Ok(head.offset.get())
}

async fn append(store: &dyn Store, batch: &Batch, bar: &Progress) -> Outcome<charter_events::Head> {
    let mut append = store.append().await.map_err(|error| opening(&error))?;
    append.write(batch).await.map_err(|error| opening(&error))?;
    let head = append.commit().await.map_err(|error| opening(&error))?;
    bar.at(head.offset.get());
    Ok(head)
}
