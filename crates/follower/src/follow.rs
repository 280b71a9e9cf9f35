//! Following the log: from NATS while it answers, over HTTP else. Whatever fails is tried again with growing waits;
//! only what can never come right ends it. Owns which way is taken; must not know what the events mean.

use crate::{
    backoff::Backoff,
    error::{FollowerError, Stopped},
    shared::{Shared, Source},
};
use async_trait::async_trait;
use charter_bus_nats::{Bus, Consumer, ConsumerError, NatsConfig, Position, Reread, connect};
use charter_events::{Head, Offset, StoredEvent};
use charter_store::BoxError;
use std::{pin::pin, sync::Arc, time::Duration};

/// How long NATS has to answer before the log is followed over HTTP meanwhile.
const NATS_FIRST: Duration = Duration::from_secs(2);
/// Where no stream opens, pages are asked for this often, …
const POLL_EVERY: Duration = Duration::from_millis(500);
/// … and so many of them before a stream is tried again.
const POLLS: usize = 40;
/// After so many checks in a row that found events the stream did not bring, the stream is taken to be away.
const SILENT_CHECKS_MAX: u32 = 3;

/// Follows until it can't ever go on.
pub(crate) async fn run(shared: Arc<Shared>) {
    let stopped = match shared.config.nats.clone() {
        None => over_http(&shared).await,
        Some(nats) => over_nats(&shared, &nats).await,
    };
    // It is logged and in the status; nothing is left to do but answer.
    drop(stopped);
}

/// Over HTTP, for ever.
async fn over_http(shared: &Arc<Shared>) -> Stopped {
    let mut backoff = Backoff::new(shared.config.retry_first, shared.config.retry_max);
    loop {
        match stream(shared, &mut backoff).await {
            Ok(()) => shared.trouble("the server ended the stream".to_owned(), true),
            Err(FollowerError::Stopped(stopped)) => return stopped,
            Err(error) => shared.trouble(error.to_string(), true),
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// One stream, from its opening to its end. Pages come first: they bring what is missing even where no stream opens.
async fn stream(shared: &Arc<Shared>, backoff: &mut Backoff) -> Result<(), FollowerError> {
    shared.check().await?;
    let mut stream = match shared.api.stream(shared.at().offset).await {
        Ok(stream) => stream,
        Err(refusal @ FollowerError::Refused { .. }) => {
            shared.trouble(refusal.to_string(), true);
            poll(shared).await?;
            return Err(refusal);
        }
        Err(error) => return Err(error),
    };
    while let Some(events) = stream.next().await? {
        shared.connected(Source::Http);
        backoff.reset();
        shared.feed_stream(&events).await?;
    }
    Ok(())
}

/// For a while, page by page: where there is no place among the streams, this brings the same a little later.
async fn poll(shared: &Shared) -> Result<(), FollowerError> {
    for _ in 0..POLLS {
        shared.catch_up(None).await?;
        tokio::time::sleep(POLL_EVERY).await;
    }
    Ok(())
}

/// From NATS whenever it can be reached, over HTTP meanwhile.
async fn over_nats(shared: &Arc<Shared>, nats: &NatsConfig) -> Stopped {
    let mut backoff = Backoff::new(shared.config.retry_first, shared.config.retry_max);
    loop {
        let opened = {
            let mut opening = pin!(open(shared, nats, &mut backoff));
            match tokio::time::timeout(NATS_FIRST, &mut opening).await {
                Ok(opened) => opened,
                Err(_) => tokio::select! {
                    opened = &mut opening => opened,
                    stopped = over_http(shared) => return stopped,
                },
            }
        };
        let ended = match opened {
            Ok((bus, mut consumer)) => consume(shared, &bus, &mut consumer, &mut backoff).await,
            Err(stopped) => return stopped,
        };
        match ended {
            FollowerError::Stopped(stopped) => return stopped,
            error => shared.trouble(error.to_string(), true),
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// Opens the stream where this follower stands, however often it takes.
async fn open(
    shared: &Arc<Shared>,
    nats: &NatsConfig,
    backoff: &mut Backoff,
) -> Result<(Bus, Consumer), Stopped> {
    loop {
        match connect(nats).await {
            Ok(bus) => {
                let Head { log_id, offset, hash, .. } = shared.at();
                let at = Position { log_id, offset, hash };
                let opened = Consumer::open(&bus, at, Arc::new(OverHttp(Arc::clone(shared)))).await;
                return opened.map(|consumer| (bus, consumer)).map_err(|error| ended(shared, error));
            }
            Err(error) => shared.stream_trouble(Some(error.to_string())),
        }
        tokio::time::sleep(backoff.wait()).await;
    }
}

/// Reads the stream until it fails. Now and then the server is asked whether the stream keeps up with it.
async fn consume(
    shared: &Arc<Shared>,
    bus: &Bus,
    consumer: &mut Consumer,
    backoff: &mut Backoff,
) -> FollowerError {
    let mut every = tokio::time::interval(shared.config.check_every);
    let (mut silent_checks, mut gaps) = (0, 0);
    shared.connected(Source::Nats);
    shared.stream_trouble(None);
    loop {
        // Cancelling it loses nothing.
        let events = tokio::select! {
            events = consumer.next() => Some(events),
            _ = every.tick() => None,
        };
        match events {
            Some(Ok(events)) => {
                shared.connected(if consumer.from_stream() { Source::Nats } else { Source::Http });
                shared.stream_gaps(consumer.gaps().saturating_sub(gaps));
                gaps = consumer.gaps();
                silent_checks = 0;
                backoff.reset();
                if let Err(error) = shared.feed_stream(&events).await {
                    return error;
                }
            }
            Some(Err(error)) => return ended(shared, error).into(),
            None if !bus.is_connected() => return away("it is away"),
            None => match keeps_up(shared).await {
                Ok(kept_up) => {
                    shared.well();
                    silent_checks = if kept_up { 0 } else { silent_checks + 1 };
                }
                Err(FollowerError::Stopped(stopped)) => return stopped.into(),
                // The stream is what counts here; the server may be away for a while.
                Err(error) => shared.trouble(error.to_string(), false),
            },
        }
        if silent_checks >= SILENT_CHECKS_MAX {
            return away("it does not bring what is in the log");
        }
    }
}

/// Whether everything the server had when it was asked is here; what is missing is read.
async fn keeps_up(shared: &Shared) -> Result<bool, FollowerError> {
    let head = shared.learn_head().await?;
    let kept_up = shared.at().offset >= head.offset;
    if !kept_up {
        shared.catch_up(None).await?;
    }
    Ok(kept_up)
}

fn ended(shared: &Shared, error: ConsumerError) -> Stopped {
    shared.stop(match error {
        ConsumerError::Fork { offset } => Stopped::Fork { offset },
        ConsumerError::Damaged(fault) => {
            Stopped::Damaged { offset: fault.offset, what: fault.what.to_string() }
        }
    })
}

fn away(why: &str) -> FollowerError {
    FollowerError::Unreachable { server: "the stream on NATS".to_owned(), why: why.to_owned() }
}

/// What is missing from the stream, read from the server.
struct OverHttp(Arc<Shared>);

#[async_trait]
impl Reread for OverHttp {
    async fn events_after(&self, offset: Offset, limit: usize) -> Result<Vec<StoredEvent>, BoxError> {
        Ok(self.0.api.page(offset, limit, None).await?)
    }
}
