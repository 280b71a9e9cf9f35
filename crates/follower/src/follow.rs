//! Following the log: from NATS while it answers, over HTTP else. Whatever fails is tried again with growing waits;
//! only what can never come right ends it. Owns which way is taken; must not know what the events mean.

use crate::{
    backoff::Backoff,
    checks,
    error::{FollowerError, Stopped},
    facts::Source,
    shared::Shared,
};
use async_trait::async_trait;
use charter_bus_nats::{Bus, Consumer, ConsumerOptions, NatsConfig, Position, Reread, connect};
use charter_events::{Head, Offset, StoredEvent};
use charter_store::BoxError;
use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// How long NATS has at the start before the log is followed over HTTP meanwhile.
const NATS_FIRST: Duration = Duration::from_secs(2);
/// Where no stream opens, pages are asked for this often, …
const POLL_EVERY: Duration = Duration::from_millis(500);
/// … and so many of them before a stream is tried again.
const POLLS: usize = 40;
/// After so many checks in a row that found events the stream did not bring, the stream is taken to be away.
const SILENT_CHECKS_MAX: u32 = 3;
/// How often it is looked at how the stream does.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A stream that can't be read for so long is taken to be away.
const STREAM_AWAY_MAX: Duration = Duration::from_secs(3);
/// A stream that was read for so long works: the next failure is a first one.
const WORKS_AFTER: Duration = Duration::from_secs(5);

/// Follows, and checks beside it, until it can't ever go on.
pub(crate) async fn run(shared: &Arc<Shared>) {
    let following = async {
        match &shared.config.nats {
            None => over_http(shared).await,
            Some(nats) => over_nats(shared, nats).await,
        }
    };
    tokio::select! {
        // It is logged and in the status; nothing is left to do.
        stopped = following => drop(stopped),
        () = checks::run(shared) => {}
    }
}

/// Over HTTP, for ever.
async fn over_http(shared: &Arc<Shared>) -> Stopped {
    let mut backoff = Backoff::new(shared.config.retry_first, shared.config.retry_max);
    loop {
        match stream(shared, &mut backoff).await {
            Ok(()) => shared.trouble("the server ended the stream".to_owned()),
            Err(FollowerError::Stopped(stopped)) => return stopped,
            Err(error) => shared.trouble(error.to_string()),
        }
        sleep(backoff.wait()).await;
    }
}

/// One stream, from its opening to its end. Pages come first: they bring what is missing even where no stream opens.
async fn stream(shared: &Arc<Shared>, backoff: &mut Backoff) -> Result<(), FollowerError> {
    shared.check(shared.config.request_timeout).await?;
    let mut stream = match shared.api.stream(shared.at().offset).await {
        Ok(stream) => stream,
        Err(refusal @ FollowerError::Refused { .. }) => {
            shared.trouble(refusal.to_string());
            poll(shared).await?;
            return Err(refusal);
        }
        Err(error) => return Err(error),
    };
    while let Some(events) = stream.next().await? {
        shared.connected(Source::Http);
        shared.heard();
        backoff.reset();
        shared.feed_stream(&events).await?;
    }
    Ok(())
}

/// For a while, page by page: where there is no place among the streams, this brings the same a little later.
async fn poll(shared: &Shared) -> Result<(), FollowerError> {
    for _ in 0..POLLS {
        shared.catch_up(None).await?;
        sleep(POLL_EVERY).await;
    }
    Ok(())
}

/// From NATS whenever it can be read, over HTTP meanwhile.
async fn over_nats(shared: &Arc<Shared>, nats: &NatsConfig) -> Stopped {
    let mut backoff = Backoff::new(shared.config.retry_first, shared.config.retry_max);
    let (mut patience, mut pause) = (NATS_FIRST, Duration::ZERO);
    loop {
        let (bus, mut consumer) = {
            let mut opening = pin!(open(shared, nats, &mut backoff, pause));
            match timeout(patience, &mut opening).await {
                Ok(opened) => opened,
                Err(_) => tokio::select! {
                    opened = &mut opening => opened,
                    stopped = over_http(shared) => return stopped,
                },
            }
        };
        match consume(shared, &bus, &mut consumer, &mut backoff).await {
            FollowerError::Stopped(stopped) => return stopped,
            error => {
                shared.stream_trouble(Some(error.to_string()));
                shared.trouble(error.to_string());
            }
        }
        (patience, pause) = (Duration::ZERO, backoff.wait());
    }
}

/// Opens the stream where this follower stands, after a pause and however often it takes.
async fn open(
    shared: &Arc<Shared>,
    nats: &NatsConfig,
    backoff: &mut Backoff,
    pause: Duration,
) -> (Bus, Consumer) {
    sleep(pause).await;
    loop {
        match connect(nats).await {
            Ok(bus) => {
                let Head { log_id, offset, hash, .. } = shared.at();
                let at = Position { log_id, offset, hash };
                // Where the stream can't be read the server is asked at once: nobody else does meanwhile.
                let options = ConsumerOptions { away_max: Duration::ZERO, ..ConsumerOptions::default() };
                let source = Arc::new(OverHttp(Arc::clone(shared)));
                let consumer = Consumer::open_with(&bus, at, source, options);
                return (bus, consumer);
            }
            Err(error) => shared.stream_trouble(Some(error.to_string())),
        }
        sleep(backoff.wait()).await;
    }
}

/// Reads the stream until it fails. Nothing of it ends the following: what is wrong with the stream is its own fault
/// until the server says the same, which is asked next.
async fn consume(
    shared: &Arc<Shared>,
    bus: &Bus,
    consumer: &mut Consumer,
    backoff: &mut Backoff,
) -> FollowerError {
    let (began, mut gaps) = (Instant::now(), 0);
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    shared.silent_checks.send_replace(0);
    let mut silent_checks = shared.silent_checks.subscribe();
    shared.connected(Source::Nats);
    loop {
        // Cancelling it loses nothing.
        let events = tokio::select! {
            events = consumer.next() => events,
            _ = silent_checks.wait_for(|count| *count >= SILENT_CHECKS_MAX) => {
                return away("it does not bring what is in the log");
            }
            _ = looks.tick() => {
                let trouble = consumer.trouble().map(str::to_owned);
                match consumer.away_for() {
                    _ if !bus.is_connected() => return away("it is away"),
                    Some(away_for) if away_for > STREAM_AWAY_MAX => {
                        return away(trouble.as_deref().unwrap_or("it can't be read"));
                    }
                    None if began.elapsed() > WORKS_AFTER && *shared.silent_checks.borrow() == 0 => backoff.reset(),
                    _ => {}
                }
                shared.stream_trouble(trouble);
                continue;
            }
        };
        let fed = match &events {
            Ok(events) => shared.feed_relayed(events).await,
            Err(error) => return away(&error.to_string()),
        };
        if let Err(error) = fed {
            return error;
        }
        shared.stream_gaps(consumer.gaps().saturating_sub(gaps));
        gaps = consumer.gaps();
        if consumer.from_stream() {
            shared.connected(Source::Nats);
            backoff.reset();
        }
    }
}

fn away(why: &str) -> FollowerError {
    FollowerError::Unreachable { server: "the stream on NATS".to_owned(), why: why.to_owned() }
}

/// What is missing from the stream, read from the server.
struct OverHttp(Arc<Shared>);

#[async_trait]
impl Reread for OverHttp {
    async fn events_after(&self, offset: Offset, limit: usize) -> Result<Vec<StoredEvent>, BoxError> {
        Ok(self.0.api.page(offset, limit).await?)
    }
}
