//! As of, and what a log is made of.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_events::{Offset, Timestamp};
use charter_policy::Policy;
use charter_replay_tools::{ToolError, as_of::as_of, inventory::inventory};
use charter_store::{AsOf, Batch, Chain, LogStore, MemoryStore, chain, conformance::meta, past::NoVersion};
use charter_testkit::random::History;
use uuid::Uuid;

async fn log(history: &History) -> MemoryStore {
    let store = MemoryStore::default();
    let mut append = store.append().await.unwrap();
    let mut writing = Chain::new(append.head());
    let mut ids = 0;
    for (number, step) in (1..).zip(&history.steps) {
        let mut id = || {
            ids += 1;
            Uuid::from_u128(ids)
        };
        let events = writing.extend(&meta(number), &step.events, step.at, &mut id).unwrap();
        append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    }
    append.commit().await.unwrap();
    store
}

#[tokio::test]
async fn as_of_an_offset_is_the_fold_of_the_commands_complete_until_then() {
    let history = History::long(11, 600);
    let store = log(&history).await;
    let events = history.events();
    let mut end = 0;
    for step in &history.steps {
        let inside = end + step.events.len() as u64 - 1;
        if end > 0 && end.is_multiple_of(7) {
            for asked in [end, inside] {
                let past = as_of(&store, AsOf::Offset(Offset::new(asked).unwrap()), Timestamp::MAX, |_| ());
                let past = past.await.unwrap();
                let mut expected = Policy::new();
                for (meta, event) in events.iter().take(end as usize) {
                    expected.apply(meta, event).unwrap();
                }
                let version = past.version;
                assert_eq!((version.head.offset.get(), version.now), (end, expected.recorded_at()));
                assert_eq!(past.policy.digest(), expected.digest(), "as of {asked}");
            }
        }
        end += step.events.len() as u64;
    }
}

#[tokio::test]
async fn a_version_that_is_none_is_refused() {
    let store = log(&History::long(12, 50)).await;
    let head = store.head().await.unwrap();
    let at = |asked| as_of(&store, asked, head.recorded_at, |_| ());
    for asked in
        [AsOf::Offset(head.offset.plus(1).unwrap()), AsOf::Time(head.recorded_at.saturating_add_micros(1))]
    {
        let refused = at(asked).await;
        assert!(matches!(refused, Err(ToolError::Version(NoVersion::BeyondHead { .. }))), "{asked}");
    }
    for asked in [AsOf::Offset(Offset::ZERO), AsOf::Time(Timestamp::MIN)] {
        let refused = at(asked).await;
        assert!(matches!(refused, Err(ToolError::Version(NoVersion::BeforeFirstEvent { .. }))), "{asked}");
    }
}

#[tokio::test]
async fn an_inventory_counts_every_event_by_type_and_version() {
    let history = History::long(13, 400);
    let store = log(&history).await;
    let found = inventory(&store, |_| ()).await.unwrap();
    let events = history.events();
    assert_eq!((found.events, found.commands), (events.len() as u64, 400));
    assert_eq!(found.head, store.head().await.unwrap());
    assert_eq!(found.began, Some(events.first().unwrap().0.recorded_at));
    assert_eq!(found.kinds.iter().map(|kind| kind.events).sum::<u64>(), found.events);
    for kind in &found.kinds {
        let of: Vec<_> = events.iter().filter(|(_, event)| event.type_name() == kind.type_name).collect();
        assert_eq!(kind.events, of.len() as u64, "{}", kind.type_name);
        let ends = (of.first().unwrap().0.offset, of.last().unwrap().0.offset);
        assert_eq!(((kind.first, kind.last), kind.unreadable), (ends, None));
        let bytes: usize = of.iter().map(|(_, event)| event.encode().unwrap().len()).sum();
        assert_eq!(kind.payload_bytes, bytes as u64);
    }
}

#[tokio::test]
async fn what_this_build_cannot_read_is_counted_and_named() {
    let store = log(&History::long(14, 20)).await;
    let head = store.head().await.unwrap();
    let mut last = store.read(Offset::new(head.offset.get() - 1).unwrap(), 1).await.unwrap().remove(0);
    last.offset = head.offset.plus(1).unwrap();
    last.prev_hash = head.hash;
    (last.command_index, last.command_size) = (0, 1);
    "grant.renamed".clone_into(&mut last.type_name);
    last.schema = 7;
    last.hash = chain::hash(head.log_id, &last);
    let offset = last.offset;
    let mut append = store.append().await.unwrap();
    append.write(&Batch { events: vec![last], ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    let found = inventory(&store, |_| ()).await.unwrap();
    let kind = found.kinds.iter().find(|kind| kind.type_name == "grant.renamed").unwrap();
    assert_eq!((kind.schema, kind.events, kind.unreadable), (7, 1, Some(offset)));
    let beyond = as_of(&store, AsOf::Offset(offset), Timestamp::MAX, |_| ()).await;
    assert!(matches!(beyond, Err(ToolError::Fold { offset: at, .. }) if at == offset));
}
