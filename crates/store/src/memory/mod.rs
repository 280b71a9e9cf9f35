//! The store in memory: for tests, and for trying a server out. Passes the same suite as the databases, and can be told
//! to fail or to stop at a point ([`Hooks`]).

mod hooks;
mod moving;
mod secrets;
mod servers;
mod tables;

use crate::{
    chain,
    error::StoreError,
    limits::{FORGET_ROWS_MAX, READ_EVENTS_MAX, READ_PAYLOAD_BYTES_MAX, SNAPSHOTS_KEPT},
    log::{Answer, Append, Batch, IdempotencyKey, LogStore, Staging},
    secrets::{
        CredentialKind, CredentialRow, InstallationSecrets, Key32, PasswordHash, SecretHash, SecretStore,
        SecretWrite, UserKey, check_writes,
    },
    snapshot::{Ignored, Loaded, Snapshot, SnapshotStore, Wanted, mismatch},
};
use async_trait::async_trait;
use charter_events::{Head, LogId, Offset, StoredEvent, Timestamp, UserId};
pub use hooks::{CommitFault, Hooks, Paused, Point};
use secrets::Secrets;
use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use tokio::sync::OwnedMutexGuard;

/// Everything in memory; clones share it.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    kept: RwLock<Kept>,
    /// Held by the append that is under way.
    head_lock: Arc<tokio::sync::Mutex<()>>,
    hooks: Hooks,
    servers: servers::Servers,
    tables: tables::Tables,
}

struct Kept {
    head: Head,
    events: Vec<StoredEvent>,
    answers: BTreeMap<IdempotencyKey, Answer>,
    secrets: Secrets,
    snapshots: Vec<Snapshot>,
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").field("head", &self.read_kept().head).finish_non_exhaustive()
    }
}

impl Default for MemoryStore {
    /// A store of a log whose id and keys are fixed: nothing here is meant to stay secret.
    fn default() -> Self {
        Self::new(LogId::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0001))
    }
}

impl MemoryStore {
    /// An empty log with this id. The keys are fixed, so that tests repeat.
    pub fn new(log_id: LogId) -> Self {
        let kept = Kept {
            head: chain::empty(log_id),
            events: Vec::new(),
            answers: BTreeMap::new(),
            secrets: Secrets::new([0xA1, 0xB2, 0xC3].map(|byte| Key32::new([byte; 32]))),
            snapshots: Vec::new(),
        };
        let shared = Shared {
            kept: RwLock::new(kept),
            head_lock: Arc::default(),
            hooks: Hooks::default(),
            servers: servers::Servers::default(),
            tables: tables::Tables::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// By which tests make it fail or stop.
    pub fn hooks(&self) -> &Hooks {
        &self.shared.hooks
    }

    fn read_kept(&self) -> RwLockReadGuard<'_, Kept> {
        // A panic while locked leaves whole values behind: each change is one assignment or push.
        self.shared.kept.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write_kept(&self) -> RwLockWriteGuard<'_, Kept> {
        self.shared.kept.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Kept {
    fn page(&self, after: Offset, limit: usize) -> Vec<StoredEvent> {
        let from = usize::try_from(after.get()).unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        self.events
            .iter()
            .skip(from)
            .take(limit.min(READ_EVENTS_MAX))
            .take_while(|event| {
                let fits = bytes <= READ_PAYLOAD_BYTES_MAX;
                bytes = bytes.saturating_add(event.payload.len());
                fits
            })
            .cloned()
            .collect()
    }
}

#[async_trait]
impl LogStore for MemoryStore {
    async fn head(&self) -> Result<Head, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.read_kept().head)
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.read_kept().page(after, limit))
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        self.shared.hooks.at(Point::BeforeLock).await;
        let lock = self.shared.head_lock.clone().lock_owned().await;
        self.shared.hooks.reading()?;
        let kept = self.read_kept();
        let (began, secrets) = (kept.head, kept.secrets.clone());
        drop(kept);
        let (store, staging) = (self.clone(), Staging::new(began));
        let append = MemoryAppend { store, lock, began, staging, batch: Batch::default(), secrets };
        Ok(Box::new(append))
    }

    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        Ok(self.read_kept().answers.get(key).cloned())
    }

    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        let _lock = self.shared.head_lock.lock().await;
        let mut kept = self.write_kept();
        let old: Vec<_> = kept
            .answers
            .values()
            .filter(|a| a.at < moment)
            .take(FORGET_ROWS_MAX)
            .map(|a| a.key.clone())
            .collect();
        old.iter().for_each(|key| drop(kept.answers.remove(key)));
        Ok(old.len())
    }

    async fn adopt(&self, log_id: LogId) -> Result<(), StoreError> {
        let _lock = self.shared.head_lock.lock().await;
        let mut kept = self.write_kept();
        if kept.head.offset > Offset::ZERO {
            return Err(StoreError::Refused("a log that has events keeps its id".into()));
        }
        kept.head.log_id = log_id;
        Ok(())
    }
}

struct MemoryAppend {
    store: MemoryStore,
    lock: OwnedMutexGuard<()>,
    began: Head,
    staging: Staging,
    batch: Batch,
    secrets: Secrets,
}

#[async_trait]
impl Append for MemoryAppend {
    fn head(&self) -> Head {
        self.staging.head()
    }

    async fn read_since(&mut self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let mut page = self.store.read(after, limit).await?;
        page.retain(|event| event.offset <= self.began.offset);
        Ok(page)
    }

    async fn answer(&mut self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        Ok(self.store.read_kept().answers.get(key).cloned())
    }

    async fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.store.hooks().at(Point::BeforeWrite).await;
        self.staging.accept(batch)?;
        self.stage(batch)?;
        self.staging.written();
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<Head, StoreError> {
        self.staging.committable()?;
        let hooks = self.store.hooks();
        hooks.at(Point::BeforeCommit).await;
        let fault = hooks.take_commit_fault();
        if let Some(CommitFault::Lost(make)) = &fault {
            return Err(make());
        }
        let head = self.staging.head();
        if self.staging.wrote() {
            let mut kept = self.store.write_kept();
            kept.events.extend(self.batch.events);
            kept.answers.extend(self.batch.answers.into_iter().map(|a| (a.key.clone(), a)));
            kept.secrets = self.secrets;
            kept.head = head;
        }
        self.store.hooks().at(Point::AfterCommit).await;
        drop(self.lock);
        match fault {
            Some(CommitFault::Kept(make)) => Err(make()),
            _ => Ok(head),
        }
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        drop(self.lock);
        Ok(())
    }
}

impl MemoryAppend {
    fn stage(&mut self, batch: &Batch) -> Result<(), StoreError> {
        batch.secrets.iter().try_for_each(|write| self.secrets.apply(write))?;
        for answer in &batch.answers {
            let known = self.store.read_kept().answers.contains_key(&answer.key);
            if known || self.batch.answers.iter().any(|a| a.key == answer.key) {
                return Err(StoreError::Refused("an idempotency key that has its answer already".into()));
            }
            self.batch.answers.push(answer.clone());
        }
        self.batch.events.extend(batch.events.iter().cloned());
        Ok(())
    }
}

#[async_trait]
impl SecretStore for MemoryStore {
    async fn installation_secrets(&self) -> Result<InstallationSecrets, StoreError> {
        Ok(self.read_kept().secrets.installation())
    }

    async fn user_key(&self, user: UserId) -> Result<Option<UserKey>, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.read_kept().secrets.user_key(user))
    }

    async fn password(&self, user: UserId) -> Result<Option<PasswordHash>, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.read_kept().secrets.password(user))
    }

    async fn credential(&self, hash: &SecretHash) -> Result<Option<CredentialRow>, StoreError> {
        self.shared.hooks.reading()?;
        Ok(self.read_kept().secrets.credential(hash))
    }

    async fn credentials_of(
        &self,
        user: UserId,
        kind: CredentialKind,
    ) -> Result<Vec<CredentialRow>, StoreError> {
        Ok(self.read_kept().secrets.credentials_of(user, kind))
    }

    async fn write_secrets(&self, writes: &[SecretWrite]) -> Result<(), StoreError> {
        check_writes(writes)?;
        let _lock = self.shared.head_lock.lock().await;
        let mut staged = self.read_kept().secrets.clone();
        writes.iter().try_for_each(|write| staged.apply(write))?;
        self.write_kept().secrets = staged;
        Ok(())
    }

    async fn forget_credentials_ended_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        let _lock = self.shared.head_lock.lock().await;
        Ok(self.write_kept().secrets.forget_ended_before(moment))
    }
}

#[async_trait]
impl SnapshotStore for MemoryStore {
    async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut kept = self.write_kept();
        kept.snapshots.retain(|s| s.header.offset < snapshot.header.offset);
        kept.snapshots.push(snapshot);
        kept.snapshots.sort_by_key(|s| std::cmp::Reverse(s.header.offset));
        kept.snapshots.truncate(SNAPSHOTS_KEPT);
        Ok(())
    }

    async fn latest(&self, wanted: &Wanted) -> Result<Loaded, StoreError> {
        let kept = self.read_kept();
        let mut loaded = Loaded::default();
        for snapshot in
            kept.snapshots.iter().filter(|s| wanted.at_most.is_none_or(|most| s.header.offset <= most))
        {
            let header = &snapshot.header;
            let anchored = || {
                let before = Offset::new(header.offset.get().saturating_sub(1)).unwrap_or(Offset::MAX);
                kept.page(before, 1)
                    .first()
                    .is_some_and(|e| e.offset == header.offset && e.hash == header.hash)
            };
            let why = mismatch(header, kept.head.log_id, wanted)
                .or_else(|| (!anchored()).then(|| "its event is not in the log".to_owned()));
            match why {
                None => {
                    loaded.snapshot = Some(snapshot.clone());
                    break;
                }
                Some(why) => loaded.ignored.push(Ignored { name: format!("offset {}", header.offset), why }),
            }
        }
        Ok(loaded)
    }
}
