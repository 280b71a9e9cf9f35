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
use tokio::task::JoinHandle;

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

type Messages = ReadyChunks<pull::Stream>;

pub(super) struct Listening {
    bus: Bus,
    stream: String,
    batch: usize,
    messages: Option<Messages>,
    /// The consumer is being made, however long that takes.
    beginning: Option<JoinHandle<Result<Messages, BusError>>>,
    began_after: Offset,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Listening {
    pub(super) fn new(bus: Bus, stream: String, batch: usize) -> Self {
        Self { bus, stream, batch, messages: None, beginning: None, began_after: Offset::ZERO }
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
        if let Some(beginning) = self.beginning.take() {
            beginning.abort();
        }
    }

    /// The next messages, as they come; none when listening has just begun. Begins at the event at `after`, so that a
    /// stream of another history is noticed, when it does not listen yet. Cancelling it loses nothing.
    pub(super) async fn next(&mut self, after: Offset) -> Result<Vec<Heard>, BusError> {
        let Some(messages) = &mut self.messages else {
            self.begin(after).await?;
            return Ok(Vec::new());
        };
        let chunk = tokio::select! {
            biased;
            chunk = messages.next() => chunk.unwrap_or_default(),
            () = self.bus.until_connected(false) => Vec::new(),
        };
        let mut heard = Vec::new();
        let mut trouble = self.bus.away("the server ended the consumer");
        for message in chunk {
            match message {
                Ok(message) => heard.push(read(&message)),
                Err(error) => {
                    self.messages = None;
                    trouble = self.bus.away(error.to_string());
                }
            }
        }
        if heard.is_empty() {
            self.messages = None;
            return Err(trouble);
        }
        Ok(heard)
    }

    async fn begin(&mut self, after: Offset) -> Result<(), BusError> {
        if !self.bus.is_connected() {
            self.stop();
            return Err(self.bus.away("not connected"));
        }
        let beginning = match &mut self.beginning {
            Some(beginning) => beginning,
            none => {
                self.began_after = after;
                none.insert(tokio::spawn(begin(self.bus.clone(), self.stream.clone(), self.batch, after)))
            }
        };
        let begun = beginning.await;
        self.beginning = None;
        self.messages = Some(begun.map_err(|error| self.bus.away(error.to_string()))??);
        Ok(())
    }
}

fn read(message: &Message) -> Heard {
    let sequence = message.info().map(|info| info.stream_sequence).unwrap_or_default();
    let event = message::read_body(&message.payload).map_err(|error| error.to_string());
    Heard { sequence, event }
}

async fn begin(bus: Bus, stream: String, batch: usize, after: Offset) -> Result<Messages, BusError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: after.get().max(1) },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(INACTIVE_SECONDS),
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let asked = format!("$JS.API.CONSUMER.CREATE.{stream}");
    let consumer = bus.watched(&asked, bus.jetstream().create_consumer_on_stream(config, &stream)).await?;
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
