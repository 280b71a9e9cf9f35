//! Failing and stopping the store in memory on demand.

use charter_store::{
    LogStore, MemoryStore, Point, StoreError,
    conformance::{Writing, append_one, batch_of},
};

#[tokio::test]
async fn the_next_commit_is_lost_or_kept_as_asked() {
    let store = MemoryStore::default();
    for (keeps, expected) in [(false, 0), (true, 1), (false, 1)] {
        if keeps {
            store.hooks().keep_next_commit_but_fail();
        } else {
            store.hooks().lose_next_commit();
        }
        let mut append = store.append().await.unwrap();
        let events = Writing::new(append.head()).command(1);
        append.write(&batch_of(events)).await.unwrap();
        assert!(matches!(append.commit().await.unwrap_err(), StoreError::Unavailable { .. }));
        assert_eq!(store.head().await.unwrap().offset.get(), expected);
    }
    append_one(&store, 1).await;
}

#[tokio::test]
async fn whoever_comes_to_a_point_stops_there_until_told_to_go() {
    let store = MemoryStore::default();
    for (point, visible) in
        [(Point::BeforeLock, 0), (Point::BeforeWrite, 1), (Point::BeforeCommit, 2), (Point::AfterCommit, 4)]
    {
        let mut pause = store.hooks().pause_at(point);
        let running = tokio::spawn({
            let store = store.clone();
            async move { append_one(&store, 1).await }
        });
        pause.reached().await;
        assert_eq!(store.head().await.unwrap().offset.get(), visible, "{point:?}");
        pause.go();
        running.await.unwrap();
    }
}

#[tokio::test]
async fn an_unavailable_store_fails_until_it_is_back() {
    let store = MemoryStore::default();
    store.hooks().set_unavailable(true);
    assert!(store.head().await.is_err());
    assert!(store.append().await.is_err());
    store.hooks().set_unavailable(false);
    append_one(&store, 1).await;
}
