//! From the log to a policy: a snapshot whose anchor is checked, then the rest of the log, each event verified
//! against its predecessor. Nothing is ever skipped: a skipped revocation grants access.

use crate::{
    config::{Progress, ProgressFn},
    health::NotReady,
    snapshots::CODE_VERSION,
};
use charter_events::{DecodeError, Event, Hash, Head, Offset, StoredEvent, Timestamp, UserId};
use charter_policy::{FoldError, Policy};
use charter_store::{
    Fault, Ignored, Loaded, Pages, Snapshot, Store, StoreError, Wanted, What,
    chain::{self, Verifier},
};

/// How many events are read at once.
const PAGE_EVENTS_MAX: usize = 2_000;

/// Why a log can't be folded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An event is not what was written.
    #[error(transparent)]
    Damaged(Fault),
    /// This build can't read an event.
    #[error("the event at offset {offset} can't be read")]
    Unknown {
        /// The event's offset.
        offset: Offset,
        /// Why not.
        #[source]
        source: DecodeError,
    },
    /// An event contradicts those before it.
    #[error("the event at offset {offset} contradicts those before it")]
    Inconsistent {
        /// The event's offset.
        offset: Offset,
        /// How.
        #[source]
        source: FoldError,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LoadError {
    /// What this means for a server's readiness.
    pub fn not_ready(&self) -> NotReady {
        match self {
            Self::Damaged(fault) => NotReady::Damaged { offset: fault.offset },
            Self::Unknown { offset, .. } => NotReady::UnknownEvent { offset: *offset },
            Self::Inconsistent { offset, .. } => NotReady::Inconsistent { offset: *offset },
            Self::Store(StoreError::Damaged(fault)) => NotReady::Damaged { offset: fault.offset },
            Self::Store(_) => NotReady::StoreUnavailable,
        }
    }
}

/// A folded log.
#[derive(Clone)]
pub struct Folded {
    /// The policy at the head.
    pub policy: Policy,
    /// The head.
    pub head: Head,
    /// The version of the snapshot it began with; none when the whole log was read.
    pub from_snapshot: Option<Offset>,
}

/// A policy on its way along a log.
pub(crate) struct Folding {
    pub(crate) policy: Policy,
    /// Who was erased on the way: what is remembered of him has to go.
    pub(crate) erased: Vec<UserId>,
    verifier: Verifier,
}

impl Folding {
    pub(crate) const fn new(policy: Policy, head: Head) -> Self {
        Self { policy, erased: Vec::new(), verifier: Verifier::between_commands(head) }
    }

    pub(crate) const fn head(&self) -> Head {
        self.verifier.head()
    }

    /// Verifies and applies the next events.
    pub(crate) fn fold(&mut self, events: &[StoredEvent]) -> Result<(), LoadError> {
        events.iter().try_for_each(|event| self.fold_seeing(event, |_, _| {}))
    }

    /// Verifies and applies the next event, and shows it to somebody with the state just before it.
    pub(crate) fn fold_seeing(
        &mut self,
        event: &StoredEvent,
        see: impl FnOnce(&Policy, &Event),
    ) -> Result<(), LoadError> {
        self.verifier.next(event).map_err(LoadError::Damaged)?;
        let offset = event.offset;
        let decoded = event.decode().map_err(|source| LoadError::Unknown { offset, source })?;
        see(&self.policy, &decoded);
        self.policy
            .apply(&event.meta(), &decoded)
            .map_err(|source| LoadError::Inconsistent { offset, source })?;
        if let Event::UserErased(erased) = &decoded {
            self.erased.push(erased.user);
        }
        Ok(())
    }

    /// Whether this is the end the log says it has.
    pub(crate) fn ends_at(&self, head: &Head) -> Result<(), LoadError> {
        let at = self.head();
        if self.verifier.within_command() || at.offset < head.offset {
            let missing = at.offset.plus(1).unwrap_or(Offset::MAX);
            return Err(LoadError::Damaged(Fault::new(missing, What::Missing)));
        }
        if at != *head {
            return Err(LoadError::Damaged(Fault::new(at.offset, What::HeadMismatch)));
        }
        Ok(())
    }
}

/// Folds the log of a store up to its head: the newest usable snapshot and what follows it, or all of it.
///
/// # Errors
/// [`LoadError`] at the first event that is damaged, unknown or inconsistent, and when the store can't be read.
pub async fn fold_log(store: &dyn Store, progress: Option<&ProgressFn>) -> Result<Folded, LoadError> {
    let head = store.head().await?;
    let snapshot = usable_snapshot(store, &head).await?;
    let from_snapshot = snapshot.as_ref().map(|(_, anchor)| anchor.offset);
    let (policy, at) = snapshot.unwrap_or_else(|| (Policy::new(), chain::empty(head.log_id)));
    let mut folding = Folding::new(policy, at);
    fold_until(store, &mut folding, &head, progress).await?;
    Ok(Folded { policy: folding.policy, head, from_snapshot })
}

/// Reads, verifies and applies what follows, up to `head`.
pub(crate) async fn fold_until(
    store: &dyn Store,
    folding: &mut Folding,
    head: &Head,
    progress: Option<&ProgressFn>,
) -> Result<(), LoadError> {
    let mut pages = Pages::new(store, folding.head().offset, head.offset).of_at_most(PAGE_EVENTS_MAX);
    while let Some(page) = pages.next().await? {
        folding.fold(&page)?;
        if let Some(progress) = progress {
            progress(Progress { done: folding.head().offset, total: head.offset });
        }
        tokio::task::yield_now().await;
    }
    folding.ends_at(head)
}

/// How many events to read next: no more than there are, so that what is appended meanwhile stays for later.
pub(crate) fn page_limit(at: Offset, head: &Head) -> usize {
    let missing = head.offset.get().saturating_sub(at.get());
    usize::try_from(missing).unwrap_or(usize::MAX).min(PAGE_EVENTS_MAX)
}

/// The newest snapshot that belongs to this log and whose anchor the log still holds. Any other is ignored: the log
/// is the truth, and replaying it is always possible.
pub(crate) async fn usable_snapshot(
    store: &dyn Store,
    head: &Head,
) -> Result<Option<(Policy, Head)>, LoadError> {
    let wanted = Wanted {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: CODE_VERSION.to_owned(),
        at_most: Some(head.offset),
    };
    let Loaded { snapshot, ignored } = store.latest(&wanted).await?;
    for Ignored { name, why } in ignored {
        tracing::info!(name, why, "a snapshot is ignored");
    }
    let Some(Snapshot { header, body }) = snapshot else { return Ok(None) };
    let Some(anchor) = anchor(store, head, header.offset, header.hash).await? else {
        tracing::warn!(offset = %header.offset, "a snapshot without its anchor in the log is ignored");
        return Ok(None);
    };
    // Decoding a large policy takes seconds of processor time: off the async threads.
    match tokio::task::spawn_blocking(move || Policy::from_snapshot(&body)).await {
        Ok(Ok(policy)) if policy.version() == header.offset => Ok(Some((policy, anchor))),
        Ok(_) | Err(_) => {
            tracing::warn!(offset = %header.offset, "an unreadable snapshot is ignored");
            Ok(None)
        }
    }
}

/// The head as it was at an offset, when the event there ends a command, has the hash, and its record has it too.
async fn anchor(
    store: &dyn Store,
    head: &Head,
    offset: Offset,
    hash: Hash,
) -> Result<Option<Head>, LoadError> {
    let Some(before) = offset.get().checked_sub(1).and_then(Offset::new) else { return Ok(None) };
    let events = store.read(before, 1).await?;
    let fits = |event: &&StoredEvent| event.offset == offset && event.hash == hash && event.ends_command();
    let Some(event) = events.first().filter(fits) else { return Ok(None) };
    let previous =
        Head { log_id: head.log_id, offset: before, hash: event.prev_hash, recorded_at: Timestamp::MIN };
    Ok(chain::verify(&previous, event).ok())
}
