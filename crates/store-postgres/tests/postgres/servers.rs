//! Two servers on one database: who leads, who is alive, who is nudged, and appends of both.

use crate::common::{Db, append, connection, end_connections, fill, scan, wait_for};
use charter_events::{Offset, Timestamp};
use charter_services::Postgres;
use charter_store::{
    Lease, LogStore, SecretStore, SecretWrite, ServerStore, Task, UserKey,
    chain::Verifier,
    conformance::{Writing, batch_of, moment},
};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

const HEARD_WITHIN: Duration = Duration::from_secs(60);

fn lease(server: u128) -> Lease {
    Lease {
        server: Uuid::from_u128(server),
        build: "0.1.0".into(),
        started_at: moment(0),
        version: Offset::ZERO,
        knows: vec!["grant.issued.v1".into()],
        expires_at: Timestamp::MIN,
    }
}

#[tokio::test]
async fn a_task_has_one_leader_and_passes_on_when_its_connection_dies() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    let mut led = one.lead(Task::Publish).await.unwrap().unwrap();
    assert!(two.lead(Task::Publish).await.unwrap().is_none());
    assert!(two.lead(Task::Housekeeping).await.unwrap().is_some());
    end_connections(&db);
    assert!(!led.holds().await);
    let mut next = two.lead(Task::Publish).await.unwrap().unwrap();
    assert!(next.holds().await);
    assert!(one.lead(Task::Publish).await.unwrap().is_none());
    assert!(!led.holds().await);
}

#[tokio::test]
async fn the_lead_of_another_database_on_the_same_server_is_another() {
    let (here, there) = (Db::fresh().await, Db::fresh().await);
    let (one, two) = (here.server().await, there.server().await);
    let _led = one.lead(Task::Tables).await.unwrap().unwrap();
    assert!(two.lead(Task::Tables).await.unwrap().is_some());
}

#[tokio::test]
async fn leases_begin_and_end_by_the_databases_clock_whatever_a_server_says() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    let before = one.poll().await.unwrap().now.unwrap();
    let hour = Duration::from_secs(3_600);
    for said in [Timestamp::MIN, moment(0), Timestamp::MAX] {
        let told = one.renew_lease(&lease(1), said, hour).await.unwrap();
        let after = two.poll().await.unwrap().now.unwrap();
        let micros = 3_600_000_000;
        assert!(told[0].expires_at >= before.saturating_add_micros(micros), "said {said:?}");
        assert!(told[0].expires_at <= after.saturating_add_micros(micros), "said {said:?}");
        assert_eq!(two.live_servers(said).await.unwrap(), told);
    }
    two.renew_lease(&lease(2), moment(0), hour).await.unwrap();
    db.sql("UPDATE log.leases SET expires_at = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    assert_eq!(one.live_servers(moment(0)).await.unwrap(), []);
    let told = one.renew_lease(&lease(1), moment(0), hour).await.unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!(db.sql("SELECT count(*) FROM log.leases"), "1", "those that ran out are removed");
    // However long a lease is asked for, its end is a moment there is.
    let told = one.renew_lease(&lease(1), moment(0), Duration::MAX).await.unwrap();
    assert!(told[0].expires_at < Timestamp::MAX);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_renewed_by_many_servers_at_once_are_all_told() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let renewing: Vec<_> = (1..=40)
        .map(|server| {
            let store = store.clone();
            tokio::spawn(async move {
                for length in [Duration::ZERO, Duration::from_secs(3_600)] {
                    store.renew_lease(&lease(server), moment(0), length).await.unwrap();
                }
            })
        })
        .collect();
    for done in renewing {
        done.await.unwrap();
    }
    assert_eq!(store.live_servers(moment(0)).await.unwrap().len(), 40);
}

#[tokio::test]
async fn an_append_of_one_server_wakes_the_other_that_sees_it() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    let mut wakes = two.wakes().await.unwrap();
    for _ in 0..3 {
        let offset = Offset::new(append(&*one).await.unwrap()).unwrap();
        one.announce(offset).await;
        tokio::time::timeout(HEARD_WITHIN, wakes.next()).await.unwrap().unwrap();
        assert_eq!(two.poll().await.unwrap().head.offset, offset);
    }
    end_connections(&db);
    assert!(wakes.next().await.is_err(), "whoever listens must know that it may have missed something");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nudge_that_can_not_be_sent_holds_up_no_append() {
    let server = Postgres::start_durable().unwrap();
    let db = Db::on(server.database("charter").unwrap()).migrated().await;
    let role = &db.database.server_role;
    db.sql(&format!("ALTER ROLE {role} SET synchronous_commit = local"));
    let store = db.server().await;
    append(&*store).await.unwrap();
    // A commit that waits for a standby which never comes, and holds the lock of all NOTIFYs meanwhile.
    db.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    db.sql("SELECT pg_reload_conf()");
    let mut stranger = connection(&db.database.owner_url).await;
    let stuck = tokio::spawn(async move {
        let commit = "BEGIN; CREATE SCHEMA something; NOTIFY charter; COMMIT";
        sqlx::raw_sql(commit).execute(&mut stranger).await.map(drop)
    });
    wait_for(&db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "1").await;
    for _ in 0..20 {
        let offset = append(&*store).await.unwrap();
        store.announce(Offset::new(offset).unwrap()).await;
    }
    let blocked = || db.sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'object'") == "1";
    let nudging = async {
        while !blocked() {
            store.announce(Offset::ZERO).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(HEARD_WITHIN, nudging).await.unwrap();
    assert_eq!(append(&*store).await.unwrap(), 22);
    stuck.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_two_servers_become_one_chain_that_a_third_reads_as_it_grows() {
    const EACH: usize = 60;
    let db = Db::fresh().await;
    let reader = db.reader().await;
    let log_id = reader.head().await.unwrap().log_id;
    let writing: Vec<_> = [db.server().await, db.server().await]
        .into_iter()
        .map(|store| {
            tokio::spawn(async move {
                for round in 0..EACH {
                    let mut append = store.append().await.unwrap();
                    let events = Writing::new(append.head()).command(round % 3 + 1);
                    append.write(&batch_of(events)).await.unwrap();
                    if round % 5 != 0 {
                        append.commit().await.unwrap();
                    }
                }
            })
        })
        .collect();
    let mut verifier = Verifier::from_start(log_id);
    while writing.iter().any(|task| !task.is_finished()) {
        for event in reader.read(verifier.head().offset, 7).await.unwrap() {
            verifier.next(&event).unwrap();
        }
    }
    for done in writing {
        done.await.unwrap();
    }
    let committed: usize =
        2 * (0..EACH).filter(|round| round % 5 != 0).map(|round| round % 3 + 1).sum::<usize>();
    assert_eq!(scan(&*reader).await.unwrap().events, committed as u64);
}

#[tokio::test]
async fn what_one_server_knew_of_the_head_does_not_matter_after_the_other_moved_it() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    fill(&*one, 3).await;
    fill(&*two, 2).await;
    assert_eq!(one.append().await.unwrap().head().offset.get(), 5);
    assert_eq!(append(&*one).await.unwrap(), 6);
    assert_eq!(append(&*two).await.unwrap(), 7);
    scan(&*one).await.unwrap();
}

#[tokio::test]
async fn an_append_of_one_server_waits_for_that_of_the_other() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    let mut first = one.append().await.unwrap();
    first.write(&batch_of(Writing::new(first.head()).command(2))).await.unwrap();
    let second = tokio::spawn(async move { append(&*two).await });
    wait_for(&db, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted", "t").await;
    assert!(!second.is_finished());
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap(), 3, "it began at what the first left");
    scan(&*one).await.unwrap();
}

#[tokio::test]
async fn secrets_changed_outside_an_append_wait_for_the_append_of_another_server() {
    let db = Db::fresh().await;
    let (one, two) = (db.server().await, db.server().await);
    let open = one.append().await.unwrap();
    let user = charter_events::UserId::from_u128(1);
    let put = SecretWrite::PutUserKey { user, key: UserKey::new([1; 32]) };
    let writing = tokio::spawn({
        let two: Arc<_> = two.clone();
        async move { two.write_secrets(&[put]).await }
    });
    wait_for(&db, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted", "t").await;
    assert!(one.user_key(user).await.unwrap().is_none());
    open.rollback().await.unwrap();
    writing.await.unwrap().unwrap();
    assert!(one.user_key(user).await.unwrap().is_some());
}
