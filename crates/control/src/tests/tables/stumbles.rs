//! Operations that can't go on: they wait or fail by themselves, say so, and hold up nothing else.

use super::{
    rebuild::{make, with_groups},
    tiny::{Quirk, done, ended, idle, keeping, read, server, slugs, tiny, until},
};
use crate::{
    AfterBuild, OperationError,
    tests::{bent::Bent, fleet::started},
};
use charter_store::{MemoryStore, Operation, OperationState, StoreError, TableStore};
use charter_testkit::ids::user;
use std::time::Duration;

fn in_the_way() -> StoreError {
    StoreError::Refused("having other tables read: view mine depends on view groups".into())
}

fn locked() -> StoreError {
    StoreError::Unavailable { what: "having other tables read", source: None }
}

#[tokio::test]
async fn an_operation_the_store_refuses_fails_saying_why_and_the_next_one_goes_on() {
    for call in ["activate_generation", "index_generation"] {
        let (store, admin) = with_groups(5).await;
        let (groups, others) = (tiny("groups", 1, Quirk::None), tiny("others", 1, Quirk::None));
        let bent = Bent::on(&store);
        let control = started(bent.clone(), keeping(&[groups, others])).await;
        slugs(&control, groups).await;
        slugs(&control, others).await;
        bent.fail_tables(call, Some(in_the_way));
        idle(&control).await;
        let failed =
            ended(&control, control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap().id).await;
        assert_eq!(failed.state, OperationState::Failed, "{call}");
        assert!(failed.detail.contains("view mine depends on view groups"), "{}", failed.detail);
        bent.fail_tables(call, None);
        done(&control, control.rebuild("others", AfterBuild::Switch, &admin).await.unwrap().id).await;
        assert_eq!((read(&control, groups).await, read(&control, others).await), (Some(1), Some(2)));
    }
}

#[tokio::test]
async fn an_operation_that_has_to_wait_says_so_and_live_tables_and_others_go_on_meanwhile() {
    let (store, admin) = with_groups(5).await;
    let (groups, others) = (tiny("groups", 1, Quirk::None), tiny("others", 1, Quirk::None));
    let bent = Bent::on(&store);
    let control = started(bent.clone(), keeping(&[groups, others])).await;
    slugs(&control, groups).await;
    slugs(&control, others).await;
    // The newest comes first: the other one stands behind it.
    idle(&control).await;
    let other = control.rebuild("others", AfterBuild::Hold, &admin).await.unwrap();
    bent.fail_tables("activate_generation", Some(locked));
    let waits = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    done(&control, other.id).await;
    until("it is told", || async {
        let wrong = control.degraded();
        wrong.iter().any(|one| one.contains("operation on `groups/2` can't go on"))
    })
    .await;
    let told = control.operation(waits.id).await.unwrap();
    assert!(told.detail.contains("it is tried again"), "{}", told.detail);
    make(&control, &admin, "meanwhile").await;
    assert_eq!((slugs(&control, groups).await.len(), slugs(&control, others).await.len()), (6, 6));
    bent.fail_tables("activate_generation", None);
    done(&control, waits.id).await;
    until("nothing is wrong any more", || async { control.degraded().is_empty() }).await;
}

#[tokio::test]
async fn one_refusal_does_not_end_the_keeping_of_tables() {
    let (store, admin) = with_groups(5).await;
    let groups = tiny("groups", 1, Quirk::Refuses("bad"));
    let bent = Bent::on(&store);
    let control = started(bent.clone(), keeping(&[groups])).await;
    slugs(&control, groups).await;
    let at = make(&control, &admin, "bad").await;
    until("it stops", || async { !control.degraded().is_empty() }).await;
    // Noting that it goes on is refused within the look at what there is.
    bent.fail_tables("note_fault", Some(in_the_way));
    control.skip_event("groups", at.get(), &admin, super::tiny::because("broken")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    bent.fail_tables("note_fault", None);
    assert_eq!(slugs(&control, groups).await.len(), 5);
}

#[tokio::test]
async fn an_older_build_that_leads_leaves_what_a_newer_one_builds_alone() {
    let (store, admin) = with_groups(5).await;
    let (old, new) = (tiny("groups", 1, Quirk::None), tiny("groups", 2, Quirk::None));
    let added = tiny("added", 1, Quirk::None);
    let older = server(&store, &[old]).await;
    slugs(&older, old).await;
    let newer = server(&store, &[new, added]).await;
    let asked = [("groups", new), ("added", added)];
    let mut begun = Vec::new();
    for (name, _) in asked {
        begun.push(newer.rebuild(name, AfterBuild::Switch, &admin).await.unwrap().id);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    for id in &begun {
        assert_eq!(newer.operation(*id).await.unwrap().state, OperationState::Running);
    }
    older.shutdown().await;
    for ((_, projection), id) in asked.into_iter().zip(begun) {
        done(&newer, id).await;
        assert_eq!(slugs(&newer, projection).await.len(), 5);
    }
}

async fn running(store: &MemoryStore) -> Vec<Operation> {
    let all = store.operations().await.unwrap().into_iter();
    all.filter(|one| one.state == OperationState::Running).collect()
}

#[tokio::test]
async fn of_two_servers_that_begin_the_same_at_once_one_hears_of_the_other() {
    let store = MemoryStore::default();
    let control = server(&store, &[]).await;
    let bent = Bent::on(&store);
    let other = started(bent.clone(), keeping(&[])).await;
    let first = control.begin_operation("backup", "log", Some(user("root"))).await.unwrap();
    // It read the operations before that.
    bent.tell_once(Vec::new());
    let second = other.begin_operation("backup", "log", None).await;
    assert!(matches!(second, Err(OperationError::Running { id }) if id == first.id()), "{second:?}");
    bent.tell_once(Vec::new());
    assert!(other.begin_operation("backup", "elsewhere", None).await.is_ok());
    assert_eq!(running(&store).await.len(), 2);
}

#[tokio::test]
async fn whoever_holds_work_for_lost_by_an_old_read_undoes_nothing_of_its_end() {
    let store = MemoryStore::default();
    let bent = Bent::on(&store);
    let control = started(bent.clone(), keeping(&[])).await;
    let work = control.begin_operation("backup", "log", None).await.unwrap();
    let read = store.operations().await.unwrap();
    let long_ago = read[0].updated_at.saturating_add_micros(-1_000_000_000);
    let ended = work.end(Ok("written".to_owned())).await.unwrap();
    bent.tell_once(vec![Operation { updated_at: long_ago, ..read[0].clone() }]);
    control.operations().await.unwrap();
    assert_eq!(store.operations().await.unwrap(), [ended]);
}
