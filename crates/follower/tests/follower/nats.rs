//! A follower of the stream on a real NATS server, which comes and goes.

use crate::{
    server::{Server, bind},
    wait::{LONG, SOON, until},
};
use charter_bus_nats::{NatsConfig, Publisher, connect};
use charter_control::{Control, NewUser, RequestMeta};
use charter_events::{Offset, Profile, UserKind, Via};
use charter_follower::{Follower, FollowerConfig, Source};
use charter_policy::Caller;
use charter_services::Nats;
use charter_testkit::rng::Rng;
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server whose log is published, and a follower of the stream.
pub(crate) struct World {
    pub(crate) nats: Nats,
    pub(crate) server: Server,
    pub(crate) follower: Follower,
    _publishing: DropGuard,
}

impl World {
    /// `check_every`: how often the follower asks the server itself.
    async fn new(check_every: Duration) -> Self {
        Self::with(|config| (config.check_every, config.stale_max) = (check_every, None)).await
    }

    /// With a follower that is told what a test wants.
    pub(crate) async fn with(change: impl FnOnce(&mut FollowerConfig)) -> Self {
        let nats = Nats::start().unwrap();
        let server = Server::new().await;
        let config = NatsConfig::new(nats.url().parse().unwrap(), "test");
        let bus = connect(&config).await.unwrap();
        let control = &server.control;
        let publisher = Publisher::new(bus, control.store(), control.log_id(), control.versions());
        let stop = CancellationToken::new();
        tokio::spawn(publisher.run(stop.clone(), |_| ()));
        let mut following = server.config();
        following.nats = Some(config);
        change(&mut following);
        let follower = Follower::start(following).await.unwrap();
        Self { nats, server, follower, _publishing: stop.drop_guard() }
    }

    /// Commands by chance, and the follower is where the server is.
    pub(crate) async fn command(&self, rng: &mut Rng, count: usize) {
        self.server.random_commands(rng, count).await;
        // One that surely changes something.
        let slug = format!("n{}", self.server.control.head().offset);
        assert_eq!(self.server.post("/groups", json!({"slug": slug})).await, 201);
        let head = self.server.control.head();
        until("everything has come", || self.follower.version() == head.offset).await;
        assert!(self.follower.policy().digest() == self.server.control.policy().digest());
        assert_eq!(self.follower.status().hash, head.hash);
    }

    pub(crate) async fn source(&self, source: Source) {
        let is_so = || {
            let status = self.follower.status();
            status.connected && status.source == source
        };
        until(source.as_str(), is_so).await;
    }
}

#[tokio::test]
async fn the_stream_brings_what_happens_and_nothing_is_asked_for() {
    let world = World::new(LONG).await;
    world.source(Source::Nats).await;
    let mut rng = Rng::new(11);
    for _ in 0..3 {
        world.command(&mut rng, 20).await;
    }
    world.source(Source::Nats).await;
    let status = world.follower.status();
    assert_eq!((status.gaps, status.trouble, status.stopped), (0, None, None));
}

#[tokio::test]
async fn while_nats_is_away_the_log_is_followed_over_http() {
    let world = World::new(SOON * 20).await;
    let mut rng = Rng::new(12);
    world.source(Source::Nats).await;
    world.nats.kill().unwrap();
    world.command(&mut rng, 20).await;
    world.source(Source::Http).await;
    world.command(&mut rng, 20).await;
    assert!(world.follower.status().trouble.unwrap().contains("no NATS server answers"));
    world.nats.restart().unwrap();
    world.source(Source::Nats).await;
    world.command(&mut rng, 20).await;
    assert_eq!((world.follower.status().trouble, world.follower.status().stopped), (None, None));
}

/// A change that is made though nobody can ask the server.
async fn registered(control: &Control) -> Offset {
    let request = RequestMeta::new(Via::Cli);
    let profile = Profile {
        username: "zoe".parse().unwrap(),
        display_name: None,
        email: None,
        login_name: None,
        external_id: None,
        identity: None,
    };
    let new = NewUser { kind: UserKind::Person, profile, password: None };
    control.register_user(Caller::System, new, request).await.unwrap();
    control.head().offset
}

#[tokio::test]
async fn the_server_may_be_away_or_hang_while_the_stream_is_not() {
    for hangs in [false, true] {
        let world = World::with(|config| {
            (config.check_every, config.stale_max) = (SOON * 20, None);
            config.request_timeout = LONG * 10;
        })
        .await;
        world.source(Source::Nats).await;
        let World { server, follower, nats, _publishing } = world;
        let (control, at) = (server.control.clone(), server.at);
        server.stop_answering().await;
        // It takes connections and says nothing.
        let hole = if hangs { Some(bind(at).await) } else { None };
        let it_is_noticed = || {
            let trouble = follower.status().trouble;
            trouble.is_some_and(|trouble| !hangs || trouble.contains("took too long"))
        };
        until("it has noticed", it_is_noticed).await;
        let version = registered(&control).await;
        until("the stream brings it", || follower.version() == version).await;
        assert_eq!((follower.status().source, follower.status().stopped), (Source::Nats, None));
        drop((nats, hole));
    }
}

#[tokio::test]
async fn before_nats_is_tried_again_the_log_is_followed_over_http() {
    let world = World::with(|config| {
        (config.check_every, config.stale_max) = (LONG, None);
        (config.retry_first, config.retry_max) = (LONG * 10, LONG * 10);
    })
    .await;
    world.source(Source::Nats).await;
    world.nats.kill().unwrap();
    world.source(Source::Http).await;
    world.command(&mut Rng::new(13), 5).await;
}
