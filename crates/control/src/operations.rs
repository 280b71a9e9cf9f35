//! Long work that somebody asked for: begun, watched, stopped and gone on with by its id, at whichever server. What the
//! work is, others know.
//!
//! An operation is a row beside the tables, so that every server sees the same, and so that work outlives the server
//! that did it. Progress never undoes that somebody stopped it.

use crate::{
    control::{Control, Inner},
    following::in_time,
};
use charter_events::{Timestamp, UserId};
use charter_store::{Operation, OperationState, StoreError, TABLE_TEXT_BYTES_MAX, causes};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use uuid::Uuid;

/// How often progress is written down at most.
const PROGRESS_APART_MIN: Duration = Duration::from_millis(250);
/// Work of this kind goes on at another server when the one that did it is gone; any other is lost with its server.
const OUTLIVES_ITS_SERVER: &str = "projection.";
/// So often an operation is tried to be begun while other servers begin theirs.
const BEGIN_TRIES_MAX: usize = 5;
/// Nothing was heard for so long of work that can be lost: then it was.
const LOST_AFTER_MICROS: i64 = 120 * 1_000_000;

/// Why something about an operation could not be done.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// There is no such operation, or it is forgotten (404).
    #[error("there is no such operation, or it is forgotten")]
    NotFound,
    /// The same work goes on already (409).
    #[error("operation `{id}` does this already")]
    Running {
        /// The operation that does it.
        id: Uuid,
    },
    /// Only what goes on can be stopped (409).
    #[error("the operation does not run: it is {state}")]
    NotRunning {
        /// How it stands.
        state: &'static str,
    },
    /// Only what was stopped, and not begun anew since, can be gone on with (409).
    #[error("the operation can't be resumed: {why}")]
    NotResumable {
        /// For people: why not.
        why: &'static str,
    },
    /// The store keeps no operations (503).
    #[error("this store keeps no tables and no operations")]
    NotKept,
    /// The store did not answer, or refused.
    #[error(transparent)]
    Store(StoreError),
}

impl OperationError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Running { .. } => "operation_running",
            Self::NotRunning { .. } => "not_running",
            Self::NotResumable { .. } => "not_resumable",
            Self::NotKept => "tables_not_kept",
            Self::Store(_) => "unavailable",
        }
    }
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(_) => Self::NotKept,
            error => Self::Store(error),
        }
    }
}

/// The word for how an operation stands.
pub const fn operation_state(state: OperationState) -> &'static str {
    match state {
        OperationState::Running => "running",
        OperationState::Cancelled => "cancelled",
        OperationState::Done => "done",
        OperationState::Failed => "failed",
    }
}

/// Somebody stopped the work; whoever does it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operation was stopped")]
pub struct Halted;

/// By which operations of one server are begun one after the other, and whoever does them is woken.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    beginning: tokio::sync::Mutex<()>,
    /// An operation was begun, stopped, or is to go on.
    pub(crate) asked: Notify,
}

/// Work that goes on. Whoever drops it without having ended it leaves it to be found lost.
#[derive(Debug)]
pub struct Ongoing {
    control: Control,
    operation: Operation,
    told: Option<Instant>,
    halted: bool,
}

impl Ongoing {
    /// By which it is asked after.
    pub const fn id(&self) -> Uuid {
        self.operation.id
    }

    /// Writes down how far it is, at most four times a second. The total is 0 when it is not known.
    ///
    /// # Errors
    /// [`Halted`] once it was stopped. A store that does not answer stops nothing.
    pub async fn progress(&mut self, done: u64, total: u64, detail: &str) -> Result<(), Halted> {
        (self.operation.done, self.operation.total) = (done, total);
        self.operation.detail = shortened(detail);
        if self.told.is_none_or(|told| told.elapsed() >= PROGRESS_APART_MIN) {
            self.told = Some(Instant::now());
            self.tell().await;
        }
        if self.halted { Err(Halted) } else { Ok(()) }
    }

    /// Whether it was stopped; asks the store.
    pub async fn is_cancelled(&mut self) -> bool {
        if let Ok(now) = self.control.operation(self.id()).await {
            self.halted = now.state != OperationState::Running;
        }
        self.halted
    }

    /// Notes how far it is; the next that is written down tells it.
    pub(crate) fn note(&mut self, (done, total): (u64, u64)) {
        (self.operation.done, self.operation.total) = (done, total);
    }

    async fn tell(&mut self) {
        if self.is_cancelled().await {
            return;
        }
        self.operation.updated_at = self.control.inner.time();
        let put = self.control.inner.store.put_operation(&self.operation);
        if let Err(error) = put.await {
            tracing::warn!(id = %self.id(), error = %causes(&error), "progress can't be written down");
        }
    }

    /// Ends it: done, or failed, with what is to be told of it.
    ///
    /// # Errors
    /// [`OperationError::Store`] when that can't be written down.
    pub async fn end(mut self, outcome: Result<String, String>) -> Result<Operation, OperationError> {
        let (state, detail) = match outcome {
            Ok(detail) => (OperationState::Done, detail),
            Err(detail) => (OperationState::Failed, detail),
        };
        if state == OperationState::Done {
            self.operation.done = self.operation.total;
        }
        self.operation.state = state;
        self.operation.detail = shortened(&detail);
        self.operation.updated_at = self.control.inner.time();
        self.control.inner.store.put_operation(&self.operation).await?;
        Ok(self.operation)
    }
}

/// As much of a text as is kept.
pub(crate) fn shortened(text: &str) -> String {
    let mut end = text.len().min(TABLE_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

/// Whether whatever did it is gone: it has not been heard of for long, and no other server goes on with it.
fn is_lost(operation: &Operation, now: Timestamp) -> bool {
    operation.state == OperationState::Running
        && !operation.kind.starts_with(OUTLIVES_ITS_SERVER)
        && operation.updated_at.saturating_add_micros(LOST_AFTER_MICROS) < now
}

impl Control {
    /// The operations that are remembered, newest first.
    ///
    /// # Errors
    /// [`OperationError::NotKept`], [`OperationError::Store`].
    pub async fn operations(&self) -> Result<Vec<Operation>, OperationError> {
        let inner = &self.inner;
        let all = inner.store.operations();
        let mut all = in_time(inner.config.store_wait, "reading the operations", all).await?;
        for operation in &mut all {
            if is_lost(operation, inner.time()) {
                let why = "the server that did it is gone";
                let ended = inner.end_operation(operation, OperationState::Failed, why).await?;
                if let Some(ended) = ended {
                    *operation = ended;
                }
            }
        }
        Ok(all)
    }

    /// One operation.
    ///
    /// # Errors
    /// [`OperationError::NotFound`]; as [`Control::operations`].
    pub async fn operation(&self, id: Uuid) -> Result<Operation, OperationError> {
        let all = self.operations().await?;
        all.into_iter().find(|operation| operation.id == id).ok_or(OperationError::NotFound)
    }

    /// Begins work of a kind on something, unless the same goes on already.
    ///
    /// # Errors
    /// [`OperationError::Running`]; as [`Control::operations`].
    pub async fn begin_operation(
        &self,
        kind: &str,
        target: &str,
        asked_by: Option<UserId>,
    ) -> Result<Ongoing, OperationError> {
        let same = |other: &Operation| other.kind == kind && other.target == target;
        let operation = self.inner.begin(kind, target, asked_by, same).await?;
        Ok(Ongoing { control: self.clone(), operation, told: None, halted: false })
    }

    /// Stops an operation; what it has done so far is kept where it can be gone on with.
    ///
    /// # Errors
    /// [`OperationError::NotFound`], [`OperationError::NotRunning`]; as [`Control::operations`].
    pub async fn cancel_operation(&self, id: Uuid) -> Result<Operation, OperationError> {
        let (running, cancelled) = (OperationState::Running, OperationState::Cancelled);
        if !self.move_operation(id, running, cancelled).await? {
            let state = operation_state(self.operation(id).await?.state);
            return Err(OperationError::NotRunning { state });
        }
        self.operation(id).await
    }

    /// Goes on with an operation that was stopped.
    ///
    /// # Errors
    /// [`OperationError::NotFound`]; [`OperationError::NotResumable`] when it was not stopped, is of a kind that is
    /// begun anew instead, or was begun anew since; as [`Control::operations`].
    pub async fn resume_operation(&self, id: Uuid) -> Result<Operation, OperationError> {
        let _one_at_a_time = self.inner.operations.beginning.lock().await;
        let all = self.operations().await?;
        let operation = all.iter().find(|one| one.id == id).ok_or(OperationError::NotFound)?;
        let newest = all.iter().find(|one| is_same_work(one, operation));
        let why = if !operation.kind.starts_with(OUTLIVES_ITS_SERVER) {
            Some("work of its kind is begun anew")
        } else if operation.state != OperationState::Cancelled {
            Some("it was not stopped")
        } else if newest.is_some_and(|newest| newest.id != id) {
            Some("something else was begun since")
        } else {
            None
        };
        if let Some(why) = why {
            return Err(OperationError::NotResumable { why });
        }
        let (cancelled, running) = (OperationState::Cancelled, OperationState::Running);
        if !self.move_operation(id, cancelled, running).await? {
            return Err(OperationError::NotResumable { why: "it was not stopped" });
        }
        self.operation(id).await
    }

    async fn move_operation(
        &self,
        id: Uuid,
        from: OperationState,
        to: OperationState,
    ) -> Result<bool, OperationError> {
        let moved = self.inner.store.move_operation(id, from, to, self.inner.time()).await?;
        self.inner.operations.asked.notify_one();
        Ok(moved)
    }
}

/// Whether two operations are on the same thing: only the newest of them may go on. Of a projection's generation, whose
/// number ends the target, the projection counts.
fn is_same_work(one: &Operation, other: &Operation) -> bool {
    fn on(operation: &Operation) -> (&str, &str) {
        match operation.target.rsplit_once('/') {
            Some((target, _)) if operation.kind.starts_with(OUTLIVES_ITS_SERVER) => {
                (OUTLIVES_ITS_SERVER, target)
            }
            _ => (&operation.kind, &operation.target),
        }
    }
    on(one) == on(other)
}

impl Inner {
    /// Writes down that an operation runs, unless one that excludes it does.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        kind: &str,
        target: &str,
        asked_by: Option<UserId>,
        excluded_by: impl Fn(&Operation) -> bool,
    ) -> Result<Operation, OperationError> {
        let _one_at_a_time = self.operations.beginning.lock().await;
        for _ in 0..BEGIN_TRIES_MAX {
            let all = Control { inner: Arc::clone(self) }.operations().await?;
            let running: Vec<_> = all.iter().filter(|one| one.state == OperationState::Running).collect();
            if let Some(other) = running.iter().find(|other| excluded_by(other)) {
                return Err(OperationError::Running { id: other.id });
            }
            let seen: Vec<Uuid> = running.iter().map(|one| one.id).collect();
            let operation = self.operation_after(&all, kind, target, asked_by);
            if self.store.begin_operation(&operation, &seen).await? {
                self.operations.asked.notify_one();
                return Ok(operation);
            }
            // Another server began something meanwhile: is it the same?
        }
        let what = "beginning an operation while others begin theirs";
        Err(StoreError::Unavailable { what, source: None }.into())
    }

    fn operation_after(
        &self,
        all: &[Operation],
        kind: &str,
        target: &str,
        asked_by: Option<UserId>,
    ) -> Operation {
        // Newest first is by the moment: what is begun later is later, whatever the clock says.
        let latest = all.iter().map(|operation| operation.started_at.saturating_add_micros(1)).max();
        let now = self.time();
        Operation {
            id: Uuid::now_v7(),
            kind: kind.to_owned(),
            target: target.to_owned(),
            state: OperationState::Running,
            detail: "waiting for its turn".to_owned(),
            done: 0,
            total: 0,
            asked_by: asked_by.map(UserId::as_uuid),
            started_at: latest.map_or(now, |latest| latest.max(now)),
            updated_at: now,
        }
    }

    /// Ends an operation that runs, with what is told of it; none when it did not run any more. The text comes first,
    /// and only one that runs takes it: so nothing of this undoes what somebody else did meanwhile.
    pub(crate) async fn end_operation(
        &self,
        operation: &Operation,
        state: OperationState,
        detail: &str,
    ) -> Result<Option<Operation>, StoreError> {
        let running = OperationState::Running;
        let told = Operation {
            state: running,
            detail: shortened(detail),
            updated_at: self.time(),
            ..operation.clone()
        };
        self.store.put_operation(&told).await?;
        let moved = self.store.move_operation(told.id, running, state, told.updated_at).await?;
        Ok(moved.then_some(Operation { state, ..told }))
    }
}
