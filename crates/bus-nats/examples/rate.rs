//! How fast a log is published, beside plain publishing of as many bytes with as much on its way, on one server:
//! `cargo run --release --package charter-bus-nats --example rate [events]`.

#![expect(clippy::print_stdout, reason = "what it is for")]

use anyhow::{Context, Result};
use async_nats::jetstream::{self, stream::Config};
use charter_bus_nats::{Consumer, NatsConfig, Position, Publisher, Reread, connect};
use charter_events::{Hash, Offset, StoredEvent};
use charter_services::Nats;
use charter_store::{BoxError, LogStore, MemoryStore, conformance::append_one};
use futures_util::{StreamExt, stream::FuturesOrdered};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const IN_FLIGHT_MESSAGES: usize = 128;

#[tokio::main]
async fn main() -> Result<()> {
    let events: u64 = std::env::args().nth(1).map_or(Ok(20_000), |text| text.parse())?;
    let nats = Nats::start()?;
    let store = MemoryStore::default();
    append_one(&store, usize::try_from(events)?).await;
    let sample = store.read(Offset::ZERO, 1).await?.pop().context("an event")?;
    let body = serde_json::to_vec(&charter_events::EventJson::new(&sample)?)?;

    let tell = |what: &str, took: Duration| {
        println!(
            "{what}: {:.0} events/s ({events} in {:.2} s)",
            events as f64 / took.as_secs_f64(),
            took.as_secs_f64()
        );
    };
    tell("plain, bodies of the same size, no headers", plain(&nats, events, &body).await?);
    let (published, read) = log(&nats, store, events).await?;
    tell("the log, by the publisher", published);
    tell("the log, read and verified by a consumer", read);
    Ok(())
}

async fn plain(nats: &Nats, events: u64, body: &[u8]) -> Result<Duration> {
    let context = jetstream::new(async_nats::connect(nats.url()).await?);
    let (name, subjects) = ("PLAIN".to_owned(), vec!["plain.>".to_owned()]);
    context.create_stream(Config { name, subjects, ..Config::default() }).await?;
    let (began, mut sent) = (Instant::now(), FuturesOrdered::new());
    for _ in 0..events {
        if sent.len() >= IN_FLIGHT_MESSAGES {
            sent.next().await.transpose()?;
        }
        sent.push_back(context.publish("plain.group.renamed", body.to_vec().into()).await?.into_future());
    }
    while sent.next().await.transpose()?.is_some() {}
    Ok(began.elapsed())
}

async fn log(nats: &Nats, store: MemoryStore, events: u64) -> Result<(Duration, Duration)> {
    let head = store.head().await?;
    let bus = connect(&NatsConfig::new(nats.url().parse()?, "rate")).await?;
    let (_versions, versions) = watch::channel(head.offset);
    let publisher = Publisher::new(bus.clone(), Arc::new(store), head.log_id, versions);
    let (stop, began) = (CancellationToken::new(), Instant::now());
    let publishing = tokio::spawn(publisher.run(stop.clone(), |_| ()));
    let context = jetstream::new(async_nats::connect(nats.url()).await?);
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let stream = context.get_stream(charter_bus_nats::stream_name(head.log_id)).await;
        if stream.is_ok_and(|stream| stream.cached_info().state.last_sequence == events) {
            break;
        }
    }
    let published = began.elapsed();
    stop.cancel();
    publishing.await?;

    let began = Instant::now();
    let start = Position { log_id: head.log_id, offset: Offset::ZERO, hash: Hash::ZERO };
    let mut consumer = Consumer::open(&bus, start, Arc::new(Nothing)).await?;
    while consumer.position().offset < head.offset {
        consumer.next().await?;
    }
    Ok((published, began.elapsed()))
}

/// A source that has nothing.
struct Nothing;

#[async_trait::async_trait]
impl Reread for Nothing {
    async fn events_after(&self, _: Offset, _: usize) -> Result<Vec<StoredEvent>, BoxError> {
        Ok(Vec::new())
    }
}
