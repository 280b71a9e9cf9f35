//! Tables and the log they come from: what is kept up to date while a long random history happens equals what is built
//! from nothing afterwards, row by row, in every kind of store.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_control::{Clock, Config, Control};
use charter_events::{Actor, CommandId, CommandMeta, Timestamp, Via};
use charter_replay_tools::rebuild::{Compared, rebuild};
use charter_services::Database;
use charter_store::{Batch, Chain, MemoryStore, Store};
use charter_store_postgres::PostgresStore;
use charter_store_sqlite::SqliteStore;
use charter_tables::PROJECTIONS;
use charter_testkit::{
    Rng, at,
    clock::START,
    random::{History, Step},
};
use charter_tests::eventually;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

/// How many commands a history has.
const COMMANDS: usize = 5_000;
/// So many have happened when the server starts.
const BEFORE_THE_SERVER: usize = 10;
/// At most so many are appended at once.
const AT_ONCE_MAX: usize = 200;

/// A clock that stands where random histories begin: nothing but the history moves the time.
struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        at(START)
    }
}

/// Appends commands in one transaction, as another server would.
async fn append(store: &dyn Store, steps: &[Step]) {
    let mut append = store.append().await.unwrap();
    let mut chain = Chain::new(append.head());
    for step in steps.iter().filter(|step| !step.events.is_empty()) {
        let command_id = CommandId::new(Uuid::now_v7());
        let (actor, via) = (Actor::System, Via::Import);
        let meta = CommandMeta { command_id, actor, via, request_id: None, reason: None };
        let events = chain.extend(&meta, &step.events, step.at, &mut Uuid::now_v7).unwrap();
        append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    }
    append.commit().await.unwrap();
}

fn config(seed: u64) -> Config {
    Config {
        clock: Arc::new(Standing),
        follow_every: Some(Duration::from_millis(5)),
        // The history has its own ends of grants.
        housekeeping_every: Duration::from_secs(24 * 60 * 60),
        verify_every: None,
        tables_batch_events_max: 1 + usize::try_from(seed % 3).unwrap() * 700,
        tables_look_every: Duration::from_millis(50),
        ..Config::default()
    }
}

/// Whether the tables that are read have come to the log's end.
async fn all_at_the_end(store: &dyn Store) -> bool {
    let head = store.head().await.unwrap().offset;
    let all = store.generations().await.unwrap();
    PROJECTIONS.iter().all(|projection| {
        let name = projection.spec().name;
        all.iter().any(|one| one.active && one.projection == name && one.checkpoint.offset == head)
    })
}

/// Lets a history happen beside a server that keeps the tables, and builds all of them
/// anew in the end.
async fn rebuilt_equal_live(seed: u64, store: Arc<dyn Store>) {
    let history = History::long(seed, COMMANDS);
    let mut rng = Rng::new(seed);
    let (first, rest) = history.steps.split_at(BEFORE_THE_SERVER);
    append(store.as_ref(), first).await;
    let control = Control::start(Arc::clone(&store), config(seed)).await.unwrap().control;
    let mut at = 0;
    while at < rest.len() {
        let end = (at + rng.between(1, AT_ONCE_MAX)).min(rest.len());
        append(store.as_ref(), &rest[at..end]).await;
        at = end;
        if rng.percent(20) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let there =
        eventually("the tables come to the log's end", 120, async || all_at_the_end(store.as_ref()).await);
    there.await.unwrap();
    control.shutdown().await;
    let head = store.head().await.unwrap();
    for projection in PROJECTIONS {
        let fresh = MemoryStore::new(head.log_id);
        let rebuilt = rebuild(store.as_ref(), &fresh, *projection, head.recorded_at, |_| ()).await.unwrap();
        assert_eq!(rebuilt.compared, Compared::Equal, "seed {seed}: {}", rebuilt.projection);
        assert_eq!(rebuilt.up_to, head.offset);
        assert!(rebuilt.rows > 20, "seed {seed}: {} has {} rows", rebuilt.projection, rebuilt.rows);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_rebuilt_from_nothing_equal_the_live_ones_in_memory() {
    for seed in 0..3 {
        rebuilt_equal_live(seed, Arc::new(MemoryStore::default())).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_rebuilt_from_nothing_equal_the_live_ones_on_sqlite() {
    for seed in 10..12 {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), charter_store_sqlite::Access::Server).await.unwrap();
        rebuilt_equal_live(seed, store.clone()).await;
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_rebuilt_from_nothing_equal_the_live_ones_on_postgres() {
    for seed in 20..22 {
        let database = Database::fresh("history").unwrap();
        let owner = database.owner_url.parse().unwrap();
        charter_store_postgres::migrate(&owner, Some(&database.server_role)).await.unwrap();
        let (folder, url) = (tempfile::tempdir().unwrap(), database.server_url.parse().unwrap());
        let open = PostgresStore::open(&url, folder.path(), charter_store_postgres::Access::Server);
        let store = open.await.unwrap();
        rebuilt_equal_live(seed, store.clone()).await;
        store.close().await;
        database.remove().unwrap();
    }
}
