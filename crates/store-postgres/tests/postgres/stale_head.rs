//! The head is moved only from where the append found it, whoever moved it meanwhile.

use crate::common::{Db, append, fill, scan};
use charter_events::Offset;
use charter_store::{
    LogStore, StoreError,
    conformance::{Writing, batch_of},
};

/// The row's lock keeps other sessions from moving the head during an append: it is moved from within.
fn move_the_head_with_each_insert(db: &Db, change: &str) {
    db.sql(&format!(
        "CREATE FUNCTION public.move_on() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
         BEGIN UPDATE log.log_head SET {change}; RETURN NULL; END $$; \
         CREATE TRIGGER moves_on AFTER INSERT ON log.events FOR EACH STATEMENT EXECUTE FUNCTION public.move_on()"
    ));
}

#[tokio::test]
async fn an_append_whose_head_was_moved_behind_its_back_is_refused_and_leaves_nothing() {
    for change in ["head = head + 1", "head_hash = sha256('')"] {
        let db = Db::fresh().await;
        let store = db.server().await;
        let events = fill(&*store, 3).await;
        move_the_head_with_each_insert(&db, change);

        let mut moved = store.append().await.unwrap();
        let batch = batch_of(Writing::new(moved.head()).command(2));
        moved.write(&batch).await.unwrap();
        let error = moved.commit().await.unwrap_err();

        assert!(matches!(error, StoreError::HeadMoved { .. }), "{change}: {error}");
        assert_eq!(store.read(Offset::ZERO, 100).await.unwrap(), events, "{change}");
        db.sql("DROP TRIGGER moves_on ON log.events");
        assert_eq!(append(&*store).await.unwrap(), 4, "{change}: nothing of it is left");
        scan(&*store).await.unwrap();
        store.close().await;
    }
}
