//! Who else is alive on the same store, and what all of them can read.
//!
//! A kind of event that a live server of an older build does not know would stop that server at it. So a command that
//! would write one is refused until the last such server has ended, or has not been heard of for the length of a lease.
//! What is known to all is taken from the last renewal. A server of an older build that starts meanwhile is not
//! waited for: what it can't read may be in the log already, and it stops there and says so.

use crate::{config::Config, control::Inner, error::CommandError, following::in_time};
use charter_events::{EVENT_TYPES, Event, Offset, Timestamp};
use charter_store::{Lease, Store, StoreError};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use uuid::Uuid;

/// This server among those on its store.
pub(crate) struct Servers {
    id: Uuid,
    build: String,
    started_at: Timestamp,
    knows: Vec<String>,
    live: Mutex<Vec<Lease>>,
    /// Whether each live server knows every kind of event this build can write.
    all_know_all: AtomicBool,
    /// How many versions were shown last.
    shown: AtomicUsize,
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
        Self {
            id: Uuid::now_v7(),
            build: config.server.build.clone(),
            started_at,
            knows: known_kinds(),
            live: Mutex::default(),
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
        self.note(live);
        Ok(())
    }

    /// Says that this server has ended.
    pub(crate) async fn end(&self, store: &dyn Store, config: &Config) {
        let ended = store.end_lease(self.id);
        if let Err(error) = in_time(config.store_wait, "saying that this server has ended", ended).await {
            tracing::warn!(%error, "the other servers learn late that this one has ended");
        }
    }

    /// The live servers as of the last renewal, in the order they started.
    pub(crate) fn live(&self) -> Vec<Lease> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Lease>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, mut live: Vec<Lease>) {
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
            Ok(live) => self.note(live),
            Err(error) => tracing::warn!(%error, "it is not known which servers are alive"),
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
            tracing::warn!(%error, "the other servers can't be told that this one is alive");
        }
        failing = renewed.is_err();
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
}
