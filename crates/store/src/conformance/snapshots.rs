//! Snapshots.

use super::samples::append_one;
use crate::{Snapshot, SnapshotHeader, Store, Wanted};
use charter_events::{Hash, LogId, Offset, StoredEvent};
use std::sync::Arc;

fn wanted() -> Wanted {
    Wanted { format: 3, code_version: "1.2.3".into(), at_most: None }
}

fn at(event: &StoredEvent, log_id: LogId) -> Snapshot {
    let header = SnapshotHeader {
        format: 3,
        code_version: "1.2.3".into(),
        log_id,
        offset: event.offset,
        hash: event.hash,
    };
    let body = format!("state at {}", event.offset).into_bytes();
    Snapshot { header, body }
}

pub(super) async fn newest(store: Arc<dyn Store>) {
    let log_id = store.head().await.unwrap().log_id;
    assert_eq!(store.latest(&wanted()).await.unwrap().snapshot, None);
    let events = append_one(&*store, 9).await;
    for number in [2, 5, 8] {
        store.save(at(&events[number], log_id)).await.unwrap();
    }
    let loaded = store.latest(&wanted()).await.unwrap();
    assert_eq!(loaded.snapshot, Some(at(&events[8], log_id)));
    assert_eq!(loaded.ignored, []);
    let earlier = Wanted { at_most: Offset::new(8), ..wanted() };
    assert_eq!(store.latest(&earlier).await.unwrap().snapshot, Some(at(&events[5], log_id)));
    let too_early = Wanted { at_most: Offset::new(4), ..wanted() };
    assert_eq!(store.latest(&too_early).await.unwrap().snapshot, None, "the oldest was removed");
    let mut again = at(&events[8], log_id);
    again.body = vec![0; 100_000];
    store.save(again.clone()).await.unwrap();
    assert_eq!(store.latest(&wanted()).await.unwrap().snapshot, Some(again), "the same offset again");
    store.save(at(&events[6], log_id)).await.unwrap();
    let loaded = store.latest(&wanted()).await.unwrap();
    assert_eq!(loaded.snapshot, Some(at(&events[6], log_id)), "what lay beyond it is gone");
}

pub(super) async fn ignored(store: Arc<dyn Store>) {
    let log_id = store.head().await.unwrap().log_id;
    let events = append_one(&*store, 9).await;
    let good = at(&events[3], log_id);
    store.save(good.clone()).await.unwrap();
    for (what, change) in [
        ("another format", (|h| h.format = 4) as fn(&mut SnapshotHeader)),
        ("another code version", |h| h.code_version = "1.2.4".into()),
        ("another log", |h| h.log_id = LogId::from_u128(1)),
        ("another history", |h| h.hash = Hash::new([1; 32])),
        ("not in the log", |h| h.offset = Offset::new(10).unwrap()),
    ] {
        let mut bad = at(&events[7], log_id);
        change(&mut bad.header);
        store.save(bad).await.unwrap();
        let loaded = store.latest(&wanted()).await.unwrap();
        assert_eq!(loaded.snapshot.as_ref(), Some(&good), "{what}");
        assert_eq!(loaded.ignored.len(), 1, "{what}: {:?}", loaded.ignored);
        // Put right again, so that the next one finds two.
        store.save(good.clone()).await.unwrap();
    }
}
