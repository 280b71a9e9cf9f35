//! Generations that stand at the same event move on together: the log is read and folded once for all of them. Each
//! keeps its own rows and checkpoint in one transaction, so one that fails leaves the line and holds nobody up.

use super::project::{Batch, Bounds, Made, checkpoint, culprit, fault};
use crate::{
    control::Inner,
    following::in_time,
    load::{LoadError, page_limit},
    published::State,
};
use charter_events::{Offset, StoredEvent};
use charter_store::{Checkpoint, Fault, StoreError, TableFault, Target, What, causes};
use charter_tables::Projection;
use std::{sync::Arc, time::Duration};

/// How long one page of events may take.
const PAGE_WAIT: Duration = Duration::from_secs(10);

/// A generation that moves.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) projection: &'static dyn Projection,
    pub(super) number: u32,
}

impl Member {
    /// How the store is told of it.
    pub(super) fn target(&self) -> Target {
        Target { spec: self.projection.spec(), number: self.number }
    }

    /// Whether this is a generation of this projection.
    pub(super) fn is(&self, projection: &str, number: u32) -> bool {
        self.number == number && self.projection.spec().name == projection
    }
}

/// Generations at the same event.
pub(super) struct Line {
    /// The state there.
    pub(super) state: Arc<State>,
    pub(super) members: Vec<Member>,
    /// Fewer than usual after a row was refused: the next batch is half of the last, until one event is found.
    pub(super) commands_max: usize,
}

/// Why the tables could not be worked on.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    /// The log can't be read or folded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store did not take or give something.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Folding ended by a mistake in the program.
    #[error("folding the log for the tables panicked")]
    Panicked,
}

/// What became of a step.
pub(super) struct Step {
    /// How many events it was.
    pub(super) events: u64,
    /// Who can go on only in a line of his own, from where this one stood.
    pub(super) apart: Option<Line>,
    /// Whether what is known of generations is not so any more.
    pub(super) look_again: bool,
}

impl Line {
    /// Of one generation or several, at a state.
    pub(super) const fn new(state: Arc<State>, members: Vec<Member>) -> Self {
        Self { state, members, commands_max: usize::MAX }
    }

    /// Where it stands.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        checkpoint(&self.state.head)
    }

    /// Whether others may join it.
    pub(super) const fn is_usual(&self) -> bool {
        self.commands_max == usize::MAX
    }

    /// Goes on by one batch, not beyond a state that is published.
    pub(super) async fn step(&mut self, inner: &Inner, goal: &Arc<State>) -> Result<Step, WorkError> {
        let before = Arc::clone(&self.state);
        let batch = match self.batch(inner, goal).await {
            Ok(batch) => batch,
            Err(WorkError::Load(error)) if error_offset(&error).is_some() => {
                return self.unreadable(inner, &error).await;
            }
            Err(error) => return Err(error),
        };
        let commands = batch.commands();
        let (policy, head, made) = batch.into_parts();
        // Where it meets what is published the two share their memory.
        let reached = head == goal.head;
        self.state =
            if reached { Arc::clone(goal) } else { Arc::new(State { policy: Arc::new(policy), head }) };
        let events = head.offset.get().saturating_sub(before.head.offset.get());
        let mut apart = Self { state: Arc::clone(&before), members: Vec::new(), commands_max: commands / 2 };
        let mut look_again = false;
        for (member, made) in std::mem::take(&mut self.members).into_iter().zip(made) {
            match write(inner, member, &before, made).await {
                Ok(true) => self.members.push(member),
                Ok(false) | Err(StoreError::CheckpointMoved { .. }) => look_again = true,
                Err(StoreError::Row { .. } | StoreError::Refused(_)) if commands > 1 => {
                    apart.members.push(member);
                }
                Err(error @ (StoreError::Row { .. } | StoreError::Refused(_))) => {
                    stop_at_row(inner, member, &before, goal, &error).await?;
                    look_again = true;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let more = self.commands_max.saturating_mul(2);
        self.commands_max =
            if reached || more > inner.config.tables_batch_events_max { usize::MAX } else { more };
        Ok(Step { events, apart: Some(apart).filter(|apart| !apart.members.is_empty()), look_again })
    }

    async fn batch(&self, inner: &Inner, goal: &Arc<State>) -> Result<Batch, WorkError> {
        let bounds =
            Bounds { events_max: inner.config.tables_batch_events_max, commands_max: self.commands_max };
        let projections = self.members.iter().map(|member| member.projection);
        let State { policy, head } = self.state.as_ref();
        let mut batch = Batch::new((**policy).clone(), *head, projections, bounds);
        loop {
            let at = batch.head().offset;
            let limit = page_limit(at, &goal.head).min(bounds.events_max.max(1));
            let page = inner.store.read(at, limit);
            let page = in_time(PAGE_WAIT, "reading events for the tables", page).await?;
            if page.is_empty() {
                let missing = at.plus(1).unwrap_or(Offset::MAX);
                return Err(LoadError::Damaged(Fault::new(missing, What::Missing)).into());
            }
            let present = Arc::clone(&goal.policy);
            let taken = tokio::task::spawn_blocking(move || batch.take(&page, &present).map(|()| batch));
            batch = taken.await.map_err(|_| WorkError::Panicked)??;
            if !batch.is_open() {
                return Ok(batch);
            }
        }
    }

    /// The log itself can't be folded on: all of this line stop before it.
    async fn unreadable(&mut self, inner: &Inner, error: &LoadError) -> Result<Step, WorkError> {
        let offset = error_offset(error).unwrap_or(Offset::ZERO);
        for member in self.members.drain(..) {
            stop(inner, member, fault(offset, &causes(error))).await?;
        }
        Ok(Step { events: 0, apart: None, look_again: true })
    }
}

/// Where the log is at fault; none: the store only did not answer.
fn error_offset(error: &LoadError) -> Option<Offset> {
    match error {
        LoadError::Damaged(fault) | LoadError::Store(StoreError::Damaged(fault)) => Some(fault.offset),
        LoadError::Unknown { offset, .. } | LoadError::Inconsistent { offset, .. } => Some(*offset),
        LoadError::Store(_) => None,
    }
}

/// Writes what a batch became for one generation; tells whether it may go on.
async fn write(inner: &Inner, member: Member, before: &State, made: Made) -> Result<bool, StoreError> {
    let (from, to) = (checkpoint(&before.head), checkpoint(&made.head));
    if from != to {
        inner.store.change_rows(member.target(), from, to, &made.changes).await?;
    }
    match made.fault {
        None => Ok(true),
        Some(fault) => {
            stop(inner, member, fault).await?;
            Ok(false)
        }
    }
}

/// Notes that a generation stops at an event, and says so.
async fn stop(inner: &Inner, member: Member, fault: TableFault) -> Result<(), StoreError> {
    let (projection, generation) = (member.projection.spec().name, member.number);
    let TableFault { offset, why } = &fault;
    tracing::error!(projection, generation, %offset, why, "a projection stops at an event it can't take");
    inner.store.note_fault(member.target(), Some(fault)).await
}

/// The one command that follows brings a row that is never taken: the generation stops at the event it comes from.
async fn stop_at_row(
    inner: &Inner,
    member: Member,
    before: &State,
    goal: &State,
    error: &StoreError,
) -> Result<(), WorkError> {
    let command = next_command(inner, before).await?;
    let table = match error {
        StoreError::Row { table, .. } => Some(table.as_str()),
        _ => None,
    };
    let at = ((*before.policy).clone(), before.head);
    let offset = culprit(at, &command, member.projection, table, &goal.policy)?;
    Ok(stop(inner, member, fault(offset, &causes(error))).await?)
}

async fn next_command(inner: &Inner, before: &State) -> Result<Vec<StoredEvent>, StoreError> {
    let mut command: Vec<StoredEvent> = Vec::new();
    let mut at = before.head.offset;
    loop {
        let page = inner.store.read(at, inner.config.tables_batch_events_max.max(1));
        let page = in_time(PAGE_WAIT, "reading events for the tables", page).await?;
        let Some(last) = page.last() else { return Ok(command) };
        at = last.offset;
        for event in page {
            let ends = event.ends_command();
            command.push(event);
            if ends {
                return Ok(command);
            }
        }
    }
}
