//! Undoes a command, by the commands that lead back.
//!
//! Refused: `forbidden` without `core.audit.read` platform-wide, for who undoes a command must know it; `stale` when it
//! was not told of everything that happened since; `not_undoable` when one of its events can't be undone, or nothing is
//! left of them; then whatever refuses one of the commands that lead back. They are decided in order, each on what its
//! predecessors left, with every guard, by the same caller at the same moment: all or none.

use super::{
    UNDO_EVENTS_MAX,
    inverse::{Fate, Inverse, Whole},
    since::{Since, Thing},
    step::{Now, Present, Renewed, Step},
    why::{NotUndoable, Reason, Why},
};
use crate::{
    Command, Context, Decided,
    command::Decide,
    may::require_global,
    refusal::{Code, Refusal},
    several::Staged,
};
use charter_events::{Event, Offset, Timestamp, TokenId};
use charter_policy::Policy;
use std::collections::BTreeMap;

/// Undoes a command. Made with [`Undo::of`], and then told of everything that happened since ([`Undo::saw`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undo {
    first: Offset,
    last: Offset,
    whole: Whole,
    inverses: Vec<Undone>,
    /// Where in `inverses` a thing is restored.
    places: BTreeMap<Thing, Vec<usize>>,
    /// The last event it was told of.
    seen: Offset,
}

/// One event, and what undoing it restores.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Undone {
    offset: Offset,
    type_name: &'static str,
    inverse: Inverse,
    since: Since,
}

impl Undone {
    const fn reason(&self, why: Why) -> Reason {
        Reason { offset: self.offset, type_name: self.type_name, why }
    }
}

impl Undo {
    /// What it takes to undo a command, as far as that can be told from the state just before it. `events` are all
    /// of the command's, the first at offset `first`; at most [`UNDO_EVENTS_MAX`].
    ///
    /// # Errors
    /// [`NotUndoable`] when one of them never can be.
    pub fn of(before: &Policy, first: Offset, events: &[Event]) -> Result<Self, NotUndoable> {
        let whole = Whole::of(events);
        let (mut inverses, mut never, mut stays) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = first;
        for (index, event) in (0_u64..).zip(events) {
            last = first.plus(index).unwrap_or(Offset::MAX);
            let (offset, type_name) = (last, event.type_name());
            match whole.fate(before, event) {
                Fate::Undo(inverse) => {
                    inverses.push(Undone { offset, type_name, inverse, since: Since::default() });
                }
                // Without what it goes with, it is nothing by itself.
                Fate::Beside => stays.push(Reason { offset, type_name, why: Why::Gone }),
                Fate::Stays(why) => stays.push(Reason { offset, type_name, why }),
                Fate::Never(why) => never.push(Reason { offset, type_name, why }),
            }
        }
        // What stays is told only if the command did nothing else.
        let stays = if inverses.is_empty() { stays } else { Vec::new() };
        match NotUndoable::of(never).or_else(|| NotUndoable::of(stays)) {
            Some(not) => Err(not),
            None => Ok(Self { first, last, whole, places: places(&inverses), inverses, seen: last }),
        }
    }

    /// Tells it of the event that comes next in the log: what was decided again since is not undone. An event that is
    /// not the next one changes nothing; an undo that misses one is refused (`stale`).
    pub fn saw(&mut self, offset: Offset, event: &Event) {
        if self.seen.plus(1) != Some(offset) {
            return;
        }
        self.seen = offset;
        let Some(thing) = Thing::decided_by(event) else { return };
        for place in self.places.get(&thing).into_iter().flatten() {
            if let Some(Undone { inverse, since, .. }) = self.inverses.get_mut(*place) {
                since.note(inverse, event);
            }
        }
    }

    /// The last event it was told of.
    pub const fn seen(&self) -> Offset {
        self.seen
    }

    /// The first event of the command that is undone.
    pub const fn first(&self) -> Offset {
        self.first
    }

    /// The last event of the command that is undone.
    pub const fn last(&self) -> Offset {
        self.last
    }

    /// The tokens that undoing takes away: what is kept of them beside the log can go with it.
    pub fn tokens(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.inverses.iter().filter_map(|undone| match undone.inverse {
            Inverse::TokenIssued { token } => Some(token),
            _ => None,
        })
    }

    /// The commands that lead back from a state, in order. Groups and roles that come back get new ids; commands here
    /// still name the old ones.
    ///
    /// # Errors
    /// [`NotUndoable`] when one of the events can't be undone any more, or nothing is left of all of them.
    pub fn commands(&self, policy: &Policy, now: Timestamp) -> Result<Vec<Command>, NotUndoable> {
        Ok(self.steps(policy, now)?.into_iter().map(|(_, step)| step.command).collect())
    }

    /// The last is undone first.
    fn steps(&self, policy: &Policy, now: Timestamp) -> Result<Vec<(&Undone, Step)>, NotUndoable> {
        let Self { first, last, whole, .. } = self;
        let present = Present { policy, now, whole, first: *first, last: *last };
        let (mut steps, mut never, mut moot) = (Vec::new(), Vec::new(), Vec::new());
        for undone in self.inverses.iter().rev() {
            match present.step(&undone.inverse, &undone.since) {
                Now::Do(step) => steps.push((undone, *step)),
                Now::Moot(why) => moot.push(undone.reason(why)),
                Now::Never(why) => never.push(undone.reason(why)),
            }
        }
        let moot = if steps.is_empty() { moot } else { Vec::new() };
        match NotUndoable::of(never).or_else(|| NotUndoable::of(moot)) {
            Some(not) => Err(not),
            None => Ok(steps),
        }
    }
}

impl Decide for Undo {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.audit.read")?;
        if self.inverses.len() > UNDO_EVENTS_MAX {
            return Err(Refusal::limit("offset", "events in a command that is undone", UNDO_EVENTS_MAX));
        }
        if self.seen < policy.version() {
            let detail = format!("what happened after offset {} was not looked at", self.seen);
            return Err(Refusal::of(Code::Stale, "offset", detail));
        }
        let steps = self.steps(policy, ctx.now).map_err(|not| not_undoable(&not))?;
        let (mut staged, mut renewed) = (Staged::new(policy), Renewed::default());
        for (undone, step) in steps {
            let command = renewed.in_command(&step.command);
            let made = staged.take(&command, ctx).map_err(|refusal| within(undone, refusal))?;
            renewed.note(&step, made);
        }
        Ok(Decided::events(staged.events))
    }
}

fn places(inverses: &[Undone]) -> BTreeMap<Thing, Vec<usize>> {
    let mut places = BTreeMap::<_, Vec<_>>::new();
    for (place, undone) in inverses.iter().enumerate() {
        if let Some(thing) = Thing::restored_by(&undone.inverse) {
            places.entry(thing).or_default().push(place);
        }
    }
    places
}

fn not_undoable(not: &NotUndoable) -> Refusal {
    Refusal::of(Code::NotUndoable, "offset", not.to_string())
}

/// Says at which event a command that leads back was refused.
fn within(undone: &Undone, refusal: Refusal) -> Refusal {
    let detail = format!("undoing `{}` at offset {}: {}", undone.type_name, undone.offset, refusal.detail);
    Refusal { detail, field: None, ..refusal }
}
