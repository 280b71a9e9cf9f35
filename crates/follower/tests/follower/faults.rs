//! What no server should do: gaps, repeats, half commands, forks, damage, events nobody knows.

use crate::{
    fake::{Fake, changed, log_of, next},
    wait::{LONG, SOON, until},
};
use charter_events::{Event, LogId, Offset, PermissionKey, Scope, StoredEvent, UserSuspended};
use charter_follower::{Follower, NotFresh, NotReached, Stopped};
use charter_policy::{AccessControl, AccessError, Caller, Policy};
use charter_testkit::{history::History, ids::user};

/// A few users, each a command.
pub(crate) fn users(names: &[&str]) -> Vec<Vec<Event>> {
    let history = names.iter().fold(History::new(), |history, name| history.user(name));
    history.into_events().into_iter().map(|(_, event)| vec![event]).collect()
}

pub(crate) fn suspended(name: &str) -> Event {
    UserSuspended { user: user(name) }.into()
}

pub(crate) fn offset(number: usize) -> Offset {
    Offset::new(number as u64).unwrap()
}

pub(crate) fn key() -> PermissionKey {
    "core.user.read".parse().unwrap()
}

fn folded(log: &[StoredEvent]) -> Policy {
    let mut policy = Policy::new();
    for event in log {
        policy.apply(&event.meta(), &event.decode().unwrap()).unwrap();
    }
    policy
}

pub(crate) async fn followed(fake: &Fake) -> Follower {
    let follower = Follower::start(fake.config()).await.unwrap();
    until("it is connected", || follower.status().connected).await;
    follower
}

#[tokio::test]
async fn repeats_are_left_out_and_what_is_missing_from_the_stream_is_read() {
    let log = log_of(&users(&["a", "b", "c", "d", "e"]));
    let (begin, rest) = log.split_at(log.len() - 4);
    let fake = Fake::new(begin.to_vec()).await;
    let follower = followed(&fake).await;
    fake.shown().log.extend_from_slice(rest);
    // Two it knows, the next, the next again; then one is missing.
    let sent = [&begin[begin.len() - 2..], &rest[..1], &rest[..1], &rest[2..3]].concat();
    fake.shown().stream = sent;
    until("everything is there", || follower.version() == offset(log.len())).await;
    assert!(follower.policy().digest() == folded(&log).digest());
    let status = follower.status();
    assert_eq!((status.gaps, status.applied, status.stopped), (1, log.len() as u64, None));
}

#[tokio::test]
async fn each_event_is_told_once_though_it_comes_twice() {
    let log = log_of(&users(&["a", "b", "c"]));
    let (begin, rest) = log.split_at(log.len() - 3);
    let fake = Fake::new(begin.to_vec()).await;
    let follower = followed(&fake).await;
    let mut events = follower.events();
    fake.shown().stream = [&rest[..2], &rest[1..2], &rest[..1], &rest[2..]].concat();
    for event in rest {
        assert_eq!(events.recv().await.unwrap().offset, event.offset);
    }
    assert!(events.is_empty());
}

#[tokio::test]
async fn half_a_command_is_never_shown() {
    let log = log_of(&users(&["a", "b"]));
    let both = next(&log, &[suspended("a"), suspended("b")]);
    let fake = Fake::new(log.clone()).await;
    let follower = followed(&fake).await;
    fake.shown().stream = both[..1].to_vec();
    until("the first half has come", || follower.status().applied == log.len() as u64 + 1).await;
    assert_eq!(follower.version(), offset(log.len()));
    assert!(follower.policy().user(user("a")).unwrap().is_active());
    fake.shown().stream = both[1..].to_vec();
    until("the second half has come", || follower.version() == offset(log.len() + 2)).await;
    let policy = follower.policy();
    assert!(["a", "b"].iter().all(|name| !policy.user(user(name)).unwrap().is_active()));
}

#[tokio::test]
async fn a_version_is_reached_though_the_stream_brings_nothing() {
    let log = log_of(&users(&["a", "b"]));
    let fake = Fake::new(log.clone()).await;
    let follower = followed(&fake).await;
    let more = next(&log, &[suspended("a")]);
    fake.shown().log.extend(more);
    let policy = follower.at_least(offset(log.len() + 1), LONG).await.unwrap();
    assert!(!policy.user(user("a")).unwrap().is_active());
}

/// A follower that has stopped, and why; it must be where it was.
async fn stopped(fake: &Fake, log: &[StoredEvent], sent: Vec<StoredEvent>, at: usize) -> Stopped {
    let follower = followed(fake).await;
    fake.shown().stream = sent;
    until("it has stopped", || follower.status().stopped.is_some()).await;
    assert_eq!(follower.version(), offset(at));
    assert!(follower.policy().digest() == folded(&log[..at]).digest());
    assert!(!follower.status().connected);
    // However old the answers may be, after a stop there are none.
    let refused = follower.check(user("a"), &key(), Scope::Global, follower.now()).unwrap_err();
    assert_eq!(refused, NotFresh::Stopped(follower.status().stopped.unwrap()));
    let refused = follower.require(&Caller::of(user("a")), &key(), Scope::Global).unwrap_err();
    assert!(matches!(refused, AccessError::Unavailable(_)), "{refused}");
    let wanted = offset(at + 1);
    let why = follower.status().stopped.unwrap();
    let error = follower.at_least(wanted, LONG).await.unwrap_err();
    assert_eq!(error, NotReached::Stopped { wanted, at: offset(at), stopped: why.clone() });
    // What it knows it still answers.
    assert!(follower.at_least(offset(at), SOON).await.is_ok());
    why
}

#[tokio::test]
async fn an_event_nobody_knows_stops_it_after_what_came_before() {
    let mut log = log_of(&users(&["a", "b"]));
    let fake = Fake::new(log.clone()).await;
    log.extend(next(&log, &[suspended("a")]));
    let at = log.len();
    let foreseen = next(&log, &[suspended("b")]);
    let unknown = changed(&foreseen[0], |event| event.type_name = "grant.foreseen".to_owned());
    let why = stopped(&fake, &log, vec![log[at - 1].clone(), unknown], at).await;
    assert!(
        matches!(&why, Stopped::UnknownEvent { offset, what } if offset.get() == at as u64 + 1 && what.contains("grant.foreseen")),
        "{why}"
    );
    assert!(why.to_string().contains("use a newer one"));
}

#[tokio::test]
async fn a_version_nobody_knows_stops_it_too() {
    let log = log_of(&users(&["a"]));
    let later = changed(&next(&log, &[suspended("a")])[0], |event| event.schema = 9);
    let fake = Fake::new(log.clone()).await;
    let why = stopped(&fake, &log, vec![later], log.len()).await;
    assert!(matches!(why, Stopped::UnknownEvent { .. }), "{why}");
}

#[tokio::test]
async fn another_history_stops_it() {
    let log = log_of(&users(&["a", "b"]));
    let other = log_of(&users(&["a", "c"]));
    let more = next(&other, &[suspended("a")]);
    let fake = Fake::new(log.clone()).await;
    let why = stopped(&fake, &log, more, log.len()).await;
    assert_eq!(why, Stopped::Fork { offset: offset(log.len() + 1) });
    // The same event again, with another hash.
    let fake = Fake::new(log.clone()).await;
    let why = stopped(&fake, &log, other[log.len() - 1..].to_vec(), log.len()).await;
    assert_eq!(why, Stopped::Fork { offset: offset(log.len()) });
}

#[tokio::test]
async fn damage_and_contradictions_stop_it() {
    let log = log_of(&users(&["a"]));
    let mut damaged = next(&log, &[suspended("a")]);
    damaged[0].recorded_at = damaged[0].recorded_at.saturating_add_micros(1);
    let fake = Fake::new(log.clone()).await;
    let why = stopped(&fake, &log, damaged, log.len()).await;
    assert!(matches!(why, Stopped::Damaged { .. }), "{why}");
    let fake = Fake::new(log.clone()).await;
    let why = stopped(&fake, &log, next(&log, &[suspended("nobody")]), log.len()).await;
    assert!(matches!(why, Stopped::Inconsistent { .. }), "{why}");
    // Whole commands that came with it count.
    let mut longer = log.clone();
    longer.extend(next(&log, &[suspended("a")]));
    let mut sent = longer[log.len()..].to_vec();
    sent.extend(next(&longer, &[suspended("nobody")]));
    let why = stopped(&Fake::new(log).await, &longer, sent, longer.len()).await;
    assert!(matches!(why, Stopped::Inconsistent { .. }), "{why}");
}

#[tokio::test]
async fn a_log_that_was_set_back_and_went_on_otherwise_is_noticed() {
    let log = log_of(&users(&["a", "b", "c"]));
    // As long as what was followed, longer, and at first shorter.
    for (names, grows) in [(&["a", "b", "d"][..], false), (&["a", "d", "e", "f"], false), (&["a"], true)] {
        let fake = Fake::new(log.clone()).await;
        let follower = followed(&fake).await;
        let mut other = log_of(&users(names));
        fake.shown().log = other.clone();
        fake.shown().cut = true;
        if grows {
            until("the stream was cut", || !fake.shown().cut).await;
            while other.len() <= log.len() {
                let name = format!("x{}", other.len());
                other.extend(next(&other, &users(&[&name]).pop().unwrap()));
            }
            fake.shown().log = other.clone();
            fake.shown().stream = other[log.len()..].to_vec();
        }
        until("it has stopped", || follower.status().stopped.is_some()).await;
        let stopped = follower.status().stopped;
        assert!(matches!(stopped, Some(Stopped::Fork { .. })), "{names:?}: {stopped:?}");
        assert!(follower.policy().digest() == folded(&log).digest());
    }
}

#[tokio::test]
async fn another_log_at_the_same_address_stops_it() {
    let log = log_of(&users(&["a"]));
    let fake = Fake::new(log.clone()).await;
    let follower = followed(&fake).await;
    let (known, found) = (fake.shown().log_id, LogId::from_u128(6));
    fake.shown().log_id = found;
    fake.shown().cut = true;
    until("it has stopped", || follower.status().stopped.is_some()).await;
    assert_eq!(follower.status().stopped, Some(Stopped::OtherLog { known, found }));
    assert_eq!(follower.version(), offset(log.len()));
}

#[tokio::test]
async fn without_a_place_among_the_streams_pages_bring_the_same() {
    let log = log_of(&users(&["a"]));
    let fake = Fake::new(log.clone()).await;
    fake.shown().full = true;
    let mut config = fake.config();
    // A second attempt would come too late.
    (config.retry_first, config.retry_max) = (LONG * 10, LONG * 10);
    let follower = Follower::start(config).await.unwrap();
    for number in 0..3 {
        let more = next(&fake.shown().log.clone(), &users(&[&format!("x{number}")]).pop().unwrap());
        fake.shown().log.extend(more);
        until("a page brings it", || follower.version() == offset(log.len() + number + 1)).await;
    }
}
