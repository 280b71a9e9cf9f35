//! The stream on NATS JetStream, read with nothing of the product's, and compared with the log.

use crate::{Log, eventually};
use anyhow::{Context, ensure};
use async_nats::jetstream::{self, message::StreamMessage};
use charter_events::{LogId, StoredEvent};
use futures_util::{StreamExt, TryStreamExt};

/// How many messages are asked for before the first is there.
const IN_FLIGHT: usize = 128;

/// A log's stream.
pub struct Stream {
    context: jetstream::Context,
    name: String,
    log_id: LogId,
}

impl Stream {
    /// The stream of a log, which need not be there yet.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn of(url: &str, log_id: LogId) -> anyhow::Result<Self> {
        let context = jetstream::new(async_nats::connect(url).await?);
        Ok(Self { context, name: format!("CHARTER_{}", log_id.to_string().replace('-', "")), log_id })
    }

    /// The sequence of its last message; `None` when there is no stream.
    pub async fn last(&self) -> Option<u64> {
        Some(self.context.get_stream(&self.name).await.ok()?.cached_info().state.last_sequence)
    }

    /// Waits until its last message has this sequence.
    ///
    /// # Errors
    /// When it has not within so many seconds.
    pub async fn until(&self, last: u64, seconds_max: u64) -> anyhow::Result<()> {
        let waited =
            eventually("the stream has the whole log", seconds_max, async || self.last().await == Some(last));
        let waited = waited.await;
        waited.with_context(|| format!("wanted {last}"))
    }

    /// Deletes it, messages and all.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn delete(&self) -> anyhow::Result<()> {
        self.context.delete_stream(&self.name).await?;
        Ok(())
    }

    /// Publishes something of somebody else's.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn intrude(&self, type_name: &str, body: &str) -> anyhow::Result<()> {
        let subject = format!("charter.{}.{type_name}", self.log_id);
        self.context.publish(subject, body.to_owned().into()).await?.await?;
        Ok(())
    }

    /// Checks that it is the log, event for event: as many, in the same places, the same bytes and headers.
    ///
    /// # Errors
    /// Naming the first offset at which it is not.
    pub async fn equals(&self, log: &Log) -> anyhow::Result<()> {
        let stream = self.context.get_stream(&self.name).await?;
        let state = &stream.cached_info().state;
        let wanted = log.events.len() as u64;
        ensure!(
            (state.first_sequence, state.last_sequence) == (1, wanted),
            "{state:?}, the log has {wanted}"
        );
        ensure!(state.messages == wanted, "{} messages of {wanted}", state.messages);
        let messages = futures_util::stream::iter(1..=wanted)
            .map(|sequence| stream.get_raw_message(sequence))
            .buffered(IN_FLIGHT);
        let messages: Vec<_> = messages.try_collect().await?;
        for (message, (event, line)) in messages.iter().zip(&log.events) {
            self.is_event(message, event, line).with_context(|| format!("at offset {}", event.offset))?;
        }
        Ok(())
    }

    fn is_event(&self, message: &StreamMessage, event: &StoredEvent, line: &str) -> anyhow::Result<()> {
        ensure!(message.sequence == event.offset.get(), "sequence {}", message.sequence);
        ensure!(message.payload == line.as_bytes(), "body {:?}", message.payload);
        let subject = format!("charter.{}.{}", self.log_id, event.type_name);
        ensure!(message.subject.as_str() == subject, "subject {}", message.subject);
        for (name, value) in [
            ("Nats-Msg-Id", format!("{}:{}", self.log_id, event.offset)),
            ("ce-specversion", "1.0".to_owned()),
            ("ce-id", event.event_id.to_string()),
            ("ce-source", format!("urn:charter:{}", self.log_id)),
            ("ce-type", format!("charter.{}.v{}", event.type_name, event.schema)),
            ("ce-sequence", format!("{:020}", event.offset.get())),
            ("charter-hash", event.hash.to_string()),
            ("charter-prev-hash", event.prev_hash.to_string()),
        ] {
            let found = message.headers.get(name).map(|found| found.as_str());
            ensure!(found == Some(value.as_str()), "header {name}: {found:?}, not {value}");
        }
        Ok(())
    }
}
