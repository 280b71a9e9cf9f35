//! Connections that end at any moment, a database that stops, hangs or comes back, a stranger that holds the lock:
//! nothing acknowledged is lost, nothing is kept twice, no store must be opened again.

use crate::{
    common::{Db, append, connection, end_connections, fill, scan, wait_for},
    proxy::{Mode, Proxy},
};
use charter_services::{Postgres, StopHow};
use charter_store::{
    LogStore, SecretHash, SecretStore, SecretWrite, ServerStore, StoreError, Task,
    conformance::{Writing, batch_of},
};
use charter_store_postgres::{Access, PostgresStore};
use std::{sync::Arc, time::Duration};

/// Far above every time limit of the store's: what takes longer hangs.
const HANGING_AFTER: Duration = Duration::from_secs(60);

async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANGING_AFTER, work).await.unwrap()
}

fn is_unavailable(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. })
}

#[tokio::test]
async fn idle_connections_that_were_ended_are_replaced_unnoticed() {
    let db = Db::fresh().await;
    let store = db.server().await;
    for round in 1..=5 {
        assert_eq!(append(&*store).await.unwrap(), round);
        assert_eq!(store.poll().await.unwrap().head.offset.get(), round);
        end_connections(&db);
        assert_eq!(store.head().await.unwrap().offset.get(), round, "a read notices nothing");
    }
    assert_eq!(scan(&*store).await.unwrap().events, 5);
}

#[tokio::test]
async fn an_append_whose_connection_was_ended_keeps_nothing_and_the_next_works() {
    let db = Db::fresh().await;
    let store = db.server().await;
    append(&*store).await.unwrap();
    for wrote in [false, true] {
        let mut open = store.append().await.unwrap();
        let events = Writing::new(open.head()).command(3);
        if wrote {
            open.write(&batch_of(events.clone())).await.unwrap();
        }
        end_connections(&db);
        let lost = match wrote {
            true => open.commit().await.unwrap_err(),
            false => {
                let lost = open.write(&batch_of(events)).await.unwrap_err();
                drop(open);
                lost
            }
        };
        assert!(is_unavailable(&lost), "{lost}");
        assert_eq!(bounded(store.append()).await.unwrap().head().offset.get(), 1, "wrote: {wrote}");
    }
    assert_eq!(append(&*store).await.unwrap(), 2);
    assert_eq!(scan(&*store).await.unwrap().events, 2);
}

#[tokio::test]
async fn after_its_connection_was_lost_an_append_does_not_go_on_with_another() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut open = store.append().await.unwrap();
    open.write(&batch_of(Writing::new(open.head()).command(1))).await.unwrap();
    end_connections(&db);
    let second = Writing::new(open.head()).command(1);
    assert!(open.write(&batch_of(second.clone())).await.is_err());
    assert!(open.write(&batch_of(second)).await.is_err());
    assert!(open.read_since(charter_events::Offset::ZERO, 10).await.is_ok(), "there was nothing to read");
    assert!(open.commit().await.is_err());
    assert_eq!(scan(&*store).await.unwrap().events, 0);
    assert_eq!(append(&*store).await.unwrap(), 1);
}

#[tokio::test]
async fn a_stranger_who_holds_the_lock_makes_appends_fail_in_time_and_reads_go_on() {
    let db = Db::fresh().await;
    let store = db.server().await;
    append(&*store).await.unwrap();
    let mut stranger = connection(&db.database.owner_url).await;
    let lock = "BEGIN; SELECT * FROM log.log_head FOR UPDATE";
    sqlx::raw_sql(lock).execute(&mut stranger).await.unwrap();
    let error = bounded(append(&*store)).await.unwrap_err();
    assert!(is_unavailable(&error), "{error}");
    assert_eq!(store.poll().await.unwrap().head.offset.get(), 1);
    sqlx::raw_sql("ROLLBACK").execute(&mut stranger).await.unwrap();
    assert_eq!(append(&*store).await.unwrap(), 2);
    scan(&*store).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_outlives_the_restart_of_its_database_with_everything_acknowledged() {
    let server = Arc::new(Postgres::start_durable().unwrap());
    let db = Db::on(server.database("charter").unwrap()).migrated().await;
    let store = db.server().await;
    let mut led = store.lead(Task::Publish).await.unwrap().unwrap();
    let mut wakes = store.wakes().await.unwrap();
    let mut acknowledged = 0;
    for how in [StopHow::Immediate, StopHow::Fast] {
        for _ in 0..5 {
            acknowledged = append(&*store).await.unwrap();
        }
        let mut open = store.append().await.unwrap();
        open.write(&batch_of(Writing::new(open.head()).command(2))).await.unwrap();
        server.stop(how).unwrap();
        assert!(is_unavailable(&bounded(store.poll()).await.unwrap_err()));
        assert!(bounded(open.commit()).await.is_err());
        assert!(is_unavailable(&bounded(append(&*store)).await.unwrap_err()));
        assert!(!bounded(led.holds()).await);
        assert!(is_unavailable(&bounded(wakes.next()).await.unwrap_err()));
        assert!(is_unavailable(&bounded(wakes.next()).await.unwrap_err()), "until it listens again");
        server.restart().unwrap();
        assert_eq!(store.head().await.unwrap().offset.get(), acknowledged);
        acknowledged = append(&*store).await.unwrap();
        assert!(!led.holds().await, "a lead that was lost stays lost");
        led = store.lead(Task::Publish).await.unwrap().unwrap();
        wakes = store.wakes().await.unwrap();
        store.announce(store.head().await.unwrap().offset).await;
        bounded(wakes.next()).await.unwrap();
    }
    assert_eq!(scan(&*store).await.unwrap().events, acknowledged);
    assert_eq!(acknowledged, 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_may_be_thought_about_for_longer_than_a_server_that_stopped_keeps_the_head() {
    let db = Db::fresh().await;
    let (proxy, stopped) = behind_proxy(&db).await;
    let store = db.server().await;
    let mut open = store.append().await.unwrap();
    // The database ends a session that says nothing in an append after ten seconds.
    tokio::time::sleep(Duration::from_secs(13)).await;
    open.write(&batch_of(Writing::new(open.head()).command(1))).await.unwrap();
    open.commit().await.unwrap();

    let mut silent = stopped.append().await.unwrap();
    silent.write(&batch_of(Writing::new(silent.head()).command(1))).await.unwrap();
    proxy.set(Mode::Hang);
    let next = async {
        loop {
            match append(&*store).await {
                Ok(offset) => return offset,
                Err(error) => assert!(is_unavailable(&error), "{error}"),
            }
        }
    };
    assert_eq!(bounded(next).await, 2, "and nothing of the silent one was kept");
    assert_eq!(scan(&*store).await.unwrap().events, 2);
}

#[tokio::test]
async fn appends_that_write_nothing_leave_no_dead_version_of_the_head() {
    let db = Db::fresh().await;
    let store = db.server().await;
    append(&*store).await.unwrap();
    let version = || db.sql("SELECT ctid, xmin FROM log.log_head");
    let before = version();
    for _ in 0..3 {
        store.append().await.unwrap().rollback().await.unwrap();
        store.append().await.unwrap().commit().await.unwrap();
        store.write_secrets(&[SecretWrite::ClearSetupCode]).await.unwrap();
    }
    assert_eq!(version(), before);
    append(&*store).await.unwrap();
    assert_ne!(version(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_of_sessions_that_is_locked_keeps_no_server_from_seeing_the_logs_end() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut stranger = connection(&db.database.owner_url).await;
    let lock = "BEGIN; LOCK TABLE log.credentials IN ACCESS EXCLUSIVE MODE";
    sqlx::raw_sql(lock).execute(&mut stranger).await.unwrap();
    let lookups = (0..50).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { store.credential(&SecretHash::new([number; 32])).await })
    });
    let lookups: Vec<_> = lookups.collect();
    wait_for(&db, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted", "t").await;
    assert_eq!(store.poll().await.unwrap().head.offset.get(), 0);
    assert_eq!(append(&*store).await.unwrap(), 1);
    for lookup in lookups {
        assert!(is_unavailable(&bounded(lookup).await.unwrap().unwrap_err()));
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut stranger).await.unwrap();
    assert_eq!(store.credential(&SecretHash::new([1; 32])).await.unwrap(), None);
}

/// The store through a proxy.
async fn behind_proxy(db: &Db) -> (Proxy, Arc<PostgresStore>) {
    let proxy = Proxy::to(&db.database.server_url).await;
    let url = proxy.url(&db.database.server_url).parse().unwrap();
    let store = PostgresStore::open(&url, db.folder.path(), Access::Server).await.unwrap();
    (proxy, store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_vanished_makes_polls_and_appends_fail_in_time() {
    let db = Db::fresh().await;
    let (proxy, store) = behind_proxy(&db).await;
    assert_eq!(append(&*store).await.unwrap(), 1);
    let mut led = store.lead(Task::Publish).await.unwrap().unwrap();
    proxy.set(Mode::Hang);
    let appending = tokio::spawn({
        let store = store.clone();
        async move { append(&*store).await }
    });
    // More than there are connections: none may hold up the others.
    let polls = (0..20).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { tokio::time::timeout(Duration::from_secs(10), store.poll()).await })
    });
    for poll in polls.collect::<Vec<_>>() {
        assert!(is_unavailable(&poll.await.unwrap().expect("a poll hangs").unwrap_err()));
    }
    assert!(!bounded(led.holds()).await);
    store.announce(charter_events::Offset::MAX).await;
    let error = bounded(appending).await.unwrap().unwrap_err();
    assert!(is_unavailable(&error), "{error}");
    proxy.set(Mode::Pass);
    assert_eq!(store.poll().await.unwrap().head.offset.get(), 1);
    // The server may take a moment to notice that the old connection is gone.
    assert_eq!(bounded(append(&*store)).await.unwrap(), 2);
    assert_eq!(scan(&*store).await.unwrap().events, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whether_a_commit_without_an_answer_was_kept_is_told_by_the_log() {
    let db = Db::fresh().await;
    let (proxy, store) = behind_proxy(&db).await;
    fill(&*store, 3).await;
    let mut expected = 3;
    for (mode, kept) in [(Mode::CutBeforeCommit, 0), (Mode::CutAfterCommit, 2), (Mode::CutAfterCommit, 2)] {
        let mut open = store.append().await.unwrap();
        open.write(&batch_of(Writing::new(open.head()).command(2))).await.unwrap();
        proxy.set(mode);
        let error = bounded(open.commit()).await.unwrap_err();
        assert!(is_unavailable(&error), "{mode:?}: {error}");
        proxy.set(Mode::Pass);
        expected += kept;
        let next = bounded(store.append()).await.unwrap();
        assert_eq!(next.head().offset.get(), expected, "{mode:?}");
        drop(next);
        assert_eq!(store.head().await.unwrap().offset.get(), expected);
    }
    assert_eq!(append(&*store).await.unwrap(), expected + 1);
    assert_eq!(scan(&*store).await.unwrap().events, expected + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_goes_away_leaves_no_transaction_open() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut open = store.append().await.unwrap();
    open.write(&batch_of(Writing::new(open.head()).command(1))).await.unwrap();
    drop(open);
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND state LIKE 'idle in transaction%'";
    wait_for(&db, open, "0").await;
    assert_eq!(append(&*store).await.unwrap(), 1);
}
