//! Who else is alive on the same store, and what all of them can read.
//!
//! A kind of event that a live server of an older build does not know would stop that server at it. So a command that
//! would write one is refused until the last such server has ended, or has not been heard of for the length of a lease.
//! What is known to all is taken from the last renewal. A server of an older build that starts meanwhile is not
//! waited for: what it can't read may be in the log already, and it stops there and says so.

use crate::{config::Config, control::Inner, error::CommandError, following::in_time, tick::Tick};
use charter_events::{EVENT_TYPES, Event, Offset, Timestamp};
use charter_store::{Lease, Store, StoreError, causes};
use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

/// This server among those on its store.
pub(crate) struct Servers {
    id: Uuid,
    build: String,
    started_at: Timestamp,
    knows: Vec<String>,
    live: Mutex<Vec<Lease>>,
    /// When a renewal last went well.
    renewed_at: Mutex<Option<Tick>>,
    kept: Mutex<Option<Kept>>,
    /// Whether each live server knows every kind of event this build can write.
    all_know_all: AtomicBool,
    /// How many versions were shown last.
    shown: AtomicUsize,
}

/// Who was known before an outage.
struct Kept {
    servers: Vec<Lease>,
    since: Tick,
    length: Duration,
}

/// A kind of event in a version, as leases name it.
fn kind(type_name: &str, schema: u16) -> String {
    format!("{type_name}.v{schema}")
}

/// Every kind of event this build reads: each type in each version there ever was.
fn known_kinds() -> Vec<String> {
    let versions = EVENT_TYPES
        .iter()
        .flat_map(|of| of.upcast.iter().chain([&of.schema]).map(|schema| kind(of.name, *schema)));
    let mut kinds: Vec<String> = versions.collect();
    kinds.sort_unstable();
    kinds
}

impl Servers {
    pub(crate) fn new(config: &Config, started_at: Timestamp) -> Self {
        let (id, build) = (Uuid::now_v7(), config.server.build.clone());
        metrics::gauge!("charter_server_info", "server" => id.to_string(), "build" => build.clone()).set(1.0);
        Self {
            id,
            build,
            started_at,
            knows: known_kinds(),
            live: Mutex::default(),
            renewed_at: Mutex::default(),
            kept: Mutex::default(),
            all_know_all: AtomicBool::new(true),
            shown: AtomicUsize::new(0),
        }
    }

    pub(crate) const fn id(&self) -> Uuid {
        self.id
    }

    /// Says that this server is alive, and learns who else is.
    pub(crate) async fn renew(
        &self,
        store: &dyn Store,
        config: &Config,
        now: Timestamp,
        version: Offset,
    ) -> Result<(), StoreError> {
        let lease = Lease {
            server: self.id,
            build: self.build.clone(),
            started_at: self.started_at,
            version,
            knows: self.knows.clone(),
            expires_at: now,
        };
        let renewed = store.renew_lease(&lease, now, config.lease_length);
        let live = in_time(config.store_wait, "saying that this server is alive", renewed).await?;
        self.renewed(live, config, Tick::now());
        Ok(())
    }

    /// A renewal went well. After an outage in which every lease may have run out, whoever was known before is taken to
    /// be alive for the length of one more: he may just not have come back yet.
    fn renewed(&self, live: Vec<Lease>, config: &Config, at: Tick) {
        let last = self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner).replace(at);
        let outage = config.lease_length.saturating_sub(config.lease_renew_every);
        if last.is_some_and(|last| at.since(last) > outage) {
            let kept = Kept { servers: self.live(), since: at, length: config.lease_length };
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        }
        self.note(live, at);
    }

    /// For how long no renewal has gone well.
    fn age(&self) -> Duration {
        let last = *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner);
        last.map_or(Duration::ZERO, Tick::elapsed)
    }

    /// Says that this server has ended.
    pub(crate) async fn end(&self, store: &dyn Store, config: &Config) {
        let ended = store.end_lease(self.id);
        if let Err(error) = in_time(config.store_wait, "saying that this server has ended", ended).await {
            tracing::warn!(error = %causes(&error), "the other servers learn late that this one has ended");
        }
    }

    /// The live servers as of the last renewal, in the order they started.
    pub(crate) fn live(&self) -> Vec<Lease> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Lease>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, mut live: Vec<Lease>, at: Tick) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = kept.take().filter(|kept| at.since(kept.since) < kept.length);
        if let Some(Kept { servers, .. }) = &*kept {
            let news: HashSet<Uuid> = live.iter().map(|lease| lease.server).collect();
            live.extend(servers.iter().filter(|lease| !news.contains(&lease.server)).cloned());
        }
        drop(kept);
        live.sort_by_key(|lease| (lease.started_at, lease.server));
        let all_know_all = live.iter().all(|lease| self.unknown_to(lease, &self.knows).is_none());
        self.all_know_all.store(all_know_all, Ordering::Relaxed);
        self.show(&live);
        *self.lock() = live;
    }

    /// The first of these kinds that a server does not know. This one knows what it writes.
    fn unknown_to<'a>(&self, lease: &Lease, kinds: &'a [String]) -> Option<&'a String> {
        kinds.iter().find(|kind| lease.server != self.id && !lease.knows.contains(kind))
    }

    /// Looks who is alive now, if somebody who was could not read all that this build writes. One question for a whole
    /// batch, and none once all servers are of one build. An error leaves things as they were: refused.
    pub(crate) async fn look_again(&self, inner: &Inner) {
        if self.all_know_all.load(Ordering::Relaxed) {
            return;
        }
        let live = inner.store.live_servers(inner.time());
        match in_time(inner.config.store_wait, "asking which servers are alive", live).await {
            Ok(live) => self.note(live, Tick::now()),
            Err(error) => tracing::warn!(error = %causes(&error), "it is not known which servers are alive"),
        }
    }

    /// Refuses events of a kind that a live server can't read.
    pub(crate) fn may_write(&self, events: &[Event]) -> Result<(), CommandError> {
        if self.all_know_all.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut kinds: Vec<String> =
            events.iter().map(|event| kind(event.type_name(), event.schema())).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for lease in self.lock().iter() {
            if let Some(kind) = self.unknown_to(lease, &kinds) {
                let Lease { server, build, .. } = lease;
                let reason = format!("server {server} of build `{build}` does not know `{kind}` yet");
                return Err(CommandError::UpgradeInProgress { reason });
            }
        }
        Ok(())
    }

    /// One gauge for each place in the list, at most as many as a store tells of; a place nobody has shows nothing.
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; offsets stay far below 2^53")]
    fn show(&self, live: &[Lease]) {
        metrics::gauge!("charter_servers").set(live.len() as f64);
        let shown = self.shown.swap(live.len(), Ordering::Relaxed);
        for place in 0..live.len().max(shown) {
            let version = live.get(place).map_or(f64::NAN, |lease| lease.version.get() as f64);
            metrics::gauge!("charter_server_version", "place" => place.to_string()).set(version);
        }
    }
}

/// Renews this server's lease until it stops.
pub(crate) async fn run(inner: Arc<Inner>) {
    let config = &inner.config;
    let every = config.lease_renew_every.min(config.lease_length / 2);
    let mut failing = false;
    while inner.stop.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        let version = inner.published.version();
        let renewed = inner.servers.renew(inner.store.as_ref(), config, inner.time(), version).await;
        if let Err(error) = &renewed
            && !failing
        {
            tracing::warn!(error = %causes(&error), "the other servers can't be told that this one is alive");
        }
        failing = renewed.is_err();
        metrics::gauge!("charter_lease_age_seconds").set(inner.servers.age().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_names_every_version_of_every_type_and_fits() {
        let kinds = known_kinds();
        assert!(kinds.contains(&"grant.issued.v1".to_owned()));
        let versions: usize = EVENT_TYPES.iter().map(|of| of.upcast.len() + 1).sum();
        assert_eq!(kinds.len(), versions);
        assert!(kinds.iter().map(String::len).sum::<usize>() < charter_store::KNOWS_BYTES_MAX / 4);
    }

    #[test]
    fn whoever_was_alive_before_an_outage_is_waited_for_after_it() {
        let config = Config::default();
        let began = config.clock.now();
        let servers = Servers::new(&config, began);
        let lease = |server, knows: Vec<String>| Lease {
            server,
            build: "0.0.9".to_owned(),
            started_at: began,
            version: Offset::ZERO,
            knows,
            expires_at: began,
        };
        let (own, old) = (lease(servers.id, known_kinds()), lease(Uuid::from_u128(7), Vec::new()));
        let at = |seconds| Tick::now().later(Duration::from_secs(seconds));
        let waits = || !servers.all_know_all.load(Ordering::Relaxed);
        servers.renewed(vec![own.clone(), old], &config, at(0));
        assert!(waits());
        // No outage: what the store says counts.
        let before = servers.live();
        servers.renewed(vec![own.clone()], &config, at(3));
        assert!(!waits());
        servers.renewed(before, &config, at(6));
        // An outage: he may be about to come back.
        servers.renewed(vec![own.clone()], &config, at(20));
        assert!(waits());
        servers.note(vec![own.clone()], at(29));
        assert!(waits());
        servers.note(vec![own], at(31));
        assert!(!waits());
    }
}
