//! Generations: built, read, removed.

use super::samples::{
    NOTES, OTHER, SAMPLE, SAMPLE_NEXT, THINGS, all_rows, at, change, checkpoint, everything, fresh, note,
    putting, thing,
};
use crate::{Generation, Store, StoreError, TABLE_TEXT_BYTES_MAX, TableFault, Target};
use charter_events::Offset;
use charter_tables::{Changes, Value};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

async fn kept(store: &dyn Store, target: Target) -> Generation {
    let all = store.generations().await.unwrap();
    let of = |kept: &Generation| kept.projection == target.spec.name && kept.number == target.number;
    all.into_iter().find(of).unwrap()
}

async fn read(store: &dyn Store, projection: &str) -> Vec<u32> {
    let all = store.generations().await.unwrap().into_iter();
    all.filter(|kept| kept.active && kept.projection == projection).map(|kept| kept.number).collect()
}

fn moved(result: Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::CheckpointMoved { projection }) if projection == "sample")
}

pub(super) async fn numbered(store: Arc<dyn Store>) {
    let (one, two) = (fresh(&*store, &SAMPLE).await, fresh(&*store, &SAMPLE_NEXT).await);
    let other = fresh(&*store, &OTHER).await;
    assert_eq!((one.number, two.number, other.number), (1, 2, 1));
    let all: Vec<_> = store.generations().await.unwrap();
    let told: Vec<_> = all.iter().map(|kept| (kept.projection.as_str(), kept.number, kept.version)).collect();
    assert_eq!(told, [("other", 1, 1), ("sample", 1, 3), ("sample", 2, 4)]);
    store.drop_generation("sample", 2).await.unwrap();
    store.drop_generation("sample", 2).await.unwrap();
    store.drop_generation("nothing", 1).await.unwrap();
    assert_eq!(fresh(&*store, &SAMPLE).await.number, 3, "a number is never used again");
    store.drop_generation("sample", 3).await.unwrap();
    store.drop_generation("sample", 1).await.unwrap();
    assert_eq!(fresh(&*store, &SAMPLE).await.number, 4, "not even when none is left");
}

pub(super) async fn gone(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    change(&*store, target, &putting(NOTES, &[note("a", 1)])).await;
    store.drop_generation("sample", target.number).await.unwrap();
    assert_eq!(store.generations().await.unwrap(), []);
    assert!(moved(store.digest_rows(&[target]).await.map(drop)), "digest");
    assert!(moved(store.scan_rows(target, NOTES, None, 1).await.map(drop)), "scan");
    assert!(moved(store.index_generation(target).await), "index");
    assert!(moved(store.note_fault(target, None).await), "fault");
    assert!(moved(store.activate_generation(target, None).await), "activate");
    let again = fresh(&*store, &SAMPLE).await;
    assert_eq!(all_rows(&*store, again, NOTES).await, Vec::<Vec<Value>>::new(), "the next one is empty");
}

pub(super) async fn activated(store: Arc<dyn Store>) {
    let (one, two) = (fresh(&*store, &SAMPLE).await, fresh(&*store, &SAMPLE).await);
    change(&*store, one, &putting(NOTES, &[note("one", 1)])).await;
    assert!(moved(store.activate_generation(one, Some(2)).await), "nothing is read yet");
    store.activate_generation(one, None).await.unwrap();
    assert_eq!(read(&*store, "sample").await, [1]);
    assert!(moved(store.activate_generation(two, Some(1)).await), "it is behind");
    change(&*store, two, &putting(NOTES, &[note("two", 2)])).await;
    assert!(moved(store.activate_generation(two, None).await), "something is read");
    assert!(moved(store.activate_generation(two, Some(2)).await), "another one is read");
    assert_eq!(read(&*store, "sample").await, [1]);
    store.activate_generation(two, Some(1)).await.unwrap();
    assert_eq!(read(&*store, "sample").await, [2]);
    let listed = store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap().unwrap();
    assert_eq!((listed.rows, listed.generation), (vec![note("two", 2)], 2));
    assert_eq!(listed.checkpoint, at(&*store, 1).await);
    store.activate_generation(one, Some(2)).await.unwrap();
    let listed = store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap().unwrap();
    assert_eq!((listed.rows, listed.generation), (vec![note("one", 1)], 1), "back again");
    let error = store.drop_generation("sample", 1).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    store.drop_generation("sample", 2).await.unwrap();
    assert_eq!(store.list_rows(&everything(&OTHER, 0)).await.unwrap(), None, "each projection for itself");
}

pub(super) async fn retired(store: Arc<dyn Store>) {
    let (old, new) = (fresh(&*store, &SAMPLE).await, fresh(&*store, &SAMPLE).await);
    for number in 1..=3 {
        change(&*store, old, &putting(NOTES, &[note("lost", number)])).await;
    }
    change(&*store, new, &putting(NOTES, &[note("kept", 1)])).await;
    store.activate_generation(old, None).await.unwrap();
    assert!(moved(store.activate_generation(new, Some(1)).await), "it is behind");
    for _ in 0..2 {
        store.retire_generation("sample", 1).await.unwrap();
        assert_eq!(store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap(), None);
        assert_eq!(read(&*store, "sample").await, Vec::<u32>::new());
        assert!(moved(store.scan_rows(old, NOTES, None, 1).await.map(drop)), "its rows are gone");
    }
    assert!(moved(store.activate_generation(new, Some(1)).await), "nothing is read");
    store.activate_generation(new, None).await.unwrap();
    let listed = store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap().unwrap();
    assert_eq!((listed.rows, listed.generation), (vec![note("kept", 1)], 2));
    // One that is not read takes nothing from readers.
    let third = fresh(&*store, &SAMPLE).await;
    store.retire_generation("sample", third.number).await.unwrap();
    store.retire_generation("nothing", 1).await.unwrap();
    assert_eq!((read(&*store, "sample").await, third.number), (vec![2], 3));
    assert_eq!(store.generations().await.unwrap().len(), 1);
}

pub(super) async fn another_version(store: Arc<dyn Store>) {
    let old = fresh(&*store, &SAMPLE).await;
    store.activate_generation(old, None).await.unwrap();
    assert!(store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap().is_some());
    assert_eq!(store.list_rows(&everything(&SAMPLE_NEXT, NOTES)).await.unwrap(), None);
    let new = fresh(&*store, &SAMPLE_NEXT).await;
    store.activate_generation(new, Some(old.number)).await.unwrap();
    assert!(store.list_rows(&everything(&SAMPLE_NEXT, NOTES)).await.unwrap().is_some());
    assert_eq!(store.list_rows(&everything(&SAMPLE, NOTES)).await.unwrap(), None);
}

pub(super) async fn indexed(store: Arc<dyn Store>) {
    let target = fresh(&*store, &SAMPLE).await;
    change(&*store, target, &putting(THINGS, &[thing(1, 1, "one")])).await;
    for _ in 0..2 {
        store.index_generation(target).await.unwrap();
        assert!(kept(&*store, target).await.indexed);
    }
    change(&*store, target, &putting(THINGS, &[thing(1, 2, "two")])).await;
    assert_eq!(all_rows(&*store, target, THINGS).await, [thing(1, 1, "one"), thing(1, 2, "two")]);
}

pub(super) async fn faults(store: Arc<dyn Store>) {
    let (one, two) = (fresh(&*store, &SAMPLE).await, fresh(&*store, &SAMPLE).await);
    let fault = TableFault { offset: Offset::new(7).unwrap(), why: "é".repeat(TABLE_TEXT_BYTES_MAX / 2) };
    store.note_fault(one, Some(fault.clone())).await.unwrap();
    assert_eq!(kept(&*store, one).await.fault, Some(fault.clone()));
    assert_eq!(kept(&*store, two).await.fault, None, "of this generation only");
    let long = TableFault { why: "x".repeat(TABLE_TEXT_BYTES_MAX + 1), ..fault.clone() };
    let error = store.note_fault(one, Some(long)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(kept(&*store, one).await.fault, Some(fault));
    change(&*store, one, &putting(NOTES, &[note("on", 1)])).await;
    store.note_fault(one, None).await.unwrap();
    assert_eq!(kept(&*store, one).await.fault, None);
}

pub(super) async fn digests(store: Arc<dyn Store>) {
    let (one, two) = (fresh(&*store, &SAMPLE).await, fresh(&*store, &SAMPLE).await);
    let rows: Vec<_> =
        (0..50).map(|number| thing(u128::from(number % 3_u32), i64::from(number), "a")).collect();
    for row in &rows {
        change(&*store, one, &putting(THINGS, std::slice::from_ref(row))).await;
    }
    for row in rows.iter().rev() {
        let mut detour = row.clone();
        detour[2] = Value::text("b");
        change(&*store, two, &putting(THINGS, &[detour])).await;
        change(&*store, two, &putting(THINGS, std::slice::from_ref(row))).await;
    }
    let both = store.digest_rows(&[one, two, one]).await.unwrap();
    assert_eq!(both[0].1, both[1].1, "whatever the order");
    assert_eq!(both[0], both[2]);
    assert_eq!((both[0].0, both[1].0), (at(&*store, 50).await, at(&*store, 100).await));
    assert_eq!(both[0].1.rows(), 50);
    let mut less = Changes::default();
    less.delete(THINGS, rows[0][..2].to_vec());
    change(&*store, one, &less).await;
    let after = store.digest_rows(&[one, two]).await.unwrap();
    assert_ne!(after[0].1.finish(), after[1].1.finish());
    let lost = Target { number: 9, ..one };
    assert!(moved(store.digest_rows(&[one, lost]).await.map(drop)));
}

/// Switches while a reader reads.
pub(super) async fn never_a_mixture(store: Arc<dyn Store>) {
    let rows = |offset: i64| (0..20).map(|number| thing(1, number, &offset.to_string())).collect::<Vec<_>>();
    let mut target = fresh(&*store, &SAMPLE).await;
    change(&*store, target, &putting(THINGS, &rows(1))).await;
    store.activate_generation(target, None).await.unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let reader = tokio::spawn(watch(store.clone(), ended.clone()));
    for step in 1..=120_i64 {
        change(&*store, target, &putting(THINGS, &rows(step + 1))).await;
        if step % 10 == 0 {
            let next = fresh(&*store, &SAMPLE).await;
            let (from, to) = (checkpoint(&*store, next).await, checkpoint(&*store, target).await);
            store.change_rows(next, from, to, &putting(THINGS, &rows(step + 1))).await.unwrap();
            store.activate_generation(next, Some(target.number)).await.unwrap();
            store.drop_generation("sample", target.number).await.unwrap();
            target = next;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    ended.store(true, Ordering::SeqCst);
    assert!(reader.await.unwrap() > 0, "the reader saw something");
}

async fn watch(store: Arc<dyn Store>, ended: Arc<AtomicBool>) -> u64 {
    let (mut seen, mut last) = (0, (Offset::ZERO, 0));
    while !ended.load(Ordering::SeqCst) {
        let listed = store.list_rows(&everything(&SAMPLE, THINGS)).await.unwrap().unwrap();
        let here = (listed.checkpoint.offset, listed.generation);
        assert!(here >= last, "{here:?} after {last:?}");
        assert_eq!(listed.rows.len(), 20);
        let label = Value::text(listed.checkpoint.offset.to_string());
        assert!(listed.rows.iter().all(|row| row[2] == label), "at {here:?}: {:?}", listed.rows);
        (seen, last) = (seen + 1, here);
        tokio::task::yield_now().await;
    }
    seen
}
