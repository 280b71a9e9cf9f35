//! What somebody else puts on the stream: it is the stream's fault, and never keeps a follower from the log.

use crate::{
    fake::{after, changed_in, line},
    faults::suspended,
    nats::World,
    wait::{SOON, until},
};
use charter_bus_nats::subject;
use charter_events::{Event, Head, StoredEvent, UserRegistered};
use charter_follower::{NotFresh, Source, Stopped};
use charter_testkit::{history::History, rng::Rng};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Anybody who can reach the NATS server says something on the log's subjects.
async fn said(world: &World, text: &str) {
    let url = world.nats.url();
    let mut stream = TcpStream::connect(url.trim_start_matches("nats://")).await.unwrap();
    let subject = subject(world.server.control.log_id(), "grant.issued");
    let said = format!("CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n{text}\r\nPING\r\n", text.len());
    stream.write_all(said.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !String::from_utf8_lossy(&heard).contains("PONG") {
        assert!(stream.read_buf(&mut heard).await.unwrap() > 0);
    }
}

/// What goes on from the server's log and was never in it.
fn forged(world: &World, event: Event) -> StoredEvent {
    after(world.server.control.head(), &[event]).pop().unwrap()
}

/// A user who does not exist.
fn stranger() -> Event {
    let mut events = History::new().user("stranger").into_events();
    let found =
        events.iter().position(|(_, event)| matches!(event, Event::UserRegistered(UserRegistered { .. })));
    events.remove(found.unwrap()).1
}

#[tokio::test]
async fn whatever_is_on_the_stream_the_log_is_followed_on() {
    for what in ["no event", "another history", "an unknown event", "a contradiction"] {
        let world = World::with(|config| (config.check_every, config.stale_max) = (SOON * 20, None)).await;
        let mut rng = Rng::new(21);
        world.source(Source::Nats).await;
        world.command(&mut rng, 5).await;
        let log_id = world.server.control.log_id();
        let head = world.server.control.head();
        let text = match what {
            "no event" => "hello".to_owned(),
            "another history" => {
                let other = Head { hash: charter_events::Hash::new([7; 32]), ..head };
                line(&after(other, &[stranger()])[0])
            }
            "an unknown event" => {
                let foreseen = forged(&world, stranger());
                line(&changed_in(log_id, &foreseen, |event| event.type_name = "grant.foreseen".to_owned()))
            }
            _ => line(&forged(&world, suspended("nobody"))),
        };
        said(&world, &text).await;
        until("it has noticed", || world.follower.status().trouble.is_some()).await;
        for _ in 0..3 {
            world.command(&mut rng, 5).await;
        }
        assert_eq!(world.follower.status().stopped, None, "{what}");
    }
}

#[tokio::test]
async fn an_event_that_only_the_stream_has_is_never_confirmed_and_contradicted_by_the_server() {
    let world = World::with(|config| {
        (config.check_every, config.stale_max) = (SOON * 5, Some(SOON * 100));
    })
    .await;
    world.source(Source::Nats).await;
    world.command(&mut Rng::new(22), 5).await;
    let decides = || world.follower.fresh_policy().map(drop);
    until("it decides", || decides().is_ok()).await;
    said(&world, &line(&forged(&world, stranger()))).await;
    until("it has come", || world.follower.version() > world.server.control.head().offset).await;
    until("nothing is decided", || matches!(decides(), Err(NotFresh::Stale { .. }))).await;
    assert_eq!(world.follower.status().stopped, None);
    assert_eq!(world.server.post("/groups", json!({"slug": "ops"})).await, 201);
    let is_over = || matches!(decides(), Err(NotFresh::Stopped(Stopped::Fork { .. })));
    until("the server contradicts", is_over).await;
}
