//! Many writers beside readers that poll.

use super::samples::{Writing, batch_of, verified};
use crate::{Store, chain::Verifier};
use std::sync::Arc;
use tokio::task::JoinSet;

const WRITERS: usize = 64;
const READERS: usize = 4;
const APPENDS_EACH: usize = 8;

pub(super) async fn writers_and_readers(store: Arc<dyn Store>) {
    let log_id = store.head().await.unwrap().log_id;
    let committed: usize = (0..WRITERS).map(|writer| APPENDS_EACH * size(writer)).sum();
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        tasks.spawn(async move {
            for round in 0..APPENDS_EACH {
                write(&*store, size(writer)).await;
                if round % 3 == 0 {
                    give_up(&*store, round % 2 == 0).await;
                }
            }
        });
    }
    for _ in 0..READERS {
        let store = store.clone();
        tasks.spawn(async move {
            let mut verifier = Verifier::from_start(log_id);
            while verifier.head().offset.get() < committed as u64 {
                for event in store.read(verifier.head().offset, 7).await.unwrap() {
                    verifier.next(&event).unwrap();
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    assert_eq!(verified(&*store).await.len(), committed);
}

const fn size(writer: usize) -> usize {
    writer % 3 + 1
}

async fn write(store: &dyn Store, size: usize) {
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(size);
    append.write(&batch_of(events.clone())).await.unwrap();
    let head = append.commit().await.unwrap();
    // Its own write is visible to the writer at once.
    assert!(store.head().await.unwrap().offset >= head.offset);
    let first = store.read(events[0].prev_offset(), 1).await.unwrap();
    assert_eq!(first[0], events[0]);
}

async fn give_up(store: &dyn Store, explicitly: bool) {
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(2);
    append.write(&batch_of(events)).await.unwrap();
    if explicitly {
        append.rollback().await.unwrap();
    }
}

trait Before {
    fn prev_offset(&self) -> charter_events::Offset;
}

impl Before for charter_events::StoredEvent {
    fn prev_offset(&self) -> charter_events::Offset {
        charter_events::Offset::new(self.offset.get() - 1).unwrap()
    }
}
