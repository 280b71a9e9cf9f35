//! Reading the log from the stream, so that nothing is missed and nothing is read twice. Owns the order, the check of
//! the chain, and when the source is read instead of the stream; must not know what an event means.
//!
//! The stream is a relay and may lack anything or be away. What counts is the position: an event at or before it is
//! ignored, the next one is taken when its hash and its link are right, and a later one means that something is
//! missing, which is then read at the source. The same is done while the stream is away for long, and from time to
//! time while it is silent, so that somebody whose server publishes no more moves on all the same. An event that
//! contradicts the position is a fork of the history and ends the reading.

mod listening;

use crate::{Bus, message};
use async_trait::async_trait;
use charter_events::{Hash, Head, LogId, Offset, StoredEvent, Timestamp};
use charter_store::{BoxError, Fault, What, chain::Verifier};
use listening::{Heard, Listening};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

/// How far somebody has read a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which log.
    pub log_id: LogId,
    /// The last event read; 0 when none was.
    pub offset: Offset,
    /// Its hash; zero when none was read.
    pub hash: Hash,
}

/// Reading the log at its source, for what the stream lacks.
#[async_trait]
pub trait Reread: Send + Sync {
    /// The events after an offset, ascending and without holes, at most `limit`; fewer or none at the log's end.
    ///
    /// # Errors
    /// Whatever keeps it from answering; it is asked again later.
    async fn events_after(&self, offset: Offset, limit: usize) -> Result<Vec<StoredEvent>, BoxError>;
}

/// How a consumer goes about it.
#[derive(Debug, Clone)]
pub struct ConsumerOptions {
    /// The most events of one batch, 1 to 1,000.
    pub batch_events_max: usize,
    /// How long the stream may be away before the source is read instead.
    pub away_max: Duration,
    /// How often the source is read while the stream is away, or while the source has not got yet what is missing.
    pub reread_every: Duration,
    /// How long the stream may say nothing before the source is asked whether that is all.
    pub silence_max: Duration,
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self {
            batch_events_max: 500,
            away_max: Duration::from_secs(3),
            reread_every: Duration::from_secs(1),
            silence_max: Duration::from_secs(10),
        }
    }
}

/// Why reading can't go on: what was read is not this log. Everything else is waited out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConsumerError {
    /// There are two histories: another event stands at an offset than the one read here.
    #[error("two histories: offset {offset} holds another event than the one read before")]
    Fork {
        /// The offset.
        offset: Offset,
    },
    /// An event is not what was written.
    #[error(transparent)]
    Damaged(#[from] Fault),
}

/// Reads one log for one reader.
pub struct Consumer {
    log_id: LogId,
    verifier: Verifier,
    listening: Listening,
    reread: Arc<dyn Reread>,
    options: ConsumerOptions,
    /// The stream lacks what comes next.
    missing: bool,
    /// Since when the stream is away.
    away_since: Option<Instant>,
    /// When the source was read last.
    reread_at: Option<Instant>,
    /// When something was heard last.
    heard_at: Instant,
    failed: Option<ConsumerError>,
    gaps: u64,
    from_stream: bool,
    said: Option<String>,
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("position", &self.position()).finish_non_exhaustive()
    }
}

impl Consumer {
    /// Reads on from a position. Waits for nothing: the stream may be away, or not made yet.
    ///
    /// # Errors
    /// None today.
    pub async fn open(bus: &Bus, at: Position, reread: Arc<dyn Reread>) -> Result<Self, ConsumerError> {
        Ok(Self::open_with(bus, at, reread, ConsumerOptions::default()))
    }

    /// The same with other options.
    pub fn open_with(bus: &Bus, at: Position, reread: Arc<dyn Reread>, options: ConsumerOptions) -> Self {
        let Position { log_id, offset, hash } = at;
        let batch_events_max = options.batch_events_max.clamp(1, 1_000);
        Self {
            log_id,
            // the time of the event at the position is not known
            verifier: Verifier::from_head(Head { log_id, offset, hash, recorded_at: Timestamp::MIN }),
            listening: Listening::new(bus.clone(), message::stream_name(log_id), batch_events_max),
            reread,
            options: ConsumerOptions { batch_events_max, ..options },
            missing: false,
            away_since: None,
            reread_at: None,
            heard_at: Instant::now(),
            failed: None,
            gaps: 0,
            from_stream: false,
            said: None,
        }
    }

    /// How far it has read.
    pub const fn position(&self) -> Position {
        let Head { offset, hash, .. } = self.verifier.head();
        Position { log_id: self.log_id, offset, hash }
    }

    /// How often events had to be read at the source because the stream did not have them.
    pub const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Whether the last batch came from the stream, not from the source.
    pub const fn from_stream(&self) -> bool {
        self.from_stream
    }

    /// The next events, verified and without holes: at least one. They come as they are there; a command's events may
    /// come in several batches. Waits for them as long as it takes; cancelling it loses nothing.
    ///
    /// # Errors
    /// [`ConsumerError`], from then on always.
    pub async fn next(&mut self) -> Result<Vec<StoredEvent>, ConsumerError> {
        loop {
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            let events = if self.missing { self.fill().await } else { self.listen().await };
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Waits for the stream a while; what it said, if it did.
    async fn listen(&mut self) -> Vec<StoredEvent> {
        if self.away_since.is_some_and(|since| since.elapsed() >= self.options.away_max) {
            let events = self.read_source(self.options.reread_every).await;
            if !events.is_empty() {
                return events;
            }
        }
        let patience = match self.away_since {
            Some(_) => self.options.reread_every,
            None => self.options.silence_max.saturating_sub(self.heard_at.elapsed()),
        };
        let after = self.verifier.head().offset;
        match tokio::time::timeout(patience, self.listening.next(after)).await {
            Ok(Ok(heard)) => {
                (self.away_since, self.heard_at) = (None, Instant::now());
                self.well();
                self.take(heard)
            }
            Ok(Err(error)) => {
                self.say(&error.to_string());
                self.away_since.get_or_insert_with(Instant::now);
                sleep(self.options.reread_every / 8).await;
                Vec::new()
            }
            Err(_) if self.listening.is_on() => {
                self.heard_at = Instant::now();
                self.read_source(Duration::ZERO).await
            }
            Err(_) => {
                self.away_since.get_or_insert_with(Instant::now);
                Vec::new()
            }
        }
    }

    /// Takes what follows the position out of what the stream said.
    fn take(&mut self, heard: Vec<Heard>) -> Vec<StoredEvent> {
        let mut events = Vec::new();
        for Heard { sequence, event } in heard {
            let last = self.verifier.head().offset;
            let event = match event {
                Ok(event) => event,
                Err(why) => {
                    let offset = Offset::new(sequence).unwrap_or(Offset::MAX);
                    self.failed = Some(Fault::new(offset, What::Unreadable(why)).into());
                    break;
                }
            };
            if Some(event.offset) > last.plus(1) {
                // once more from the stream; when nothing came even so, it does not have it
                self.missing = self.listening.began_after() == last;
                self.listening.stop();
                if self.missing {
                    self.count_gap();
                }
                break;
            }
            match self.accept(&event) {
                Ok(true) => events.push(event),
                Ok(false) => {}
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        self.from_stream |= !events.is_empty();
        events
    }

    /// Whether an event is the next one (true) or was read before.
    fn accept(&mut self, event: &StoredEvent) -> Result<bool, ConsumerError> {
        let last = self.verifier.head();
        if event.offset < last.offset {
            return Ok(false);
        }
        if event.offset == last.offset {
            let same = event.hash == last.hash || last.offset == Offset::ZERO;
            return if same { Ok(false) } else { Err(ConsumerError::Fork { offset: last.offset }) };
        }
        if event.prev_hash != last.hash
            && last.offset.plus(1) == Some(event.offset)
            && last.offset > Offset::ZERO
        {
            return Err(ConsumerError::Fork { offset: last.offset });
        }
        self.verifier.next(event)?;
        Ok(true)
    }

    /// Reads what the stream lacks, until the source has no more than a page of it.
    async fn fill(&mut self) -> Vec<StoredEvent> {
        let events = self.read_source(Duration::ZERO).await;
        if events.is_empty() {
            // it does not have it yet: it may be another server than the one that published
            sleep(self.options.reread_every).await;
        } else {
            self.missing = events.len() >= self.options.batch_events_max;
        }
        events
    }

    /// Reads at the source, no more often than this.
    async fn read_source(&mut self, at_most_every: Duration) -> Vec<StoredEvent> {
        if self.reread_at.is_some_and(|at| at.elapsed() < at_most_every) {
            return Vec::new();
        }
        let (after, limit) = (self.verifier.head().offset, self.options.batch_events_max);
        let read = self.reread.events_after(after, limit).await;
        self.reread_at = Some(Instant::now());
        let page = match read {
            Ok(page) => page,
            Err(error) => {
                self.say(&format!("the source can't be read: {error}"));
                return Vec::new();
            }
        };
        let mut events = Vec::with_capacity(page.len());
        for event in page.into_iter().take(limit) {
            match self.accept(&event) {
                Ok(true) => events.push(event),
                Ok(false) => {}
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if !events.is_empty() {
            if !self.missing && self.away_since.is_none() {
                self.count_gap();
                self.missing = events.len() >= limit;
            }
            self.from_stream = false;
        }
        events
    }

    fn count_gap(&mut self) {
        self.gaps = self.gaps.saturating_add(1);
        metrics::counter!("charter_follower_gaps_total").increment(1);
    }

    fn say(&mut self, text: &str) {
        if self.said.as_deref() != Some(text) {
            tracing::warn!(code = "stream_away", "the stream is not read: {text}");
            self.said = Some(text.to_owned());
        }
    }

    fn well(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("the stream is read again");
        }
    }
}
