//! Tables that were made from another history, as after a restore: they are not read, and are built anew.

use super::{
    rebuild::{make, with_groups},
    tiny::{Quirk, arc, done, idle, keeping, listed, read, server, slugs, tiny, until},
};
use crate::{
    AfterBuild, Config, TablesError,
    tests::{bent::Bent, fleet::started},
};
use charter_events::{Hash, Offset, Timestamp};
use charter_store::{
    Checkpoint, LogStore, MemoryStore, OperationState, Query, ServerStore, Store, TableFault, TableStore,
    Target,
};
use charter_tables::{Changes, Projection, Value};
use uuid::Uuid;

/// Tables that are read and end with an event of another history.
async fn lost(store: &MemoryStore, of: &'static dyn Projection, beyond: u64) -> Target {
    let head = store.head().await.unwrap();
    let target =
        Target { spec: of.spec(), number: store.create_generation(of.spec(), Timestamp::MIN).await.unwrap() };
    let from = Checkpoint { log_id: head.log_id, offset: Offset::ZERO, hash: Hash::ZERO };
    let offset = Offset::new(head.offset.get() + beyond).unwrap();
    let to = Checkpoint { offset, hash: Hash::new([7; 32]), ..from };
    let mut changes = Changes::default();
    changes.put(
        0,
        1,
        vec![Value::Uuid(Uuid::from_u128(7)), Value::text("lost"), Value::Int(1), Value::Int(0)],
    );
    store.change_rows(target, from, to, &changes).await.unwrap();
    store.index_generation(target).await.unwrap();
    store.activate_generation(target, None).await.unwrap();
    target
}

fn query(of: &'static dyn Projection) -> Query {
    let spec = of.spec();
    Query { spec, table: 0, filters: vec![], order_by: None, descending: false, after: None, limit: 100 }
}

#[tokio::test]
async fn tables_of_another_history_are_built_anew_whether_they_stopped_or_end_within_the_log_or_beyond() {
    for (beyond, stopped) in [(0, false), (40, false), (40, true)] {
        let (store, admin) = with_groups(5).await;
        let groups = tiny("groups", 1, Quirk::None);
        let target = lost(&store, groups, beyond).await;
        if stopped {
            let fault = TableFault { offset: Offset::new(99).unwrap(), why: "no such event".into() };
            store.note_fault(target, Some(fault)).await.unwrap();
        }
        let config = Config { follow_every: Some(std::time::Duration::from_millis(2)), ..keeping(&[groups]) };
        let control = started(store.clone(), config).await;
        make(&control, &admin, "after").await;
        until("they are built anew", || async { read(&control, groups).await == Some(2) }).await;
        let seen = slugs(&control, groups).await;
        assert!(seen.len() == 6 && !seen.contains(&"lost".to_owned()), "{seen:?}");
        assert!(control.degraded().is_empty());
    }
}

#[tokio::test]
async fn rows_of_another_history_are_never_listed_also_before_anybody_has_looked_at_the_tables() {
    let (store, _) = with_groups(5).await;
    let groups = tiny("groups", 1, Quirk::None);
    lost(&store, groups, 40).await;
    // Another server leads, and has not come to it.
    let held = store.lead(charter_store::Task::Tables).await.unwrap();
    let config = Config { version_wait: std::time::Duration::from_millis(50), ..keeping(&[groups]) };
    let control = started(store.clone(), config).await;
    let told = control.list_rows(&query(groups), Offset::ZERO).await;
    assert!(matches!(told, Err(TablesError::NotBuilt)), "{told:?}");
    drop(held);
    until("they are built anew", || async { read(&control, groups).await == Some(2) }).await;
    assert_eq!(control.list_rows(&query(groups), control.head().offset).await.unwrap().rows.len(), 5);
}

#[tokio::test]
async fn work_that_was_stopped_keeps_no_tables_of_another_history_from_being_built_anew() {
    let (store, admin) = with_groups(5).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    slugs(&control, groups).await;
    idle(&control).await;
    let stopped = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    control.cancel_operation(stopped.id).await.unwrap();
    control.shutdown().await;
    store.retire_generation("groups", 1).await.unwrap();
    let lost = lost(&store, groups, 40).await;
    let control = server(&store, &[groups]).await;
    until("they are built anew", || async { read(&control, groups).await > Some(lost.number) }).await;
    assert_eq!(slugs(&control, groups).await.len(), 5);
}

#[tokio::test]
async fn a_rebuild_that_is_gone_on_with_folds_beside_the_tables_that_are_read() {
    let (store, admin) = with_groups(60).await;
    let groups = tiny("groups", 1, Quirk::Dawdles);
    let config = || Config { tables_batch_events_max: 5, ..keeping(&[groups]) };
    let control = started(store.clone(), config()).await;
    slugs(&control, groups).await;
    idle(&control).await;
    let operation = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    let moves = || async {
        let all = store.generations().await.unwrap();
        all.iter().any(|one| one.number == 2 && one.checkpoint.offset.get() > 10)
    };
    until("it moves", moves).await;
    control.cancel_operation(operation.id).await.unwrap();
    control.shutdown().await;
    let bent = Bent::without_snapshots(&store);
    let control = started(bent.clone(), config()).await;
    assert_eq!(control.operation(operation.id).await.unwrap().state, OperationState::Cancelled);
    bent.hold_pages(true);
    control.resume_operation(operation.id).await.unwrap();
    until("it is being folded", || async { bent.take_pages().contains(&Offset::ZERO) }).await;
    follows(&store, groups, make(&control, &admin, "meanwhile").await).await;
    bent.hold_pages(false);
    done(&control, operation.id).await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (61, Some(2)));
}

/// Waits until the tables that are read have come to an event.
async fn follows(store: &MemoryStore, groups: &'static dyn Projection, at: Offset) {
    let store: std::sync::Arc<dyn Store> = arc(store);
    until("the tables that are read follow", || async {
        listed(store.as_ref(), groups).await.is_some_and(|page| page.checkpoint.offset >= at)
    })
    .await;
}
