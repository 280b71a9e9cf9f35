//! What a follower of a server that behaves comes to: the server's own state.

use crate::{
    server::{Server, quick},
    wait::{LONG, SOON, until},
};
use charter_events::{LogId, Scope};
use charter_follower::{Follower, NotReached, Source};
use charter_policy::AccessControl;
use charter_store::MemoryStore;
use charter_testkit::rng::Rng;
use serde_json::{Value, json};

/// Waits until a follower is where the server is, and compares everything.
async fn agrees(follower: &Follower, server: &Server) {
    let head = server.control.head();
    let policy = follower.at_least(head.offset, LONG).await.unwrap();
    assert_eq!(policy.version(), head.offset);
    assert!(policy.digest() == server.control.policy().digest());
    let status = follower.status();
    assert_eq!((status.log_id, status.version, status.hash), (head.log_id, head.offset, head.hash));
    assert_eq!((status.recorded_at, status.gaps, &status.stopped), (head.recorded_at, 0, &None));
}

#[tokio::test]
async fn it_ends_with_the_state_of_the_server_whatever_happened_there() {
    let server = Server::new().await;
    let mut rng = Rng::new(7);
    server.random_commands(&mut rng, 60).await;
    let follower = server.followed().await;
    assert!(follower.version() >= server.control.head().offset, "it starts with everything");
    let begun = server.control.head().offset.get();
    for _ in 0..4 {
        server.random_commands(&mut rng, 40).await;
        agrees(&follower, &server).await;
    }
    assert!(server.control.head().offset.get() > begun + 40, "too little happened");
    until("it is connected", || follower.status().connected).await;
    assert_eq!(follower.status().source, Source::Http);
}

#[tokio::test]
async fn what_happens_is_brought_by_the_stream_without_being_asked_for() {
    let server = Server::new().await;
    let mut config = server.config();
    (config.check_every, config.stale_max) = (LONG, None);
    let follower = Follower::start(config).await.unwrap();
    until("it is connected", || follower.status().connected).await;
    let mut events = follower.events();
    assert_eq!(server.post("/groups", json!({"slug": "ops"})).await, 201);
    let head = server.control.head();
    until("the stream brings it", || follower.version() == head.offset).await;
    assert_eq!(events.recv().await.unwrap().type_name, "group.created");
}

#[tokio::test]
async fn a_check_answers_as_the_server_does_with_its_version() {
    let server = Server::new().await;
    let bob = server.user("bob").await;
    let follower = server.followed().await;
    let key = "core.user.read".parse().unwrap();
    assert!(!follower.check(bob, &key, Scope::Global, follower.now()).unwrap().allowed());
    let grant = json!({"subject": "user:bob", "permissions": ["core.user.read"], "scope": "global"});
    assert_eq!(server.post("/grants", grant).await, 201);
    let version = server.control.head().offset;
    follower.at_least(version, LONG).await.unwrap();
    let decision = follower.check(bob, &key, Scope::Global, follower.now()).unwrap();
    assert!(decision.allowed() && decision.version >= version);
    let caller = charter_policy::Caller::of(bob);
    follower.require(&caller, &key, Scope::Global).unwrap();
    assert!(follower.require(&caller, &"core.user.create".parse().unwrap(), Scope::Global).is_err());
}

#[tokio::test]
async fn a_version_that_is_not_there_yet_is_waited_for_no_longer_than_said() {
    let server = Server::new().await;
    let follower = server.followed().await;
    let wanted = server.control.head().offset.plus(5).unwrap();
    let error = follower.at_least(wanted, SOON * 5).await.unwrap_err();
    assert!(matches!(error, NotReached::InTime { wanted: w, .. } if w == wanted), "{error}");
    // Those who wait get it when it comes.
    let waiting = tokio::spawn({
        let follower = follower.clone();
        async move { follower.at_least(wanted, LONG).await.map(|policy| policy.version()) }
    });
    for number in 0..5 {
        assert_eq!(server.post("/groups", json!({"slug": format!("g{number}")})).await, 201);
    }
    assert!(waiting.await.unwrap().unwrap() >= wanted);
}

#[tokio::test]
async fn whoever_waits_for_versions_that_never_are_holds_nobody_up() {
    let server = Server::new().await;
    let follower = server.followed().await;
    until("it is connected", || follower.status().connected).await;
    let never = server.control.head().offset.plus(1_000_000).unwrap();
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let follower = follower.clone();
            tokio::spawn(async move { follower.at_least(never, LONG * 10).await })
        })
        .collect();
    tokio::time::sleep(SOON * 5).await;
    for slug in ["one", "two", "three"] {
        assert_eq!(server.post("/groups", json!({"slug": slug})).await, 201);
        let version = server.control.head().offset;
        let reached = tokio::time::timeout(LONG, follower.at_least(version, LONG * 10)).await;
        assert!(reached.unwrap().unwrap().version() >= version);
    }
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn it_goes_on_from_its_own_snapshot_when_that_is_of_the_same_history() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::default();
    let server = Server::on(&store, "127.0.0.1:0".parse().unwrap(), None).await;
    let mut config = server.config();
    config.folder = Some(folder.path().join("state"));
    let first = Follower::start(config.clone()).await.unwrap();
    assert_eq!(first.status().applied, server.control.head().offset.get());
    first.shutdown().await;
    let before = server.control.head().offset;
    server.random_commands(&mut Rng::new(3), 20).await;
    let second = Follower::start(config.clone()).await.unwrap();
    assert_eq!(second.status().applied, server.control.head().offset.get() - before.get());
    agrees(&second, &server).await;
    second.shutdown().await;

    // Of another log, and of another history of the same log: read from the beginning.
    for log_id in [LogId::from_u128(77), server.control.log_id()] {
        let other = Server::on(&MemoryStore::new(log_id), "127.0.0.1:0".parse().unwrap(), None).await;
        let mut config = quick(&other.base(), &other.token);
        config.folder = Some(folder.path().join("state"));
        let follower = Follower::start(config).await.unwrap();
        assert_eq!(follower.status().applied, other.control.head().offset.get());
        agrees(&follower, &other).await;
    }
}

#[tokio::test]
async fn snapshots_are_written_on_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new().await;
    let mut config = server.config();
    config.folder = Some(folder.path().to_owned());
    config.snapshot_every_events = 1;
    let follower = Follower::start(config).await.unwrap();
    assert_eq!(server.post("/groups", json!({"slug": "ops"})).await, 201);
    let name = format!("{:020}.snapshot", server.control.head().offset);
    until("a snapshot is there", || folder.path().join(&name).exists()).await;
    drop(follower);
}

#[tokio::test]
async fn a_server_that_goes_and_comes_back_is_followed_on() {
    let store = MemoryStore::default();
    let server = Server::on(&store, "127.0.0.1:0".parse().unwrap(), None).await;
    let (at, token) = (server.at, server.token.clone());
    let follower = server.followed().await;
    until("it is connected", || follower.status().connected).await;
    let version = follower.version();
    server.stop().await;
    until("it has noticed", || !follower.status().connected).await;
    // It answers all the same, and says that something is wrong.
    assert_eq!((follower.version(), follower.policy().version()), (version, version));
    assert!(follower.status().trouble.is_some());
    assert!(follower.at_least(version.plus(1).unwrap(), SOON).await.is_err());
    let server = Server::on(&store, at, Some(token)).await;
    assert_eq!(server.send(reqwest::Method::POST, "/groups", json!({"slug": "ops"})).await, 201);
    until("the stream brings it", || follower.version() == server.control.head().offset).await;
    agrees(&follower, &server).await;
    until("nothing is wrong", || follower.status().trouble.is_none()).await;
}

#[tokio::test]
async fn a_right_that_is_taken_away_is_named_and_when_it_is_given_back_all_goes_on() {
    let server = Server::new().await;
    let bob = server.user("bob").await;
    let give = json!({"subject": "user:bob", "permissions": ["core.audit.read"], "scope": "global"});
    assert_eq!(server.post("/grants", give.clone()).await, 201);
    let token = server.token_of(bob).await;
    let follower = Follower::start(quick(&server.base(), &token)).await.unwrap();
    until("it is connected", || follower.status().connected).await;
    let grant = server.control.policy().grants_of(charter_events::Subject::User(bob)).next().unwrap().id;
    assert_eq!(server.send(reqwest::Method::DELETE, &format!("/grants/{grant}"), Value::Null).await, 204);
    let names_it = |text: String| text.contains("`core.audit.read`");
    until("the permission is named", || follower.status().trouble.is_some_and(names_it)).await;
    assert_eq!(follower.status().stopped, None);
    assert_eq!(server.post("/grants", give).await, 201);
    until("it goes on", || follower.version() == server.control.head().offset).await;
}
