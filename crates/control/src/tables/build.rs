//! How an operation on a generation comes along: it is filled, compared with the one that is read, indexed, read in its
//! place, and recorded. Each step is found again from what the store keeps, so that another server, or this one after a
//! crash, goes on where it stopped.

use super::{
    line::{Member, WorkError},
    targets::{self, BUILD, REBUILD, ROLLBACK, SWITCH, active},
    worker::Worker,
};
use crate::{
    control::{Control, Inner},
    error::CommandError,
    operations::{OperationError, shortened},
    published::State,
    request::{Request, RequestMeta},
};
use charter_commands::RecordRebuild;
use charter_events::{Hash, Offset, ProjectionRebuilt, UserId, Via};
use charter_policy::Caller;
use charter_store::{Checkpoint, Generation, Operation, OperationState, StoreError, Target, causes};
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
/// How soon it is tried again to record a rebuild.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

type Digests = Result<Vec<(Checkpoint, RowsDigest)>, StoreError>;

/// How far a generation is with an operation.
#[derive(Default)]
pub(super) enum Phase {
    /// It is filled.
    #[default]
    Filling,
    /// Its rows are read, and those of the generation that is read.
    Comparing(AbortOnDropHandle<Digests>),
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
    up_to: Offset,
    digest: Hash,
}

/// An operation on its way.
#[derive(Default)]
pub(super) struct Work {
    pub(super) phase: Phase,
    compared: Option<Compared>,
    attempts: u32,
    told: Option<Instant>,
    wait_until: Option<Instant>,
}

/// An operation, and the generation it is about.
struct About {
    operation: Operation,
    projection: &'static dyn Projection,
    generation: Generation,
}

impl About {
    fn name(&self) -> &'static str {
        self.projection.spec().name
    }

    const fn number(&self) -> u32 {
        self.generation.number
    }

    fn target(&self) -> Target {
        Member { projection: self.projection, number: self.number() }.target()
    }
}

impl Inner {
    /// Begins a new generation and the operation that builds it.
    pub(super) async fn begin_build(
        self: &Arc<Self>,
        projection: &'static dyn Projection,
        kind: &str,
        asked_by: Option<UserId>,
    ) -> Result<Operation, OperationError> {
        let spec = projection.spec();
        // Whoever is refused anyway need not have tables made.
        let last = self.store.operations().await?;
        let running = targets::newest(&last, spec.name).filter(|last| last.state == OperationState::Running);
        if let Some(running) = running {
            return Err(OperationError::Running { id: running.id });
        }
        let number = self.store.create_generation(spec, self.time()).await?;
        let begun = self.begin_on(spec.name, kind, number, asked_by).await;
        let needless = match &begun {
            Err(_) => vec![number],
            Ok(_) => {
                let (all, operations) = (self.store.generations().await?, self.store.operations().await?);
                targets::given_up(&all, &operations, spec.name)
            }
        };
        let needless = needless.into_iter().filter(|one| begun.is_err() || *one != number);
        for number in needless {
            if let Err(error) = self.store.drop_generation(spec.name, number).await {
                let projection = spec.name;
                tracing::warn!(projection, number, error = %causes(&error), "needless tables are left over");
            }
        }
        begun
    }

    /// Begins an operation on a generation, unless one on the projection goes on.
    pub(super) async fn begin_on(
        self: &Arc<Self>,
        name: &str,
        kind: &str,
        number: u32,
        asked_by: Option<UserId>,
    ) -> Result<Operation, OperationError> {
        let same = |other: &Operation| targets::of(other).is_some_and(|(projection, _)| projection == name);
        self.begin(kind, &targets::target(name, number), asked_by, same).await
    }
}

impl Worker {
    /// Goes on with an operation that runs, by at most one step.
    pub(super) async fn advance(&mut self, operation: &Operation, goal: &State) -> Result<(), WorkError> {
        let Some((name, number)) = targets::of(operation) else { return Ok(()) };
        let Some(projection) = self.projection(name) else {
            return self.fail(operation, "this build has no such projection").await;
        };
        let Some(generation) = self.generation(name, number).cloned() else {
            return self.fail(operation, "the tables it builds are gone").await;
        };
        let about = About { operation: operation.clone(), projection, generation };
        let version = projection.spec().version;
        if about.generation.version != version {
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
        let at = about.generation.checkpoint.offset;
        self.tell(&about, at, at, "comparing its tables").await?;
        let beside = self.moving_beside(&about).map(|number| Target { number, ..about.target() });
        let targets: Vec<Target> = [about.target()].into_iter().chain(beside).collect();
        let store = Arc::clone(&self.inner.store);
        let mut task = self.beside(async move { store.digest_rows(&targets).await });
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
        if let Some((other, read)) = digests.get(1) {
            if other != at {
                tracing::debug!(projection = about.name(), "two generations were read at different events");
                return Ok(());
            }
            if read.finish() != digest.finish() {
                return self.differs(&about, at, [digest, read]).await;
            }
        }
        let compared = Compared { up_to: at.offset, digest: Hash::new(digest.finish()) };
        let work = self.works.entry(about.operation.id).or_default();
        (work.compared, work.attempts) = (Some(compared), 0);
        if about.operation.kind == BUILD {
            let detail = format!("built and compared at offset {}; it waits to be read", at.offset);
            return self.end(&about.operation, OperationState::Done, &detail).await;
        }
        self.index(&about)
    }

    async fn differs(
        &mut self,
        about: &About,
        at: &Checkpoint,
        [built, read]: [&RowsDigest; 2],
    ) -> Result<(), WorkError> {
        metrics::counter!("charter_projection_differences_total", "projection" => about.name()).increment(1);
        let (projection, generation, offset) = (about.name(), about.number(), at.offset);
        tracing::error!(projection, generation, %offset, "tables built anew differ from those that are read");
        let why = format!(
            "at offset {offset} its {} rows have digest {}, the {} rows that are read have {}: nothing was switched",
            built.rows(),
            Hash::new(built.finish()),
            read.rows(),
            Hash::new(read.finish())
        );
        self.fail(&about.operation, &why).await
    }

    /// Begins to make the generation's further indexes.
    fn index(&mut self, about: &About) -> Result<(), WorkError> {
        let phase = if about.generation.indexed {
            Phase::Complete
        } else {
            self.hold(about.name(), about.number());
            let (store, target) = (Arc::clone(&self.inner.store), about.target());
            Phase::Indexing(self.beside(async move { store.index_generation(target).await }))
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
            Err(StoreError::CheckpointMoved { .. }) => Ok(()),
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

    /// The generation is read: what is left is to record it, and to remove what nobody needs.
    async fn complete(&mut self, about: About) -> Result<(), WorkError> {
        let id = about.operation.id;
        let replaced = self.generations.iter().any(|one| one.projection == about.name() && !one.active);
        let recorded = [REBUILD, SWITCH].contains(&about.operation.kind.as_str())
            && (replaced || about.operation.asked_by.is_some());
        if recorded && !self.is_recorded(&about).await? {
            return Ok(());
        }
        self.remove_needless(&about).await?;
        let at = about.generation.checkpoint.offset;
        let detail = format!("generation {} is read from offset {at} on", about.number());
        self.works.remove(&id);
        self.end(&about.operation, OperationState::Done, &detail).await
    }

    /// Records the rebuild, once however often it is tried; tells whether it is done.
    async fn is_recorded(&mut self, about: &About) -> Result<bool, WorkError> {
        let id = about.operation.id;
        let work = self.works.entry(id).or_default();
        match std::mem::take(&mut work.phase) {
            Phase::Recording(task) if !task.is_finished() => {
                work.phase = Phase::Recording(task);
                Ok(false)
            }
            Phase::Recording(task) => match task.await {
                Ok(Ok(())) => Ok(true),
                Ok(Err(error)) => {
                    work.wait_until = Some(Instant::now() + RECORD_AGAIN);
                    let at = about.generation.checkpoint.offset;
                    let detail = shortened(&format!("it is read; to be recorded: {error}"));
                    self.tell(about, at, at, &detail).await.map(|()| false)
                }
                Err(_) => Err(WorkError::Panicked),
            },
            _ if work.wait_until.is_some_and(|until| Instant::now() < until) => Ok(false),
            _ => {
                let compared = match work.compared {
                    Some(compared) => compared,
                    // It was compared before a crash.
                    None => self.digest_of(about).await?,
                };
                let record = record(Arc::clone(&self.inner), about, compared)?;
                let task = self.beside(record);
                self.phase(id, Phase::Recording(task));
                Ok(false)
            }
        }
    }

    async fn digest_of(&self, about: &About) -> Result<Compared, WorkError> {
        let digests = self.inner.store.digest_rows(&[about.target()]).await?;
        let found = digests.first().map(|(at, digest)| (at.offset, Hash::new(digest.finish())));
        let (up_to, digest) = found.unwrap_or_default();
        Ok(Compared { up_to, digest })
    }

    /// All generations but the one that is read and the one that was read before it go.
    async fn remove_needless(&mut self, about: &About) -> Result<(), WorkError> {
        let previous =
            targets::previous(&self.generations, &self.operations, about.name()).map(|one| one.number);
        let goes =
            |one: &&Generation| one.projection == about.name() && !one.active && Some(one.number) != previous;
        for one in self.generations.iter().filter(goes) {
            self.inner.store.drop_generation(about.name(), one.number).await?;
        }
        self.look_again();
        Ok(())
    }

    /// Does something that takes long while the lines go on; whoever waits is woken when it is done.
    fn beside<T: Send + 'static>(
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

    async fn fail(&mut self, operation: &Operation, why: &str) -> Result<(), WorkError> {
        tracing::error!(id = %operation.id, target = operation.target, why, "an operation on tables failed");
        self.end(operation, OperationState::Failed, why).await
    }

    async fn end(
        &mut self,
        operation: &Operation,
        state: OperationState,
        detail: &str,
    ) -> Result<(), WorkError> {
        self.works.remove(&operation.id);
        self.look_again();
        // Whoever stopped it meanwhile was first.
        let running = OperationState::Running;
        if !self.inner.store.move_operation(operation.id, running, state, self.inner.time()).await? {
            return Ok(());
        }
        let ended = Operation {
            state,
            detail: shortened(detail),
            updated_at: self.inner.time(),
            ..operation.clone()
        };
        self.inner.store.put_operation(&ended).await?;
        self.operations.iter_mut().filter(|one| one.id == ended.id).for_each(|one| *one = ended.clone());
        Ok(())
    }

    /// Writes down how far an operation is, now and then.
    async fn tell(&mut self, about: &About, at: Offset, of: Offset, detail: &str) -> Result<(), WorkError> {
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

/// What records that a generation was rebuilt and is read. The operation's id makes repeating it harmless.
fn record(
    inner: Arc<Inner>,
    about: &About,
    compared: Compared,
) -> Result<impl Future<Output = Result<(), CommandError>> + use<>, WorkError> {
    let rebuilt = ProjectionRebuilt {
        projection: about.name().parse().map_err(|_| StoreError::Refused(about.name().to_owned()))?,
        version: about.generation.version,
        generation: about.number(),
        up_to: compared.up_to,
        digest: compared.digest,
        asked_by: about.operation.asked_by.map(UserId::new),
    };
    let id = about.operation.id;
    let mut hash = [0; 32];
    hash.iter_mut().zip(id.as_bytes()).for_each(|(to, from)| *to = *from);
    let meta = RequestMeta {
        idempotency: Some((format!("rebuilt:{id}"), Hash::new(hash))),
        ..RequestMeta::new(Via::System)
    };
    let request = Request::new(Caller::System, RecordRebuild { rebuilt }.into(), meta);
    Ok(async move { Control { inner }.submit(request).await.map(|_| ()) })
}

/// What a task came to.
fn flat<T>(joined: Result<Result<T, StoreError>, tokio::task::JoinError>) -> Result<T, StoreError> {
    joined.unwrap_or(Err(StoreError::Unavailable { what: "working on tables", source: None }))
}
