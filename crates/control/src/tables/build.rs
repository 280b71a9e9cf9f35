//! How an operation on a generation comes along: it is filled, compared with the one that is read, indexed, read in its
//! place, and recorded ([`super::finish`]). Each step is found again from what the store keeps, so that another
//! server, or this one after a crash, goes on where it stopped.

use super::{
    line::{Member, WorkError},
    targets::{self, BUILD, REPAIR, ROLLBACK, active},
    worker::Worker,
};
use crate::{error::CommandError, published::State};
use charter_events::{Hash, Offset};
use charter_store::{Checkpoint, Generation, Operation, OperationState, StoreError, Target};
use charter_tables::{Projection, RowsDigest};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::task::AbortOnDropHandle;

/// How often progress is written down at most.
const PROGRESS_APART_MIN: Duration = Duration::from_millis(250);
/// The tables that are read stand still so long, so that two generations are read at the same event; longer each time
/// they were not.
const STILL_MIN: Duration = Duration::from_millis(50);
const STILL_MAX: Duration = Duration::from_secs(3);

type Digests = Result<Vec<(Checkpoint, RowsDigest)>, StoreError>;

/// How far a generation is with an operation.
#[derive(Default)]
pub(super) enum Phase {
    /// It is filled.
    #[default]
    Filling,
    /// Its rows are read, and those of the generation that is read.
    Comparing(AbortOnDropHandle<Digests>),
    /// Its further indexes are to be made as soon as there is room.
    Compared,
    /// Its further indexes are made; it stands still.
    Indexing(AbortOnDropHandle<Result<(), StoreError>>),
    /// It is to be read as soon as it has caught up.
    Complete,
    /// It is read; that is being recorded.
    Recording(AbortOnDropHandle<Result<(), CommandError>>),
}

impl Phase {
    /// Whether the generation follows the log meanwhile.
    pub(super) const fn moves(&self) -> bool {
        !matches!(self, Self::Indexing(_))
    }
}

/// What was found out about a generation.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    pub(super) up_to: Offset,
    pub(super) digest: Hash,
    /// Whether it has other rows than what is read.
    pub(super) differed: bool,
}

/// An operation on its way.
#[derive(Default)]
pub(super) struct Work {
    pub(super) phase: Phase,
    pub(super) compared: Option<Compared>,
    attempts: u32,
    told: Option<Instant>,
    /// How often it could not go on.
    pub(super) stumbles: u32,
    /// It does not go on before then.
    pub(super) wait_until: Option<Instant>,
}

/// An operation, and the generation it is about.
pub(super) struct About {
    pub(super) operation: Operation,
    projection: &'static dyn Projection,
    pub(super) generation: Generation,
}

impl About {
    pub(super) fn name(&self) -> &'static str {
        self.projection.spec().name
    }

    pub(super) const fn number(&self) -> u32 {
        self.generation.number
    }

    /// The operation when all is done: nothing of the last progress is left.
    pub(super) fn reached(&self) -> Operation {
        let at = self.generation.checkpoint.offset.get();
        Operation { done: at, total: at, ..self.operation.clone() }
    }

    pub(super) fn target(&self) -> Target {
        Member { projection: self.projection, number: self.number() }.target()
    }
}

impl Worker {
    /// Goes on with an operation that runs, by at most one step.
    pub(super) async fn advance(&mut self, operation: &Operation, goal: &State) -> Result<(), WorkError> {
        let Some((name, number)) = targets::of(operation) else { return Ok(()) };
        // That of a newer build, which leads soon.
        let Some(projection) = self.projection(name) else { return Ok(()) };
        let Some(generation) = self.generation(name, number).cloned() else {
            return self.fail(operation, "the tables it builds are gone").await;
        };
        let about = About { operation: operation.clone(), projection, generation };
        let version = projection.spec().version;
        if about.generation.version > version {
            return Ok(());
        }
        if about.generation.version < version {
            let why =
                format!("its tables have version {}, this build makes {version}", about.generation.version);
            return self.fail(operation, &why).await;
        }
        if let Some(fault) = &about.generation.fault {
            let why = format!("stopped at the event at offset {}: {}", fault.offset, fault.why);
            return self.end(operation, OperationState::Cancelled, &why).await;
        }
        if about.generation.active {
            return self.complete(about).await;
        }
        let Some(work) = self.works.get_mut(&operation.id) else { return Ok(()) };
        match std::mem::take(&mut work.phase) {
            Phase::Filling => self.fill(about, goal).await,
            Phase::Comparing(task) if !task.is_finished() => {
                work.phase = Phase::Comparing(task);
                Ok(())
            }
            Phase::Comparing(task) => self.compared(about, flat(task.await)).await,
            Phase::Compared => self.index(&about),
            Phase::Indexing(task) if !task.is_finished() => {
                work.phase = Phase::Indexing(task);
                Ok(())
            }
            Phase::Indexing(task) => {
                flat(task.await)?;
                self.phase(operation.id, Phase::Complete);
                self.look_again();
                Ok(())
            }
            Phase::Complete | Phase::Recording(_) => {
                self.phase(operation.id, Phase::Complete);
                self.switch(about, goal).await
            }
        }
    }

    /// Where the generation is; the next step when it has caught up.
    async fn fill(&mut self, about: About, goal: &State) -> Result<(), WorkError> {
        let at = about.generation.checkpoint.offset;
        self.tell(&about, at, goal.head.offset, "filling its tables").await?;
        if !self.has_caught_up(&about, goal) {
            return Ok(());
        }
        if about.operation.kind == ROLLBACK {
            return self.index(&about);
        }
        self.compare(about).await
    }

    /// Whether the generation stands where the log ends, beside the one that is read if that moves.
    fn has_caught_up(&self, about: &About, goal: &State) -> bool {
        let (name, number) = (about.name(), about.number());
        let line = self.line_of(name, number).filter(|line| line.is_usual());
        line.is_some_and(|line| line.state.head.offset >= goal.head.offset)
            && self.moving_beside(about).is_none_or(|read| self.together(name, number, read))
    }

    /// The generation that is read, if it moves and holds the same kind of rows.
    fn moving_beside(&self, about: &About) -> Option<u32> {
        active(&self.generations, about.name())
            .filter(|read| read.fault.is_none() && read.version == about.generation.version)
            .map(|read| read.number)
    }

    /// Begins to read the rows of both. Both stand still until they are seen at one moment, or for a little while.
    async fn compare(&mut self, about: About) -> Result<(), WorkError> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else { return Ok(()) };
        let at = about.generation.checkpoint.offset;
        self.tell(&about, at, at, "comparing its tables").await?;
        let beside = self.moving_beside(&about).map(|number| Target { number, ..about.target() });
        let targets: Vec<Target> = [about.target()].into_iter().chain(beside).collect();
        let store = Arc::clone(&self.inner.store);
        let mut task = self.beside(async move {
            let _room = room;
            store.digest_rows(&targets).await
        });
        let work = self.works.entry(about.operation.id).or_default();
        let still = STILL_MIN.saturating_mul(1 << work.attempts.min(6)).min(STILL_MAX);
        work.attempts += 1;
        match tokio::time::timeout(still, &mut task).await {
            Ok(digests) => self.compared(about, flat(digests)).await,
            Err(_) => {
                work.phase = Phase::Comparing(task);
                Ok(())
            }
        }
    }

    /// The rows were read.
    async fn compared(&mut self, about: About, digests: Digests) -> Result<(), WorkError> {
        let digests = match digests {
            // One of them was taken away or moved: it is looked at again.
            Err(StoreError::CheckpointMoved { .. }) => {
                self.look_again();
                return Ok(());
            }
            digests => digests?,
        };
        let Some((at, digest)) = digests.first() else { return Ok(()) };
        let mut differed = false;
        if let Some((other, read)) = digests.get(1) {
            if other != at {
                tracing::debug!(projection = about.name(), "two generations were read at different events");
                return Ok(());
            }
            if read.finish() != digest.finish() {
                differed = true;
                let why = differs(&about, at, [digest, read]);
                if about.operation.kind != REPAIR {
                    let why =
                        format!("{why}: nothing was switched; a rebuild that accepts the difference does");
                    return self.fail(&about.operation, &why).await;
                }
            }
        }
        let compared = Compared { up_to: at.offset, digest: Hash::new(digest.finish()), differed };
        let work = self.works.entry(about.operation.id).or_default();
        (work.compared, work.attempts) = (Some(compared), 0);
        if about.operation.kind == BUILD {
            let detail = format!("built and compared at offset {}; it waits to be read", at.offset);
            return self.end(&about.reached(), OperationState::Done, &detail).await;
        }
        self.index(&about)
    }

    /// Begins to make the generation's further indexes.
    fn index(&mut self, about: &About) -> Result<(), WorkError> {
        let phase = if about.generation.indexed {
            Phase::Complete
        } else if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
            self.hold(about.name(), about.number());
            let (store, target) = (Arc::clone(&self.inner.store), about.target());
            Phase::Indexing(self.beside(async move {
                let _room = room;
                store.index_generation(target).await
            }))
        } else {
            Phase::Compared
        };
        self.phase(about.operation.id, phase);
        Ok(())
    }

    /// Has the generation read, once it has caught up, and unless it was stopped meanwhile.
    async fn switch(&mut self, about: About, goal: &State) -> Result<(), WorkError> {
        if !self.has_caught_up(&about, goal) {
            let at = about.generation.checkpoint.offset;
            return self.tell(&about, at, goal.head.offset, "catching up").await;
        }
        let all = self.inner.store.operations().await?;
        let runs = |one: &Operation| one.id == about.operation.id && one.state == OperationState::Running;
        self.look_again();
        if !all.iter().any(runs) {
            return Ok(());
        }
        let read = active(&self.generations, about.name()).map(|read| read.number);
        match self.inner.store.activate_generation(about.target(), read).await {
            // The other one is ahead, or another was switched to: seen at the next look.
            Err(StoreError::CheckpointMoved { .. }) => {
                self.wait(about.operation.id);
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(()) => {
                let (projection, generation) = (about.name(), about.number());
                tracing::info!(
                    projection,
                    generation,
                    version = about.generation.version,
                    "tables were switched"
                );
                Ok(())
            }
        }
    }

    /// Does something that takes long while the lines go on; whoever waits is woken when it is done.
    pub(super) fn beside<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> AbortOnDropHandle<T> {
        let inner = Arc::clone(&self.inner);
        AbortOnDropHandle::new(tokio::spawn(async move {
            let done = work.await;
            inner.operations.asked.notify_one();
            done
        }))
    }

    pub(super) async fn fail(&mut self, operation: &Operation, why: &str) -> Result<(), WorkError> {
        tracing::error!(id = %operation.id, target = operation.target, why, "an operation on tables failed");
        self.end(operation, OperationState::Failed, why).await
    }

    pub(super) async fn end(
        &mut self,
        operation: &Operation,
        state: OperationState,
        detail: &str,
    ) -> Result<(), WorkError> {
        self.works.remove(&operation.id);
        self.is_over(&operation.id.to_string());
        self.look_again();
        let ended = self.inner.end_operation(operation, state, detail).await?;
        if let Some(ended) = ended {
            self.operations.iter_mut().filter(|one| one.id == ended.id).for_each(|one| *one = ended.clone());
        }
        Ok(())
    }

    /// Writes down how far an operation is, now and then.
    pub(super) async fn tell(
        &mut self,
        about: &About,
        at: Offset,
        of: Offset,
        detail: &str,
    ) -> Result<(), WorkError> {
        let work = self.works.entry(about.operation.id).or_default();
        if work.told.is_some_and(|told| told.elapsed() < PROGRESS_APART_MIN) {
            return Ok(());
        }
        work.told = Some(Instant::now());
        let told = Operation {
            done: at.get(),
            total: of.get(),
            detail: detail.to_owned(),
            updated_at: self.inner.time(),
            ..about.operation.clone()
        };
        self.inner.store.put_operation(&told).await?;
        self.operations.iter_mut().filter(|one| one.id == told.id).for_each(|one| *one = told.clone());
        Ok(())
    }
}

/// Notes that tables built anew differ from those that are read, and says how.
fn differs(about: &About, at: &Checkpoint, [built, read]: [&RowsDigest; 2]) -> String {
    metrics::counter!("charter_projection_differences_total", "projection" => about.name()).increment(1);
    let (projection, generation, offset) = (about.name(), about.number(), at.offset);
    tracing::error!(projection, generation, %offset, "tables built anew differ from those that are read");
    format!(
        "at offset {offset} its {} rows have digest {}, the {} rows that are read have {}",
        built.rows(),
        Hash::new(built.finish()),
        read.rows(),
        Hash::new(read.finish())
    )
}

/// What a task came to.
fn flat<T>(joined: Result<Result<T, StoreError>, tokio::task::JoinError>) -> Result<T, StoreError> {
    joined.unwrap_or(Err(StoreError::Unavailable { what: "working on tables", source: None }))
}
