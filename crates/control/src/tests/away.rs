//! A store that is away, hangs or has another idea of the time, and a log that can't be followed.

use super::{
    bent::Bent,
    fleet::{NEVER, eventually, polling, started},
    house::{House, StandingClock, code, group, quiet, request},
    log::append_unknown,
};
use crate::{Clock, Config, Control, Freshness, NotReady, StreamFault};
use charter_events::{Offset, Timestamp};
use charter_policy::Caller;
use charter_store::{LogStore, MemoryStore};
use charter_testkit::at;
use std::{sync::Arc, time::Duration};

const SOON: Duration = Duration::from_millis(5);

async fn following(store: &MemoryStore, stale_decisions: Duration) -> Control {
    started(store.clone(), Config { stale_decisions, ..polling(SOON) }).await
}

fn is_stale(control: &Control) -> bool {
    matches!(control.freshness(), Freshness::Stale { .. })
}

async fn is_back(control: &Control) {
    eventually("it comes back by itself", || {
        control.readiness().is_ready() && control.freshness() == Freshness::Fresh
    })
    .await;
}

#[tokio::test]
async fn a_server_that_lost_its_store_says_so_answers_for_a_while_and_comes_back_by_itself() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let patient = following(&house.store, NEVER).await;
    let strict = following(&house.store, Duration::ZERO).await;
    is_back(&patient).await;
    is_back(&strict).await;
    house.store.hooks().set_unavailable(true);
    eventually("it is stale", || is_stale(&patient)).await;
    eventually("it is too stale", || matches!(strict.freshness(), Freshness::TooStale { .. })).await;
    for control in [&patient, &strict] {
        assert_eq!(control.readiness().not_ready, Some(NotReady::StoreUnavailable));
        assert!(control.policy().is_administrator(admin.user().unwrap(), control.now()));
        assert_eq!(code(control.submit(request(admin.clone(), group("ops"))).await), "unavailable");
    }
    house.store.hooks().set_unavailable(false);
    is_back(&patient).await;
    is_back(&strict).await;
    patient.submit(request(admin, group("ops"))).await.unwrap();
}

#[tokio::test]
async fn a_store_that_hangs_counts_as_away() {
    let house = House::new().await;
    let bent = Bent::on(&house.store);
    let config = Config { store_wait: Duration::from_millis(20), stale_decisions: NEVER, ..polling(SOON) };
    let control = started(bent.clone(), config).await;
    is_back(&control).await;
    bent.hang(true);
    eventually("it is stale", || is_stale(&control)).await;
    eventually("it is not ready", || control.readiness().not_ready == Some(NotReady::StoreUnavailable)).await;
    bent.hang(false);
    is_back(&control).await;
}

#[tokio::test]
async fn a_server_alone_on_its_store_is_stale_from_its_first_failure_until_it_writes_again() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    assert_eq!(house.control.freshness(), Freshness::Fresh);
    house.store.hooks().set_unavailable(true);
    assert_eq!(code(house.does(admin.clone(), group("ops")).await), "unavailable");
    assert!(is_stale(&house.control));
    house.store.hooks().set_unavailable(false);
    house.does(admin, group("ops")).await.unwrap();
    assert_eq!(house.control.freshness(), Freshness::Fresh);
}

#[tokio::test]
async fn a_server_that_can_not_read_on_is_stale_though_its_store_answers() {
    let house = House::new().await;
    let old = following(&house.store, Duration::ZERO).await;
    is_back(&old).await;
    append_unknown(&house.store).await;
    eventually("it stops", || matches!(old.readiness().not_ready, Some(NotReady::UnknownEvent { .. }))).await;
    eventually("it is too stale", || matches!(old.freshness(), Freshness::TooStale { .. })).await;
}

#[tokio::test]
async fn a_forked_stream_is_shown_and_keeps_nobody_from_anything() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let offset = Offset::new(3).unwrap();
    house.control.stream_alarm(Some(StreamFault { offset }));
    assert_eq!(house.control.readiness().not_ready, Some(NotReady::StreamForked { offset }));
    house.does(admin, group("ops")).await.unwrap();
    assert_eq!(house.control.freshness(), Freshness::Fresh);
    house.control.stream_alarm(None);
    assert!(house.control.readiness().is_ready());
}

/// A server whose host's clock and whose store's clock are moved apart.
async fn two_clocks() -> (Control, Caller, Arc<StandingClock>, Arc<StandingClock>, MemoryStore) {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let (host, of_store) = (StandingClock::new(), StandingClock::new());
    let config = Config { follow_every: Some(SOON), ..quiet(host.clone()) };
    let control = started(Bent::with_clock(&house.store, &of_store), config).await;
    (control, admin, host, of_store, house.store)
}

fn about(moment: Timestamp, expected: &str) -> bool {
    let late = moment.as_micros() - at(expected).as_micros();
    (0..60_000_000).contains(&late)
}

#[tokio::test]
async fn a_hosts_clock_that_is_set_changes_nothing_when_the_store_has_one() {
    let (control, admin, host, _, store) = two_clocks().await;
    for (round, moment) in ["2026-03-01T11:00:00Z", "2026-03-02T12:00:00Z"].into_iter().enumerate() {
        host.set(moment);
        assert!(about(control.now(), "2026-03-01T12:00:00Z"), "{:?}", control.now());
        control.submit(request(admin.clone(), group(&format!("g{round}")))).await.unwrap();
        assert!(about(store.head().await.unwrap().recorded_at, "2026-03-01T12:00:00Z"));
    }
    control.shutdown().await;
    // A restart on a host whose clock is wrong.
    let config = Config { follow_every: Some(SOON), ..quiet(host) };
    let of_store = StandingClock::new();
    let control = started(Bent::with_clock(&store, &of_store), config).await;
    assert!(about(control.now(), "2026-03-01T12:00:00Z"));
}

#[tokio::test]
async fn the_stores_clock_is_followed_forward_and_never_back_behind_the_log() {
    let (control, admin, host, of_store, store) = two_clocks().await;
    host.set("2026-03-02T12:00:00Z");
    of_store.set("2026-03-02T12:00:00Z");
    eventually("a day later", || about(control.now(), "2026-03-02T12:00:00Z")).await;
    control.submit(request(admin.clone(), group("late"))).await.unwrap();
    let recorded = store.head().await.unwrap().recorded_at;
    assert!(about(recorded, "2026-03-02T12:00:00Z"));
    // An hour back: the moment stands still where the log ends.
    of_store.set("2026-03-02T11:00:00Z");
    eventually("it stands still", || control.now() == recorded).await;
    control.submit(request(admin, group("later"))).await.unwrap();
    assert_eq!(store.head().await.unwrap().recorded_at, recorded);
    let log = store.read(Offset::ZERO, 1_000).await.unwrap();
    assert!(log.windows(2).all(|pair| pair[0].recorded_at <= pair[1].recorded_at));
    host.set("2026-03-02T13:00:00Z");
    of_store.set("2026-03-02T13:00:00Z");
    eventually("it goes on", || about(control.now(), "2026-03-02T13:00:00Z")).await;
}

#[tokio::test]
async fn a_store_whose_clock_leaps_ahead_is_not_believed_and_nothing_is_recorded_until_it_is_back() {
    let (control, admin, _, of_store, store) = two_clocks().await;
    let head = store.head().await.unwrap();
    of_store.set("2099-01-01T00:00:00Z");
    eventually("it is said", || control.readiness().not_ready == Some(NotReady::ClockDiffers)).await;
    assert_eq!(code(control.submit(request(admin.clone(), group("ops"))).await), "unavailable");
    control.housekeeping(true).await;
    assert_eq!(store.head().await.unwrap(), head);
    assert!(about(control.now(), "2026-03-01T12:00:00Z"));
    of_store.set("2026-03-01T12:00:01Z");
    is_back(&control).await;
    control.submit(request(admin, group("ops"))).await.unwrap();
    assert!(about(store.head().await.unwrap().recorded_at, "2026-03-01T12:00:00Z"));
}

#[tokio::test]
async fn a_poll_answered_by_a_copy_that_is_behind_is_no_damage_and_no_contact() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let old = house.control.head();
    house.does(admin.clone(), group("ops")).await.unwrap();
    let bent = Bent::on(&house.store);
    let control = started(bent.clone(), Config { stale_decisions: NEVER, ..polling(SOON) }).await;
    is_back(&control).await;
    bent.poll_from(Some(old));
    for round in 0..20 {
        assert!(!crate::following::once(&control.inner).await);
        let reason = control.readiness().not_ready;
        assert!(matches!(reason, None | Some(NotReady::StoreUnavailable)), "{reason:?}");
        // The writer locks the head of the log itself.
        control.submit(request(admin.clone(), group(&format!("g{round}")))).await.unwrap();
    }
    bent.poll_from(None);
    is_back(&control).await;
}

#[tokio::test]
async fn a_follower_that_panics_leaves_a_server_that_says_so() {
    let house = House::new().await;
    let bent = Bent::on(&house.store);
    let control = started(bent.clone(), polling(SOON)).await;
    is_back(&control).await;
    bent.panic();
    eventually("it says so", || control.readiness().not_ready == Some(NotReady::FollowerEnded)).await;
}

#[tokio::test]
async fn what_could_not_be_followed_is_not_answered_from_what_is_known() {
    let house = House::new().await;
    let bent = Bent::on(&house.store);
    let config = Config { store_wait: Duration::from_millis(20), ..polling(SOON) };
    let control = started(bent.clone(), config).await;
    assert!(control.follow_others().await);
    bent.hang(true);
    assert!(!control.follow_others().await);
    let refused = control.sign_in("nobody", crate::SecretText::new("some password")).await.unwrap_err();
    assert_eq!(refused, crate::SignInError::Unavailable);
    assert!(house.control.follow_others().await, "nobody else writes where nobody follows");
}

#[tokio::test]
async fn without_a_clock_of_the_store_the_hosts_counts() {
    let clock = StandingClock::new();
    let config = Config { follow_every: Some(SOON), ..quiet(clock.clone()) };
    let control = started(MemoryStore::default(), config).await;
    clock.set("2026-03-05T00:00:00Z");
    assert_eq!(control.now(), clock.now());
}
