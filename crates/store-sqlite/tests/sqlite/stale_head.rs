//! The head is moved only from where the append found it, whatever the store believes.

use crate::common::{fill, raw, run, server};
use charter_events::Offset;
use charter_store::{
    LogStore, StoreError,
    conformance::{Writing, batch_of},
};

#[tokio::test]
async fn an_append_whose_head_was_moved_behind_its_back_is_refused_and_leaves_nothing() {
    for moved in ["UPDATE log_head SET head = head + 1", "UPDATE log_head SET head_hash = zeroblob(32)"] {
        let dir = tempfile::tempdir().unwrap();
        let store = server(dir.path()).await;
        let events = fill(&*store, 3).await;
        // The store remembers where the log ends, since nobody else may write. Somebody does all the same.
        run(&mut raw(dir.path()).await, moved).await;

        let mut append = store.append().await.unwrap();
        assert_eq!(append.head().offset.get(), 3, "it does not know yet");
        let batch = batch_of(Writing::new(append.head()).command(2));
        append.write(&batch).await.unwrap();
        let error = append.commit().await.unwrap_err();

        assert!(matches!(error, StoreError::HeadMoved { .. }), "{moved}: {error}");
        assert_eq!(store.read(Offset::ZERO, 100).await.unwrap(), events, "{moved}");
    }
}
