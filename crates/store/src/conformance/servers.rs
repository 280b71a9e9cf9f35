//! Several servers on one store. A store that only one server can open tells of nobody, and leads everything.

use super::samples::{append_one, moment};
use crate::{BUILD_BYTES_MAX, KNOWS_BYTES_MAX, Leadership, Lease, Store, StoreError, Task};
use charter_events::{Offset, Timestamp};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

const LENGTH: Duration = Duration::from_secs(3_600);
/// A store in another process may take a moment to notice.
const NOTICED_WITHIN: Duration = Duration::from_secs(30);

fn lease(server: u128) -> Lease {
    Lease {
        server: Uuid::from_u128(server),
        build: format!("0.1.{server}"),
        started_at: moment(i64::try_from(server).unwrap()),
        version: Offset::new(7).unwrap(),
        knows: vec!["grant.issued.v1".to_owned(), "žlutý 馬, ' \" {} \\".to_owned(), String::new()],
        expires_at: Timestamp::MIN,
    }
}

async fn renew(store: &dyn Store, lease: &Lease, length: Duration) -> Vec<Lease> {
    let mut told = store.renew_lease(lease, moment(0), length).await.unwrap();
    told.sort_by_key(|lease| lease.server);
    told
}

async fn live(store: &dyn Store) -> Vec<Lease> {
    let mut told = store.live_servers(moment(0)).await.unwrap();
    told.sort_by_key(|lease| lease.server);
    told
}

fn ids(leases: &[Lease]) -> Vec<u128> {
    leases.iter().map(|lease| lease.server.as_u128()).collect()
}

/// Whether several servers can have this store.
async fn is_shared(store: &dyn Store) -> bool {
    renew(store, &lease(99), LENGTH).await;
    let shared = !live(store).await.is_empty();
    store.end_lease(Uuid::from_u128(99)).await.unwrap();
    shared
}

pub(super) async fn told(store: Arc<dyn Store>) {
    let now = store.poll().await.unwrap().now.unwrap_or(moment(0));
    let own = renew(&*store, &lease(1), LENGTH).await;
    assert_eq!(ids(&own), [1]);
    assert!(own[0].expires_at >= now.saturating_add_micros(3_600_000_000), "{:?} at {now:?}", own[0]);
    assert_eq!(Lease { expires_at: Timestamp::MIN, ..own[0].clone() }, lease(1), "as it was given");
    if !is_shared(&*store).await {
        assert_eq!(live(&*store).await, []);
        return;
    }
    assert_eq!(live(&*store).await, own);
    assert_eq!(ids(&renew(&*store, &lease(2), LENGTH).await), [1, 2], "the others too");
    let newer = Lease { version: Offset::new(8).unwrap(), knows: Vec::new(), ..lease(1) };
    let renewed = renew(&*store, &newer, LENGTH).await;
    assert_eq!((renewed[0].version, renewed[0].knows.len()), (newer.version, 0), "renewing says what is new");
    assert_eq!(live(&*store).await, renewed);
}

pub(super) async fn ended(store: Arc<dyn Store>) {
    renew(&*store, &lease(1), LENGTH).await;
    renew(&*store, &lease(2), LENGTH).await;
    store.end_lease(Uuid::from_u128(1)).await.unwrap();
    store.end_lease(Uuid::from_u128(1)).await.unwrap();
    store.end_lease(Uuid::from_u128(77)).await.unwrap();
    assert!(!ids(&live(&*store).await).contains(&1));
    assert_eq!(ids(&renew(&*store, &lease(2), LENGTH).await), [2]);
    // Over as soon as it begins.
    assert!(ids(&renew(&*store, &lease(3), Duration::ZERO).await).contains(&3), "its own is always told");
    assert!(!ids(&live(&*store).await).contains(&3));
    assert_eq!(ids(&renew(&*store, &lease(2), LENGTH).await), [2]);
    assert!(ids(&renew(&*store, &lease(3), LENGTH).await).contains(&3), "and may begin again");
}

pub(super) async fn refused(store: Arc<dyn Store>) {
    let long_build = Lease { build: "b".repeat(BUILD_BYTES_MAX + 1), ..lease(1) };
    let knows_much = Lease { knows: vec!["k".repeat(1_024); KNOWS_BYTES_MAX / 1_024 + 1], ..lease(1) };
    for (what, lease) in [("build", long_build), ("kinds of event", knows_much)] {
        let error = store.renew_lease(&lease, moment(0), LENGTH).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{what}: {error}");
    }
    assert_eq!(live(&*store).await, []);
}

pub(super) async fn lead(store: Arc<dyn Store>) {
    let shared = is_shared(&*store).await;
    let mut first = store.lead(Task::Publish).await.unwrap().unwrap();
    assert!(first.holds().await);
    let second = store.lead(Task::Publish).await.unwrap();
    assert_eq!(second.is_none(), shared, "one server at a time");
    let mut other = store.lead(Task::Tables).await.unwrap().unwrap();
    assert!(other.holds().await, "another task is led apart");
    assert!(first.holds().await, "and still the first");
    drop(first);
    assert!(taken(&*store, Task::Publish).await.holds().await);
    assert!(other.holds().await);
}

async fn taken(store: &dyn Store, task: Task) -> Box<dyn Leadership> {
    let trying = async {
        loop {
            if let Some(led) = store.lead(task).await.unwrap() {
                return led;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(NOTICED_WITHIN, trying).await.unwrap()
}

pub(super) async fn polling(store: Arc<dyn Store>) {
    let before = store.poll().await.unwrap();
    assert_eq!(before.head, store.head().await.unwrap());
    append_one(&*store, 3).await;
    let after = store.poll().await.unwrap();
    assert_eq!(after.head, store.head().await.unwrap());
    assert_eq!(after.head.offset.get(), 3);
    assert_eq!(after.now.is_some(), before.now.is_some());
    assert!(after.now >= before.now, "{after:?} after {before:?}");
}

pub(super) async fn wakes(store: Arc<dyn Store>) {
    let mut wakes = store.wakes().await.unwrap();
    let unheard = tokio::time::timeout(Duration::from_millis(20), wakes.next()).await;
    assert!(unheard.is_err(), "woken before anything happened");
    let events = append_one(&*store, 1).await;
    store.announce(events[0].offset).await;
    if is_shared(&*store).await {
        tokio::time::timeout(NOTICED_WITHIN, wakes.next()).await.unwrap().unwrap();
    } else {
        let unheard = tokio::time::timeout(Duration::from_millis(20), wakes.next()).await;
        assert!(unheard.is_err(), "nobody else is there to wake it");
    }
}
