//! Several servers on one store: who sees what of whom and when, who is alive, who does the clock's work.

use super::{
    bent::Bent,
    house::{House, StandingClock, code, group, quiet, request},
};
use crate::{CommandError, Config, Control, Freshness, Request};
use async_trait::async_trait;
use charter_commands::{IssueGrant, SuspendUser};
use charter_events::{
    Affects, ChildTypes, CommandId, CommandMeta, Content, Effect, InstallationCreated, Offset, Scope,
    Subject, Via,
};
use charter_policy::{Caller, Policy};
use charter_store::{
    Batch, Chain, Leadership, Lease, LogStore, MemoryStore, ServerStore, Store, memory::Point,
};
use charter_testkit::{at, ids::shown};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

pub(super) const NEVER: Duration = Duration::from_secs(1_000_000);
/// So long nothing here takes; whoever waits longer waits for ever.
pub(super) const BOUND: Duration = Duration::from_secs(30);

/// A server that follows, and polls of itself only so often.
pub(super) fn polling(every: Duration) -> Config {
    Config { follow_every: Some(every), version_wait: BOUND, ..quiet(StandingClock::new()) }
}

pub(super) async fn started(store: impl Store + 'static, config: Config) -> Control {
    let store: Arc<dyn Store> = Arc::new(store);
    Control::start(store, config).await.unwrap().control
}

/// A second server that hears no nudges and never polls unless it is asked to.
pub(super) async fn deaf(store: &MemoryStore) -> Control {
    started(Bent::on(store), polling(NEVER)).await
}

pub(super) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(tokio::time::timeout(BOUND, waiting).await.is_ok(), "{what}");
}

#[tokio::test]
async fn a_version_another_server_committed_is_here_as_soon_as_it_is_asked_for() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let other = deaf(&house.store).await;
    for round in 0..50 {
        let slug = format!("g{round}");
        let last = house.does(admin.clone(), group(&slug)).await.unwrap().last;
        assert!(other.policy().group_by_slug(&slug).is_none());
        let policy = other.at_least(last).await.unwrap();
        assert!(policy.version() >= last && policy.group_by_slug(&slug).is_some());
    }
}

#[tokio::test]
async fn a_nudge_is_enough_to_see_what_another_server_did_also_after_listening_broke_and_so_is_polling() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let nudged = started(house.store.clone(), polling(NEVER)).await;
    let polls = started(Bent::on(&house.store), polling(Duration::from_millis(1))).await;
    let broken = started(Bent::hard_of_hearing(&house.store, 3), polling(NEVER)).await;
    for control in [nudged, polls, broken] {
        let mut versions = control.versions();
        // Nudges are heard from some moment after the start on, so once may be too early.
        let mut round = 0;
        let seen = async {
            loop {
                let slug = format!("{}-{round}", control.server_id());
                let last = house.does(admin.clone(), group(&slug)).await.unwrap().last;
                let wait = versions.wait_for(|version| *version >= last);
                if tokio::time::timeout(Duration::from_millis(200), wait).await.is_ok() {
                    return;
                }
                round += 1;
            }
        };
        tokio::time::timeout(BOUND, seen).await.unwrap();
    }
}

#[tokio::test]
async fn a_writer_that_waits_for_the_head_keeps_nobody_from_seeing_what_others_did() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let other = deaf(&house.store).await;
    let mut paused = house.store.hooks().pause_at(Point::BeforeLock);
    let (control, asked) = (other.clone(), request(admin.clone(), group("waits")));
    let waiting = tokio::spawn(async move { control.submit(asked).await });
    paused.reached().await;
    let last = house.does(admin, group("ops")).await.unwrap().last;
    assert!(other.at_least(last).await.unwrap().group_by_slug("ops").is_some());
    assert!(!waiting.is_finished());
    paused.go();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_head_others_hold_for_too_long_costs_commands_and_nothing_else() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let config = Config { lock_wait: Duration::ZERO, ..polling(Duration::from_millis(5)) };
    let other = started(house.store.clone(), config).await;
    let held = house.store.append().await.unwrap();
    let error = other.submit(request(admin.clone(), group("ops"))).await.unwrap_err();
    assert_eq!(error.to_string(), "commands can't be taken now: other servers hold the log");
    assert!(other.readiness().is_ready());
    assert_eq!(other.freshness(), Freshness::Fresh);
    drop(held);
    other.submit(request(admin, group("ops"))).await.unwrap();
}

/// A live server of an older build, which does not know one kind of event.
async fn old_server(store: &MemoryStore, unknown: &str) -> Uuid {
    let house = House::new().await;
    let known = house.control.servers().remove(0);
    let mut knows = known.knows.clone();
    knows.retain(|kind| kind != unknown);
    assert_eq!(knows.len() + 1, known.knows.len());
    let lease = Lease { server: Uuid::from_u128(7), build: "0.0.9".to_owned(), knows, ..known };
    store.renew_lease(&lease, house.control.now(), Duration::from_secs(10)).await.unwrap();
    lease.server
}

#[tokio::test]
async fn a_new_build_starts_beside_an_old_one_that_could_not_read_its_catalog() {
    let store = MemoryStore::default();
    let mut append = store.append().await.unwrap();
    let meta = CommandMeta {
        command_id: CommandId::from_u128(1),
        actor: Caller::System.attribution(&Policy::new()),
        via: Via::System,
        request_id: None,
        reason: None,
    };
    let created = [InstallationCreated { name: shown("Test") }.into()];
    let now = at("2026-03-01T12:00:00Z");
    let events = Chain::new(append.head()).extend(&meta, &created, now, &mut Uuid::now_v7).unwrap();
    append.write(&Batch { events, ..Batch::default() }).await.unwrap();
    append.commit().await.unwrap();
    let old = old_server(&store, "catalog.permissions_registered.v1").await;
    let house = House::on(store.clone()).await;
    house.control.housekeeping(false).await;
    assert_eq!(house.control.policy().permissions().count(), 0);
    store.end_lease(old).await.unwrap();
    house.control.housekeeping(false).await;
    assert!(house.control.policy().permissions().count() > 0);
}

#[tokio::test]
async fn a_new_kind_of_event_is_written_only_when_every_live_server_knows_it() {
    let store = MemoryStore::default();
    let old = old_server(&store, "group.created.v1").await;
    let house = House::on(store.clone()).await;
    let admin = house.administrator("root").await;
    let alice = house.member(&admin, "alice").await;
    let before = house.control.head().offset;
    let refused = house.does(admin.clone(), group("ops")).await.unwrap_err();
    assert_eq!(refused.code(), "upgrade_in_progress");
    let text = refused.to_string();
    assert!(text.contains(&old.to_string()) && text.contains("`0.0.9`"), "{text}");
    assert!(text.contains("`group.created.v1`"), "{text}");
    assert_eq!(house.control.head().offset, before);
    // Its neighbours in the batch are none the worse.
    let first = request(admin.clone(), SuspendUser { user: alice });
    let others = [request(admin.clone(), group("ops")), request(admin.clone(), reactivate(alice))];
    let codes = house.first_alone([first].into_iter().chain(others).collect()).await;
    assert_eq!(codes, ["accepted", "upgrade_in_progress", "accepted"]);
    // The old server ends: at once, without waiting for the next renewal.
    store.end_lease(old).await.unwrap();
    house.does(admin, group("ops")).await.unwrap();
}

fn reactivate(user: charter_events::UserId) -> charter_commands::ReactivateUser {
    charter_commands::ReactivateUser { user }
}

#[tokio::test]
async fn an_old_server_that_vanished_is_waited_for_as_long_as_its_lease_lasts() {
    let store = MemoryStore::default();
    old_server(&store, "group.created.v1").await;
    let house = House::on(store.clone()).await;
    let admin = house.administrator("root").await;
    house.clock.advance(Duration::from_micros(9_999_999));
    assert_eq!(code(house.does(admin.clone(), group("ops")).await), "upgrade_in_progress");
    house.clock.advance(Duration::from_micros(1));
    house.does(admin, group("ops")).await.unwrap();
}

#[tokio::test]
async fn servers_know_of_each_other_and_hear_of_an_end() {
    let store = MemoryStore::default();
    let config =
        || Config { lease_renew_every: Duration::from_millis(2), ..polling(Duration::from_millis(2)) };
    let (one, other) = (started(store.clone(), config()).await, started(store.clone(), config()).await);
    eventually("both know both", || one.servers().len() == 2 && other.servers().len() == 2).await;
    let ids: Vec<Uuid> = one.servers().iter().map(|lease| lease.server).collect();
    assert!(ids.contains(&one.server_id()) && ids.contains(&other.server_id()));
    eventually("versions are told", || {
        let head = one.head().offset;
        one.servers().iter().all(|lease| lease.version == head)
    })
    .await;
    assert!(one.servers().iter().all(|lease| lease.build == env!("CARGO_PKG_VERSION")));
    other.shutdown().await;
    eventually("the end is heard of", || one.servers().len() == 1).await;
}

fn grant_until(house: &House, user: charter_events::UserId, expires_at: &str) -> IssueGrant {
    IssueGrant {
        subject: Subject::User(user),
        content: Content::Role(house.control.policy().role_by_slug("viewer").unwrap()),
        scope: Scope::Global,
        effect: Effect::Allow,
        not_before: None,
        expires_at: Some(at(expires_at)),
        affects: Affects::All,
        child_types: ChildTypes::All,
    }
}

#[tokio::test]
async fn one_server_does_the_clocks_work_and_another_takes_over_when_it_ends() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let alice = house.member(&admin, "alice").await;
    let other = House::on(house.store.clone()).await;
    for (server, hour) in [(&house, 13), (&other, 14)] {
        let issue = grant_until(&house, alice, &format!("2026-03-01T{hour}:00:00Z"));
        server.does(admin.clone(), issue).await.unwrap();
    }
    house.control.housekeeping(true).await;
    [&house, &other].iter().for_each(|server| server.clock.set("2026-03-01T15:00:00Z"));
    let before = other.control.head().offset;
    other.control.housekeeping(true).await;
    assert_eq!(house.store.head().await.unwrap().offset, before, "the first leads");
    house.control.clone().shutdown().await;
    other.control.housekeeping(true).await;
    assert_eq!(other.control.policy().grants_of(Subject::User(alice)).count(), 0);
}

/// Whoever asks leads.
struct Both;

#[async_trait]
impl Leadership for Both {
    async fn holds(&mut self) -> bool {
        true
    }
}

#[tokio::test]
async fn two_servers_that_both_believe_they_lead_record_everything_once() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let alice = house.member(&admin, "alice").await;
    let other = House::on(house.store.clone()).await;
    house.does(admin, grant_until(&house, alice, "2026-03-01T13:00:00Z")).await.unwrap();
    for server in [&house, &other] {
        *server.control.inner.housekeeper.lock().await = Some(Box::new(Both));
        server.clock.set("2026-03-01T15:00:00Z");
    }
    tokio::join!(house.control.housekeeping(true), other.control.housekeeping(true));
    let log = house.store.read(Offset::ZERO, 1_000).await.unwrap();
    assert_eq!(log.iter().filter(|event| event.type_name == "grant.expired").count(), 1);
}

/// What becomes of a commit whose answer was lost, while the other server appends before this one has looked.
async fn commit_in_doubt(
    fault: impl Fn(&MemoryStore),
) -> (Result<crate::Receipt, CommandError>, House, House) {
    let one = House::new().await;
    let admin = one.administrator("root").await;
    let other = House::on(one.store.clone()).await;
    let mut committing = one.store.hooks().pause_at(Point::BeforeCommit);
    let (control, asked): (_, Request) = (one.control.clone(), request(admin.clone(), group("ops")));
    let answer = tokio::spawn(async move { control.submit(asked).await });
    committing.reached().await;
    let mut looking = one.store.hooks().pause_at(Point::BeforeLock);
    fault(&one.store);
    committing.go();
    looking.reached().await;
    other.does(admin.clone(), group("dev")).await.unwrap();
    looking.go();
    let answer = answer.await.unwrap();
    one.does(admin, group("last")).await.unwrap();
    (answer, one, other)
}

#[tokio::test]
async fn a_commit_in_doubt_is_judged_rightly_though_another_server_appended_since() {
    let (kept, one, _other) = commit_in_doubt(|store| store.hooks().keep_next_commit_but_fail()).await;
    assert!(kept.is_ok() && one.has_group("ops") && one.has_group("dev") && one.has_group("last"));
    let (lost, one, _other) = commit_in_doubt(|store| store.hooks().lose_next_commit()).await;
    assert_eq!(code(lost), "unavailable");
    assert!(!one.has_group("ops") && one.has_group("dev") && one.has_group("last"));
    let folded = crate::fold_log(&one.store, None).await.unwrap();
    assert_eq!(folded.policy.digest(), one.control.policy().digest());
}
