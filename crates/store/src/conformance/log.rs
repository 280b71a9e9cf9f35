//! Appending and reading.

use super::samples::{Writing, append_one, batch_of, group_renamed, meta, verified};
use crate::{BATCH_ANSWERS_MAX, Batch, Pages, READ_PAYLOAD_BYTES_MAX, Store, StoreError, verify};
use charter_events::{
    Actor, Hash, Namespace, Offset, Timestamp, UserId, Via,
    envelope::{REASON_BYTES_MAX, REQUEST_ID_BYTES_MAX},
    registry::PAYLOAD_BYTES_MAX,
};
use std::sync::Arc;

pub(super) async fn empty(store: Arc<dyn Store>) {
    let head = store.head().await.unwrap();
    assert_eq!((head.offset, head.hash, head.recorded_at), (Offset::ZERO, Hash::ZERO, Timestamp::MIN));
    assert_eq!(store.read(Offset::ZERO, 10).await.unwrap(), []);
    assert_eq!(store.read(Offset::MAX, 10).await.unwrap(), []);
    assert_eq!(verified(&*store).await, []);
}

pub(super) async fn adopting(store: Arc<dyn Store>) {
    let other = charter_events::LogId::from_u128(5);
    drop(store.append().await.unwrap());
    store.adopt(other).await.unwrap();
    assert_eq!(store.head().await.unwrap().log_id, other);
    let all = append_one(&*store, 2).await;
    assert_eq!(all[0].hash, crate::chain::hash(other, &all[0]));
    let error = store.adopt(charter_events::LogId::from_u128(6)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn paging(store: Arc<dyn Store>) {
    let mut all = Vec::new();
    for size in [1, 7, 8, 9, 63, 64, 65, 1, 100] {
        all.extend(append_one(&*store, size).await);
    }
    assert_eq!(verified(&*store).await, all);
    for limit in [1, 2, 63, 64, 1_000, usize::MAX] {
        for after in [0, 1, 17, all.len() - 1, all.len(), all.len() + 1] {
            let page = store.read(Offset::new(after as u64).unwrap(), limit).await.unwrap();
            let end = after.saturating_add(limit).min(all.len());
            assert_eq!(page, all[after.min(end)..end], "after {after}, limit {limit}");
        }
    }
    assert_eq!(store.read(Offset::ZERO, 0).await.unwrap(), []);
    let offset = |at: usize| Offset::new(at as u64).unwrap();
    for (after, end) in [(0, all.len()), (17, 64), (64, 64), (80, 17), (300, all.len() + 9)] {
        for events_max in [1, 63, 64, 1_000] {
            let mut pages = Pages::new(&*store, offset(after), offset(end)).of_at_most(events_max);
            let mut read = Vec::new();
            while let Some(page) = pages.next().await.unwrap() {
                assert!((1..=events_max).contains(&page.len()));
                read.extend(page);
            }
            let end = end.min(all.len());
            assert_eq!(read, all[after.min(end)..end], "after {after} to {end}, {events_max} a page");
            assert_eq!(pages.next().await.unwrap(), None);
        }
    }

    // What comes after a page was handed over is there when the next is asked for.
    let mut pages = Pages::new(&*store, offset(all.len() - 1), Offset::MAX);
    for _ in 0..3 {
        assert_eq!(pages.next().await.unwrap().as_deref(), all.last_chunk::<1>().map(|last| &last[..]));
        all.extend(append_one(&*store, 1).await);
    }
}

/// A scan that runs while commands are written finds the log whole: it is never told of an end that is older than the
/// head it holds it against.
pub(super) async fn scanned_while_it_grows(store: Arc<dyn Store>) {
    const COMMANDS: usize = 300;
    append_one(&*store, 2).await;
    let writing = store.clone();
    let writer = tokio::spawn(async move {
        for at in 0..COMMANDS {
            append_one(&*writing, 1 + at % 3).await;
        }
    });
    let mut last = 0;
    while !writer.is_finished() {
        let scanned = verify::scan(&*store, Offset::ZERO, |_| ()).await.unwrap();
        assert!(scanned.events >= last, "{} after {last}", scanned.events);
        last = scanned.events;
        verify::check_ends(&*store, 5).await.unwrap();
        // A store that never waits would not let the writer run.
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}

pub(super) async fn hashes(store: Arc<dyn Store>) {
    let mut all = Vec::new();
    for size in [1, 7, 64, 100, 300] {
        all.extend(append_one(&*store, size).await.iter().map(|event| event.hash));
    }
    for limit in [0, 1, 256, usize::MAX] {
        for after in [0, 1, 255, all.len() - 1, all.len(), all.len() + 1] {
            let page = store.hashes(Offset::new(after as u64).unwrap(), limit).await.unwrap();
            let end = after.saturating_add(limit).min(all.len());
            assert_eq!(page, all[after.min(end)..end], "after {after}, limit {limit}");
        }
    }
}

pub(super) async fn every_member(store: Arc<dyn Store>) {
    let user = UserId::from_u128(u128::MAX);
    let actors = [
        Actor::User(user),
        Actor::Service(user),
        Actor::Module("m".parse::<Namespace>().unwrap()),
        Actor::System,
    ];
    let texts = [
        None,
        Some(String::new()),
        Some("a".repeat(REQUEST_ID_BYTES_MAX)),
        Some("žlutý 馬 🐎 e\u{301} \u{202e} ' \" ; -- \\ %_ \n\0end".to_owned()),
    ];
    let mut all = Vec::new();
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    for (number, via) in [Via::Api, Via::Cli, Via::Module, Via::Import, Via::System].into_iter().enumerate() {
        let mut command = meta(number as u128 + 1);
        command.via = via;
        command.actor = actors[number % actors.len()].clone();
        command.request_id = texts[number % texts.len()].clone();
        command.reason = texts[(number + 1) % texts.len()].clone();
        all.extend(writing.with(&command, &[group_renamed(1, "馬 'x' \u{10ffff}"), group_renamed(2, "b")]));
    }
    let mut longest = meta(99);
    longest.reason = Some("é".repeat(REASON_BYTES_MAX / 2));
    all.extend(writing.with(&longest, &[group_renamed(1, "a")]));
    append.write(&batch_of(all.clone())).await.unwrap();
    append.commit().await.unwrap();
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn rollback_leaves_no_hole(store: Arc<dyn Store>) {
    let mut all = append_one(&*store, 2).await;
    for _ in 0..3 {
        let mut append = store.append().await.unwrap();
        let events = Writing::new(append.head()).command(3);
        append.write(&batch_of(events)).await.unwrap();
        append.rollback().await.unwrap();
        assert_eq!(store.head().await.unwrap().offset, all.last().unwrap().offset);
    }
    all.extend(append_one(&*store, 1).await);
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn dropped_append(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(200);
    append.write(&batch_of(events)).await.unwrap();
    drop(append);
    drop(store.append().await.unwrap());
    let all = append_one(&*store, 1).await;
    assert_eq!(all[0].offset.get(), 1);
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn several_writes(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let mut all = Vec::new();
    for size in [3, 1, 70] {
        let events = Writing::new(append.head()).command(size);
        append.write(&batch_of(events.clone())).await.unwrap();
        all.extend(events);
        assert_eq!(append.head().offset, all.last().unwrap().offset);
        assert_eq!(append.head().hash, all.last().unwrap().hash);
    }
    let head = append.commit().await.unwrap();
    assert_eq!(head, store.head().await.unwrap());
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn nothing_written(store: Arc<dyn Store>) {
    append_one(&*store, 1).await;
    let before = store.head().await.unwrap();
    let append = store.append().await.unwrap();
    assert_eq!(append.commit().await.unwrap(), before);
    let mut append = store.append().await.unwrap();
    append.write(&Batch::default()).await.unwrap();
    assert_eq!(append.commit().await.unwrap(), before);
    assert_eq!(verified(&*store).await.len(), 1);
}

pub(super) async fn refuses_another_head(store: Arc<dyn Store>) {
    let old = store.head().await.unwrap();
    let stale = Writing::new(old).command(1);
    let all = append_one(&*store, 2).await;
    let here = store.head().await.unwrap();
    let mut ahead = here;
    ahead.offset = here.offset.plus(1).unwrap();
    let mut other_hash = here;
    other_hash.hash = Hash::new([1; 32]);
    let mut other_log = here;
    other_log.log_id = charter_events::LogId::from_u128(5);
    let heads = [(ahead, "a gap"), (other_hash, "another hash"), (other_log, "another log")];
    let batches = heads.map(|(head, what)| (Writing::new(head).command(1), what));
    for (events, what) in batches.into_iter().chain([(stale, "an old head")]) {
        let mut append = store.append().await.unwrap();
        let error = append.write(&batch_of(events)).await.unwrap_err();
        match what {
            "another log" => assert!(matches!(error, StoreError::Refused(_)), "{what}: {error}"),
            _ => assert!(matches!(error, StoreError::HeadMoved { .. }), "{what}: {error}"),
        }
        append.rollback().await.unwrap();
    }
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn refuses_broken_chain(store: Arc<dyn Store>) {
    let head = store.head().await.unwrap();
    let sound = Writing::new(head).command(4);
    let mut broken = vec![("a gap", sound.clone()), ("two swapped", sound.clone())];
    broken[0].1.remove(2);
    broken[1].1.swap(1, 2);
    for (what, change) in [
        ("a changed payload", (|e| e.payload.push(b' ')) as fn(&mut charter_events::StoredEvent)),
        ("another place in the command", |e| e.command_index = 7),
        ("an earlier time", |e| e.recorded_at = Timestamp::MIN),
        ("another hash", |e| e.hash = Hash::ZERO),
    ] {
        let mut events = sound.clone();
        change(&mut events[2]);
        broken.push((what, events));
    }
    for (what, events) in broken {
        let mut append = store.append().await.unwrap();
        let error = append.write(&batch_of(events)).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{what}: {error}");
        append.rollback().await.unwrap();
    }
    assert_eq!(verified(&*store).await, []);
}

pub(super) async fn refuses_over_limit(store: Arc<dyn Store>) {
    let head = store.head().await.unwrap();
    for (what, change) in [
        (
            "payload",
            (|e| e.payload = vec![b' '; PAYLOAD_BYTES_MAX + 1]) as fn(&mut charter_events::StoredEvent),
        ),
        ("reason", |e| e.command.reason = Some("r".repeat(REASON_BYTES_MAX + 1))),
        ("request id", |e| e.command.request_id = Some("r".repeat(REQUEST_ID_BYTES_MAX + 1))),
        ("type", |e| e.type_name = "t".repeat(crate::TYPE_NAME_BYTES_MAX + 1)),
    ] {
        let mut events = Writing::new(head).command(1);
        change(&mut events[0]);
        events[0].hash = crate::chain::hash(head.log_id, &events[0]);
        let mut append = store.append().await.unwrap();
        let error = append.write(&batch_of(events)).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)), "{what}: {error}");
    }
    let answers = vec![super::samples::answer("k", head); BATCH_ANSWERS_MAX + 1];
    let mut append = store.append().await.unwrap();
    let error = append.write(&Batch { answers, ..Batch::default() }).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "answers: {error}");
    drop(append);
    assert_eq!(verified(&*store).await, []);
}

pub(super) async fn refuses_half_a_command(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let mut events = Writing::new(append.head()).command(5);
    let rest = events.split_off(3);
    append.write(&batch_of(events.clone())).await.unwrap();
    assert!(matches!(append.commit().await.unwrap_err(), StoreError::Refused(_)));
    assert_eq!(store.head().await.unwrap().offset, Offset::ZERO);
    let mut append = store.append().await.unwrap();
    append.write(&batch_of(events.clone())).await.unwrap();
    append.write(&batch_of(rest.clone())).await.unwrap();
    append.commit().await.unwrap();
    events.extend(rest);
    assert_eq!(verified(&*store).await, events);
}

pub(super) async fn failed_write_is_final(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let sound = Writing::new(append.head()).command(2);
    append.write(&batch_of(sound.clone())).await.unwrap();
    let stale = append.write(&batch_of(sound)).await.unwrap_err();
    assert!(matches!(stale, StoreError::HeadMoved { .. }), "{stale}");
    let more = Writing::new(append.head()).command(1);
    assert!(append.write(&batch_of(more)).await.is_err());
    assert!(append.commit().await.is_err());
    assert_eq!(verified(&*store).await, []);
}

pub(super) async fn reads_since(store: Arc<dyn Store>) {
    let all = append_one(&*store, 5).await;
    let mut append = store.append().await.unwrap();
    assert_eq!(append.head().offset.get(), 5);
    assert_eq!(append.read_since(Offset::new(2).unwrap(), 2).await.unwrap(), all[2..4]);
    let mine = Writing::new(append.head()).command(3);
    append.write(&batch_of(mine)).await.unwrap();
    assert_eq!(append.read_since(Offset::new(2).unwrap(), 100).await.unwrap(), all[2..]);
    assert_eq!(append.read_since(Offset::new(5).unwrap(), 100).await.unwrap(), []);
    append.rollback().await.unwrap();
}

pub(super) async fn large_command(store: Arc<dyn Store>) {
    let all = append_one(&*store, 5_000).await;
    assert_eq!(verified(&*store).await, all);
}

pub(super) async fn page_ends_after_bytes(store: Arc<dyn Store>) {
    let head = store.head().await.unwrap();
    let count = READ_PAYLOAD_BYTES_MAX / PAYLOAD_BYTES_MAX + 8;
    let mut events = Writing::new(head).command(count);
    let mut prev = head.hash;
    for event in &mut events {
        event.payload.resize(PAYLOAD_BYTES_MAX, b' ');
        event.prev_hash = prev;
        event.hash = crate::chain::hash(head.log_id, event);
        prev = event.hash;
    }
    let mut append = store.append().await.unwrap();
    append.write(&batch_of(events)).await.unwrap();
    append.commit().await.unwrap();
    let page = store.read(Offset::ZERO, 1_000).await.unwrap();
    assert!(page.len() < count && page.len() >= count - 8, "{} of {count}", page.len());
    assert_eq!(verified(&*store).await.len(), count);
}
