//! A consumer reads every event once, in order, whatever the stream does.

use crate::support::*;
use async_nats::jetstream::stream::Config;
use charter_bus_nats::{Consumer, ConsumerOptions, stream_name, subject, subjects};
use charter_events::{EventJson, StoredEvent};
use charter_services::Nats;
use charter_store::{LogStore, MemoryStore};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// A stream made by hand that begins at a sequence, with these events as they are.
pub(crate) async fn stream_with(url: &str, events: &[StoredEvent]) {
    let admin = admin(url).await;
    let first_sequence = events.first().map(|event| event.offset.get());
    let (name, subjects) = (stream_name(LOG), vec![subjects(LOG)]);
    admin.create_stream(Config { name, subjects, first_sequence, ..Config::default() }).await.unwrap();
    for event in events {
        let body = serde_json::to_vec(&EventJson::new(event).unwrap()).unwrap();
        admin.publish(subject(LOG, &event.type_name), body.into()).await.unwrap().await.unwrap();
    }
}

/// A source that has nothing, so that everything comes from the stream.
pub(crate) async fn nothing() -> Arc<Source> {
    Source::of(&log_of(0).await)
}

#[tokio::test]
async fn everything_is_read_in_order_and_what_comes_later_too() {
    let (nats, store) = (Nats::start().unwrap(), log_of(500).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), nothing().await, eager());

    let mut read = read_to(&mut consumer, 500).await;
    for _ in 0..20 {
        running.append(&store, 5).await;
        let last = store.head().await.unwrap().offset.get();
        read.extend(read_to(&mut consumer, last).await);
    }

    assert_eq!(read, events_of(&store).await);
    assert_eq!(consumer.gaps(), 0);
    assert!(consumer.from_stream());
    running.stop().await;
}

#[tokio::test]
async fn reading_begins_after_the_position() {
    let (nats, store) = (Nats::start().unwrap(), log_of(100).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    for begun in [1, 57, 99] {
        let position = after(&store, begun).await;
        let mut consumer = Consumer::open(&bus, position, nothing().await).await.unwrap();
        assert_eq!(read_to(&mut consumer, 100).await, events_of(&store).await[begun..]);
    }
    running.stop().await;
}

#[tokio::test]
async fn a_reader_that_is_cancelled_again_and_again_misses_nothing() {
    let (nats, store) = (Nats::start().unwrap(), log_of(300).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), nothing().await, eager());

    let mut read = Vec::new();
    let mut cancelled = 0;
    while read.len() < 300 {
        match tokio::time::timeout(Duration::from_micros(300), consumer.next()).await {
            Ok(batch) => read.extend(batch.unwrap()),
            Err(_) => cancelled += 1,
        }
        if cancelled % 50 == 49 {
            // long enough for a consumer to be made
            cancelled += 1;
            if let Ok(batch) = tokio::time::timeout(Duration::from_millis(100), consumer.next()).await {
                read.extend(batch.unwrap());
            }
        }
    }

    assert!(cancelled > 0);
    assert_eq!(read, events_of(&store).await);
    running.stop().await;
}

#[tokio::test]
async fn messages_that_come_twice_are_read_once() {
    let (nats, store) = (Nats::start().unwrap(), log_of(40).await);
    let events = events_of(&store).await;
    // each twice, and all of the first half a third time at the end
    let mut messages: Vec<StoredEvent> = events.iter().flat_map(|e| [e.clone(), e.clone()]).collect();
    messages.extend_from_slice(&events[..20]);
    stream_with(&nats.url(), &messages).await;

    let source = nothing().await;
    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), source, eager());

    assert_eq!(read_to(&mut consumer, 40).await, events);
    assert_eq!(consumer.gaps(), 0);
}

#[tokio::test]
async fn what_the_stream_lacks_is_read_at_the_source() {
    let (nats, store) = (Nats::start().unwrap(), log_of(500).await);
    let events = events_of(&store).await;
    stream_with(&nats.url(), &events).await;
    let stream = stream(&nats.url()).await;
    for lost in 101..=300 {
        stream.delete_message(lost).await.unwrap();
    }

    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), Source::of(&store), eager());

    assert_eq!(read_to(&mut consumer, 500).await, events);
    assert_eq!(consumer.gaps(), 1);
    assert!(consumer.position().hash == events[499].hash);
}

#[tokio::test]
async fn a_stream_that_begins_later_is_read_from_there() {
    let (nats, store) = (Nats::start().unwrap(), log_of(300).await);
    let events = events_of(&store).await;
    stream_with(&nats.url(), &events[200..]).await;

    let source = Source::of(&store);
    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), source.clone(), eager());
    let read = read_to(&mut consumer, 300).await;

    assert_eq!(read, events);
    assert_eq!(consumer.gaps(), 1);
}

#[tokio::test]
async fn a_source_that_is_away_is_waited_for() {
    let (nats, store) = (Nats::start().unwrap(), log_of(60).await);
    let events = events_of(&store).await;
    stream_with(&nats.url(), &events[50..]).await;
    let source = Source::of(&store);
    source.away.store(true, Ordering::SeqCst);
    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), source.clone(), eager());

    assert!(tokio::time::timeout(Duration::from_secs(1), consumer.next()).await.is_err());
    assert!(source.asked.load(Ordering::SeqCst) > 1);
    source.away.store(false, Ordering::SeqCst);

    assert_eq!(read_to(&mut consumer, 60).await, events);
}

#[tokio::test]
async fn while_the_stream_is_away_the_source_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::start_in(folder.path(), None).unwrap();
    let (bus, store) = (bus(&nats.url()).await, log_of(50).await);
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), Source::of(&store), eager());
    let mut read = read_to(&mut consumer, 50).await;
    assert!(consumer.from_stream());

    nats.kill().unwrap();
    running.append(&store, 50).await;
    read.extend(read_to(&mut consumer, 100).await);
    assert!(!consumer.from_stream());

    nats.restart().unwrap();
    until_last(&nats.url(), 100).await;
    consumer_returns_to_the_stream(&running, &store, &mut consumer, &mut read).await;

    assert_eq!(read, events_of(&store).await);
    running.stop().await;
}

pub(crate) async fn consumer_returns_to_the_stream(
    running: &Running,
    store: &MemoryStore,
    consumer: &mut Consumer,
    read: &mut Vec<StoredEvent>,
) {
    for _ in 0..200 {
        running.append(store, 1).await;
        let last = store.head().await.unwrap().offset.get();
        read.extend(read_to(consumer, last).await);
        if consumer.from_stream() {
            return;
        }
    }
    panic!("the stream is never read again");
}

#[tokio::test]
async fn a_stream_that_is_not_there_yet_does_not_hold_up() {
    let (nats, store) = (Nats::start().unwrap(), log_of(80).await);
    let bus = bus(&nats.url()).await;
    let mut consumer = Consumer::open_with(&bus, start(), Source::of(&store), eager());
    let mut read = read_to(&mut consumer, 80).await;

    let running = Running::start(&bus, &store, quick()).await;
    until_last(&nats.url(), 80).await;
    consumer_returns_to_the_stream(&running, &store, &mut consumer, &mut read).await;

    assert_eq!(read, events_of(&store).await);
    assert_eq!(consumer.gaps(), 0);
    running.stop().await;
}

#[tokio::test]
async fn a_stream_that_is_deleted_and_made_again_is_read_on() {
    let (nats, store) = (Nats::start().unwrap(), log_of(100).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), nothing().await, eager());
    let mut read = read_to(&mut consumer, 100).await;

    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    running.append(&store, 100).await;
    read.extend(read_to(&mut consumer, 200).await);

    assert_eq!(read, events_of(&store).await);
    running.stop().await;
}

#[tokio::test]
async fn a_publisher_that_is_stuck_holds_up_nobody_for_long() {
    let (nats, store) = (Nats::start().unwrap(), log_of(30).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    let options = ConsumerOptions { silence_max: Duration::from_millis(300), ..eager() };
    let mut consumer = Consumer::open_with(&bus, start(), Source::of(&store), options);
    read_to(&mut consumer, 30).await;
    running.stop().await;

    append(&store, 120).await;
    read_to(&mut consumer, 150).await;

    assert_eq!(consumer.position(), after(&store, 150).await);
    assert_eq!(consumer.gaps(), 1);
}

#[tokio::test]
async fn a_stream_made_anew_is_read_though_the_source_stays_away() {
    let (nats, store) = (Nats::start().unwrap(), log_of(60).await);
    let events = events_of(&store).await;
    stream_with(&nats.url(), &events[50..]).await;
    let (bus, source) = (bus(&nats.url()).await, Source::of(&store));
    source.away.store(true, Ordering::SeqCst);
    let mut consumer = Consumer::open_with(&bus, start(), source, eager());
    assert!(tokio::time::timeout(Duration::from_millis(500), consumer.next()).await.is_err());

    admin(&nats.url()).await.delete_stream(stream_name(LOG)).await.unwrap();
    let running = Running::start(&bus, &store, quick()).await;

    assert_eq!(read_to(&mut consumer, 60).await, events);
    assert!(consumer.from_stream());
    running.stop().await;
}

#[tokio::test]
async fn a_stream_that_cannot_be_read_is_tried_ever_more_rarely() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let source = Source::of(&store);
    let options = ConsumerOptions { reread_every: Duration::from_millis(20), ..eager() };
    // there is no stream
    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), source, options);
    read_to(&mut consumer, 10).await;
    let asked = || async { api_requests(&nats.url()).await };
    let before = asked().await;
    assert!(tokio::time::timeout(Duration::from_secs(3), consumer.next()).await.is_err());

    // at an eighth of 20 ms it would be more than a thousand
    let requests = asked().await - before;
    assert!((1..=40).contains(&requests), "{requests}");
    assert!(consumer.trouble().is_some_and(|trouble| trouble.contains("can't be read")));
}

/// How often JetStream was asked for anything.
async fn api_requests(url: &str) -> u64 {
    admin(url).await.query_account().await.unwrap().requests.total
}
