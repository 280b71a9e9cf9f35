//! When a follower decides nothing, because a permission that was taken away could still be there.

use crate::{
    fake::{Fake, log_of, next},
    faults::{key, suspended, users},
    server::Server,
    wait::{SOON, until},
};
use charter_events::{Scope, UserId};
use charter_follower::{Follower, FollowerConfig, NotFresh, Stopped};
use charter_policy::{AccessControl, AccessError, Caller, Page};
use charter_store::MemoryStore;
use charter_testkit::ids::user;

/// Whether it decides, and why not.
fn decides(follower: &Follower) -> Result<(), NotFresh> {
    follower.check(user("a"), &key(), Scope::Global, follower.now()).map(drop)
}

fn is_stale(follower: &Follower) -> bool {
    matches!(decides(follower), Err(NotFresh::Stale { .. }))
}

#[tokio::test]
async fn a_server_whose_log_ends_earlier_confirms_nothing_until_it_has_the_rest_or_another() {
    let log = log_of(&users(&["a", "b", "c"]));
    let fake = Fake::new(log.clone()).await;
    let follower = Follower::start(fake.strict()).await.unwrap();
    assert_eq!(decides(&follower), Ok(()));
    // A server that lags behind the others looks like this, and so does one that was restored.
    fake.shown().log.truncate(log.len() / 2);
    until("nothing is decided", || is_stale(&follower)).await;
    let status = follower.status();
    assert!(status.trouble.is_some_and(|trouble| trouble.contains("was set back")));
    assert_eq!((status.stopped, follower.version().get()), (None, log.len() as u64));
    fake.shown().log = log.clone();
    until("it decides again", || decides(&follower).is_ok()).await;
    // Here it was restored, and went on; it is still shorter.
    let begin = &log[..log.len() / 2];
    let mut other = begin.to_vec();
    other.extend(next(begin, &users(&["x"]).pop().unwrap()));
    assert!(other.len() < log.len());
    fake.shown().log = other;
    until("it has stopped", || follower.status().stopped.is_some()).await;
    assert!(matches!(decides(&follower), Err(NotFresh::Stopped(Stopped::Fork { .. }))));
}

#[tokio::test]
async fn what_a_server_that_is_cut_off_itself_confirms_is_as_old_as_it_says() {
    let fake = Fake::new(log_of(&users(&["a"]))).await;
    let follower = Follower::start(fake.strict()).await.unwrap();
    fake.shown().stale = Some(3_600);
    until("nothing is decided", || is_stale(&follower)).await;
    fake.shown().stale = None;
    until("it decides again", || decides(&follower).is_ok()).await;
    // From the start on, too.
    fake.shown().stale = Some(3_600);
    let follower = Follower::start(fake.strict()).await.unwrap();
    assert!(is_stale(&follower) && follower.status().age.as_secs() >= 3_600);
}

#[tokio::test]
async fn whoever_is_to_answer_for_ever_does() {
    let log = log_of(&users(&["a"]));
    let fake = Fake::new(log.clone()).await;
    fake.shown().stale = Some(1_000_000_000);
    let config = FollowerConfig { stale_max: None, ..fake.strict() };
    let follower = Follower::start(config).await.unwrap();
    assert_eq!(decides(&follower), Ok(()));
    fake.shown().stream = next(&log, &[suspended("a")]);
    until("it has come", || follower.version().get() == log.len() as u64 + 1).await;
    assert_eq!(decides(&follower), Ok(()));
}

#[tokio::test]
async fn while_the_server_is_away_nothing_is_decided_after_a_while() {
    let store = MemoryStore::default();
    let server = Server::on(&store, "127.0.0.1:0".parse().unwrap(), None).await;
    let (at, token) = (server.at, server.token.clone());
    let ada = server.control.resolve_user(&server.control.policy(), "ada").unwrap();
    let limits = FollowerConfig { check_every: SOON * 5, stale_max: Some(SOON * 100), ..server.config() };
    let follower = Follower::start(limits).await.unwrap();
    let allowed = |follower: &Follower, user: UserId| {
        follower.check(user, &key(), Scope::Global, follower.now()).map(|decision| decision.allowed())
    };
    assert_eq!(allowed(&follower, ada), Ok(true));
    server.stop().await;
    until("nothing is decided", || is_stale(&follower)).await;
    let caller = Caller::of(ada);
    let refusals = [
        follower.require(&caller, &key(), Scope::Global).unwrap_err(),
        follower.is_allowed(&caller, &key(), Scope::Global).unwrap_err(),
        follower.is_allowed_batch(&caller, &key(), &[Scope::Global]).unwrap_err(),
        follower.effective(&caller, Scope::Global).unwrap_err(),
        follower.allowed_objects(&caller, &key(), "folder", Page::first(10)).unwrap_err(),
    ];
    assert!(refusals.iter().all(|error| matches!(error, AccessError::Unavailable(_))), "{refusals:?}");
    // To look at it is there all the same.
    assert_eq!(follower.policy().version(), follower.version());
    let server = Server::on(&store, at, Some(token)).await;
    until("it decides again", || allowed(&follower, ada) == Ok(true)).await;
    drop(server);
}

#[tokio::test]
async fn a_start_waits_a_moment_for_events_the_server_shows_after_it_said_that_they_are_there() {
    let log = log_of(&users(&["a", "b"]));
    let fake = Fake::new(log.clone()).await;
    fake.shown().empty_pages = 3;
    let follower = Follower::start(fake.config()).await.unwrap();
    assert_eq!((follower.version().get(), decides(&follower)), (log.len() as u64, Ok(())));
}
