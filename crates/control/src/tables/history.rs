//! Where a generation stands in the log: the state there, folded beside when it is not at hand; and what becomes of one
//! that was made from another history, such as that before a restore. Such tables are never gone on with, nor read.

use super::{line::WorkError, targets, worker::Worker};
use crate::{control::Inner, following::in_time, load::LoadError, past, published::State};
use charter_events::{Head, Offset};
use charter_policy::Policy;
use charter_store::{Checkpoint, OperationState, StoreError, chain};
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// So many states are folded beside at once: each takes a processor, and the memory of a whole state.
const FOLDS_MAX: usize = 2;

/// What is said of operations on tables whose last event is not in the log.
const OTHER_HISTORY: &str = "the tables were made from another history than this log's; they are built anew";

/// A state that is being folded.
pub(super) struct Fold {
    at: Checkpoint,
    task: AbortOnDropHandle<Result<Arc<State>, LoadError>>,
}

/// What there is at a checkpoint.
pub(super) enum Found {
    /// The state.
    Here(Arc<State>),
    /// It is being folded, or this server has not seen yet what another one committed.
    Later,
    /// The log has no such event.
    OtherHistory,
}

/// The head the log had at a checkpoint; none when the checkpoint is of another history. The log itself is asked: this
/// server may not have seen yet what another one committed.
pub(crate) async fn head_at(inner: &Inner, at: Checkpoint) -> Result<Option<Head>, StoreError> {
    let asked = charter_store::past::head_at(inner.store.as_ref(), at.offset);
    let head = in_time(inner.config.store_wait, "asking whether tables are of this log", asked).await?;
    let is_it = |head: &Head| head.log_id == at.log_id && (at.offset == Offset::ZERO || head.hash == at.hash);
    Ok(head.filter(is_it))
}

impl Worker {
    /// What there is at a checkpoint; begins to fold it when there is room.
    pub(super) async fn state_at(&mut self, at: Checkpoint) -> Result<Found, WorkError> {
        let published = self.inner.published.load();
        if at.offset == Offset::ZERO && at.log_id == published.head.log_id {
            let head = chain::empty(at.log_id);
            return Ok(Found::Here(Arc::new(State { policy: Arc::new(Policy::new()), head })));
        }
        let here = |state: &&Arc<State>| {
            let head = &state.head;
            head.log_id == at.log_id && head.offset == at.offset && head.hash == at.hash
        };
        let at_hand = self.lines.iter().map(|line| &line.state).chain(&self.recent);
        if let Some(state) = at_hand.chain([&published]).find(here) {
            return Ok(Found::Here(Arc::clone(state)));
        }
        if let Some(place) = self.folds.iter().position(|fold| fold.at == at) {
            if self.folds.get(place).is_some_and(|fold| !fold.task.is_finished()) {
                return Ok(Found::Later);
            }
            let folded = self.folds.swap_remove(place).task.await;
            return Ok(Found::Here(folded.map_err(|_| WorkError::Panicked)??));
        }
        let Some(head) = head_at(&self.inner, at).await? else { return Ok(Found::OtherHistory) };
        if head.offset <= published.head.offset && self.folds.len() < FOLDS_MAX {
            let store = Arc::clone(&self.inner.store);
            let task = self.beside(async move { past::state_at(store.as_ref(), head).await });
            self.folds.push(Fold { at, task });
        }
        Ok(Found::Later)
    }

    /// Lets go the folds nobody waits for any more.
    pub(super) fn keep_folds(&mut self, mut wanted: impl FnMut(Checkpoint) -> bool) {
        self.folds.retain(|fold| wanted(fold.at));
    }

    /// Tables that are read and were made from another history are not read any longer; tells whether there were any.
    pub(super) async fn set_aside_other_histories(&mut self) -> Result<bool, WorkError> {
        let mut found = false;
        for one in self.generations.clone() {
            let (name, number) = (one.projection.as_str(), one.number);
            let is_known = self.line_of(name, number).is_some() || self.projection(name).is_none();
            if one.active && !is_known && head_at(&self.inner, one.checkpoint).await?.is_none() {
                self.set_aside(name, number, one.checkpoint.offset).await?;
                found = true;
            }
        }
        Ok(found)
    }

    /// A generation of another history goes. With the one that is read goes everything of its projection, so that it is
    /// built anew whatever became of earlier work on it.
    pub(super) async fn set_aside(
        &mut self,
        projection: &str,
        number: u32,
        offset: Offset,
    ) -> Result<(), WorkError> {
        tracing::error!(projection, generation = number, %offset, "tables were made from another history");
        self.looked = None;
        if !self.generation(projection, number).is_some_and(|one| one.active) {
            return Ok(self.inner.store.drop_generation(projection, number).await?);
        }
        let on_it =
            self.operations.iter().filter(|one| targets::of(one).is_some_and(|(on, _)| on == projection));
        for operation in on_it.cloned().collect::<Vec<_>>() {
            if operation.state == OperationState::Running {
                self.end(&operation, OperationState::Failed, OTHER_HISTORY).await?;
            }
        }
        let others = self.generations.iter().filter(|one| one.projection == projection && !one.active);
        for other in others.map(|one| one.number).collect::<Vec<_>>() {
            self.inner.store.drop_generation(projection, other).await?;
        }
        // The last step: until it is done all of this is found again.
        Ok(self.inner.store.retire_generation(projection, number).await?)
    }
}
