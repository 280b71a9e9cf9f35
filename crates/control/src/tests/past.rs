//! As of: the state, and what was allowed, at any past version.

use super::{
    bent::Bent,
    house::{House, StandingClock, group, meta, quiet, start},
    identity::{person, set_up},
};
use crate::{AsOfError, Config, Control, ProfilePatch, snapshots::CODE_VERSION};
use charter_commands::ScheduleDeletion;
use charter_events::{Actor, CommandId, CommandMeta, Event, EventMeta, Offset, Timestamp, Via};
use charter_policy::{Caller, Policy};
use charter_store::{
    AsOf, Batch, LogStore, MemoryStore, Snapshot, SnapshotHeader, SnapshotStore, Store, chain::Chain,
};
use charter_testkit::{
    Rng, at,
    model::World,
    random::{History, Step},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use uuid::Uuid;

fn offset(number: u64) -> Offset {
    Offset::new(number).unwrap()
}

/// Appends the steps of a history, one command each; with snapshots, one is kept after every so many.
async fn append(store: &MemoryStore, steps: &[Step], snapshot_every: Option<usize>) {
    let mut policy = Policy::new();
    for (number, chunk) in steps.chunks(snapshot_every.unwrap_or(usize::MAX)).enumerate() {
        let mut append = store.append().await.unwrap();
        let mut chain = Chain::new(append.head());
        for (place, step) in chunk.iter().enumerate() {
            let mut ids = (0..).map(|n: u64| Uuid::from_u64_pair(step.at.as_micros() as u64, n));
            let command_id = CommandId::from_u128(((number as u128) << 64) + place as u128 + 1);
            let (actor, via) = (Actor::System, Via::System);
            let meta = CommandMeta { command_id, actor, via, request_id: None, reason: None };
            let mut id = || ids.next().unwrap();
            let events = chain.extend(&meta, &step.events, step.at, &mut id).unwrap();
            for event in &events {
                policy.apply(&event.meta(), &event.decode().unwrap()).unwrap();
            }
            append.write(&Batch { events, ..Batch::default() }).await.unwrap();
        }
        let head = append.commit().await.unwrap();
        if snapshot_every.is_some() {
            let header = SnapshotHeader {
                format: Policy::SNAPSHOT_FORMAT,
                code_version: CODE_VERSION.to_owned(),
                log_id: head.log_id,
                offset: head.offset,
                hash: head.hash,
            };
            store.save(Snapshot { header, body: policy.to_snapshot().unwrap() }).await.unwrap();
        }
    }
}

fn fresh(events: &[(EventMeta, Event)]) -> Policy {
    let mut policy = Policy::new();
    for (meta, event) in events {
        policy.apply(meta, event).unwrap();
    }
    policy
}

/// What must be so as of a version, found without any of what answers it.
struct Expected {
    version: u64,
    now: Timestamp,
    digest: [u8; 32],
    world: World,
}

/// Every so many offsets: a fresh fold to the last complete command, and the naive model's world.
fn expected(history: &History, every: u64) -> BTreeMap<u64, Expected> {
    let events = history.events();
    let ends: Vec<u64> = history
        .steps
        .iter()
        .scan(0, |end, step| {
            *end += step.events.len() as u64;
            Some(*end)
        })
        .collect();
    let mut all = BTreeMap::new();
    for asked in (every..=events.len() as u64).step_by(every as usize) {
        let version = *ends.iter().rfind(|end| **end <= asked).unwrap();
        let until = &events[..version as usize];
        let now = until.last().unwrap().0.recorded_at;
        let world = World::of(until.iter().map(|(_, event)| event));
        all.insert(asked, Expected { version, now, digest: fresh(until).digest(), world });
    }
    all
}

/// Decisions as of then, each compared with the naive model's; how many allowed.
fn decides_alike(history: &History, policy: &Policy, expected: &Expected, at: Timestamp) -> usize {
    let mut allowed = 0;
    for question in history.questions(&expected.world, 60) {
        let made = policy.check(question.user, &question.key, question.scope, at);
        let model = expected.world.check(question.user, &question.key, question.scope, at);
        assert_eq!(made.allowed(), model.allowed, "{question:?} at {at}, version {}", expected.version);
        assert_eq!((made.version.get(), made.at), (expected.version, at));
        allowed += usize::from(made.allowed());
    }
    allowed
}

async fn equals_a_fresh_fold(seed: u64, snapshot_every: Option<usize>) {
    let history = History::long(seed, 5_000);
    let expected = expected(&history, 50);
    let store = MemoryStore::default();
    append(&store, &history.steps, snapshot_every).await;
    let control = start(&store, quiet(StandingClock::new())).await.unwrap().control;
    let mut order: Vec<u64> = expected.keys().copied().collect();
    let mut rng = Rng::new(seed);
    for place in (1..order.len()).rev() {
        order.swap(place, rng.below(place + 1));
    }
    let mut allowed = 0;
    for asked in order {
        let expected = &expected[&asked];
        let past = control.as_of(AsOf::Offset(offset(asked))).await.unwrap();
        assert_eq!((past.head.offset.get(), past.now), (expected.version, expected.now), "as of {asked}");
        assert_eq!(past.policy.digest(), expected.digest, "as of {asked}");
        allowed += decides_alike(&history, &past.policy, expected, past.now);
        // Between two commands grants begin and end, and the version stays.
        let later = expected.now.saturating_add_micros(1);
        let by_time = control.as_of(AsOf::Time(later)).await.unwrap();
        assert_eq!(by_time.now, later);
        if by_time.head == past.head {
            decides_alike(&history, &by_time.policy, expected, later);
        } else {
            assert!(by_time.head.offset > past.head.offset && by_time.head.recorded_at <= later);
        }
    }
    assert!(allowed > 100, "{allowed} allowed: the questions decide nothing");
}

#[tokio::test]
async fn as_of_every_50th_offset_is_a_fresh_fold_to_it() {
    equals_a_fresh_fold(1, None).await;
}

#[tokio::test]
async fn as_of_every_50th_offset_is_a_fresh_fold_to_it_with_snapshots_too() {
    equals_a_fresh_fold(2, Some(1_700)).await;
}

/// An installation with a group made by each of so many commands.
async fn groups(count: usize) -> (House, Caller, Vec<Offset>) {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let mut versions = Vec::new();
    for number in 0..count {
        house.clock.advance(Duration::from_secs(60));
        versions.push(house.does(admin.clone(), group(&format!("g{number}"))).await.unwrap().last);
    }
    (house, admin, versions)
}

fn code(result: Result<crate::Past, AsOfError>) -> &'static str {
    match result {
        Ok(_) => "answered",
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn what_is_not_there_yet_or_was_not_there_is_refused_by_name() {
    let (house, _, versions) = groups(2).await;
    let control = &house.control;
    let now = control.now();
    for (asked, expected) in [
        (AsOf::Offset(Offset::ZERO), "before_first_event"),
        (AsOf::Offset(control.head().offset.plus(1).unwrap()), "beyond_head"),
        (AsOf::Offset(Offset::MAX), "beyond_head"),
        (AsOf::Time(Timestamp::MIN), "before_first_event"),
        (AsOf::Time(now), "answered"),
        (AsOf::Time(now.saturating_add_micros(1)), "beyond_head"),
        (AsOf::Offset(versions[0]), "answered"),
    ] {
        assert_eq!(code(control.as_of(asked).await), expected, "{asked}");
    }
    let past = control.as_of(AsOf::Offset(versions[0])).await.unwrap();
    assert!(past.policy.group_by_slug("g0").is_some() && past.policy.group_by_slug("g1").is_none());
    house.clock.advance(Duration::from_secs(3_600));
    let later = now.saturating_add_micros(1_000_000);
    let past = control.as_of(AsOf::Time(later)).await.unwrap();
    assert_eq!((past.head, past.now), (control.head(), later));
}

#[tokio::test]
async fn what_another_server_has_just_committed_is_no_future() {
    let store = MemoryStore::default();
    let one = House::on(store.clone()).await;
    let admin = one.administrator("root").await;
    let config = Config { follow_every: Some(Duration::from_secs(1_000)), ..quiet(one.clock.clone()) };
    let other = start(&store, config).await.unwrap().control;
    let version = one.does(admin, group("new")).await.unwrap().last;
    let past = other.as_of(AsOf::Offset(version)).await.unwrap();
    assert!(past.policy.group_by_slug("new").is_some());
}

async fn on(bent: &Bent, config: Config) -> Control {
    let store: Arc<dyn Store> = Arc::new(bent.clone());
    Control::start(store, config).await.unwrap().control
}

#[tokio::test]
async fn many_who_ask_for_one_version_wait_for_one_fold() {
    let (house, _, versions) = groups(4).await;
    let bent = Bent::without_snapshots(&house.store);
    let control = on(&bent, quiet(house.clock.clone())).await;
    bent.hold_pages(true);
    let folds = || control.inner.pasts.begun();
    let asked = AsOf::Offset(versions[0]);
    let asking: Vec<_> = (0..50)
        .map(|_| {
            let control = control.clone();
            tokio::spawn(async move { control.as_of(asked).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    bent.hold_pages(false);
    let mut digests = Vec::new();
    for answer in asking {
        digests.push(answer.await.unwrap().unwrap().policy.digest());
    }
    digests.dedup();
    assert_eq!((digests.len(), folds()), (1, 1));
    bent.take_pages();
    control.as_of(asked).await.unwrap();
    assert_eq!(folds(), 1, "it was kept");
    control.as_of(AsOf::Offset(versions[2])).await.unwrap();
    assert_eq!(folds(), 2);
    let pages = bent.take_pages();
    assert!(pages.contains(&versions[0]), "it goes on from the state before it: {pages:?}");
    assert!(pages.iter().all(|after| *after >= versions[0]), "{pages:?}");
}

#[tokio::test]
async fn who_does_not_wait_long_enough_finds_the_state_when_he_asks_again() {
    let (house, _, versions) = groups(3).await;
    let bent = Bent::without_snapshots(&house.store);
    let config = Config { past_wait: Duration::from_millis(5), ..quiet(house.clock.clone()) };
    let control = on(&bent, config).await;
    bent.hold_pages(true);
    let asked = AsOf::Offset(versions[0]);
    assert_eq!(code(control.as_of(asked).await), "still_replaying");
    bent.hold_pages(false);
    let mut answer = control.as_of(asked).await;
    for _ in 0..1_000 {
        if answer.is_ok() {
            break;
        }
        assert_eq!(code(answer), "still_replaying");
        answer = control.as_of(asked).await;
    }
    assert_eq!(answer.unwrap().head.offset, versions[0]);
}

#[tokio::test]
async fn more_versions_than_may_wait_are_turned_away_and_none_is_lost() {
    let (house, _, versions) = groups(40).await;
    let bent = Bent::without_snapshots(&house.store);
    let config = Config { past_policies_max: 40, ..quiet(house.clock.clone()) };
    let control = on(&bent, config).await;
    bent.hold_pages(true);
    let asking: Vec<_> = versions[..39]
        .iter()
        .map(|version| {
            let (control, asked) = (control.clone(), AsOf::Offset(*version));
            tokio::spawn(async move { control.as_of(asked).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(30)).await;
    bent.hold_pages(false);
    let mut codes = BTreeMap::new();
    for answer in asking {
        *codes.entry(code(answer.await.unwrap())).or_insert(0) += 1;
    }
    assert_eq!(codes, BTreeMap::from([("answered", 18), ("overloaded", 21)]));
    for version in versions {
        assert_eq!(code(control.as_of(AsOf::Offset(version)).await), "answered");
    }
}

#[tokio::test]
async fn a_damaged_event_on_the_way_is_an_error_and_no_answer() {
    let (house, _, versions) = groups(3).await;
    house.control.clone().shutdown().await;
    // A start from the snapshot does not read what is before it.
    let bent = Bent::tampered(&house.store, versions[0].get());
    let control = on(&bent, quiet(house.clock.clone())).await;
    assert_eq!(code(control.as_of(AsOf::Offset(versions[1])).await), "internal");
    let before = versions[0].get() - 1;
    assert_eq!(code(control.as_of(AsOf::Offset(offset(before))).await), "answered");
}

#[tokio::test]
async fn a_name_means_who_has_it_now_then_who_had_it_and_never_who_was_erased() {
    let (house, root) = set_up().await;
    let (ann, bea) = (person(&house, &root, "ann").await, person(&house, &root, "bea").await);
    let cleo = person(&house, &root, "cleo").await;
    let control = &house.control;
    let then = control.as_of(AsOf::Offset(control.head().offset)).await.unwrap().policy;
    for (user, name) in [(ann, "anna"), (bea, "ann")] {
        let patch = ProfilePatch { username: Some(name.parse().unwrap()), ..ProfilePatch::default() };
        control.edit_user(root.clone(), user, patch, meta()).await.unwrap();
    }
    let dora = person(&house, &root, "dora").await;
    let erase_at = at("2026-03-10T00:00:00Z");
    house.does(root.clone(), ScheduleDeletion { user: cleo, erase_at }).await.unwrap();
    house.clock.set("2026-03-10T00:00:00Z");
    control.housekeeping(true).await;
    person(&house, &root, "cleo").await;
    for (text, found) in [
        ("anna", Some(ann)),
        ("ann", Some(bea)),
        ("bea", Some(bea)),
        ("cleo", None),
        ("dora", None),
        (&cleo.to_string(), Some(cleo)),
        (&dora.to_string(), None),
    ] {
        assert_eq!(control.resolve_past_user(&then, text), found, "{text}");
    }
    assert!(control.profile(cleo).await.is_none());
}
