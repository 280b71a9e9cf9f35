//! From the log to rows in a fresh store: whole commands, a batch at a time, every hash checked on the way.

use super::skipped;
use crate::{Progress, ToolError};
use charter_events::{Head, Offset, StoredEvent, Timestamp};
use charter_policy::Policy;
use charter_store::{
    Checkpoint, LogStore, READ_EVENTS_MAX, Store, StoreError, TableStore, Target, chain::Verifier,
};
use charter_tables::{Changes, Projection, Recorded};
use std::collections::BTreeSet;

/// So many changes are written at once, or more where one command makes more.
const BATCH_CHANGES_MAX: usize = 50_000;

/// A generation that is being built.
pub(super) struct Building {
    projection: &'static dyn Projection,
    number: u32,
    /// Where the fresh store has it.
    at: Checkpoint,
    policy: Policy,
    verifier: Verifier,
    skipped: BTreeSet<Offset>,
    changes: Changes,
    /// The end of the last whole command in `changes`.
    end: Head,
    /// Of the command that is not complete yet.
    current: Changes,
}

impl Building {
    /// An empty generation in the fresh store.
    pub(super) async fn begin(
        log: &dyn Store,
        fresh: &dyn Store,
        projection: &'static dyn Projection,
        now: Timestamp,
    ) -> Result<Self, ToolError> {
        let spec = projection.spec();
        let skipped = skipped(log, spec.name).await?;
        let number = fresh.create_generation(spec, now).await?;
        let all = fresh.generations().await?;
        let made = all.into_iter().find(|one| one.projection == spec.name && one.number == number);
        let made = made.ok_or_else(|| StoreError::Refused("the new tables are not there".into()))?;
        let head = log.head().await?;
        let verifier = Verifier::from_start(head.log_id);
        let end = verifier.head();
        Ok(Self {
            projection,
            number,
            at: made.checkpoint,
            policy: Policy::new(),
            verifier,
            skipped,
            changes: Changes::default(),
            end,
            current: Changes::default(),
        })
    }

    pub(super) fn target(&self) -> Target {
        Target { spec: self.projection.spec(), number: self.number }
    }

    /// Goes on to an offset, which is the end of a command; tells where it is then.
    pub(super) async fn go_on(
        &mut self,
        log: &dyn LogStore,
        fresh: &dyn TableStore,
        to: Offset,
        progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<Head, ToolError> {
        while self.verifier.head().offset < to {
            let at = self.verifier.head().offset;
            let left = usize::try_from(to.get().saturating_sub(at.get())).unwrap_or(usize::MAX);
            let page = log.read(at, left.min(READ_EVENTS_MAX)).await?;
            if page.is_empty() {
                break;
            }
            for stored in &page {
                self.take(stored)?;
                if self.changes.len() >= BATCH_CHANGES_MAX {
                    self.write(fresh).await?;
                }
            }
            progress(Progress { at: self.verifier.head().offset, end: to });
        }
        self.write(fresh).await?;
        Ok(self.end)
    }

    fn take(&mut self, stored: &StoredEvent) -> Result<(), ToolError> {
        let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
        self.verifier.next(stored).map_err(StoreError::from)?;
        let event = stored.decode().map_err(|error| failed(error.to_string()))?;
        if !self.skipped.contains(&stored.offset) {
            let recorded = Recorded { stored, event: &event };
            let taken = self.projection.on(&self.policy, recorded, &mut self.current);
            let name = self.projection.spec().name;
            taken.map_err(|poison| failed(format!("the projection `{name}` can't take it: {poison}")))?;
        }
        self.policy.apply(&stored.meta(), &event).map_err(|error| failed(error.to_string()))?;
        if stored.ends_command() {
            self.changes.then(std::mem::take(&mut self.current));
            self.end = self.verifier.head();
        }
        Ok(())
    }

    async fn write(&mut self, fresh: &dyn TableStore) -> Result<(), ToolError> {
        if self.at.offset == self.end.offset {
            return Ok(());
        }
        let to = Checkpoint { log_id: self.at.log_id, offset: self.end.offset, hash: self.end.hash };
        fresh.change_rows(self.target(), self.at, to, &self.changes).await?;
        self.at = to;
        self.changes = Changes::default();
        Ok(())
    }
}
