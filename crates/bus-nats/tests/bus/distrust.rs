//! What is wrong on the stream is the stream's fault until the source says the same.

use crate::{
    reading::{consumer_returns_to_the_stream, nothing, stream_with},
    support::*,
};
use charter_bus_nats::{Consumer, ConsumerError, ConsumerOptions, Reread, stream_name, subject};
use charter_events::{Hash, Offset, StoredEvent};
use charter_services::Nats;
use charter_store::{BoxError, Fault, What};
use std::{sync::Arc, time::Duration};

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
