//! What there is to do, from the generations and operations the store keeps; looked at again now and then, and after
//! every surprise. What it holds between is only to save reading and folding anew: nothing is lost with it.

use super::{
    build::{Phase, Work},
    history::{Fold, Found},
    line::{Line, Member, WorkError},
    shown::show,
    targets::{self, active, generation, newest},
};
use crate::{
    control::{Control, Inner},
    following::in_time,
    operations::OperationError,
    published::State,
    runner::lead_of,
};
use charter_store::{
    Checkpoint, Generation, Leadership, Operation, OperationState, StoreError, Task, causes,
};
use charter_tables::Projection;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// So much is done on whole tables beside the lines at once: the database has connections for that, one more that keeps
/// the tables up, and one that notes how far they are.
const WORK_BESIDE_MAX: usize = 2;

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// There is more to do.
    More,
    /// Nothing is to be done until something happens.
    Rest,
    /// The store keeps no tables.
    NotKept,
}

/// The runner's state of mind.
pub(super) struct Worker {
    pub(super) inner: Arc<Inner>,
    lead: Option<Box<dyn Leadership>>,
    pub(super) looked: Option<Instant>,
    pub(super) generations: Vec<Generation>,
    pub(super) operations: Vec<Operation>,
    pub(super) lines: Vec<Line>,
    pub(super) recent: VecDeque<Arc<State>>,
    pub(super) works: HashMap<Uuid, Work>,
    pub(super) folds: Vec<Fold>,
    /// Room for work on whole tables.
    pub(super) room: Arc<Semaphore>,
    /// What can't go on for now, and why, by what it is.
    pub(super) troubles: BTreeMap<String, String>,
}

impl Worker {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self {
            inner,
            lead: None,
            looked: None,
            generations: Vec::new(),
            operations: Vec::new(),
            lines: Vec::new(),
            recent: VecDeque::new(),
            works: HashMap::new(),
            folds: Vec::new(),
            room: Arc::new(Semaphore::new(WORK_BESIDE_MAX)),
            troubles: BTreeMap::new(),
        }
    }

    /// Has the next turn look at what the store keeps.
    pub(super) fn look_again(&mut self) {
        self.looked = None;
    }

    pub(super) fn projection(&self, name: &str) -> Option<&'static dyn Projection> {
        self.inner.config.projections.iter().find(|projection| projection.spec().name == name).copied()
    }

    /// One turn: every line by at most one batch, every operation by at most one step.
    pub(super) async fn turn(&mut self) -> Result<Turn, WorkError> {
        let every = self.inner.config.tables_look_every;
        if self.looked.is_none_or(|looked| looked.elapsed() >= every) && !self.look().await? {
            return Ok(Turn::NotKept);
        }
        if self.lead.is_none() {
            return Ok(Turn::Rest);
        }
        let goal = self.inner.published.load();
        let behind = self.step_lines(&goal).await?;
        self.merge_lines();
        for operation in self.operations.clone() {
            if operation.state == OperationState::Running && self.may_go_on(operation.id) {
                match self.advance(&operation, &goal).await {
                    Ok(()) => self.is_over(&operation.id.to_string()),
                    // It holds up nothing else.
                    Err(error) => self.stumbled(&operation, &error).await,
                }
            }
        }
        Ok(if behind || self.looked.is_none() { Turn::More } else { Turn::Rest })
    }

    /// Looks at everything the store keeps, and takes the lead if nobody has it; tells whether the store keeps tables.
    async fn look(&mut self) -> Result<bool, WorkError> {
        let inner = Arc::clone(&self.inner);
        // In this order: an operation is begun after the generation it is about.
        self.operations = match (Control { inner: Arc::clone(&inner) }).operations().await {
            Ok(operations) => operations,
            Err(OperationError::Store(error)) => return Err(error.into()),
            Err(_) => return Ok(false),
        };
        let generations = inner.store.generations();
        let generations = in_time(inner.config.store_wait, "asking how far the tables are", generations);
        self.generations = match generations.await {
            Err(StoreError::Refused(_)) => return Ok(false),
            generations => generations?,
        };
        let leads = lead_of(&inner, Task::Tables, &mut self.lead).await;
        inner.tables.saw(&self.generations);
        show(&self.generations, &inner.config.projections, inner.published.version(), leads);
        self.looked = Some(Instant::now());
        if leads {
            self.prepare().await?;
        } else {
            self.let_go();
        }
        Ok(true)
    }

    /// Sees to what was found, and has everything that is to move stand in a line.
    async fn prepare(&mut self) -> Result<(), WorkError> {
        if self.set_aside_other_histories().await? {
            // What is left is seen at the next look.
            return Ok(());
        }
        let changed = self.go_on_without_skipped().await? | self.finish_what_was_switched().await?;
        if changed | self.begin_what_is_due().await? {
            self.looked = None;
        }
        self.align().await
    }

    /// Another server leads.
    fn let_go(&mut self) {
        self.lines.clear();
        self.works.clear();
        self.recent.clear();
        self.folds.clear();
        self.troubles.clear();
        self.inner.tables.troubled(&self.troubles);
    }

    /// Something can't go on for now.
    pub(super) fn is_troubled(&mut self, what: String, trouble: String) {
        if self.troubles.get(&what) != Some(&trouble) {
            tracing::warn!("{trouble}");
            self.troubles.insert(what, trouble);
            self.inner.tables.troubled(&self.troubles);
        }
    }

    /// It goes on again, or ended.
    pub(super) fn is_over(&mut self, what: &str) {
        if self.troubles.remove(what).is_some() {
            self.inner.tables.troubled(&self.troubles);
        }
    }

    /// Generations that stopped at an event which is to be left out go on, and so does whoever built them.
    async fn go_on_without_skipped(&mut self) -> Result<bool, WorkError> {
        let policy = self.inner.published.policy();
        let mut changed = false;
        for one in &self.generations {
            let Some(projection) = self.projection(&one.projection) else { continue };
            let Some(fault) =
                one.fault.as_ref().filter(|fault| policy.is_skipped(&one.projection, fault.offset))
            else {
                continue;
            };
            let (name, number) = (&one.projection, one.number);
            tracing::info!(projection = name, generation = number, offset = %fault.offset, "an event is left out");
            self.inner.store.note_fault(Member { projection, number }.target(), None).await?;
            let builder = newest(&self.operations, name);
            if let Some(builder) = builder.filter(|last| targets::of(last) == Some((name, number))) {
                let (from, to) = (OperationState::Cancelled, OperationState::Running);
                self.inner.store.move_operation(builder.id, from, to, self.inner.time()).await?;
            }
            changed = true;
        }
        Ok(changed)
    }

    /// An operation that was stopped at the very moment of its switch is past it: it is completed.
    async fn finish_what_was_switched(&mut self) -> Result<bool, WorkError> {
        let mut changed = false;
        for projection in &self.inner.config.projections {
            let name = projection.spec().name;
            let Some(last) = newest(&self.operations, name) else { continue };
            let read = active(&self.generations, name).map(|active| (name, active.number));
            if last.state == OperationState::Cancelled && targets::of(last) == read {
                let (from, to) = (OperationState::Cancelled, OperationState::Running);
                changed |= self.inner.store.move_operation(last.id, from, to, self.inner.time()).await?;
            }
        }
        Ok(changed)
    }

    /// Tables of which there are none yet, or of an earlier version only, are built without being asked for.
    async fn begin_what_is_due(&mut self) -> Result<bool, WorkError> {
        let mut begun = false;
        for projection in self.inner.config.projections.clone() {
            let spec = projection.spec();
            if targets::is_due(&self.generations, &self.operations, spec.name, spec.version) {
                let begin = self.inner.begin_build(projection, targets::REBUILD, None).await;
                begun |= match begin {
                    Ok(_) => true,
                    // Somebody was faster.
                    Err(OperationError::Running { .. }) => true,
                    Err(OperationError::Store(error)) => return Err(error.into()),
                    Err(error) => {
                        tracing::warn!(%error, projection = spec.name, "tables that are due can't be begun");
                        false
                    }
                };
            }
        }
        Ok(begun)
    }

    /// The generations that are to move: those that are read, and those an operation builds.
    fn wanted(&mut self) -> Vec<(Member, Checkpoint)> {
        let operations = &self.operations;
        let runs = |id: &Uuid| operations.iter().any(|o| o.id == *id && o.state == OperationState::Running);
        self.works.retain(|id, _| runs(id));
        for operation in operations.iter().filter(|operation| runs(&operation.id)) {
            if targets::of(operation).is_some() {
                self.works.entry(operation.id).or_default();
            }
        }
        let worked_on = |one: &Generation| {
            operations.iter().any(|operation| {
                targets::of(operation) == Some((one.projection.as_str(), one.number))
                    && self.works.get(&operation.id).is_some_and(|work| work.phase.moves())
            })
        };
        let moves = |one: &&Generation| one.fault.is_none() && (one.active || worked_on(one));
        let wanted = self.generations.iter().filter(moves).filter_map(|one| {
            let projection = self.projection(&one.projection)?;
            let member = Member { projection, number: one.number };
            (projection.spec().version == one.version).then_some((member, one.checkpoint, one.active))
        });
        // Those that are read come first.
        let mut wanted: Vec<_> = wanted.collect();
        wanted.sort_by_key(|(_, _, active)| !active);
        wanted.into_iter().map(|(member, checkpoint, _)| (member, checkpoint)).collect()
    }

    /// Puts every generation that is to move into a line that stands where it does.
    async fn align(&mut self) -> Result<(), WorkError> {
        let wanted = self.wanted();
        for line in &mut self.lines {
            let at = line.checkpoint();
            let stays = |member: &Member| {
                wanted
                    .iter()
                    .any(|(one, from)| *from == at && one.is(member.projection.spec().name, member.number))
            };
            line.members.retain(stays);
        }
        self.keep_folds(|at| wanted.iter().any(|(_, from)| *from == at));
        for (member, from) in wanted {
            if self.line_of(member.projection.spec().name, member.number).is_none() {
                self.line_up(member, from).await?;
            }
        }
        self.let_go_of_empty_lines();
        if self.works.is_empty() {
            self.recent.clear();
        }
        Ok(())
    }

    /// Puts a generation into a line as soon as the state there is at hand.
    async fn line_up(&mut self, member: Member, from: Checkpoint) -> Result<(), WorkError> {
        if let Some(line) = self.lines.iter_mut().find(|l| l.is_usual() && l.checkpoint() == from) {
            line.members.push(member);
            return Ok(());
        }
        let (name, number) = (member.projection.spec().name, member.number);
        let what = targets::target(name, number);
        match self.state_at(from).await {
            Ok(Found::Here(state)) => {
                self.is_over(&what);
                self.lines.push(Line::new(state, vec![member]));
            }
            Ok(Found::Later) => {}
            Ok(Found::OtherHistory) => self.set_aside(name, number, from.offset).await?,
            // The others go on meanwhile; it is folded again at the next look.
            Err(error) => {
                let trouble =
                    format!("tables `{what}` can't go on from offset {}: {}", from.offset, causes(&error));
                self.is_troubled(what, trouble);
            }
        }
        Ok(())
    }

    /// What is known of a generation.
    pub(super) fn generation(&self, projection: &str, number: u32) -> Option<&Generation> {
        generation(&self.generations, projection, number)
    }

    /// How an operation comes along.
    pub(super) fn phase(&mut self, id: Uuid, phase: Phase) {
        self.works.entry(id).or_default().phase = phase;
    }
}
