//! A consumer reads every event once, in order, whatever the stream does.

use crate::support::*;
use async_nats::jetstream::stream::Config;
use charter_bus_nats::{Consumer, ConsumerError, ConsumerOptions, Reread, stream_name, subject, subjects};
use charter_events::{EventJson, Hash, Offset, StoredEvent};
use charter_services::Nats;
use charter_store::{BoxError, Fault, LogStore, MemoryStore, What};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// A stream made by hand that begins at a sequence, with these events as they are.
async fn stream_with(url: &str, events: &[StoredEvent]) {
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
async fn nothing() -> Arc<Source> {
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

async fn consumer_returns_to_the_stream(
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
async fn another_history_on_the_stream_is_the_streams_fault_as_long_as_the_source_agrees() {
    let (nats, ours, theirs) = (Nats::start().unwrap(), log_of(20).await, log_of(20).await);
    append_named(&ours, 20, "Ours").await;
    append_named(&theirs, 10, "Theirs").await;
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &theirs, quick()).await;
    until_last(&nats.url(), 30).await;

    for begun in [21, 25, 30] {
        let position = after(&ours, begun).await;
        let mut consumer = Consumer::open_with(&bus, position, Source::of(&ours), eager());
        assert_eq!(read_to(&mut consumer, 40).await, events_of(&ours).await[begun..]);
        assert!(!consumer.from_stream() && consumer.stream_faults() >= 1);
        assert!(consumer.trouble().is_some() && consumer.away_for().is_some());
    }
    running.stop().await;
}

#[tokio::test]
async fn who_read_another_history_is_told_by_the_source_when_the_stream_falls_silent() {
    let nats = Nats::start().unwrap();
    let bus = bus(&nats.url()).await;
    for ours_longer_by in [0, 10] {
        let (ours, theirs) = (log_of(20).await, log_of(20).await);
        append_named(&ours, 10 + ours_longer_by, "Ours").await;
        append_named(&theirs, 10, "Theirs").await;
        let running = Running::start(&bus, &theirs, quick()).await;
        until_last(&nats.url(), 30).await;
        running.stop().await;

        // at 20 theirs follows as well as ours
        let options = ConsumerOptions { silence_max: Duration::from_millis(200), ..eager() };
        let mut consumer = Consumer::open_with(&bus, after(&ours, 20).await, Source::of(&ours), options);
        assert_eq!(until_failed(&mut consumer).await, ConsumerError::Fork { offset: offset(30) });
    }
}

/// Reads until the source contradicts, for good.
async fn until_failed(consumer: &mut Consumer) -> ConsumerError {
    let reading = async {
        loop {
            if let Err(error) = consumer.next().await {
                return error;
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, reading).await.expect("nothing contradicts");
    assert_eq!(consumer.next().await.unwrap_err(), error);
    error
}

#[tokio::test]
async fn another_history_that_the_source_confirms_is_a_fork() {
    let (nats, ours, theirs) = (Nats::start().unwrap(), log_of(20).await, log_of(20).await);
    append_named(&ours, 10, "Ours").await;
    append_named(&theirs, 10, "Theirs").await;
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &theirs, quick()).await;
    until_last(&nats.url(), 30).await;

    for read in [30, 25, 21] {
        let position = after(&ours, read).await;
        let mut consumer = Consumer::open_with(&bus, position, Source::of(&theirs), eager());
        let error = until_failed(&mut consumer).await;
        assert_eq!(error, ConsumerError::Fork { offset: position.offset });
        assert_eq!(consumer.position(), position);
    }
    running.stop().await;
}

#[tokio::test]
async fn an_event_that_was_tampered_with_is_read_at_the_source() {
    let store = log_of(10).await;
    let events = events_of(&store).await;
    let altered = |change: &dyn Fn(&mut StoredEvent)| {
        let mut events = events.clone();
        change(&mut events[6]);
        events
    };
    for altered in [
        altered(&|e| e.payload = e.payload.to_ascii_lowercase()),
        altered(&|e| e.command.reason = Some("another".into())),
        altered(&|e| e.hash = Hash::ZERO),
        altered(&|e| e.prev_hash = Hash::ZERO),
        altered(&|e| e.command_index = 9),
    ] {
        let nats = Nats::start().unwrap();
        stream_with(&nats.url(), &altered).await;
        let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), Source::of(&store), eager());
        assert_eq!(read_to(&mut consumer, 10).await, events);
        assert_eq!(consumer.stream_faults(), 1);

        // without a source nothing of it is taken
        let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), nothing().await, eager());
        assert_eq!(read_to(&mut consumer, 6).await, events[..6]);
        assert!(tokio::time::timeout(Duration::from_secs(1), consumer.next()).await.is_err());
    }
}

/// A source that was tampered with.
struct Tampered(Vec<StoredEvent>);

#[async_trait::async_trait]
impl Reread for Tampered {
    async fn events_after(&self, offset: Offset, _: usize) -> Result<Vec<StoredEvent>, BoxError> {
        Ok(self.0.iter().filter(|event| event.offset > offset).cloned().collect())
    }
}

#[tokio::test]
async fn a_source_that_was_tampered_with_ends_the_reading_before_it() {
    let (nats, store) = (Nats::start().unwrap(), log_of(10).await);
    let mut events = events_of(&store).await;
    events[6].command.reason = Some("another".into());
    stream_with(&nats.url(), &events[..5]).await;

    let options = ConsumerOptions { silence_max: Duration::from_millis(200), ..eager() };
    let source = Arc::new(Tampered(events));
    let mut consumer = Consumer::open_with(&bus(&nats.url()).await, start(), source, options);
    let error = until_failed(&mut consumer).await;

    assert_eq!(error, ConsumerError::Damaged(Fault::new(offset(7), What::HashMismatch)));
    assert_eq!(consumer.position(), after(&store, 6).await);
}

#[tokio::test]
async fn a_message_that_is_no_event_is_passed_by_and_the_stream_read_again_when_it_is_made_anew() {
    let (nats, store) = (Nats::start().unwrap(), log_of(5).await);
    let bus = bus(&nats.url()).await;
    let running = Running::start(&bus, &store, quick()).await;
    let mut consumer = Consumer::open_with(&bus, start(), Source::of(&store), eager());
    let mut read = read_to(&mut consumer, 5).await;

    let admin = admin(&nats.url()).await;
    admin.publish(subject(LOG, "grant.issued"), "hello".into()).await.unwrap().await.unwrap();
    running.append(&store, 5).await;
    read.extend(read_to(&mut consumer, 10).await);
    assert!(!consumer.from_stream() && consumer.stream_faults() >= 1);
    assert!(consumer.trouble().is_some_and(|trouble| trouble.contains("message 6 is no event")));
    until("the alarm", || async { !running.alarms.lock().unwrap().is_empty() }).await;

    admin.delete_stream(stream_name(LOG)).await.unwrap();
    until_last(&nats.url(), 10).await;
    consumer_returns_to_the_stream(&running, &store, &mut consumer, &mut read).await;
    assert_eq!(read, events_of(&store).await);
    assert!(consumer.trouble().is_none() && consumer.away_for().is_none());
    running.stop().await;
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
