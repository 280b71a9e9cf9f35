//! A store that is not what it was: one event was changed, its snapshots are gone, its log is another's, it has a clock
//! of its own, or it hangs.

use super::house::StandingClock;
use crate::Clock;
use async_trait::async_trait;
use charter_events::{Head, Offset, StoredEvent, Timestamp, UserId};
use charter_store::{
    Answer, Append, Checkpoint, CredentialKind, CredentialRow, Generation, IdempotencyKey,
    InstallationSecrets, Leadership, Lease, Listed, Loaded, LogStore, MemoryStore, MoveStore, Operation,
    OperationState, PasswordHash, Polled, Query, SecretHash, SecretStore, SecretWrite, ServerStore, Snapshot,
    SnapshotStore, StoreError, TableFault, TableStore, Target, Task, UserKey, Wakes, Wanted,
};
use charter_tables::{Changes, RowsDigest, Spec};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use uuid::Uuid;

#[derive(Clone)]
pub(super) struct Bent {
    store: Arc<RwLock<MemoryStore>>,
    tampered: Option<u64>,
    snapshots: bool,
    clock: Option<Arc<StandingClock>>,
    hangs: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
    /// What polls are answered from: a copy that lags behind.
    copy: Arc<RwLock<Option<Head>>>,
    /// How often listening fails, and then what is heard breaks off, before it works; none: nothing is ever heard.
    deaf_rounds: Option<Arc<AtomicUsize>>,
    holds_pages: Arc<AtomicBool>,
    pages: Arc<Mutex<Vec<Offset>>>,
    /// Whether every server that asks for the lead has it.
    all_lead: bool,
    /// By the name of a call on tables: how it fails.
    table_faults: Arc<Mutex<HashMap<&'static str, TableFailure>>>,
    /// What is told once instead of the operations there are.
    operations_once: Arc<Mutex<Option<Vec<Operation>>>>,
    /// How often a credential was looked up.
    looked_up: Arc<AtomicUsize>,
}

/// How a call on tables fails.
type TableFailure = fn() -> StoreError;

impl Bent {
    pub(super) fn on(store: &MemoryStore) -> Self {
        Self {
            store: Arc::new(RwLock::new(store.clone())),
            tampered: None,
            snapshots: true,
            clock: None,
            hangs: Arc::default(),
            panics: Arc::default(),
            copy: Arc::default(),
            deaf_rounds: None,
            all_lead: false,
            holds_pages: Arc::default(),
            pages: Arc::default(),
            table_faults: Arc::default(),
            operations_once: Arc::default(),
            looked_up: Arc::default(),
        }
    }

    /// The payload of the event at this offset is not what was written.
    pub(super) fn tampered(store: &MemoryStore, offset: u64) -> Self {
        Self { tampered: Some(offset), ..Self::on(store) }
    }

    pub(super) fn without_snapshots(store: &MemoryStore) -> Self {
        Self { snapshots: false, ..Self::on(store) }
    }

    /// It has a clock of its own.
    pub(super) fn with_clock(store: &MemoryStore, clock: &Arc<StandingClock>) -> Self {
        Self { clock: Some(clock.clone()), ..Self::on(store) }
    }

    /// Nudges are heard only after listening has failed so often.
    pub(super) fn hard_of_hearing(store: &MemoryStore, deaf_rounds: usize) -> Self {
        Self { deaf_rounds: Some(Arc::new(AtomicUsize::new(deaf_rounds))), ..Self::on(store) }
    }

    /// Every server that asks for the lead has it, whoever else has.
    pub(super) fn where_all_lead(store: &MemoryStore) -> Self {
        Self { all_lead: true, ..Self::on(store) }
    }

    /// From now on a poll is never answered (true), or at once (false).
    pub(super) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::SeqCst);
    }

    /// From now on pages of events come only when this is taken back; single events come.
    pub(super) fn hold_pages(&self, holds: bool) {
        self.holds_pages.store(holds, Ordering::SeqCst);
    }

    /// After which offsets pages of events were asked for since this was asked last.
    pub(super) fn take_pages(&self) -> Vec<Offset> {
        std::mem::take(&mut *self.pages.lock().unwrap())
    }

    /// How often a credential was looked up since this was asked last.
    pub(super) fn take_looked_up(&self) -> usize {
        self.looked_up.swap(0, Ordering::SeqCst)
    }

    /// From now on it is another log.
    pub(super) fn swap(&self, other: &MemoryStore) {
        *self.store.write().unwrap() = other.clone();
    }

    /// The next poll panics.
    pub(super) fn panic(&self) {
        self.panics.store(true, Ordering::SeqCst);
    }

    /// From now on polls are answered from a copy that ends there, or from the log itself.
    pub(super) fn poll_from(&self, copy: Option<Head>) {
        *self.copy.write().unwrap() = copy;
    }

    /// From now on a call on tables fails so, or works again.
    pub(super) fn fail_tables(&self, call: &'static str, how: Option<TableFailure>) {
        let mut faults = self.table_faults.lock().unwrap();
        match how {
            Some(how) => drop(faults.insert(call, how)),
            None => drop(faults.remove(call)),
        }
    }

    /// Whoever asks next for the operations is told these: he read them a while ago.
    pub(super) fn tell_once(&self, operations: Vec<Operation>) {
        *self.operations_once.lock().unwrap() = Some(operations);
    }

    fn tables(&self, call: &'static str) -> Result<MemoryStore, StoreError> {
        let fault = self.table_faults.lock().unwrap().get(call).copied();
        fault.map_or_else(|| Ok(self.log()), |fault| Err(fault()))
    }

    fn log(&self) -> MemoryStore {
        self.store.read().unwrap().clone()
    }
}

#[async_trait]
impl LogStore for Bent {
    async fn head(&self) -> Result<Head, StoreError> {
        self.log().head().await
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        if limit > 1 {
            self.pages.lock().unwrap().push(after);
            while self.holds_pages.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let mut events = self.log().read(after, limit).await?;
        for event in events.iter_mut().filter(|event| Some(event.offset.get()) == self.tampered) {
            event.payload.push(b' ');
        }
        Ok(events)
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        self.log().append().await
    }

    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        self.log().kept_answer(key).await
    }

    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        self.log().forget_answers_before(moment).await
    }
}

#[async_trait]
impl SecretStore for Bent {
    async fn installation_secrets(&self) -> Result<InstallationSecrets, StoreError> {
        self.log().installation_secrets().await
    }

    async fn user_key(&self, user: UserId) -> Result<Option<UserKey>, StoreError> {
        self.log().user_key(user).await
    }

    async fn password(&self, user: UserId) -> Result<Option<PasswordHash>, StoreError> {
        self.log().password(user).await
    }

    async fn credential(&self, hash: &SecretHash) -> Result<Option<CredentialRow>, StoreError> {
        self.looked_up.fetch_add(1, Ordering::SeqCst);
        self.log().credential(hash).await
    }

    async fn credentials_of(
        &self,
        user: UserId,
        kind: CredentialKind,
    ) -> Result<Vec<CredentialRow>, StoreError> {
        self.log().credentials_of(user, kind).await
    }

    async fn write_secrets(&self, writes: &[SecretWrite]) -> Result<(), StoreError> {
        self.log().write_secrets(writes).await
    }

    async fn forget_credentials_ended_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        self.log().forget_credentials_ended_before(moment).await
    }
}

#[async_trait]
impl ServerStore for Bent {
    async fn poll(&self) -> Result<Polled, StoreError> {
        if self.hangs.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        assert!(!self.panics.load(Ordering::SeqCst), "a test wanted it so");
        let copy = *self.copy.read().unwrap();
        let head = self.head().await?;
        Ok(Polled { head: copy.unwrap_or(head), now: self.clock.as_ref().map(|clock| clock.now()) })
    }

    async fn renew_lease(
        &self,
        lease: &Lease,
        now: Timestamp,
        length: Duration,
    ) -> Result<Vec<Lease>, StoreError> {
        self.log().renew_lease(lease, now, length).await
    }

    async fn end_lease(&self, server: Uuid) -> Result<(), StoreError> {
        self.log().end_lease(server).await
    }

    async fn live_servers(&self, now: Timestamp) -> Result<Vec<Lease>, StoreError> {
        self.log().live_servers(now).await
    }

    async fn wakes(&self) -> Result<Box<dyn Wakes>, StoreError> {
        let Some(rounds) = &self.deaf_rounds else { return Ok(Box::new(Never)) };
        let left = rounds.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Err(_) => self.log().wakes().await,
            Ok(left) if left % 2 == 0 => Ok(Box::new(Broken)),
            Ok(_) => Err(StoreError::Unavailable { what: "listening", source: None }),
        }
    }

    async fn lead(&self, task: Task) -> Result<Option<Box<dyn Leadership>>, StoreError> {
        if self.all_lead { Ok(Some(Box::new(Led))) } else { self.log().lead(task).await }
    }
}

/// The lead of whoever asks for it.
struct Led;

#[async_trait]
impl Leadership for Led {
    async fn holds(&mut self) -> bool {
        true
    }
}

struct Never;

#[async_trait]
impl Wakes for Never {
    async fn next(&mut self) -> Result<(), StoreError> {
        std::future::pending().await
    }
}

struct Broken;

#[async_trait]
impl Wakes for Broken {
    async fn next(&mut self) -> Result<(), StoreError> {
        Err(StoreError::Unavailable { what: "listening", source: None })
    }
}

#[async_trait]
impl MoveStore for Bent {}

#[async_trait]
impl TableStore for Bent {
    async fn generations(&self) -> Result<Vec<Generation>, StoreError> {
        self.log().generations().await
    }

    async fn create_generation(&self, spec: &'static Spec, now: Timestamp) -> Result<u32, StoreError> {
        self.log().create_generation(spec, now).await
    }

    async fn change_rows(
        &self,
        target: Target,
        from: Checkpoint,
        to: Checkpoint,
        changes: &Changes,
    ) -> Result<(), StoreError> {
        self.log().change_rows(target, from, to, changes).await
    }

    async fn note_fault(&self, target: Target, fault: Option<TableFault>) -> Result<(), StoreError> {
        self.tables("note_fault")?.note_fault(target, fault).await
    }

    async fn index_generation(&self, target: Target) -> Result<(), StoreError> {
        self.tables("index_generation")?.index_generation(target).await
    }

    async fn activate_generation(&self, target: Target, instead_of: Option<u32>) -> Result<(), StoreError> {
        self.tables("activate_generation")?.activate_generation(target, instead_of).await
    }

    async fn drop_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        self.tables("drop_generation")?.drop_generation(projection, number).await
    }

    async fn retire_generation(&self, projection: &str, number: u32) -> Result<(), StoreError> {
        self.log().retire_generation(projection, number).await
    }

    async fn digest_rows(&self, targets: &[Target]) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
        self.log().digest_rows(targets).await
    }

    async fn list_rows(&self, query: &Query) -> Result<Option<Listed>, StoreError> {
        self.log().list_rows(query).await
    }

    async fn begin_operation(&self, operation: &Operation, running: &[Uuid]) -> Result<bool, StoreError> {
        self.log().begin_operation(operation, running).await
    }

    async fn put_operation(&self, operation: &Operation) -> Result<(), StoreError> {
        self.log().put_operation(operation).await
    }

    async fn move_operation(
        &self,
        id: Uuid,
        from: OperationState,
        to: OperationState,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.log().move_operation(id, from, to, now).await
    }

    async fn operations(&self) -> Result<Vec<Operation>, StoreError> {
        if let Some(operations) = self.operations_once.lock().unwrap().take() {
            return Ok(operations);
        }
        self.log().operations().await
    }
}

#[async_trait]
impl SnapshotStore for Bent {
    async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.log().save(snapshot).await
    }

    async fn latest(&self, wanted: &Wanted) -> Result<Loaded, StoreError> {
        if self.snapshots { self.log().latest(wanted).await } else { Ok(Loaded::default()) }
    }
}
