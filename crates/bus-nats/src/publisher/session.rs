//! One stretch of publishing: finding where the stream ends, then sending what follows. Owns the order of messages and
//! what their acknowledgements mean; must not know when to try again.
//!
//! A message that is acknowledged with its own offset is stored. Anything else (the expected sequence was another, the
//! message was a duplicate, nobody answered) is settled by looking: the stretch ends, and the next begins with what the
//! stream holds. What it holds last is compared with the log by id and hash. Since a hash covers its predecessor's, all
//! before it is the same then, but for one case: behind a message of another history, those of ours that were on their
//! way may have been stored. So after a start and whenever something was not plainly stored, as many are compared as
//! can have been on their way.

use super::{Publisher, PublisherOptions, voice::Voice};
use crate::{
    Bus, BusError, Fork,
    message::{self, Message, Stored, Unpublishable},
    stream::LogStream,
};
use async_nats::jetstream::{context::PublishError, message::PublishMessage, publish::PublishAck};
use charter_events::{Head, LogId, Offset, StoredEvent, Timestamp};
use charter_store::{Store, StoreError, chain, chain::Verifier};
use futures_util::{StreamExt, future::BoxFuture, stream::FuturesOrdered};
use std::collections::VecDeque;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// How many events are read from the log at once.
const PAGE_EVENTS: usize = 256;
/// How many of the last messages are compared when in doubt: what two publishers may have on their way.
const DOUBTFUL_MESSAGES: u64 = 2 * super::IN_FLIGHT_MESSAGES_MAX as u64;
/// How many messages are asked for at once.
const ASKED_AT_ONCE: usize = 32;
/// A sequence no stream reaches.
const NO_SEQUENCE: u64 = 1 << 53;

/// Why a stretch ended.
pub(super) enum Trouble {
    Bus(BusError),
    Store(StoreError),
    Unpublishable(Offset, Unpublishable),
    /// A message was not plainly stored; the error is for the log, when it goes on like that.
    Unclear(BusError),
    /// It is time to look at the stream again.
    Look,
}

impl From<BusError> for Trouble {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

type Acknowledged = (Offset, Result<PublishAck, PublishError>);

pub(super) struct Session<'a> {
    bus: Bus,
    store: &'a dyn Store,
    log_id: LogId,
    versions: watch::Receiver<Offset>,
    options: PublisherOptions,
    stream: LogStream,
    /// The last event known to be stored in the stream; `None` until it was looked at.
    position: &'a watch::Sender<Option<Offset>>,
    /// Checks what is sent, from there on.
    verifier: Verifier,
    /// Whether the connection was checked since it was made.
    checked: bool,
    /// Whether more than the stream's last message must be compared.
    doubtful: bool,
    /// How many messages the stream was said to lack.
    lacking: u64,
}

impl<'a> Session<'a> {
    pub(super) fn new(publisher: &'a Publisher, position: &'a watch::Sender<Option<Offset>>) -> Self {
        let (bus, log_id) = (publisher.bus.clone(), publisher.log_id);
        let options = publisher.options.clone();
        Self {
            stream: LogStream::new(bus.clone(), log_id, options.duplicate_window),
            bus,
            store: &*publisher.store,
            log_id,
            versions: publisher.versions.clone(),
            options,
            position,
            verifier: Verifier::from_start(log_id),
            checked: false,
            doubtful: true,
            lacking: 0,
        }
    }

    /// Finds where the stream ends and whether it holds the log's history up to there.
    pub(super) async fn resume(&mut self) -> Result<(), Trouble> {
        if !self.checked {
            self.bus.check().await?;
            self.checked = true;
        }
        let info = self.stream.ensure().await?;
        let last = info.state.last_sequence;
        let first = if self.doubtful { last.saturating_sub(DOUBTFUL_MESSAGES).max(1) } else { last.max(1) };
        if let Some(differs) = self.difference(first, last).await? {
            let fork = self.fork(differs).await?;
            // all from there on is not published, whatever the stream holds
            let same = Offset::new(fork.offset.get().saturating_sub(1)).unwrap_or(Offset::ZERO);
            self.position.send_replace(Some(same));
            return Err(BusError::Fork(fork).into());
        }
        let lacking = last.saturating_sub(info.state.messages);
        if lacking > self.lacking {
            tracing::warn!(
                stream = self.stream.name(),
                lacking,
                "the stream lacks messages; consumers read those from a server. Delete the stream to have it made anew"
            );
        }
        (self.lacking, self.doubtful) = (lacking, false);
        self.move_to(last).await
    }

    /// Goes on after this offset.
    async fn move_to(&mut self, last: u64) -> Result<(), Trouble> {
        let position = Offset::new(last).unwrap_or(Offset::MAX);
        let head = match self.event(last).await? {
            Some(event) => Head {
                log_id: self.log_id,
                offset: position,
                hash: event.hash,
                recorded_at: event.recorded_at,
            },
            None => Head { recorded_at: Timestamp::MIN, ..chain::empty(self.log_id) },
        };
        self.verifier = Verifier::from_head(head);
        self.position.send_replace(Some(position));
        Ok(())
    }

    /// The log's event at an offset; `None` at 0 and beyond the log's end.
    async fn event(&self, offset: u64) -> Result<Option<StoredEvent>, StoreError> {
        let Some(before) = offset.checked_sub(1).and_then(Offset::new) else { return Ok(None) };
        Ok(self.store.read(before, 1).await?.into_iter().next())
    }

    /// Whether the stream holds the log's event at an offset; a message that is gone is not held against it.
    async fn same(&self, offset: u64) -> Result<bool, Trouble> {
        let Some(event) = self.event(offset).await? else { return Ok(false) };
        let stored = self.stream.stored(offset).await?;
        Ok(stored.is_none_or(|stored| stored.is(self.log_id, &event)))
    }

    /// The first of some offsets where stream and log differ.
    async fn difference(&self, first: u64, last: u64) -> Result<Option<u64>, Trouble> {
        let mut compared = futures_util::stream::iter(first..=last)
            .map(|offset| async move { Ok::<_, Trouble>((offset, self.same(offset).await?)) })
            .buffered(ASKED_AT_ONCE);
        while let Some(compared) = compared.next().await {
            if let (offset, false) = compared? {
                return Ok(Some(offset));
            }
        }
        Ok(None)
    }

    /// The first offset, up to one that differs, where stream and log differ.
    async fn fork(&self, differs: u64) -> Result<Fork, Trouble> {
        let (mut same, mut differs) = (0, differs);
        while differs - same > 1 {
            let middle = same + (differs - same) / 2;
            if self.same(middle).await? { same = middle } else { differs = middle }
        }
        let found = self.stream.stored(differs).await?.and_then(|Stored { hash, .. }| hash);
        Ok(Fork {
            stream: self.stream.name().to_owned(),
            offset: Offset::new(differs).unwrap_or(Offset::MAX),
            expected: self.event(differs).await?.map(|event| event.hash),
            found,
        })
    }

    /// Sends what the log holds beyond the stream's end, and what comes, until something is in the way.
    pub(super) async fn pump(&mut self, voice: &mut Voice<'_>) -> Trouble {
        let prefix = message::subject(self.log_id, "");
        let bus = self.bus.clone();
        let denied = bus.denials(|subject| subject.starts_with(&prefix));
        let trouble = tokio::select! {
            biased;
            error = denied => Trouble::Bus(error),
            () = bus.until_connected(false) => Trouble::Bus(bus.away("the connection broke")),
            trouble = self.send_all(voice) => trouble,
        };
        match &trouble {
            Trouble::Look => voice.well(),
            // what was on its way may have been stored, or not
            Trouble::Unclear(_) | Trouble::Store(_) | Trouble::Unpublishable(..) => self.doubtful = true,
            Trouble::Bus(_) => (self.checked, self.doubtful) = (false, true),
        }
        trouble
    }

    async fn send_all(&mut self, voice: &mut Voice<'_>) -> Trouble {
        let mut sent = FuturesOrdered::<BoxFuture<'static, Acknowledged>>::new();
        let mut page = VecDeque::new();
        let look_at = Instant::now() + self.options.look_every;
        loop {
            // when it is time to look, what is on its way arrives first
            let looks = Instant::now() >= look_at;
            let most = if looks { 0 } else { self.options.in_flight_messages_max };
            if let Err(trouble) = self.fill(&mut sent, &mut page, most).await {
                return trouble;
            }
            let idle = sent.is_empty();
            if looks && idle {
                return Trouble::Look;
            }
            tokio::select! {
                Some(acknowledged) = sent.next(), if !idle => {
                    if let Err(trouble) = self.acknowledge(acknowledged) {
                        return trouble;
                    }
                    voice.well();
                }
                () = until_newer(&mut self.versions), if sent.len() < most => {}
                () = sleep_until(look_at), if !looks => {}
            }
        }
    }

    /// Sends until enough is on its way or the log ends.
    async fn fill(
        &mut self,
        sent: &mut FuturesOrdered<BoxFuture<'static, Acknowledged>>,
        page: &mut VecDeque<StoredEvent>,
        most: usize,
    ) -> Result<(), Trouble> {
        while sent.len() < most {
            let last = self.verifier.head().offset;
            if page.is_empty() {
                // what is newer than this is told of later
                if last >= *self.versions.borrow_and_update() {
                    return Ok(());
                }
                page.extend(self.store.read(last, PAGE_EVENTS).await?);
            }
            let Some(event) = page.pop_front() else { return Ok(()) };
            self.verifier.next(&event).map_err(StoreError::Damaged)?;
            sent.push_back(self.send(&event).await?);
        }
        Ok(())
    }

    async fn send(&self, event: &StoredEvent) -> Result<BoxFuture<'static, Acknowledged>, Trouble> {
        let offset = event.offset;
        let message = Message::new(self.log_id, event).map_err(|e| Trouble::Unpublishable(offset, e))?;
        let publish = PublishMessage::build().headers(message.headers).payload(message.body.into());
        let sent = self.bus.jetstream().send_publish(message.subject, publish).await;
        let acknowledged = sent.map_err(|error| self.unclear(offset, &error))?;
        Ok(Box::pin(async move { (offset, acknowledged.await) }))
    }

    fn acknowledge(&self, (offset, acknowledged): Acknowledged) -> Result<(), Trouble> {
        let ack = acknowledged.map_err(|error| self.unclear(offset, &error))?;
        if ack.duplicate || ack.sequence != offset.get() || ack.stream != self.stream.name() {
            let stored = if ack.duplicate { "it has stored before" } else { "it stored" };
            let why = format!("{stored} it as {} in `{}`", ack.sequence, ack.stream);
            return Err(Trouble::Unclear(BusError::Refused {
                asked: format!("to store offset {offset}"),
                why,
            }));
        }
        self.position.send_replace(Some(offset));
        metrics::counter!("charter_published_events_total").increment(1);
        Ok(())
    }

    fn unclear(&self, offset: Offset, error: &PublishError) -> Trouble {
        let asked = format!("to store offset {offset}");
        Trouble::Unclear(BusError::Refused { asked, why: error.to_string() })
    }

    /// Whether the user may publish: sends what the server must refuse to store.
    pub(super) async fn try_to_publish(&self) -> Result<(), BusError> {
        let subject = message::subject(self.log_id, "probe");
        // two conditions, neither of which can hold
        let publish =
            PublishMessage::build().expected_stream("CHARTER_none").expected_last_sequence(NO_SEQUENCE);
        let asked = async {
            match self.bus.jetstream().send_publish(subject.clone(), publish).await {
                Ok(refused) => drop(refused.await),
                Err(error) => tracing::debug!(%error, "the attempt could not be sent"),
            }
        };
        self.bus.watched(&subject, asked).await
    }
}

/// Waits until the log has grown.
async fn until_newer(versions: &mut watch::Receiver<Offset>) {
    if versions.changed().await.is_err() {
        // the log is being closed
        std::future::pending().await
    }
}
