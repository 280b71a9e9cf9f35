//! The handle everything goes through: reads of the published policy, commands to the writer, the end.

use crate::{
    clock::StoreClock,
    config::Config,
    contact::{Contact, Freshness},
    diff::Diffs,
    error::{CommandError, StartError, VersionNotReached},
    following::Following,
    health::{Health, NotReady, Readiness, StreamFault},
    identity::Identity,
    leases::Servers,
    load::Folding,
    mail::Mail,
    operations::Operations,
    past::Pasts,
    preview::Previews,
    profiles::Profiles,
    published::{Published, State},
    request::{Receipt, Request},
    seal::Sealing,
    secret::SecretText,
    snapshots,
    tables::Tables,
    tree, writer,
};
use charter_commands::Limits;
use charter_events::{Head, LogId, Offset, StoredEvent, Timestamp};
use charter_policy::Policy;
use charter_store::{Leadership, Lease, Store, StoreError};
use std::sync::{Arc, atomic::AtomicBool};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// A running control plane. Clones are the same one.
#[derive(Clone)]
pub struct Control {
    pub(crate) inner: Arc<Inner>,
}

/// A control plane that has just started.
pub struct Started {
    /// The control plane.
    pub control: Control,
    /// To be shown once: whoever has it may make himself the first administrator. None once there ever was one. There
    /// is one code for all servers on a store: the one shown last, by whichever of them, is the one that works.
    pub setup_code: Option<SecretText>,
    /// The version of the snapshot the start began with; none when the whole log was read.
    pub from_snapshot: Option<Offset>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) config: Config,
    pub(crate) published: Published,
    pub(crate) health: Health,
    pub(crate) contact: Contact,
    pub(crate) store_clock: StoreClock,
    pub(crate) following: Following,
    pub(crate) servers: Servers,
    /// Core's catalog is still to be brought up to this build's: a server of an older build could not read it.
    pub(crate) catalog_due: AtomicBool,
    /// That this server leads the clock's work, if it does.
    pub(crate) housekeeper: tokio::sync::Mutex<Option<Box<dyn Leadership>>>,
    pub(crate) tables: Tables,
    /// By which long work is begun.
    pub(crate) operations: Operations,
    pub(crate) queue: writer::Queue,
    pub(crate) sealing: Sealing,
    pub(crate) profiles: Profiles,
    pub(crate) tree: tree::Keeping,
    pub(crate) identity: Identity,
    pub(crate) mail: Mail,
    pub(crate) cursor_key: [u8; 32],
    pub(crate) keys_file: crate::backup::KeysFile,
    pub(crate) last_snapshot: snapshots::Last,
    pub(crate) diffs: Diffs,
    pub(crate) previews: Previews,
    pub(crate) pasts: Pasts,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Inner {
    /// The store's clock, which all servers share; this server's own where the store has none.
    pub(crate) fn time(&self) -> Timestamp {
        self.store_clock.now().unwrap_or_else(|| self.config.clock.now())
    }

    /// The later of the clock and the last record, so that a clock that steps back undoes no expiry.
    pub(crate) fn now(&self) -> Timestamp {
        self.time().max(self.published.load().head.recorded_at)
    }

    /// Why this server is not ready. One that has heard nothing for too long is not, whatever it knows of the reason.
    fn not_ready(&self) -> Option<NotReady> {
        match self.health.get() {
            None | Some(NotReady::StreamForked { .. }) if self.contact.away().is_some() => {
                Some(NotReady::StoreUnavailable)
            }
            None | Some(NotReady::StreamForked { .. }) if self.store_clock.is_doubted() => {
                Some(NotReady::ClockDiffers)
            }
            reason => reason,
        }
    }

    /// What keeps commands from being taken: a fault of the log, or a time that may be wrong and would stay for ever.
    pub(crate) fn forbids_writing(&self) -> Option<NotReady> {
        let doubted = || self.store_clock.is_doubted().then_some(NotReady::ClockDiffers);
        self.health.forbids_writing().or_else(doubted)
    }

    /// Shows what others appended, and forgets the persons it erased.
    pub(crate) fn publish(&self, folding: Folding, head: Head) -> Arc<State> {
        let Folding { policy, erased, .. } = folding;
        let state = self.published.publish(policy, head);
        if !erased.is_empty() {
            self.keys_file.is_stale();
        }
        erased.into_iter().for_each(|user| self.profiles.forget(user));
        state
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("version", &self.inner.published.version()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Started {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Started").field("control", &self.control).finish_non_exhaustive()
    }
}

impl Control {
    /// Starts a control plane on a store: folds the log, prepares an empty one, registers core's catalog, and starts
    /// the writer and the background tasks. Needs a tokio runtime with time enabled.
    ///
    /// # Errors
    /// [`StartError`]: a log that is damaged or not known to this build, or a store that refuses.
    pub async fn start(store: Arc<dyn Store>, config: Config) -> Result<Started, StartError> {
        crate::start::start(store, config).await
    }

    /// The newest policy. One request takes it once and answers from it throughout.
    pub fn policy(&self) -> Arc<Policy> {
        self.inner.published.policy()
    }

    /// The moment questions are judged at.
    pub fn now(&self) -> Timestamp {
        self.inner.now()
    }

    /// The newest policy, which is at least at this version; waits for it, bounded. The log is asked at once, so a
    /// version that another server has committed is here after one round trip.
    ///
    /// # Errors
    /// [`VersionNotReached`] when the bound has passed.
    pub async fn at_least(&self, version: Offset) -> Result<Arc<Policy>, VersionNotReached> {
        if self.inner.published.version() < version {
            self.inner.following.ask();
        }
        self.inner.published.at_least(version, self.inner.config.version_wait).await
    }

    /// Sees what other servers have appended until now, if there can be any; bounded, and at once when the store is
    /// away. False: it could not be seen. For whoever must not be answered from less: a sign-in, a command that names
    /// things.
    #[must_use]
    pub async fn follow_others(&self) -> bool {
        let alone = self.inner.config.follow_every.is_none();
        alone || (!self.inner.contact.is_lost() && crate::following::once(&self.inner).await)
    }

    /// The end of the log as published: log id, version, hash, time.
    pub fn head(&self) -> Head {
        self.inner.published.load().head
    }

    /// Which log this is.
    pub fn log_id(&self) -> LogId {
        self.head().log_id
    }

    /// The bounds of the model in force.
    pub fn limits(&self) -> &Limits {
        &self.inner.config.limits
    }

    /// The published version, as it goes on.
    pub fn versions(&self) -> watch::Receiver<Offset> {
        self.inner.published.versions()
    }

    /// Whether answers are as new as the log, and if not for how long.
    pub fn freshness(&self) -> Freshness {
        self.inner.contact.freshness(self.inner.config.stale_decisions)
    }

    /// The live servers on the same store, this one included, as of the last time this one said that it is alive.
    pub fn servers(&self) -> Vec<Lease> {
        self.inner.servers.live()
    }

    /// This server among them; made up anew by each start.
    pub fn server_id(&self) -> Uuid {
        self.inner.servers.id()
    }

    /// Notes that the published stream differs from the log, or that it no longer does. A server with such a stream is
    /// not ready (`stream_forked`); questions and commands go on.
    pub fn stream_alarm(&self, fault: Option<StreamFault>) {
        self.inner.health.stream(fault);
    }

    /// The store this control plane stands on, for whoever publishes its log.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.inner.store)
    }

    /// Whether this server may be asked, and why not.
    pub fn readiness(&self) -> Readiness {
        Readiness { version: self.inner.published.version(), not_ready: self.inner.not_ready() }
    }

    /// Authenticates list cursors.
    pub fn cursor_key(&self) -> &[u8; 32] {
        &self.inner.cursor_key
    }

    /// Events after an offset, ascending, up to the published version; at most `READ_EVENTS_MAX` of the store.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn events(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let version = self.inner.published.version();
        let visible = version.get().saturating_sub(after.get());
        let limit =
            limit.min(charter_store::READ_EVENTS_MAX).min(usize::try_from(visible).unwrap_or(usize::MAX));
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.inner.store.read(after, limit).await
    }

    /// Hands a command to the writer and waits for its answer. Once it is queued it is carried out whether or not
    /// anyone still waits. A request with a slot for a preview is not queued.
    ///
    /// # Errors
    /// [`CommandError`].
    pub async fn submit(&self, request: Request) -> Result<Receipt, CommandError> {
        writer::submit(&self.inner, request).await
    }

    /// Completes the commands that are queued, ends all tasks, tells the other servers, and writes a snapshot. Later
    /// commands are refused.
    pub async fn shutdown(self) {
        self.inner.health.fail(NotReady::Stopping);
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        drop(self.inner.housekeeper.lock().await.take());
        self.inner.servers.end(self.inner.store.as_ref(), &self.inner.config).await;
        crate::identity::flush_last_uses(&self.inner).await;
        snapshots::write_if_newer(&self.inner).await;
    }
}
