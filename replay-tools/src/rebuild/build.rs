//! From the log to rows in a fresh store: whole commands, a batch at a time, every hash checked on the way. The next
//! page is read and the last batch written while the rows of this one are made.

use crate::{Progress, ToolError};
use charter_events::{Event, Head, Offset, StoredEvent, Timestamp};
use charter_policy::Policy;
use charter_store::{Checkpoint, LogStore, Pages, Store, StoreError, TableStore, Target, chain::Verifier};
use charter_tables::{Changes, Projection, Recorded};
use std::{
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// So many changes are written at once, or more where one command makes more.
const BATCH_CHANGES_MAX: usize = 25_000;
/// After so many events, what is being written is looked after.
const EVENTS_BETWEEN_LOOKS: usize = 100;

/// The kind of event by which somebody decides that a projection goes on without an event.
const SKIPPED: &str = "operations.projection_skipped";

type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// A generation that is being built.
pub(super) struct Building {
    projection: &'static dyn Projection,
    number: u32,
    /// Where the fresh store has it.
    at: Checkpoint,
    policy: Policy,
    verifier: Verifier,
    /// The events it goes on without.
    skipped: BTreeSet<Offset>,
    /// Those somebody decided that it goes on without, as far as it has come.
    skips: BTreeSet<Offset>,
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
        skipped: BTreeSet<Offset>,
    ) -> Result<Self, ToolError> {
        let spec = projection.spec();
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
            skips: BTreeSet::new(),
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
        let mut pages = Pages::new(log, self.verifier.head().offset, to);
        let mut writing: Option<Writing<'_>> = None;
        while let Some(page) = pages.next().await? {
            for events in page.chunks(EVENTS_BETWEEN_LOOKS) {
                for stored in events {
                    self.take(stored)?;
                }
                look_after(&mut writing).await?;
                if self.changes.len() >= BATCH_CHANGES_MAX {
                    self.write(fresh, &mut writing).await?;
                }
            }
            progress(Progress { at: self.verifier.head().offset, end: to });
        }
        self.write(fresh, &mut writing).await?;
        if let Some(writing) = writing {
            writing.await?;
        }
        Ok(self.end)
    }

    /// The events somebody decided that this projection goes on without, as the whole log has it.
    pub(super) async fn all_skips(&self, log: &dyn LogStore) -> Result<BTreeSet<Offset>, ToolError> {
        let mut skips = self.skips.clone();
        let mut pages = Pages::new(log, self.verifier.head().offset, log.head().await?.offset);
        while let Some(page) = pages.next().await? {
            for stored in page.iter().filter(|stored| stored.type_name == SKIPPED) {
                let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
                skips.extend(self.skip_of(&stored.decode().map_err(|error| failed(error.to_string()))?));
            }
        }
        Ok(skips)
    }

    fn skip_of(&self, event: &Event) -> Option<Offset> {
        match event {
            Event::ProjectionSkipped(skip) if skip.projection.as_str() == self.projection.spec().name => {
                Some(skip.skipped)
            }
            _ => None,
        }
    }

    fn take(&mut self, stored: &StoredEvent) -> Result<(), ToolError> {
        let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
        self.verifier.next(stored).map_err(StoreError::from)?;
        let event = stored.decode().map_err(|error| failed(error.to_string()))?;
        self.skips.extend(self.skip_of(&event));
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

    /// Begins to write what there is, once what was written before is there.
    async fn write<'a>(
        &mut self,
        fresh: &'a dyn TableStore,
        writing: &mut Option<Writing<'a>>,
    ) -> Result<(), ToolError> {
        if let Some(before) = writing.take() {
            before.await?;
        }
        if self.at.offset == self.end.offset {
            return Ok(());
        }
        let (target, from) = (self.target(), self.at);
        let to = Checkpoint { log_id: from.log_id, offset: self.end.offset, hash: self.end.hash };
        let changes = std::mem::take(&mut self.changes);
        self.at = to;
        *writing = Some(Box::pin(async move { fresh.change_rows(target, from, to, &changes).await }));
        look_after(writing).await
    }
}

/// Lets what is being written go on: it does only when it is looked after.
async fn look_after(writing: &mut Option<Writing<'_>>) -> Result<(), ToolError> {
    let Some(work) = writing else { return Ok(()) };
    if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        *writing = None;
        done?;
    }
    Ok(())
}
