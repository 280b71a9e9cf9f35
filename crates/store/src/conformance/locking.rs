//! One append at a time.

use super::samples::{Writing, append_one, batch_of, verified};
use crate::{Append, Store};
use std::sync::Arc;

pub(super) async fn second_waits(store: Arc<dyn Store>) {
    let mut first = store.append().await.unwrap();
    let second = tokio::spawn({
        let store = store.clone();
        async move { append_one(&*store, 1).await }
    });
    let events = Writing::new(first.head()).command(1);
    first.write(&batch_of(events)).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!second.is_finished(), "the second append did not wait");
    first.commit().await.unwrap();
    let second = second.await.unwrap();
    assert_eq!(second[0].offset.get(), 2);
    assert_eq!(verified(&*store).await.len(), 2);
}

pub(super) async fn invisible_before_commit(store: Arc<dyn Store>) {
    let mut append = store.append().await.unwrap();
    let before = append.head();
    let events = Writing::new(before).command(100);
    append.write(&batch_of(events.clone())).await.unwrap();
    assert_eq!(store.head().await.unwrap(), before);
    assert_eq!(store.read(before.offset, 10).await.unwrap(), []);
    let head = append.commit().await.unwrap();
    assert_eq!(store.head().await.unwrap(), head);
    assert_eq!(store.read(before.offset, 1_000).await.unwrap(), events);
}

pub(super) async fn served_after_any_end(store: Arc<dyn Store>) {
    type End = fn(Box<dyn Append>) -> super::Running;
    let ends: [End; 3] = [
        |append| Box::pin(async move { drop(append) }),
        |append| Box::pin(async move { append.rollback().await.unwrap() }),
        |append| Box::pin(async move { _ = append.commit().await.unwrap() }),
    ];
    for end in ends {
        let first = store.append().await.unwrap();
        let waiting = tokio::spawn({
            let store = store.clone();
            async move { append_one(&*store, 1).await }
        });
        tokio::task::yield_now().await;
        end(first).await;
        waiting.await.unwrap();
    }
    assert_eq!(verified(&*store).await.len(), 3);
}
