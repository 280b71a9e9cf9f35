//! What the runner tells of itself: how each projection stands, for people, for readiness and for metrics. Every server
//! tells it, whichever of them does the work.

use super::targets::{active, never_read, newest, of};
use charter_events::{Offset, Timestamp};
use charter_store::{Generation, Operation, OperationState, TableFault};
use charter_tables::Projection;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::watch;
use uuid::Uuid;

/// One generation of a projection's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationState {
    /// Its number, from 1.
    pub number: u32,
    /// The version of its tables.
    pub version: u32,
    /// Whether it is the one that is read.
    pub active: bool,
    /// Whether it was never read: it is being built, waits to be read, or was given up.
    pub is_new: bool,
    /// The last event in it.
    pub offset: Offset,
    /// The event it stopped at, and why.
    pub fault: Option<TableFault>,
    /// When it was begun.
    pub created_at: Timestamp,
}

/// How a projection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectionStatus {
    /// It is read, and follows the log.
    Following,
    /// It stopped at an event it can't take.
    Stopped,
    /// There is nothing to read yet.
    NotBuilt,
    /// Tables of another version are read than this build makes, until its own are built.
    OtherVersion,
}

/// A projection and its generations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectionState {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// The version of its tables this build makes.
    pub version: u32,
    /// How it stands.
    pub status: ProjectionStatus,
    /// How many events it is behind the published version; all of them while there is nothing to read.
    pub behind: u64,
    /// What is there of it, by number.
    pub generations: Vec<GenerationState>,
    /// The operation that works on it.
    pub operation: Option<Uuid>,
}

/// What this server last saw of the tables.
#[derive(Debug)]
pub(crate) struct Tables {
    seen: Mutex<Vec<Generation>>,
    /// What can't go on for now, and why.
    troubles: Mutex<Vec<String>>,
    /// By projection the generation that is known to be of this log: whatever it becomes is of it too.
    of_this_log: Mutex<BTreeMap<&'static str, u32>>,
    ended: AtomicBool,
    /// Rung whenever this server moved a checkpoint, or saw that one was moved.
    pub(crate) moved: watch::Sender<()>,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            seen: Mutex::default(),
            troubles: Mutex::default(),
            of_this_log: Mutex::default(),
            ended: AtomicBool::new(false),
            moved: watch::Sender::new(()),
        }
    }
}

impl Tables {
    /// The runner has ended by a mistake in the program.
    pub(super) fn ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Notes what there is.
    pub(super) fn saw(&self, generations: &[Generation]) {
        *locked(&self.seen) = generations.to_vec();
        self.moved.send_replace(());
    }

    /// Notes what can't go on for now.
    pub(super) fn troubled(&self, troubles: &BTreeMap<String, String>) {
        *locked(&self.troubles) = troubles.values().cloned().collect();
    }

    /// Whether a generation was found to be of this log.
    pub(crate) fn is_of_this_log(&self, projection: &str, number: u32) -> bool {
        locked(&self.of_this_log).get(projection) == Some(&number)
    }

    /// A generation was found to be of this log.
    pub(crate) fn found_of_this_log(&self, projection: &'static str, number: u32) {
        locked(&self.of_this_log).insert(projection, number);
    }

    /// For people: what is wrong with the tables. Decisions are none the worse.
    pub(crate) fn wrong(&self, projections: &[&'static dyn Projection]) -> Vec<String> {
        let seen = locked(&self.seen);
        let mut wrong = Vec::new();
        if self.ended.load(Ordering::Relaxed) {
            wrong.push("the tables are not kept up to date".to_owned());
        }
        for name in projections.iter().map(|projection| projection.spec().name) {
            if let Some(fault) = stopped(&seen, name) {
                wrong.push(format!("projection `{name}` stopped at offset {}", fault.offset));
            }
        }
        wrong.extend(locked(&self.troubles).iter().cloned());
        wrong
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The event a projection stopped at: the generation that is read, or the first one on its way.
fn stopped<'a>(all: &'a [Generation], projection: &str) -> Option<&'a TableFault> {
    match active(all, projection) {
        Some(active) => active.fault.as_ref(),
        None => all.iter().filter(|one| one.projection == projection).find_map(|one| one.fault.as_ref()),
    }
}

/// How a projection stands at a version.
pub(super) fn state_of(
    projection: &'static dyn Projection,
    all: &[Generation],
    operations: &[Operation],
    version: Offset,
) -> ProjectionState {
    let spec = projection.spec();
    let read = active(all, spec.name);
    let status = match read {
        _ if stopped(all, spec.name).is_some() => ProjectionStatus::Stopped,
        None => ProjectionStatus::NotBuilt,
        Some(read) if read.version != spec.version => ProjectionStatus::OtherVersion,
        Some(_) => ProjectionStatus::Following,
    };
    let at = read.map_or(Offset::ZERO, |read| read.checkpoint.offset);
    let running = |operation: &&Operation| operation.state == OperationState::Running;
    let generations = all.iter().filter(|one| one.projection == spec.name).map(|one| GenerationState {
        number: one.number,
        version: one.version,
        active: one.active,
        is_new: never_read(operations, one),
        offset: one.checkpoint.offset,
        fault: one.fault.clone(),
        created_at: one.created_at,
    });
    ProjectionState {
        name: spec.name,
        about: spec.about,
        version: spec.version,
        status,
        behind: version.get().saturating_sub(at.get()),
        generations: generations.collect(),
        operation: newest(operations, spec.name)
            .filter(running)
            .filter(|operation| of(operation).is_some())
            .map(|operation| operation.id),
    }
}

/// Shows how each projection stands.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; offsets stay far below 2^53")]
pub(super) fn show(
    all: &[Generation],
    projections: &[&'static dyn Projection],
    version: Offset,
    leads: bool,
) {
    metrics::gauge!("charter_tables_leads").set(if leads { 1.0 } else { 0.0 });
    for name in projections.iter().map(|projection| projection.spec().name) {
        let at = active(all, name).map_or(Offset::ZERO, |active| active.checkpoint.offset);
        let behind = version.get().saturating_sub(at.get());
        metrics::gauge!("charter_projection_offset", "projection" => name).set(at.get() as f64);
        metrics::gauge!("charter_projection_lag_events", "projection" => name).set(behind as f64);
        let stopped = if stopped(all, name).is_some() { 1.0 } else { 0.0 };
        metrics::gauge!("charter_projection_stopped", "projection" => name).set(stopped);
    }
}
