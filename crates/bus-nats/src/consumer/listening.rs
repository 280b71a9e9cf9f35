//! Listening to the stream: a consumer there that is made anew whenever anything is in doubt. Owns the messages until
//! they are events; must not know which of them count.
//!
//! The server keeps nothing that matters: its consumer acknowledges nothing, lives in memory and goes by itself.

use crate::{Bus, BusError, message};
use async_nats::jetstream::{
    Message,
    consumer::{AckPolicy, DeliverPolicy, pull},
};
use charter_events::{Offset, StoredEvent};
use futures_util::{StreamExt, stream::ReadyChunks};
use std::time::Duration;

/// How long the server keeps a consumer nobody asks.
const INACTIVE_SECONDS: u64 = 60;
/// How long one request for messages waits on the server.
const PULL_SECONDS: u64 = 30;
/// How often the server says that it is still there.
const HEARTBEAT_SECONDS: u64 = 5;

/// A message of the stream.
pub(super) struct Heard {
    pub(super) sequence: u64,
    /// The event, or why it is none.
    pub(super) event: Result<StoredEvent, String>,
}

pub(super) struct Listening {
    bus: Bus,
    stream: String,
    batch: usize,
    messages: Option<ReadyChunks<pull::Stream>>,
    began_after: Offset,
}

impl Listening {
    pub(super) fn new(bus: Bus, stream: String, batch: usize) -> Self {
        Self { bus, stream, batch, messages: None, began_after: Offset::ZERO }
    }

    /// Whether the stream is listened to right now.
    pub(super) const fn is_on(&self) -> bool {
        self.messages.is_some()
    }

    /// After which event listening began last.
    pub(super) const fn began_after(&self) -> Offset {
        self.began_after
    }

    /// Stops; the next call begins anew.
    pub(super) fn stop(&mut self) {
        self.messages = None;
    }

    /// The next messages, as they come: at least one. Begins at the event at `after`, so that a stream of another
    /// history is noticed, when it does not listen yet. Cancelling it loses nothing.
    pub(super) async fn next(&mut self, after: Offset) -> Result<Vec<Heard>, BusError> {
        let chunk = loop {
            let messages = match &mut self.messages {
                Some(messages) => messages,
                none => {
                    if !self.bus.is_connected() {
                        return Err(self.bus.away("not connected"));
                    }
                    self.began_after = after;
                    none.insert(begin(&self.bus, &self.stream, self.batch, after).await?)
                }
            };
            tokio::select! {
                biased;
                chunk = messages.next() => break chunk,
                () = self.bus.until_connected(false) => self.messages = None,
            }
        };
        let mut heard = Vec::new();
        let mut trouble = None;
        for message in chunk.unwrap_or_default() {
            match message {
                Ok(message) => heard.push(read(&message)),
                Err(error) => trouble = Some(self.bus.away(error.to_string())),
            }
        }
        if trouble.is_some() || heard.is_empty() {
            self.messages = None;
        }
        match trouble {
            Some(error) if heard.is_empty() => Err(error),
            None if heard.is_empty() => Err(self.bus.away("the server ended the consumer")),
            _ => Ok(heard),
        }
    }
}

fn read(message: &Message) -> Heard {
    let sequence = message.info().map(|info| info.stream_sequence).unwrap_or_default();
    let event = message::read_body(&message.payload).map_err(|error| error.to_string());
    Heard { sequence, event }
}

async fn begin(
    bus: &Bus,
    stream: &str,
    batch: usize,
    after: Offset,
) -> Result<ReadyChunks<pull::Stream>, BusError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: after.get().max(1) },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(INACTIVE_SECONDS),
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let asked = format!("$JS.API.CONSUMER.CREATE.{stream}");
    let consumer = bus.watched(&asked, bus.jetstream().create_consumer_on_stream(config, stream)).await?;
    let consumer =
        consumer.map_err(|error| bus.away(format!("the stream `{stream}` can't be read: {error}")))?;
    let messages = consumer
        .stream()
        .max_messages_per_batch(batch)
        .expires(Duration::from_secs(PULL_SECONDS))
        .heartbeat(Duration::from_secs(HEARTBEAT_SECONDS))
        .messages()
        .await
        .map_err(|error| bus.away(error.to_string()))?;
    Ok(messages.ready_chunks(batch))
}
