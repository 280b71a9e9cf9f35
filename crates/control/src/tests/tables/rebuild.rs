//! Following, building anew, switching, going back, and going on after a crash.

use super::tiny::{
    Quirk, arc, digests, done, ended, idle, keeping, listed, nobody, read, server, slugs, state, tiny, until,
};
use crate::{
    AfterBuild, Config, Control, ProjectionError, ProjectionStatus,
    tests::{
        bent::Bent,
        fleet::started,
        house::{House, group, group_id, request},
    },
};
use charter_commands::DeleteGroup;
use charter_events::{Event, Offset, ProjectionRebuilt};
use charter_policy::Caller;
use charter_store::{MemoryStore, OperationState, StoreError, TableStore};
use std::sync::atomic::{AtomicBool, Ordering};

/// A store with an administrator and so many groups.
pub(super) async fn with_groups(count: usize) -> (MemoryStore, Caller) {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    for number in 0..count {
        house.does(admin.clone(), group(&format!("g{number:03}"))).await.unwrap();
    }
    let store = house.store.clone();
    house.control.shutdown().await;
    (store, admin)
}

pub(super) async fn make(control: &Control, admin: &Caller, slug: &str) -> Offset {
    control.submit(request(admin.clone(), group(slug))).await.unwrap().last
}

/// How often a rebuild was recorded.
async fn recorded(store: &MemoryStore) -> Vec<ProjectionRebuilt> {
    let log = arc(store).read(Offset::ZERO, 10_000).await.unwrap();
    let rebuilt = log.iter().filter_map(|event| match event.decode().unwrap() {
        Event::ProjectionRebuilt(rebuilt) => Some(rebuilt),
        _ => None,
    });
    rebuilt.collect()
}

#[tokio::test]
async fn tables_of_an_old_log_are_built_and_then_follow_it_and_nothing_is_recorded_of_that() {
    let (store, admin) = with_groups(30).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    assert_eq!(slugs(&control, groups).await.len(), 30);
    make(&control, &admin, "later").await;
    let gone = group_id(&control, "g007");
    control.submit(request(admin, DeleteGroup { group: gone })).await.unwrap();
    let seen = slugs(&control, groups).await;
    assert!(seen.contains(&"later".to_owned()) && !seen.contains(&"g007".to_owned()));
    assert_eq!(seen.len(), 30);
    let state = state(&control, groups).await;
    assert_eq!((state.status, state.behind), (ProjectionStatus::Following, 0));
    assert!(recorded(&store).await.is_empty());
    assert!(control.degraded().is_empty());
}

#[tokio::test]
async fn a_rebuild_makes_the_same_rows_beside_them_switches_is_recorded_and_keeps_the_old_ones() {
    let (store, admin) = with_groups(20).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    let before = slugs(&control, groups).await;
    idle(&control).await;
    let operation = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    assert_eq!((operation.kind.as_str(), operation.target.as_str()), ("projection.rebuild", "groups/2"));
    done(&control, operation.id).await;
    assert_eq!((slugs(&control, groups).await, read(&control, groups).await), (before, Some(2)));
    let found = recorded(&store).await;
    assert_eq!(found.iter().map(|one| (one.generation, one.differed)).collect::<Vec<_>>(), [(2, false)]);
    assert_eq!(state(&control, groups).await.generations.len(), 2);
    // The next one leaves two again.
    done(&control, control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap().id).await;
    until("the first is gone", || async {
        let kept = state(&control, groups).await.generations;
        kept.iter().map(|one| one.number).collect::<Vec<_>>() == [2, 3]
    })
    .await;
}

#[tokio::test]
async fn what_is_held_is_read_only_after_the_switch_and_a_rollback_catches_the_old_one_up_first() {
    let (store, admin) = with_groups(5).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    slugs(&control, groups).await;
    for nothing in [control.switch("groups", &admin).await, control.roll_back("groups", &admin).await] {
        let code = nothing.unwrap_err().code();
        assert!(matches!(code, "nothing_to_switch_to" | "nothing_to_roll_back_to"), "{code}");
    }
    idle(&control).await;
    done(&control, control.rebuild("groups", AfterBuild::Hold, &admin).await.unwrap().id).await;
    make(&control, &admin, "meanwhile").await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (6, Some(1)));
    done(&control, control.switch("groups", &admin).await.unwrap().id).await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (6, Some(2)));
    make(&control, &admin, "after").await;
    done(&control, control.roll_back("groups", &admin).await.unwrap().id).await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (7, Some(1)));
    // And back again.
    done(&control, control.roll_back("groups", &admin).await.unwrap().id).await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (7, Some(2)));
    assert_eq!(recorded(&store).await.len(), 1);
}

#[tokio::test]
async fn a_rebuild_that_was_stopped_goes_on_where_it_was_and_only_the_newest_does() {
    let (store, admin) = with_groups(200).await;
    let groups = tiny("groups", 1, Quirk::Dawdles);
    let config = Config { tables_batch_events_max: 10, ..keeping(&[groups]) };
    let control = started(store.clone(), config).await;
    slugs(&control, groups).await;
    idle(&control).await;
    let first = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    match control.rebuild("groups", AfterBuild::Switch, &admin).await {
        Err(error @ ProjectionError::Running { id }) => {
            assert_eq!((id, error.code()), (first.id, "rebuild_running"));
        }
        other => panic!("{other:?}"),
    }
    let moved = || async {
        let all = state(&control, groups).await.generations;
        all.iter().any(|one| one.number == 2 && one.offset > Offset::ZERO)
    };
    until("it moves", moved).await;
    control.cancel_operation(first.id).await.unwrap();
    assert_eq!(control.cancel_operation(first.id).await.unwrap_err().code(), "not_running");
    make(&control, &admin, "meanwhile").await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (201, Some(1)));
    let stood = state(&control, groups).await.generations.iter().find(|one| one.number == 2).unwrap().offset;
    assert!(stood < control.head().offset, "it went on though it was stopped");
    let resumed = control.resume_operation(first.id).await.unwrap();
    assert_eq!(resumed.state, OperationState::Running);
    done(&control, first.id).await;
    assert_eq!((slugs(&control, groups).await.len(), read(&control, groups).await), (201, Some(2)));
    assert_eq!(control.resume_operation(first.id).await.unwrap_err().code(), "not_resumable");
    // What was stopped and then begun anew is not gone on with.
    let second = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    control.cancel_operation(second.id).await.unwrap();
    let third = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    let refused = control.resume_operation(second.id).await.unwrap_err();
    assert_eq!(refused.to_string(), "the operation can't be resumed: something else was begun since");
    done(&control, third.id).await;
    assert_eq!(read(&control, groups).await, Some(4));
}

#[tokio::test]
async fn rows_that_differ_from_those_that_are_read_are_not_switched_to() {
    static TURNED: AtomicBool = AtomicBool::new(false);
    let (store, admin) = with_groups(5).await;
    let groups = tiny("groups", 1, Quirk::Wavers(&TURNED));
    let control = server(&store, &[groups]).await;
    slugs(&control, groups).await;
    TURNED.store(true, Ordering::SeqCst);
    idle(&control).await;
    let operation =
        ended(&control, control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap().id).await;
    assert_eq!(operation.state, OperationState::Failed);
    assert!(operation.detail.contains("nothing was switched"), "{}", operation.detail);
    assert_eq!(control.resume_operation(operation.id).await.unwrap_err().code(), "not_resumable");
    assert_eq!(read(&control, groups).await, Some(1));
    assert!(recorded(&store).await.is_empty());
    // Whoever knows that what is read is wrong has the new one read all the same, and that is recorded.
    let accepted = control.rebuild("groups", AfterBuild::SwitchThoughItDiffers, &admin).await.unwrap();
    done(&control, accepted.id).await;
    assert_eq!(read(&control, groups).await, Some(3));
    assert_eq!(recorded(&store).await.iter().map(|one| one.differed).collect::<Vec<_>>(), [true]);
    let numbers: Vec<u32> = state(&control, groups).await.generations.iter().map(|one| one.number).collect();
    assert_eq!(numbers, [1, 3]);
}

#[tokio::test]
async fn tables_of_a_new_version_are_built_beside_the_old_ones_which_are_read_until_then() {
    let (store, admin) = with_groups(50).await;
    let old = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[old]).await;
    slugs(&control, old).await;
    control.shutdown().await;
    let new = tiny("groups", 2, Quirk::Dawdles);
    let config = Config { tables_batch_events_max: 5, ..keeping(&[new]) };
    let control = started(store.clone(), config).await;
    assert_eq!(state(&control, new).await.status, ProjectionStatus::OtherVersion);
    let page = listed(arc(&store).as_ref(), old).await.unwrap();
    assert_eq!((page.generation, page.rows.len()), (1, 50));
    assert_eq!((slugs(&control, new).await.len(), read(&control, new).await), (50, Some(2)));
    until("that is recorded", || async { recorded(&store).await.len() == 1 }).await;
    make(&control, &admin, "later").await;
    assert_eq!(slugs(&control, new).await.len(), 51);
    control.shutdown().await;
    // An older build leaves them alone.
    let control = server(&store, &[old]).await;
    make(&control, &admin, "last").await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!((read(&control, old).await, state(&control, old).await.operation), (Some(2), None));
}

#[tokio::test]
async fn a_rebuild_goes_on_at_another_server_when_the_one_that_did_it_is_gone() {
    let (store, admin) = with_groups(200).await;
    let slow = tiny("groups", 1, Quirk::Dawdles);
    let config = || Config { tables_batch_events_max: 5, ..keeping(&[slow]) };
    let control = started(store.clone(), config()).await;
    slugs(&control, slow).await;
    idle(&control).await;
    let operation = control.rebuild("groups", AfterBuild::Switch, &admin).await.unwrap();
    let built = || async {
        let all = state(&control, slow).await.generations;
        all.iter().find(|one| one.number == 2).map_or(0, |one| one.offset.get())
    };
    until("it moves", || async { built().await > 20 }).await;
    // Its runner ends in the middle; nothing is told to anybody.
    control.clone().shutdown().await;
    let stood = built().await;
    assert!(stood < control.head().offset.get());
    let other = started(store.clone(), config()).await;
    done(&other, operation.id).await;
    assert_eq!((slugs(&other, slow).await.len(), read(&other, slow).await), (200, Some(2)));
    assert_eq!(recorded(&store).await.len(), 1);
    let both = digests(&other, slow).await;
    assert_eq!(both.len(), 2);
}

#[tokio::test]
async fn a_command_of_more_events_than_a_batch_is_never_divided() {
    let (store, admin) = with_groups(10).await;
    let groups = tiny("groups", 1, Quirk::None);
    let config = Config { tables_batch_events_max: 1, ..keeping(&[groups]) };
    let control = started(store.clone(), config).await;
    make(&control, &admin, "more").await;
    assert_eq!(slugs(&control, groups).await.len(), 11);
    let log = arc(&store).read(Offset::ZERO, 10_000).await.unwrap();
    assert!(log.iter().any(|event| event.command_size > 1), "nothing was tested");
}

#[tokio::test]
async fn whoever_may_not_rebuild_is_refused_and_what_is_not_there_is_not_found() {
    let (store, admin) = with_groups(1).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    slugs(&control, groups).await;
    assert_eq!(
        control.rebuild("groups", AfterBuild::Switch, &nobody()).await.unwrap_err().code(),
        "forbidden"
    );
    assert_eq!(control.switch("groups", &nobody()).await.unwrap_err().code(), "forbidden");
    assert_eq!(control.roll_back("groups", &nobody()).await.unwrap_err().code(), "forbidden");
    assert_eq!(control.rebuild("nothing", AfterBuild::Switch, &admin).await.unwrap_err().code(), "not_found");
    assert_eq!(control.projection("nothing").await.unwrap_err().code(), "not_found");
    assert_eq!(state(&control, groups).await.generations.len(), 1);
}

#[tokio::test]
async fn a_store_that_is_away_for_a_while_costs_the_tables_nothing() {
    let (store, admin) = with_groups(3).await;
    let groups = tiny("groups", 1, Quirk::None);
    let control = server(&store, &[groups]).await;
    slugs(&control, groups).await;
    for round in 0..5 {
        make(&control, &admin, &format!("round-{round}")).await;
        store.hooks().set_unavailable(true);
        assert!(matches!(store.generations().await, Err(StoreError::Unavailable { .. })));
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        store.hooks().set_unavailable(false);
        control.housekeeping(false).await;
    }
    assert_eq!(slugs(&control, groups).await.len(), 8);
}

#[tokio::test]
async fn two_runners_that_both_believe_they_lead_leave_the_right_rows() {
    let (store, admin) = with_groups(100).await;
    let groups = tiny("groups", 1, Quirk::Dawdles);
    let config = || Config {
        tables_batch_events_max: 7,
        follow_every: Some(std::time::Duration::from_millis(2)),
        ..keeping(&[groups])
    };
    let one = started(Bent::where_all_lead(&store), config()).await;
    let other = started(Bent::where_all_lead(&store), config()).await;
    for number in 0..30 {
        let control = if number % 2 == 0 { &one } else { &other };
        make(control, &admin, &format!("more-{number}")).await;
        if number % 10 == 0 {
            let _ = control.rebuild("groups", AfterBuild::Switch, &admin).await;
        }
    }
    let idle = || async { state(&one, groups).await.operation.is_none() && one.head() == other.head() };
    until("they are done", idle).await;
    assert_eq!(slugs(&one, groups).await.len(), 130);
    let states = digests(&one, groups).await;
    let furthest = states.iter().map(|(at, _)| *at).max().unwrap();
    let of_head: Vec<_> = states.iter().filter(|(at, _)| *at == furthest).collect();
    assert!(of_head.windows(2).all(|pair| pair[0].1 == pair[1].1));
}
