//! Random small worlds, dense with conflict: histories that a real installation could have had.
//!
//! A history is a list of steps, each the events of one command, with what it reads and writes: so steps can change
//! places where that changes nothing, and be left out to find the smallest history that still shows a difference.

mod edits;
mod long;
mod make;
mod questions;
mod things;

pub use questions::{Held, Question};

use crate::Rng;
use charter_events::{Actor, Event, EventMeta, Offset, Timestamp};
use std::collections::BTreeSet;

/// Something a step reads or writes: a kind of fact and what it is about.
pub(crate) type Thing = (Fact, u128);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    Exists,
    Content,
    Status,
    Owner,
    Inherits,
    Member,
    Key,
    Tree,
}

/// The events of one command.
#[derive(Debug, Clone)]
pub struct Step {
    /// What happened.
    pub events: Vec<Event>,
    /// When: in a long history later and later, else always the moment the questions are asked.
    pub at: Timestamp,
    pub(crate) reads: Vec<Thing>,
    pub(crate) writes: Vec<Thing>,
}

impl Step {
    fn must_keep_order(&self, other: &Self) -> bool {
        let touches = |step: &Self, thing: &Thing| step.reads.contains(thing) || step.writes.contains(thing);
        self.writes.iter().any(|thing| touches(other, thing))
            || other.writes.iter().any(|thing| touches(self, thing))
    }
}

/// A history and the moment to ask at.
#[derive(Debug, Clone)]
pub struct History {
    /// The seed it follows from.
    pub seed: u64,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// When the last event was recorded, and the questions are asked.
    pub now: Timestamp,
}

impl History {
    /// The history of a seed.
    pub fn of(seed: u64) -> Self {
        make::history(seed, make::Size::Small)
    }

    /// A crowded history of a seed: hundreds of grants, most of them on one object or global, dozens of users.
    pub fn crowded(seed: u64) -> Self {
        make::history(seed, make::Size::Crowded)
    }

    /// A long history of a seed: so many commands over weeks, in which users, groups, roles, objects and grants come
    /// and go, and grants begin and end as time passes.
    pub fn long(seed: u64, commands: usize) -> Self {
        long::history(seed, commands)
    }

    /// Its events, numbered.
    pub fn events(&self) -> Vec<(EventMeta, Event)> {
        let events = self.steps.iter().flat_map(|step| step.events.iter().map(|event| (step.at, event)));
        (1..)
            .zip(events)
            .map(|(number, (recorded_at, event))| {
                let offset = Offset::new(number).expect("a random history is short");
                (EventMeta { offset, recorded_at, actor: Actor::System }, event.clone())
            })
            .collect()
    }

    /// The same history with steps that do not depend on each other in another order.
    #[must_use]
    pub fn reordered(&self, seed: u64) -> Self {
        let mut rng = Rng::part(self.seed, 21, seed);
        let mut steps = self.steps.clone();
        if steps.len() > 2 {
            for _ in 0..steps.len() * 6 {
                let at = rng.between(1, steps.len() - 2);
                if !steps[at].must_keep_order(&steps[at + 1]) {
                    steps.swap(at, at + 1);
                }
            }
        }
        Self { steps, ..*self }
    }

    /// The smallest history found, leaving out steps one by one, for which `differs` still holds.
    #[must_use]
    pub fn shrunk(&self, differs: impl Fn(&Self) -> bool) -> Self {
        let mut smallest = self.clone();
        let mut at = smallest.steps.len();
        while at > 1 {
            at -= 1;
            let smaller = smallest.without(at);
            if smaller.steps.len() < smallest.steps.len() && differs(&smaller) {
                smallest = smaller;
                at = at.min(smallest.steps.len());
            }
        }
        smallest
    }

    /// The history without a step, and without every later one that builds on it.
    fn without(&self, left_out: usize) -> Self {
        let mut gone: BTreeSet<Thing> = BTreeSet::new();
        let mut steps = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            if at == left_out || step.reads.iter().chain(&step.writes).any(|thing| gone.contains(thing)) {
                gone.extend(&step.writes);
            } else {
                steps.push(step.clone());
            }
        }
        Self { steps, ..*self }
    }

    /// The history as text: one event a line.
    pub fn shown(&self) -> String {
        let mut text = format!("seed {} at {}\n", self.seed, self.now);
        for step in &self.steps {
            for event in &step.events {
                let payload = event.encode().unwrap_or_default();
                text.push_str(&format!("  {} {}\n", event.type_name(), String::from_utf8_lossy(&payload)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::World;
    use charter_events::Effect;

    #[test]
    fn a_seed_is_a_history_and_every_kind_of_event_comes_up() {
        let mut kinds = BTreeSet::new();
        for seed in 0..400 {
            let history = History::of(seed);
            assert_eq!(history.events(), History::of(seed).events());
            kinds.extend(history.events().iter().map(|(_, event)| event.type_name()));
        }
        assert_eq!(kinds.len(), 28, "{kinds:?}");
    }

    #[test]
    fn a_long_history_goes_on_in_time_and_its_world_stays_small() {
        let history = History::long(1, 2_000);
        assert_eq!(history.steps.len(), 2_000);
        assert!(history.steps.windows(2).all(|two| two[0].at <= two[1].at));
        let kinds: BTreeSet<_> = history.events().iter().map(|(_, event)| event.type_name()).collect();
        assert_eq!(kinds.len(), 28, "{kinds:?}");
        let world = World::of(history.steps.iter().flat_map(|step| &step.events));
        let counts = [world.groups.len(), world.roles.len(), world.objects.len(), world.grants.len()];
        assert!(counts.iter().all(|count| (1..1_000).contains(count)), "{counts:?}");
        assert!(world.grants.iter().any(|grant| grant.expires_at.is_some_and(|end| end > history.now)));
    }

    #[test]
    fn a_third_of_the_grants_deny() {
        let (mut denies, mut all) = (0, 0);
        for seed in 0..400 {
            let grants = World::of(History::of(seed).steps.iter().flat_map(|step| &step.events)).grants;
            denies += grants.iter().filter(|grant| grant.effect == Effect::Deny).count();
            all += grants.len();
        }
        assert!((25..42).contains(&(denies * 100 / all)), "{denies} of {all}");
    }

    #[test]
    fn another_order_is_the_same_world_and_does_come_up() {
        let (mut moved, mut differ) = (0, 0);
        for seed in 0..200 {
            let (one, other) = (History::of(seed), History::of(seed).reordered(1));
            let world = |history: &History| {
                let mut grants: Vec<_> = World::of(history.steps.iter().flat_map(|s| &s.events))
                    .grants
                    .iter()
                    .map(|g| g.id)
                    .collect();
                grants.sort();
                grants
            };
            moved += usize::from(one.events() != other.events());
            differ += usize::from(world(&one) != world(&other));
        }
        assert!(moved > 190 && differ == 0, "{moved} moved, {differ} differ");
    }

    #[test]
    fn shrinking_keeps_what_matters() {
        let denies = |history: &History| {
            let events = history.steps.iter().flat_map(|step| &step.events);
            events.filter(|e| matches!(e, Event::GrantIssued(g) if g.effect == Effect::Deny)).count()
        };
        let history = (0..).map(History::of).find(|history| denies(history) > 2).unwrap();
        let smallest = history.shrunk(|smaller| denies(smaller) > 0);
        assert_eq!(denies(&smallest), 1);
        assert!(smallest.steps.len() <= 6, "{}", smallest.shown());
    }
}
