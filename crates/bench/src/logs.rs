//! What a log in a database costs: reading and decoding it alone (the limit), replaying it into a `Policy`, building
//! each projection's tables from it. SQLite always; PostgreSQL where its programs are installed.

use crate::{
    measure::{once, time},
    questions::Workload,
    report::Report,
};
use anyhow::Context;
use charter_control::fold_log;
use charter_events::{Actor, CommandId, CommandMeta, Event, EventMeta, Offset, Timestamp, Via};
use charter_policy::Policy;
use charter_replay_tools::rebuild::rebuild;
use charter_services::{Database, Postgres};
use charter_store::{Batch, LogStore, READ_EVENTS_MAX, Snapshot, SnapshotHeader, Store, chain::Chain};
use charter_store_postgres::{PostgresStore, migrate};
use charter_store_sqlite::SqliteStore;
use charter_tables::PROJECTIONS;
use charter_testkit::workload::Size;
use std::sync::Arc;
use uuid::Uuid;

/// Events of one transaction while a log is written.
const BATCH_EVENTS: usize = 10_000;
/// Each figure is the middle one of so many.
const REPEATS: usize = 3;
const REPLAY_GOAL: f64 = 300_000.0;
const REBUILD_GOAL: f64 = 50_000.0;
/// Of reading and decoding alone.
const SHARE_GOAL: f64 = 0.5;

/// A log in a database, and a database beside it to build tables in.
struct Side {
    name: &'static str,
    log: Arc<dyn Store>,
    fresh: Arc<dyn Store>,
}

/// Measures a size's log in both databases.
pub(crate) fn run(report: &mut Report, name: &str, size: Size, seed: u64) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    report.section(&format!("The log of {name} in a database"));
    let workload = Workload::rbac(size, seed);
    let folder = tempfile::tempdir()?;
    runtime.block_on(async {
        let open = |at: &str| {
            let path = folder.path().join(at);
            async move { SqliteStore::open(&path, charter_store_sqlite::Access::Server).await }
        };
        let side = Side { name: "SQLite", log: open("log").await?, fresh: open("fresh").await? };
        measured(report, name, &side, &workload).await
    })?;
    let postgres = match Postgres::start_durable() {
        Ok(postgres) => postgres,
        Err(error) => {
            report.say(&format!("PostgreSQL was not measured: {error:#}."));
            return Ok(());
        }
    };
    runtime.block_on(async {
        let made = [postgres.database("bench_log")?, postgres.database("bench_fresh")?];
        let [log, fresh] = &made;
        let side = Side {
            name: "PostgreSQL",
            log: opened(log, folder.path()).await?,
            fresh: opened(fresh, folder.path()).await?,
        };
        measured(report, name, &side, &workload).await
    })
}

async fn opened(database: &Database, folder: &std::path::Path) -> anyhow::Result<Arc<dyn Store>> {
    migrate(&database.owner_url.parse()?, Some(&database.server_role)).await?;
    let snapshots = folder.join(&database.name);
    let url = database.server_url.parse()?;
    Ok(PostgresStore::open(&url, &snapshots, charter_store_postgres::Access::Server).await?)
}

async fn measured(report: &mut Report, size: &str, side: &Side, workload: &Workload) -> anyhow::Result<()> {
    let store = side.log.as_ref();
    let events = write(store, workload.events()).await.context("write the log")? as f64;
    let rate = |nanos: f64| events / nanos * 1e9;
    report.head(&[&format!("{}, {events} events", side.name), "time", "events/s"]);
    let row = |report: &mut Report, what: &str, nanos: f64| {
        report.row(&[what.to_owned(), time(nanos), format!("{:.0}", rate(nanos))]);
    };
    let mut read = Vec::new();
    let mut replayed = Vec::new();
    for _ in 0..REPEATS {
        read.push(timed(read_and_decode(store)).await?.1);
        replayed.push(timed(async { Ok(fold_log(store, None).await?) }).await?);
    }
    let read = middle(read);
    let folded = replayed.first().map(|(folded, _)| folded.clone()).context("nothing was replayed")?;
    let replay = middle(replayed.into_iter().map(|(_, nanos)| nanos).collect());
    row(report, "reading and decoding alone", read);
    row(report, "replay: reading, checking the chain, decoding, applying", replay);
    let mut built = Vec::new();
    for projection in PROJECTIONS {
        let (done, nanos) = timed(async {
            Ok(rebuild(store, side.fresh.as_ref(), *projection, Timestamp::MIN, |_| ()).await?)
        })
        .await?;
        row(
            report,
            &format!("building `{}` ({} rows), indexes and digest included", done.projection, done.rows),
            nanos,
        );
        built.push((done.projection, nanos));
    }
    let start = from_snapshot(store, &folded).await?;
    row(report, "start from a snapshot of the head", start);
    report.say("");
    let on = format!("{size} on {}", side.name);
    let measured = format!("{:.0} events/s", rate(replay));
    report.goal(&format!("replay, {on}"), "≥ 300,000 events/s", &measured, rate(replay) >= REPLAY_GOAL);
    let share = read / replay;
    let measured = format!("{share:.2} ×");
    report.goal(
        &format!("the same, {on}"),
        "≥ 0.5 × reading and decoding alone",
        &measured,
        share >= SHARE_GOAL,
    );
    for (projection, nanos) in built {
        let measured = format!("{:.0} events/s", rate(nanos));
        let met = rate(nanos) >= REBUILD_GOAL;
        report.goal(
            &format!("rebuild `{projection}`, {on}"),
            "≥ 50,000 events/s (PostgreSQL)",
            &measured,
            met,
        );
    }
    Ok(())
}

async fn timed<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<(T, f64)> {
    let start = std::time::Instant::now();
    let done = work.await?;
    Ok((done, start.elapsed().as_nanos() as f64))
}

fn middle(mut nanos: Vec<f64>) -> f64 {
    nanos.sort_by(f64::total_cmp);
    nanos.get(nanos.len() / 2).copied().unwrap_or(f64::NAN)
}

async fn read_and_decode(log: &dyn LogStore) -> anyhow::Result<u64> {
    let mut at = Offset::ZERO;
    loop {
        let page = log.read(at, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else { return Ok(at.get()) };
        at = last.offset;
        for stored in &page {
            std::hint::black_box(stored.decode()?);
        }
    }
}

/// What a start does with a snapshot: it reads, checks and loads it.
async fn from_snapshot(store: &dyn Store, folded: &charter_control::Folded) -> anyhow::Result<f64> {
    let header = SnapshotHeader {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: charter_control::CODE_VERSION.to_owned(),
        log_id: folded.head.log_id,
        offset: folded.head.offset,
        hash: folded.head.hash,
    };
    store.save(Snapshot { header, body: folded.policy.to_snapshot()? }).await?;
    let (again, nanos) = timed(async { Ok(fold_log(store, None).await?) }).await?;
    anyhow::ensure!(again.from_snapshot == Some(folded.head.offset), "the snapshot was not used");
    let (same, _) = once(|| again.policy.digest() == folded.policy.digest());
    anyhow::ensure!(same, "a start from a snapshot is another policy");
    Ok(nanos)
}

async fn write(
    store: &dyn Store,
    mut events: impl Iterator<Item = (EventMeta, Event)>,
) -> anyhow::Result<u64> {
    let mut head = store.head().await?;
    loop {
        let page: Vec<(EventMeta, Event)> = events.by_ref().take(BATCH_EVENTS).collect();
        if page.is_empty() {
            return Ok(head.offset.get());
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
            batch.events.extend(chain.extend(&command, &[event], meta.recorded_at, &mut Uuid::now_v7)?);
        }
        let mut append = store.append().await?;
        append.write(&batch).await?;
        head = append.commit().await?;
    }
}
