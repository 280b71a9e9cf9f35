//! From the log and back: restarts, snapshots, damage, events of another build, and what the clock records.

use super::{
    bent::Bent,
    house::{House, StandingClock, code, group, quiet, request, start},
};
use crate::{Config, LoadError, NotReady, StartError};
use charter_commands::{
    AddMember, DeleteGroup, IssueGrant, Limits, RenameGroup, ScheduleDeletion, SuspendUser,
};
use charter_events::{
    Affects, ChildTypes, CommandId, Content, Effect, Offset, Scope, StoredEvent, Subject, Timestamp, UserId,
};
use charter_policy::{Caller, Policy, UserStatus};
use charter_store::{Batch, LogStore, MemoryStore, SnapshotStore, Store, Wanted, chain};
use charter_testkit::ids::{shown, user};
use std::{sync::Arc, time::Duration};

/// A little of everything.
async fn history(house: &House) -> Caller {
    let admin = house.administrator("root").await;
    let (alice, bob) = (house.member(&admin, "alice").await, house.member(&admin, "bob").await);
    for slug in ["ops", "dev", "gone"] {
        house.does(admin.clone(), group(slug)).await.unwrap();
    }
    let id = |slug: &str| super::house::group_id(&house.control, slug);
    house.does(admin.clone(), AddMember { group: id("ops"), user: alice }).await.unwrap();
    house.does(admin.clone(), RenameGroup { group: id("dev"), name: shown("Developers") }).await.unwrap();
    house.does(admin.clone(), DeleteGroup { group: id("gone") }).await.unwrap();
    house.does(admin.clone(), SuspendUser { user: bob }).await.unwrap();
    admin
}

fn grant_viewer(policy: &Policy, user: UserId, expires_at: Timestamp) -> IssueGrant {
    IssueGrant {
        subject: Subject::User(user),
        content: Content::Role(policy.role_by_slug("viewer").unwrap()),
        scope: Scope::Global,
        effect: Effect::Allow,
        not_before: None,
        expires_at: Some(expires_at),
        affects: Affects::All,
        child_types: ChildTypes::All,
    }
}

#[tokio::test]
async fn a_restart_gives_the_same_policy_with_a_snapshot_and_without() {
    let house = House::new().await;
    let admin = history(&house).await;
    let digest = house.control.policy().digest();
    let replayed = start(&house.store, quiet(StandingClock::new())).await.unwrap();
    assert_eq!((replayed.from_snapshot, replayed.control.policy().digest()), (None, digest));
    let version = house.control.head().offset;
    house.control.clone().shutdown().await;
    let restarted = start(&house.store, quiet(StandingClock::new())).await.unwrap();
    assert_eq!(restarted.from_snapshot, Some(version));
    assert_eq!(restarted.control.policy().digest(), digest);
    assert_eq!(restarted.control.head(), house.control.head(), "a start of the same build adds nothing");
    // Snapshot and tail.
    restarted.control.submit(request(admin, group("later"))).await.unwrap();
    let again = start(&house.store, quiet(StandingClock::new())).await.unwrap();
    assert_eq!(again.from_snapshot, Some(version));
    assert_eq!(again.control.policy().digest(), restarted.control.policy().digest());
    let whole = crate::fold_log(&Bent::without_snapshots(&house.store), None).await.unwrap();
    assert_eq!(whole.policy.digest(), again.control.policy().digest());
}

#[tokio::test]
async fn a_snapshot_whose_anchor_is_not_in_the_log_is_not_used() {
    let house = House::new().await;
    history(&house).await;
    house.control.clone().shutdown().await;
    let other = MemoryStore::default();
    House::on(other.clone()).await;
    let wanted = Wanted {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: crate::snapshots::CODE_VERSION.to_owned(),
        at_most: None,
    };
    let mut snapshot = house.store.latest(&wanted).await.unwrap().snapshot.unwrap();
    snapshot.header.offset = other.head().await.unwrap().offset;
    let _ = other.save(snapshot).await;
    let started = start(&other, quiet(StandingClock::new())).await.unwrap();
    assert_eq!(started.from_snapshot, None);
}

#[tokio::test]
async fn a_start_tells_how_far_it_has_come() {
    let house = House::new().await;
    history(&house).await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let config = Config {
        progress: Some(Arc::new(move |progress| told.lock().unwrap().push(progress))),
        ..quiet(StandingClock::new())
    };
    start(&house.store, config).await.unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.last().is_some_and(|last| last.done == last.total && last.total > Offset::ZERO));
}

#[tokio::test]
async fn each_damaged_event_is_found_with_its_offset_and_stops_start_or_writes() {
    let house = House::new().await;
    let admin = history(&house).await;
    let end = house.control.head().offset.get();
    for offset in (1..=end).step_by(3).chain([end]) {
        let damaged = Bent::tampered(&house.store, offset);
        let error = start_on(Arc::new(damaged)).await.unwrap_err();
        let StartError::Load(LoadError::Damaged(fault)) = error else { panic!("{error:?}") };
        assert_eq!(fault.offset.get(), offset);
    }
    // A start from a snapshot does not read what lies before; the background pass does.
    house.control.clone().shutdown().await;
    let damaged: Arc<dyn Store> = Arc::new(Bent::tampered(&house.store, 2));
    let control = start_on(damaged).await.unwrap();
    assert!(control.verify_log().await.is_err());
    let reason = NotReady::Damaged { offset: Offset::new(2).unwrap() };
    assert_eq!(control.readiness().not_ready, Some(reason));
    assert_eq!(code(control.submit(request(admin, group("after"))).await), "unavailable");
    assert!(control.policy().group_by_slug("after").is_none());
}

#[tokio::test]
async fn nothing_is_signed_over_an_event_that_is_not_what_was_written_also_after_a_start_from_a_snapshot() {
    let house = House::new().await;
    history(&house).await;
    house.control.clone().shutdown().await;
    let damaged: Arc<dyn Store> = Arc::new(Bent::tampered(&house.store, 3));
    let control = start_on(damaged).await.unwrap();
    for _ in 0..10_000 {
        if !control.readiness().is_ready() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let reason = NotReady::Damaged { offset: Offset::new(3).unwrap() };
    assert_eq!(control.readiness().not_ready, Some(reason));
    assert!(matches!(control.checkpoint(), Err(crate::TreeError::NotMade)));
}

#[tokio::test]
async fn a_hundred_accounts_that_cant_be_erased_do_not_keep_one_waiting_that_can() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.does(admin.clone(), group("ops")).await.unwrap();
    let (ops, erase_at) =
        (super::house::group_id(&house.control, "ops"), charter_testkit::at("2026-03-10T00:00:00Z"));
    for number in 0..101 {
        let user = house.member(&admin, &format!("user-{number}")).await;
        // His membership would end with him: one event too many below.
        if number < 100 {
            house.does(admin.clone(), AddMember { group: ops, user }).await.unwrap();
        }
        house.does(admin.clone(), ScheduleDeletion { user, erase_at }).await.unwrap();
    }
    house.control.clone().shutdown().await;
    house.clock.set("2026-03-11T00:00:00Z");
    let config =
        Config { limits: Limits { command_events: 1, ..Limits::default() }, ..quiet(house.clock.clone()) };
    let control = start(&house.store, config).await.unwrap().control;
    control.housekeeping(true).await;
    let policy = control.policy();
    let erased = policy.users().filter(|user| user.status == UserStatus::Erased);
    assert_eq!(erased.map(|user| user.id).collect::<Vec<_>>(), [user("user-100")]);
}

#[tokio::test]
async fn a_whole_log_verifies_and_stays_ready() {
    let house = House::new().await;
    history(&house).await;
    assert_eq!(house.control.verify_log().await.unwrap(), house.control.head());
    assert!(house.control.readiness().is_ready());
}

#[tokio::test]
async fn an_event_of_a_newer_build_stops_reading_before_it_and_is_never_skipped() {
    let house = House::new().await;
    let admin = history(&house).await;
    let version = house.control.head().offset;
    append_unknown(&house.store).await;
    assert_eq!(code(house.does(admin, group("after")).await), "unavailable");
    let offset = version.plus(1).unwrap();
    assert_eq!(house.control.readiness().not_ready, Some(NotReady::UnknownEvent { offset }));
    assert_eq!(house.control.policy().version(), version);
    let error = start(&house.store, quiet(StandingClock::new())).await.unwrap_err();
    assert!(
        matches!(error, StartError::Load(LoadError::Unknown { offset: at, .. }) if at == offset),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_not_the_log_this_server_has_seen() {
    let house = House::new().await;
    let admin = history(&house).await;
    // The same installation as it was before the history: a backup put back under a running server.
    let swapped = Bent::on(&house.store);
    let control = start_on(Arc::new(swapped.clone())).await.unwrap();
    let backup = House::new().await.store;
    swapped.swap(&backup);
    assert_eq!(code(control.submit(request(admin, group("after"))).await), "unavailable");
    assert!(matches!(control.readiness().not_ready, Some(NotReady::Damaged { .. })));
}

#[tokio::test]
async fn a_follower_whose_log_lost_its_end_has_that_confirmed_under_the_lock() {
    let house = House::new().await;
    history(&house).await;
    let swapped = Bent::on(&house.store);
    let config = super::fleet::polling(Duration::from_millis(2));
    let control = super::fleet::started(swapped.clone(), config).await;
    swapped.swap(&House::new().await.store);
    super::fleet::eventually("it is said", || {
        matches!(control.readiness().not_ready, Some(NotReady::Damaged { .. }))
    })
    .await;
}

#[tokio::test]
async fn the_clock_records_ended_grants_and_decisions_never_waited_for_it() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let alice = house.member(&admin, "alice").await;
    let expires_at = charter_testkit::at("2026-03-01T13:00:00Z");
    let issue = grant_viewer(&house.control.policy(), alice, expires_at);
    house.does(admin, issue).await.unwrap();
    let key = "core.user.read".parse().unwrap();
    let allowed = || house.control.policy().check(alice, &key, Scope::Global, house.control.now()).allowed();
    assert!(allowed());
    house.clock.set("2026-03-01T12:59:59.999999Z");
    house.control.housekeeping(false).await;
    assert!(allowed());
    house.clock.advance(Duration::from_micros(1));
    assert!(!allowed(), "before anything was recorded");
    assert_eq!(house.control.policy().grants_of(Subject::User(alice)).count(), 1);
    house.control.housekeeping(false).await;
    assert_eq!(house.control.policy().grants_of(Subject::User(alice)).count(), 0);
    let version = house.control.head();
    house.control.housekeeping(true).await;
    assert_eq!(house.control.head(), version, "there was nothing more to record");
}

async fn start_on(store: Arc<dyn Store>) -> Result<crate::Control, StartError> {
    crate::Control::start(store, quiet(StandingClock::new())).await.map(|started| started.control)
}

/// What a newer build would append.
pub(super) async fn append_unknown(store: &MemoryStore) {
    let mut append = store.append().await.unwrap();
    let head = append.head();
    let last = store.read(Offset::new(head.offset.get() - 1).unwrap(), 1).await.unwrap().remove(0);
    let mut event = StoredEvent {
        offset: head.offset.plus(1).unwrap(),
        command_index: 0,
        command_size: 1,
        type_name: "grant.blessed".to_owned(),
        payload: b"{}".to_vec(),
        prev_hash: head.hash,
        ..last
    };
    event.command.command_id = CommandId::from_u128(7);
    event.hash = chain::hash(head.log_id, &event);
    append.write(&Batch { events: vec![event], ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
}
