//! What all clones of a follower share: the published policy, the fold behind it, and what is known of the way the
//! events come. Owns that versions never go back and that a stop is for good.

use crate::{
    api::{Api, PAGE_EVENTS},
    config::FollowerConfig,
    error::{FollowerError, NotReached, Stopped},
    fold::{Fed, Fold},
};
use arc_swap::ArcSwap;
use charter_events::{Hash, Head, LogId, Offset, StoredEvent, Timestamp};
use charter_policy::Policy;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{broadcast, watch};

/// How many events wait for a reader of [`Follower::events`](crate::Follower::events); a slower one misses some.
const EVENTS_WAITING_MAX: usize = 4_096;
/// How long to wait before the server is asked again for a version it does not have yet.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// How the events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the stream on NATS JetStream.
    Nats,
    /// From the server, over HTTP.
    Http,
}

impl Source {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Http => "http",
        }
    }
}

/// How a follower is doing.
#[derive(Debug, Clone)]
pub struct Status {
    /// Which log it follows.
    pub log_id: LogId,
    /// The policy version it answers at.
    pub version: Offset,
    /// The hash of that event.
    pub hash: Hash,
    /// When that event was recorded.
    pub recorded_at: Timestamp,
    /// How the events come.
    pub source: Source,
    /// Whether that way is open now.
    pub connected: bool,
    /// The newest version the server is known to have: never below `version`.
    pub server_version: Offset,
    /// How long ago the server or the stream last said anything: how old the answers may be.
    pub heard_ago: Duration,
    /// How many events were applied since it started.
    pub applied: u64,
    /// How often events were missing from the stream, and were read over HTTP.
    pub gaps: u64,
    /// What goes wrong at the moment; it is tried again.
    pub trouble: Option<String>,
    /// Why it will not go on.
    pub stopped: Option<Stopped>,
}

/// A policy and the end of the log it was folded from.
pub(crate) struct State {
    pub(crate) policy: Arc<Policy>,
    pub(crate) head: Head,
}

/// What is known of the way the events come.
struct Facts {
    source: Source,
    connected: bool,
    server_version: Offset,
    heard: Instant,
    applied: u64,
    own_gaps: u64,
    stream_gaps: u64,
    trouble: Option<String>,
    /// What keeps it from the stream, while the log is followed over HTTP.
    stream_trouble: Option<String>,
    stopped: Option<Stopped>,
}

/// What all clones share.
pub(crate) struct Shared {
    pub(crate) api: Api,
    pub(crate) config: FollowerConfig,
    state: ArcSwap<State>,
    fold: Mutex<Fold>,
    facts: Mutex<Facts>,
    version: watch::Sender<Offset>,
    events: broadcast::Sender<Arc<StoredEvent>>,
    /// Held by whoever reads over HTTP what is missing: one for all who wait.
    reading: tokio::sync::Mutex<()>,
}

impl Shared {
    pub(crate) fn new(api: Api, config: FollowerConfig, policy: Policy, head: Head) -> Self {
        let fold = Fold::new(policy.clone(), head);
        let facts = Facts {
            source: Source::Http,
            connected: false,
            server_version: head.offset,
            heard: Instant::now(),
            applied: 0,
            own_gaps: 0,
            stream_gaps: 0,
            trouble: None,
            stream_trouble: None,
            stopped: None,
        };
        Self {
            api,
            config,
            state: ArcSwap::from_pointee(State { policy: Arc::new(policy), head }),
            fold: Mutex::new(fold),
            facts: Mutex::new(facts),
            version: watch::Sender::new(head.offset),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
            reading: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    pub(crate) fn version(&self) -> Offset {
        self.state.load().head.offset
    }

    pub(crate) fn versions(&self) -> watch::Receiver<Offset> {
        self.version.subscribe()
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<Arc<StoredEvent>> {
        self.events.subscribe()
    }

    /// The last event applied, which an unfinished command may be part of.
    pub(crate) fn at(&self) -> Head {
        self.fold().head()
    }

    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.facts().stopped.clone()
    }

    pub(crate) fn status(&self) -> Status {
        let head = self.state.load().head;
        let facts = self.facts();
        Status {
            log_id: head.log_id,
            version: head.offset,
            hash: head.hash,
            recorded_at: head.recorded_at,
            source: facts.source,
            connected: facts.connected,
            server_version: facts.server_version.max(head.offset),
            heard_ago: facts.heard.elapsed(),
            applied: facts.applied,
            gaps: facts.own_gaps.saturating_add(facts.stream_gaps),
            trouble: facts.trouble.as_ref().or(facts.stream_trouble.as_ref()).cloned(),
            stopped: facts.stopped.clone(),
        }
    }

    /// A way is open.
    pub(crate) fn connected(&self, source: Source) {
        let mut facts = self.facts();
        if !facts.connected || facts.source != source {
            tracing::info!(source = source.as_str(), "the log is followed");
        }
        facts.source = source;
        facts.connected = true;
        facts.trouble = None;
        facts.heard = Instant::now();
    }

    /// The way is closed, or something beside it fails; it will be tried again.
    pub(crate) fn trouble(&self, what: String, closed: bool) {
        let mut facts = self.facts();
        if facts.trouble.as_ref() != Some(&what) {
            tracing::warn!(why = what, "the log can't be followed at the moment");
        }
        facts.connected &= !closed;
        facts.trouble = Some(what);
    }

    /// What keeps it from the stream, if anything does.
    pub(crate) fn stream_trouble(&self, what: Option<String>) {
        let mut facts = self.facts();
        if let Some(what) = what.as_ref().filter(|what| facts.stream_trouble.as_ref() != Some(what)) {
            tracing::warn!(why = what, "the stream can't be read; the log is followed over HTTP");
        }
        facts.stream_trouble = what;
    }

    /// What went wrong beside the way that is open works again.
    pub(crate) fn well(&self) {
        self.facts().trouble = None;
    }

    /// Something was heard, if only that all is well.
    pub(crate) fn heard(&self) {
        self.facts().heard = Instant::now();
    }

    /// How many more gaps the consumer of the stream has found.
    pub(crate) fn stream_gaps(&self, found: u64) {
        let mut facts = self.facts();
        facts.stream_gaps = facts.stream_gaps.saturating_add(found);
    }

    pub(crate) fn stop(&self, stopped: Stopped) -> Stopped {
        let mut facts = self.facts();
        let first = facts.stopped.get_or_insert_with(|| {
            tracing::error!(code = stopped.code(), why = %stopped, "the log is followed no further");
            metrics::gauge!("charter_follower_stopped").set(1.0);
            stopped
        });
        let first = first.clone();
        facts.connected = false;
        drop(facts);
        // Those who wait for a version see that it will not come.
        self.version.send_modify(|_| ());
        first
    }

    /// Applies and publishes events from anywhere, in any overlap. `Ok(false)`: some before them are missing.
    pub(crate) fn feed(&self, events: &[StoredEvent]) -> Result<bool, Stopped> {
        let mut fold = self.fold();
        if let Some(stopped) = self.stopped() {
            return Err(stopped);
        }
        let Fed { publish, known, applied, missing_after, stopped } = fold.feed(events);
        let newest = publish.as_ref().map(|(_, head)| head.offset);
        {
            let mut facts = self.facts();
            facts.applied = facts.applied.saturating_add(applied as u64);
            facts.heard = Instant::now();
        }
        if let Some((policy, head)) = publish {
            self.state.store(Arc::new(State { policy: Arc::new(policy), head }));
        }
        if self.events.receiver_count() > 0 {
            for event in events.iter().skip(known).take(applied) {
                drop(self.events.send(Arc::new(event.clone())));
            }
        }
        if let Some(version) = newest {
            self.version.send_replace(version);
            #[expect(
                clippy::cast_precision_loss,
                reason = "a gauge is a float; offsets stay far below 2^53"
            )]
            metrics::gauge!("charter_follower_version").set(version.get() as f64);
        }
        drop(fold);
        match stopped {
            Some(stopped) => Err(self.stop(stopped)),
            None => Ok(missing_after.is_none()),
        }
    }

    /// The same for events that came as a stream: what is missing before them is read over HTTP.
    pub(crate) async fn feed_stream(&self, events: &[StoredEvent]) -> Result<(), FollowerError> {
        if self.feed(events)? {
            return Ok(());
        }
        metrics::counter!("charter_follower_gaps_total").increment(1);
        {
            let mut facts = self.facts();
            facts.own_gaps = facts.own_gaps.saturating_add(1);
        }
        tracing::warn!(after = %self.at().offset, "events are missing from the stream; they are read over HTTP");
        self.catch_up(None).await?;
        // What came is in the log, so reading the log has brought it.
        self.feed(events).map(drop).map_err(FollowerError::from)
    }

    /// Asks the server where its log ends, and reads what is missing here.
    pub(crate) async fn check(&self) -> Result<(), FollowerError> {
        self.learn_head().await?;
        self.catch_up(None).await
    }

    /// Asks the server where its log ends, and compares.
    pub(crate) async fn learn_head(&self) -> Result<Head, FollowerError> {
        let head = self.api.head().await?;
        let at = self.at();
        if head.log_id != at.log_id {
            return Err(self.stop(Stopped::OtherLog { known: at.log_id, found: head.log_id }).into());
        }
        if head.offset == at.offset && head.hash != at.hash {
            return Err(self.stop(Stopped::Fork { offset: head.offset }).into());
        }
        let mut facts = self.facts();
        facts.heard = Instant::now();
        facts.server_version = facts.server_version.max(head.offset);
        Ok(head)
    }

    /// Reads events over HTTP up to a version, or until there are no more.
    pub(crate) async fn catch_up(&self, to: Option<Offset>) -> Result<(), FollowerError> {
        let _one_for_all = self.reading.lock().await;
        loop {
            if to.is_some_and(|to| self.version() >= to) {
                return Ok(());
            }
            let page = self.api.page(self.at().offset, PAGE_EVENTS, to).await?;
            if page.is_empty() {
                self.heard();
                return Ok(());
            }
            if !self.feed(&page)? {
                return Err(FollowerError::NotAServer {
                    server: self.api.server.clone(),
                    why: "its pages leave events out".to_owned(),
                });
            }
        }
    }

    /// The policy at a version or a later one: the server is asked for what is missing at once.
    pub(crate) async fn at_least(&self, wanted: Offset, wait: Duration) -> Result<Arc<Policy>, NotReached> {
        if self.version() >= wanted {
            return Ok(Arc::clone(&self.state().policy));
        }
        let mut why = None;
        let reached = tokio::time::timeout(wait, self.reach(wanted, &mut why)).await;
        let state = self.state();
        let at = state.head.offset;
        match (reached, self.stopped()) {
            _ if at >= wanted => Ok(Arc::clone(&state.policy)),
            (_, Some(stopped)) => Err(NotReached::Stopped { wanted, at, stopped }),
            _ => Err(NotReached::InTime { wanted, at, why }),
        }
    }

    async fn reach(&self, wanted: Offset, why: &mut Option<String>) {
        let mut versions = self.versions();
        while self.version() < wanted && self.stopped().is_none() {
            versions.mark_unchanged();
            match self.catch_up(Some(wanted)).await {
                Ok(()) => *why = None,
                Err(error) => *why = Some(error.to_string()),
            }
            if self.version() < wanted {
                // The stream may bring it meanwhile.
                drop(tokio::time::timeout(ASK_AGAIN, versions.changed()).await);
            }
        }
    }

    fn fold(&self) -> MutexGuard<'_, Fold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
