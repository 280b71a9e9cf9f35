//! What people ask of the tables: how they stand, to build them anew, to switch, to go back, to leave an event out.
//! Whoever may is judged here too, whatever a route has judged before.

use super::{
    shown::{ProjectionState, state_of},
    targets::{self, BUILD, REBUILD, REPAIR, ROLLBACK, SWITCH, newest, previous},
};
use crate::{
    control::{Control, Inner},
    error::CommandError,
    following::in_time,
    operations::OperationError,
    request::{Request, RequestMeta},
};
use charter_commands::SkipEvent;
use charter_events::{Offset, PermissionKey, Scope, UserId};
use charter_policy::{AccessControl as _, AccessError, Caller};
use charter_store::{Generation, Operation, OperationState, StoreError, causes};
use charter_tables::Projection;
use std::sync::Arc;

/// What it takes to rebuild a projection.
const REBUILDS: &str = "core.projection.rebuild";

/// Why something about a projection could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ProjectionError {
    /// There is no projection of this name (404).
    #[error("there is no projection `{name}`: there are `{known}`")]
    Unknown {
        /// The name.
        name: String,
        /// Those there are.
        known: String,
    },
    /// The caller may not (403).
    #[error(transparent)]
    Access(#[from] AccessError),
    /// An operation on the projection goes on (409).
    #[error("operation `{id}` works on this projection; wait for it, or cancel it")]
    Running {
        /// The operation.
        id: uuid::Uuid,
    },
    /// No generation waits to be read (409).
    #[error("no generation waits to be read: `rebuild` with `hold` makes one")]
    NothingToSwitchTo,
    /// No earlier generation of this version is kept (409).
    #[error("no earlier generation of this version is kept")]
    NothingToRollBackTo,
    /// The log has no such event (422).
    #[error("the log has no event at offset {offset}: it ends at {head}")]
    UnknownOffset {
        /// The offset named.
        offset: u64,
        /// The last event's offset.
        head: Offset,
    },
    /// The projection did not stop at this event (409).
    #[error("projection `{projection}` has not stopped at offset {offset}")]
    NotStoppedThere {
        /// The projection.
        projection: String,
        /// The offset named.
        offset: Offset,
    },
    /// Whoever leaves an event out says why (422).
    #[error("say why the event is to be left out")]
    ReasonRequired,
    /// As any operation.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// As any command.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl ProjectionError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "not_found",
            Self::Access(_) => "forbidden",
            Self::Running { .. } => "rebuild_running",
            Self::NothingToSwitchTo => "nothing_to_switch_to",
            Self::NothingToRollBackTo => "nothing_to_roll_back_to",
            Self::UnknownOffset { .. } => "unknown_offset",
            Self::NotStoppedThere { .. } => "not_stopped_there",
            Self::ReasonRequired => "reason_required",
            Self::Operation(error) => error.code(),
            Self::Command(error) => error.code(),
        }
    }
}

impl From<StoreError> for ProjectionError {
    fn from(error: StoreError) -> Self {
        Self::Operation(error.into())
    }
}

/// An operation on a projection that goes on excludes every other.
fn busy(error: OperationError) -> ProjectionError {
    match error {
        OperationError::Running { id } => ProjectionError::Running { id },
        error => error.into(),
    }
}

/// What becomes of a generation that was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterBuild {
    /// It is read, if its rows are those that are read now.
    Switch,
    /// It is read whatever its rows are: those that are read now may be wrong.
    SwitchThoughItDiffers,
    /// It waits, if its rows are those that are read now.
    Hold,
}

impl Control {
    /// For people: what is wrong with the read models in tables. Decisions are none the worse.
    pub fn degraded(&self) -> Vec<String> {
        self.inner.tables.wrong(&self.inner.config.projections)
    }

    /// Every projection this server knows, and how it stands.
    ///
    /// # Errors
    /// [`ProjectionError::Operation`] when the store does not answer, or keeps no tables.
    pub async fn projections(&self) -> Result<Vec<ProjectionState>, ProjectionError> {
        let (generations, operations) = self.tables_kept().await?;
        let version = self.head().offset;
        let all = self.inner.config.projections.iter();
        Ok(all.map(|projection| state_of(*projection, &generations, &operations, version)).collect())
    }

    /// One projection.
    ///
    /// # Errors
    /// [`ProjectionError::Unknown`]; as [`Control::projections`].
    pub async fn projection(&self, name: &str) -> Result<ProjectionState, ProjectionError> {
        let projection = self.known_projection(name)?;
        let (generations, operations) = self.tables_kept().await?;
        Ok(state_of(projection, &generations, &operations, self.head().offset))
    }

    /// Begins to build a projection anew, beside what is read.
    ///
    /// # Errors
    /// [`ProjectionError::Unknown`], [`ProjectionError::Access`], [`ProjectionError::Running`]; as
    /// [`Control::projections`].
    pub async fn rebuild(
        &self,
        name: &str,
        then: AfterBuild,
        caller: &Caller,
    ) -> Result<Operation, ProjectionError> {
        let projection = self.may_rebuild(name, caller)?;
        let kind = match then {
            AfterBuild::Switch => REBUILD,
            AfterBuild::SwitchThoughItDiffers => REPAIR,
            AfterBuild::Hold => BUILD,
        };
        self.inner.begin_build(projection, kind, user_of(caller)).await.map_err(busy)
    }

    /// Has the generation read that was built and held.
    ///
    /// # Errors
    /// [`ProjectionError::NothingToSwitchTo`]; as [`Control::rebuild`].
    pub async fn switch(&self, name: &str, caller: &Caller) -> Result<Operation, ProjectionError> {
        let spec = self.may_rebuild(name, caller)?.spec();
        let (generations, operations) = self.tables_kept().await?;
        let held = |last: &&Operation| {
            (last.kind == BUILD && last.state == OperationState::Done) || last.kind == SWITCH
        };
        let number = newest(&operations, spec.name)
            .filter(held)
            .and_then(targets::of)
            .and_then(|(_, number)| targets::generation(&generations, spec.name, number))
            .filter(|one| !one.active && one.version == spec.version)
            .map(|one| one.number)
            .ok_or(ProjectionError::NothingToSwitchTo)?;
        self.inner.begin_on(spec.name, SWITCH, number, user_of(caller)).await.map_err(busy)
    }

    /// Has the generation read again that was read before the present one, once it has caught up.
    ///
    /// # Errors
    /// [`ProjectionError::NothingToRollBackTo`]; as [`Control::rebuild`].
    pub async fn roll_back(&self, name: &str, caller: &Caller) -> Result<Operation, ProjectionError> {
        let spec = self.may_rebuild(name, caller)?.spec();
        let (generations, operations) = self.tables_kept().await?;
        let number = previous(&generations, &operations, spec.name)
            .filter(|one| one.version == spec.version)
            .map(|one| one.number)
            .ok_or(ProjectionError::NothingToRollBackTo)?;
        self.inner.begin_on(spec.name, ROLLBACK, number, user_of(caller)).await.map_err(busy)
    }

    /// Lets a projection go on without the event it stopped at; recorded with the reason.
    ///
    /// # Errors
    /// [`ProjectionError::UnknownOffset`], [`ProjectionError::NotStoppedThere`], [`ProjectionError::ReasonRequired`],
    /// [`ProjectionError::Command`]; as [`Control::rebuild`].
    pub async fn skip_event(
        &self,
        name: &str,
        offset: u64,
        caller: &Caller,
        meta: RequestMeta,
    ) -> Result<Offset, ProjectionError> {
        let spec = self.may_rebuild(name, caller)?.spec();
        let head = self.head().offset;
        let at = Offset::new(offset).filter(|at| *at > Offset::ZERO && *at <= head);
        let at = at.ok_or(ProjectionError::UnknownOffset { offset, head })?;
        if meta.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
            return Err(ProjectionError::ReasonRequired);
        }
        let projection = spec.name.parse().map_err(|_| self.unknown_projection(name))?;
        if !self.policy().is_skipped(spec.name, at) {
            let (generations, _) = self.tables_kept().await?;
            let stopped = |one: &Generation| one.fault.as_ref().is_some_and(|fault| fault.offset == at);
            if !generations.iter().any(|one| one.projection == spec.name && stopped(one)) {
                return Err(ProjectionError::NotStoppedThere {
                    projection: spec.name.to_owned(),
                    offset: at,
                });
            }
        }
        let command = SkipEvent { projection, offset: at };
        let receipt = self.submit(Request::new(caller.clone(), command.into(), meta)).await?;
        self.inner.operations.asked.notify_one();
        Ok(receipt.last)
    }

    fn known_projection(&self, name: &str) -> Result<&'static dyn Projection, ProjectionError> {
        let all = &self.inner.config.projections;
        let found = all.iter().find(|projection| projection.spec().name == name).copied();
        found.ok_or_else(|| self.unknown_projection(name))
    }

    fn unknown_projection(&self, name: &str) -> ProjectionError {
        let all: Vec<_> = self.inner.config.projections.iter().map(|one| one.spec().name).collect();
        ProjectionError::Unknown { name: name.to_owned(), known: all.join("`, `") }
    }

    fn may_rebuild(&self, name: &str, caller: &Caller) -> Result<&'static dyn Projection, ProjectionError> {
        let key: PermissionKey = REBUILDS.parse().map_err(|_| self.unknown_projection(name))?;
        self.policy().at(self.now()).require(caller, &key, Scope::Global)?;
        self.known_projection(name)
    }

    async fn tables_kept(&self) -> Result<(Vec<Generation>, Vec<Operation>), ProjectionError> {
        let inner = &self.inner;
        let generations = inner.store.generations();
        let generations =
            in_time(inner.config.store_wait, "asking how far the tables are", generations).await?;
        Ok((generations, self.operations().await?))
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

/// Who asks, if it is a person or a service.
const fn user_of(caller: &Caller) -> Option<UserId> {
    match caller {
        Caller::User { id, .. } => Some(*id),
        Caller::Module(_) | Caller::System => None,
    }
}
