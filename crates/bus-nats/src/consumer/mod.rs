//! Reading the log from the stream, so that nothing is missed and nothing is read twice. Owns the order, the check of
//! the chain, and when the source is read instead of the stream; must not know what an event means.
//!
//! The stream is a relay and may lack anything, be away, or hold what does not belong there. What counts is the
//! position: an event at or before it is ignored, the next one is taken when its hash and its link are right, and a
//! later one means that something is missing, which is then read at the source. The same is done while the stream is
//! away for long, and from time to time while it is silent, so that whoever follows a publisher that is stuck moves on
//! all the same.
//!
//! What is wrong with a message is the stream's fault until the source says the same: the stream is then left alone for
//! a while and the source read. Only a source that contradicts the position ends the reading.

mod listening;
mod terms;

use crate::{Bus, BusError, message};
use charter_events::{Head, LogId, Offset, StoredEvent, Timestamp};
use charter_store::{BoxError, chain::Verifier};
use listening::{Heard, Listening};
use std::{sync::Arc, time::Duration};
use terms::Pause;
pub use terms::{ConsumerError, ConsumerOptions, Position, Reread};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};

/// Reads one log for one reader.
pub struct Consumer {
    bus: Bus,
    log_id: LogId,
    verifier: Verifier,
    listening: Listening,
    reread: Arc<dyn Reread>,
    options: ConsumerOptions,
    /// The source is being read.
    reading: Option<JoinHandle<Result<Vec<StoredEvent>, BoxError>>>,
    /// When it is read next, when it was last.
    source_at: Instant,
    read_at: Option<Instant>,
    source_pause: Pause,
    /// The stream is not listened to before.
    listen_at: Instant,
    stream_pause: Pause,
    distrust_pause: Pause,
    /// The bus broke away; it is listened to as soon as it is back.
    unconnected: bool,
    /// The stream lacks what comes next.
    missing: bool,
    /// The stream held what is wrong, and nothing right since.
    distrusted: bool,
    /// The source has yet to say that it holds the event at the position.
    confirm: bool,
    away_since: Option<Instant>,
    failed: Option<ConsumerError>,
    gaps: u64,
    faults: u64,
    from_stream: bool,
    trouble: Option<String>,
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("position", &self.position()).finish_non_exhaustive()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        if let Some(reading) = &self.reading {
            reading.abort();
        }
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
        let (first, now) = (options.reread_every, Instant::now());
        Self {
            bus: bus.clone(),
            log_id,
            // the time of the event at the position is not known
            verifier: Verifier::from_head(Head { log_id, offset, hash, recorded_at: Timestamp::MIN }),
            listening: Listening::new(bus.clone(), message::stream_name(log_id), batch_events_max),
            reread,
            reading: None,
            source_at: now + options.silence_max,
            read_at: None,
            source_pause: Pause::new(first, options.pause_max),
            listen_at: now,
            stream_pause: Pause::new(first / 8, options.pause_max),
            distrust_pause: Pause::new(first, options.distrust_max),
            options: ConsumerOptions { batch_events_max, ..options },
            unconnected: false,
            missing: false,
            distrusted: false,
            confirm: false,
            away_since: None,
            failed: None,
            gaps: 0,
            faults: 0,
            from_stream: false,
            trouble: None,
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

    /// How often the stream held what is wrong: another history, an event that was tampered with, or no event.
    pub const fn stream_faults(&self) -> u64 {
        self.faults
    }

    /// Whether the last batch came from the stream, not from the source.
    pub const fn from_stream(&self) -> bool {
        self.from_stream
    }

    /// What keeps the stream, or the source, from being read right now.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How long the stream has not been read for; `None` while it is.
    pub fn away_for(&self) -> Option<Duration> {
        self.away_since.map(|since| since.elapsed())
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
            let listens = Instant::now() >= self.listen_at;
            let after = self.verifier.head().offset;
            let events = tokio::select! {
                biased;
                page = until_read(&mut self.reading) => {
                    self.reading = None;
                    self.take_page(page)
                }
                heard = self.listening.next(after), if listens => self.take_heard(heard),
                () = self.bus.until_connected(true), if self.unconnected => {
                    (self.unconnected, self.listen_at) = (false, Instant::now());
                    Vec::new()
                }
                () = sleep_until(self.source_at), if self.reading.is_none() => {
                    self.begin_reading();
                    Vec::new()
                }
                () = sleep_until(self.listen_at), if !listens => Vec::new(),
            };
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Asks the source for what follows, and for the event at the position when that may be in doubt.
    fn begin_reading(&mut self) {
        let (reread, limit) = (self.reread.clone(), self.options.batch_events_max);
        let last = self.verifier.head().offset;
        // a stream that is merely silent may have been another history's all along
        let confirm = self.confirm || (!self.missing && self.away_since.is_none());
        let before = last.get().checked_sub(u64::from(confirm)).and_then(Offset::new);
        let after = before.unwrap_or(last);
        self.read_at = Some(Instant::now());
        self.reading = Some(tokio::spawn(async move { reread.events_after(after, limit).await }));
    }

    /// Takes what follows the position out of what the stream said.
    fn take_heard(&mut self, heard: Result<Vec<Heard>, BusError>) -> Vec<StoredEvent> {
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => {
                self.unconnected = !self.bus.is_connected();
                self.lose(&error.to_string());
                return Vec::new();
            }
        };
        let mut events = Vec::new();
        for Heard { sequence, event } in heard {
            let last = self.verifier.head().offset;
            let judged = match event {
                Ok(event) if Some(event.offset) > last.plus(1) => {
                    self.lack(last);
                    break;
                }
                Ok(event) => self.accept(&event).map(|new| events.extend(new.then_some(event))),
                // at a place that was read already it is of no account
                Err(_) if sequence <= last.get() => Ok(()),
                Err(why) => {
                    self.distrust(&format!("message {sequence} is no event: {why}"));
                    break;
                }
            };
            if let Err(error) = judged {
                self.distrust(&error.to_string());
                break;
            }
        }
        if self.listening.is_on() {
            self.listens(!events.is_empty());
        }
        self.from_stream |= !events.is_empty();
        events
    }

    /// The stream is read, and perhaps brought something new.
    fn listens(&mut self, brought_new: bool) {
        if brought_new {
            (self.missing, self.distrusted) = (false, false);
            self.stream_pause.reset();
            self.distrust_pause.reset();
        }
        if !self.missing && !self.distrusted {
            self.away_since = None;
            self.source_at = Instant::now() + self.options.silence_max;
            self.well();
        }
    }

    /// The stream can't be read for now.
    fn lose(&mut self, why: &str) {
        self.say(why);
        let since = *self.away_since.get_or_insert_with(Instant::now);
        self.listen_at = self.stream_pause.next_at();
        let at_least = self.read_at.map_or(since, |at| at + self.options.reread_every);
        self.source_at = self.source_at.min((since + self.options.away_max).max(at_least));
    }

    /// The stream goes on later than with the next event.
    fn lack(&mut self, last: Offset) {
        // once more from the stream; when it begins too late even so, it does not have it
        let lacks = self.listening.began_after() == last;
        self.listening.stop();
        if lacks {
            if !self.missing {
                self.count_gap();
                self.source_at = Instant::now();
            }
            self.missing = true;
            self.listen_at = self.stream_pause.next_at();
        }
    }

    /// The stream holds what can't be: it is left alone, and the source is to say what is right.
    fn distrust(&mut self, why: &str) {
        self.listening.stop();
        self.say(&format!("it holds what does not belong there: {why}"));
        metrics::counter!("charter_follower_stream_faults_total").increment(1);
        self.faults = self.faults.saturating_add(1);
        self.away_since.get_or_insert_with(Instant::now);
        (self.distrusted, self.confirm) = (true, true);
        (self.listen_at, self.source_at) = (self.distrust_pause.next_at(), Instant::now());
    }

    /// Whether an event is the next one (true) or was read before.
    fn accept(&mut self, event: &StoredEvent) -> Result<bool, ConsumerError> {
        let last = self.verifier.head();
        if event.offset < last.offset || event.offset == Offset::ZERO {
            return Ok(false);
        }
        let is_next = last.offset.plus(1) == Some(event.offset);
        let forks = if is_next { event.prev_hash != last.hash } else { event.hash != last.hash };
        if forks && last.offset > Offset::ZERO && (is_next || event.offset == last.offset) {
            return Err(ConsumerError::Fork { offset: last.offset });
        }
        if event.offset == last.offset {
            return Ok(false);
        }
        self.verifier.next(event)?;
        Ok(true)
    }

    /// Takes what follows the position out of what the source said.
    fn take_page(&mut self, page: Result<Vec<StoredEvent>, BoxError>) -> Vec<StoredEvent> {
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                self.say(&format!("the source can't be read: {error}"));
                self.source_at = self.source_pause.next_at();
                return Vec::new();
            }
        };
        self.source_pause.reset();
        self.confirm &= page.is_empty();
        let is_full = page.len() >= self.options.batch_events_max;
        let mut events = Vec::with_capacity(page.len());
        for event in page {
            match self.accept(&event) {
                Ok(new) => events.extend(new.then_some(event)),
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        if !events.is_empty() {
            self.from_stream = false;
            if !self.missing && self.away_since.is_none() {
                self.count_gap();
                self.missing = is_full;
            }
        }
        self.read_on(is_full, !events.is_empty());
        events
    }

    /// When the source is read next, after a page.
    fn read_on(&mut self, is_full: bool, is_new: bool) {
        let now = Instant::now();
        if self.missing && is_new && !is_full {
            self.missing = false;
            if !self.distrusted {
                self.listen_at = now;
            }
        }
        self.source_at = now
            + match (is_full && is_new, self.missing || self.away_since.is_some()) {
                (true, _) => Duration::ZERO,
                (false, true) => self.options.reread_every,
                (false, false) => self.options.silence_max,
            };
    }

    fn count_gap(&mut self) {
        self.gaps = self.gaps.saturating_add(1);
        metrics::counter!("charter_follower_gaps_total").increment(1);
    }

    fn say(&mut self, text: &str) {
        if self.trouble.as_deref() != Some(text) {
            tracing::warn!(code = "stream_not_read", "the stream is not read: {text}");
            self.trouble = Some(text.to_owned());
        }
    }

    fn well(&mut self) {
        if self.trouble.take().is_some() {
            tracing::info!("the stream is read again");
        }
    }
}

/// Waits until the source was read; for ever when it is not being read.
async fn until_read(
    reading: &mut Option<JoinHandle<Result<Vec<StoredEvent>, BoxError>>>,
) -> Result<Vec<StoredEvent>, BoxError> {
    match reading {
        Some(reading) => reading.await.unwrap_or_else(|error| Err(error.into())),
        None => std::future::pending().await,
    }
}
