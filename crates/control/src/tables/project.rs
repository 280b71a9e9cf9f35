//! From events to rows: what comes next in the log is folded once, and each generation that stands there notes what
//! changes in its rows. Nothing here is written anywhere.

use crate::load::{Folding, LoadError};
use charter_events::{Event, Head, Offset, StoredEvent};
use charter_policy::Policy;
use charter_store::{Checkpoint, TABLE_TEXT_BYTES_MAX, TableFault, table_checks::check_changes};
use charter_tables::{Changes, Projection, Recorded};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A batch ends with the command that takes one generation past this many changes.
const BATCH_CHANGES_MAX: usize = 100_000;

/// How much one batch takes. A command is never divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// It ends with the command that reaches this many events.
    pub(super) events_max: usize,
    /// At most so many commands.
    pub(super) commands_max: usize,
}

/// What a batch becomes for one generation.
pub(super) struct Made {
    projection: &'static dyn Projection,
    /// Of whole commands.
    pub(super) changes: Changes,
    /// Where the last command in `changes` ended.
    pub(super) head: Head,
    /// The event the projection can't take.
    pub(super) fault: Option<TableFault>,
    /// Of the command that is not complete yet.
    current: Changes,
}

/// Some commands of the log on their way to rows.
pub(super) struct Batch {
    folding: Folding,
    bounds: Bounds,
    events: usize,
    commands: usize,
    open: bool,
    pub(super) made: Vec<Made>,
}

/// The checkpoint of whoever has come to the end of a log.
pub(super) const fn checkpoint(head: &Head) -> Checkpoint {
    Checkpoint { log_id: head.log_id, offset: head.offset, hash: head.hash }
}

/// A text about a fault, as long as is kept.
pub(super) fn fault(offset: Offset, why: &str) -> TableFault {
    let mut end = why.len().min(TABLE_TEXT_BYTES_MAX);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    TableFault { offset, why: why.get(..end).unwrap_or_default().to_owned() }
}

impl Batch {
    /// A batch for these projections that begins at a state.
    pub(super) fn new(
        policy: Policy,
        head: Head,
        projections: impl Iterator<Item = &'static dyn Projection>,
        bounds: Bounds,
    ) -> Self {
        let made = |projection| Made {
            projection,
            changes: Changes::default(),
            head,
            fault: None,
            current: Changes::default(),
        };
        Self {
            folding: Folding::new(policy, head),
            bounds,
            events: 0,
            commands: 0,
            open: false,
            made: projections.map(made).collect(),
        }
    }

    /// Where it has come to.
    pub(super) const fn head(&self) -> Head {
        self.folding.head()
    }

    /// Whether it ends inside a command: more has to be read.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// How many commands are in it.
    pub(super) const fn commands(&self) -> usize {
        self.commands
    }

    /// The state at its end.
    pub(super) fn into_parts(self) -> (Policy, Head, Vec<Made>) {
        let head = self.folding.head();
        (self.folding.policy, head, self.made)
    }

    /// Takes what follows, as much as its bounds let it: whole commands, or a part of one that is larger than the page.
    /// `present` is the newest state there is: it knows what is to be left out.
    pub(super) fn take(&mut self, page: &[StoredEvent], present: &Policy) -> Result<(), LoadError> {
        let whole = page.iter().rposition(StoredEvent::ends_command).map_or(page.len(), |last| last + 1);
        for event in page.iter().take(whole) {
            if !self.open && self.is_full() {
                break;
            }
            self.event(event, present)?;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.commands >= self.bounds.commands_max
            || self.events >= self.bounds.events_max
            || self.made.iter().any(|made| made.changes.len() >= BATCH_CHANGES_MAX)
    }

    fn event(&mut self, stored: &StoredEvent, present: &Policy) -> Result<(), LoadError> {
        let made = &mut self.made;
        self.folding.fold_seeing(stored, |before, event| {
            let recorded = Recorded { stored, event };
            made.iter_mut().for_each(|made| made.event(before, recorded, present));
        })?;
        self.events += 1;
        self.open = !stored.ends_command();
        if !self.open {
            self.commands += 1;
            let head = self.folding.head();
            self.made.iter_mut().for_each(|made| made.command_ends(head));
        }
        Ok(())
    }
}

impl Made {
    fn event(&mut self, before: &Policy, recorded: Recorded<'_>, present: &Policy) {
        let offset = recorded.stored.offset;
        if self.fault.is_some() || present.is_skipped(self.projection.spec().name, offset) {
            return;
        }
        if let Err(why) = rows(self.projection, before, recorded, &mut self.current) {
            self.fault = Some(fault(offset, &why));
        }
    }

    fn command_ends(&mut self, head: Head) {
        if self.fault.is_none() {
            self.changes.then(std::mem::take(&mut self.current));
            self.head = head;
        }
    }
}

/// Notes what changes with an event. A projection that panics is one that can't take it.
fn rows(
    projection: &dyn Projection,
    before: &Policy,
    recorded: Recorded<'_>,
    out: &mut Changes,
) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| projection.on(before, recorded, out)))
        .unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(charter_tables::Poison { why: format!("the projection panicked: {said}") })
        })
        .map_err(|poison| poison.why)
}

/// Which event of one command it is that brings a row the database never takes: the first whose rows don't fit their
/// table, else the first that changes the table named; else the command's first.
pub(super) fn culprit(
    (policy, head): (Policy, Head),
    command: &[StoredEvent],
    projection: &'static dyn Projection,
    table: Option<&str>,
    present: &Policy,
) -> Result<Offset, LoadError> {
    let mut folding = Folding::new(policy, head);
    let spec = projection.spec();
    let (mut misfit, mut touches) = (None, None);
    for stored in command {
        folding.fold_seeing(stored, |before: &Policy, event: &Event| {
            let mut changes = Changes::default();
            let skipped = present.is_skipped(spec.name, stored.offset);
            if skipped || rows(projection, before, Recorded { stored, event }, &mut changes).is_err() {
                return;
            }
            if misfit.is_none() && check_changes(spec, &changes).is_err() {
                misfit = Some(stored.offset);
            }
            let place = table.and_then(|name| spec.table(name)).map(|(place, _)| place);
            if touches.is_none() && changes.iter().any(|(at, _, _)| place.is_none_or(|place| place == at)) {
                touches = Some(stored.offset);
            }
        })?;
    }
    let first = head.offset.plus(1).unwrap_or(Offset::MAX);
    Ok(misfit.or(touches).unwrap_or(first))
}
