//! What all clones of a follower share: the published policy, the fold behind it, and what is known of the way the
//! events come. Owns that versions never go back and that a stop is for good.

use crate::{
    api::{Api, PAGE_EVENTS},
    config::FollowerConfig,
    error::{FollowerError, NotFresh, Stopped},
    facts::{Facts, Source, Status},
    fold::{Fed, Fold},
    freshness::Freshness,
};
use arc_swap::ArcSwap;
use charter_events::{Head, Offset, StoredEvent};
use charter_policy::Policy;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::{broadcast, watch};

/// How many events wait for a reader of [`Follower::events`](crate::Follower::events); a slower one misses some.
const EVENTS_WAITING_MAX: usize = 4_096;

/// A policy and the end of the log it was folded from.
pub(crate) struct State {
    pub(crate) policy: Arc<Policy>,
    pub(crate) head: Head,
}

/// What all clones share.
pub(crate) struct Shared {
    pub(crate) api: Api,
    pub(crate) config: FollowerConfig,
    pub(crate) freshness: Freshness,
    state: ArcSwap<State>,
    fold: Mutex<Fold>,
    facts: Mutex<Facts>,
    version: watch::Sender<Offset>,
    events: broadcast::Sender<Arc<StoredEvent>>,
    /// Held by whoever reads over HTTP what is missing, up to an end that is known: one for all who wait.
    reading: tokio::sync::Mutex<()>,
    /// Held by whoever asks for a version; when that was asked last.
    pub(crate) asking: tokio::sync::Mutex<Option<Instant>>,
    /// How many checks in a row found what the way of the events had not brought.
    pub(crate) silent_checks: watch::Sender<u32>,
}

impl Shared {
    pub(crate) fn new(api: Api, config: FollowerConfig, policy: Policy, head: Head) -> Self {
        let fold = Fold::new(policy.clone(), head);
        Self {
            api,
            freshness: Freshness::new(config.stale_max),
            config,
            state: ArcSwap::from_pointee(State { policy: Arc::new(policy), head }),
            fold: Mutex::new(fold),
            facts: Mutex::new(Facts::new(head.offset)),
            version: watch::Sender::new(head.offset),
            events: broadcast::Sender::new(EVENTS_WAITING_MAX),
            reading: tokio::sync::Mutex::default(),
            asking: tokio::sync::Mutex::default(),
            silent_checks: watch::Sender::new(0),
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// The newest state, while it may be answered from.
    pub(crate) fn fresh(&self) -> Result<Arc<State>, NotFresh> {
        // judged first: what is published meanwhile is only newer
        self.freshness.judge().map(|()| self.state())
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

    pub(crate) fn status(&self) -> Status {
        let stopped = self.freshness.stopped().cloned();
        let (age, head) = (self.freshness.age(), self.state.load().head);
        self.facts().status(head, age, stopped)
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
    }

    /// The way is closed; it will be tried again.
    pub(crate) fn trouble(&self, what: String) {
        let mut facts = self.facts();
        if facts.trouble.as_ref() != Some(&what) {
            tracing::warn!(why = what, "the log can't be followed at the moment");
        }
        facts.connected = false;
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

    /// What keeps the server from confirming the state, if anything does.
    pub(crate) fn check_trouble(&self, what: Option<String>) {
        let mut facts = self.facts();
        if let Some(what) = what.as_ref().filter(|what| facts.check_trouble.as_ref() != Some(what)) {
            tracing::warn!(why = what, "the server does not confirm the state at the moment");
        }
        facts.check_trouble = what;
    }

    /// Something was heard, if only that somebody is there.
    pub(crate) fn heard(&self) {
        self.facts().heard = Instant::now();
    }

    /// How many more gaps the consumer of the stream has found.
    pub(crate) fn stream_gaps(&self, found: u64) {
        let mut facts = self.facts();
        facts.stream_gaps = facts.stream_gaps.saturating_add(found);
    }

    pub(crate) fn stop(&self, stopped: Stopped) -> Stopped {
        if self.freshness.stop(stopped.clone()) {
            tracing::error!(code = stopped.code(), why = %stopped, "the log is followed no further");
            metrics::gauge!("charter_follower_stopped").set(1.0);
        }
        self.facts().connected = false;
        // Those who wait for a version see that it will not come.
        self.version.send_modify(|_| ());
        self.freshness.stopped().cloned().unwrap_or(stopped)
    }

    /// Applies and publishes events of the server, in any overlap. `Ok(false)`: some before them are missing.
    pub(crate) fn feed(&self, events: &[StoredEvent]) -> Result<bool, Stopped> {
        match self.apply(events)? {
            (_, Some(stopped)) => Err(self.stop(stopped)),
            (complete, None) => Ok(complete),
        }
    }

    /// Applies and publishes events from anywhere; whether none before them are missing, and what keeps the rest from
    /// being applied.
    fn apply(&self, events: &[StoredEvent]) -> Result<(bool, Option<Stopped>), Stopped> {
        let mut fold = self.fold();
        if let Some(stopped) = self.freshness.stopped() {
            return Err(stopped.clone());
        }
        let Fed { publish, applied, missing_after, stopped, .. } = fold.feed(events);
        if !applied.is_empty() {
            let mut facts = self.facts();
            facts.applied = facts.applied.saturating_add(applied.len() as u64);
            facts.heard = Instant::now();
        }
        let newest = publish.as_ref().map(|(_, head)| head.offset);
        if let Some((policy, head)) = publish {
            self.state.store(Arc::new(State { policy: Arc::new(policy), head }));
        }
        if self.events.receiver_count() > 0 {
            for event in applied.iter().filter_map(|index| events.get(*index)) {
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
        Ok((missing_after.is_none(), stopped))
    }

    /// Events of the server's stream: what is missing before them is read.
    pub(crate) async fn feed_stream(&self, events: &[StoredEvent]) -> Result<(), FollowerError> {
        if self.feed(events)? {
            return Ok(());
        }
        self.fill().await?;
        // What came is in the log, so reading the log has brought it.
        self.feed(events).map(drop).map_err(FollowerError::from)
    }

    /// Events that others relayed: a reason to stop is the relay's fault until the server gives it.
    pub(crate) async fn feed_relayed(&self, events: &[StoredEvent]) -> Result<(), FollowerError> {
        let fault = match self.apply(events)? {
            (true, fault) => fault,
            (false, Some(fault)) => Some(fault),
            (false, None) => {
                self.fill().await?;
                self.apply(events)?.1
            }
        };
        match fault {
            None => Ok(()),
            Some(fault) => Err(FollowerError::Unreachable {
                server: "the log on NATS".to_owned(),
                why: format!("it brings what does not fit: {fault}"),
            }),
        }
    }

    async fn fill(&self) -> Result<(), FollowerError> {
        metrics::counter!("charter_follower_gaps_total").increment(1);
        {
            let mut facts = self.facts();
            facts.own_gaps = facts.own_gaps.saturating_add(1);
        }
        tracing::warn!(after = %self.at().offset, "events are missing from the stream; they are read over HTTP");
        self.catch_up(None).await
    }

    /// Reads events over HTTP up to a version the server is known to have, or until there are no more.
    pub(crate) async fn catch_up(&self, to: Option<Offset>) -> Result<(), FollowerError> {
        let _one_for_all = self.reading.lock().await;
        loop {
            if to.is_some_and(|to| self.version() >= to) {
                return Ok(());
            }
            let page = self.api.page(self.at().offset, PAGE_EVENTS).await?;
            if page.is_empty() {
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

    pub(crate) fn fold(&self) -> MutexGuard<'_, Fold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
