//! The real fold and the naive model, side by side on random worlds.

use crate::compare::Sides;
use charter_events::{Event, EventMeta};
use charter_policy::Policy;
use charter_testkit::{
    model::{Mutation, World},
    random::History,
};

/// How much a world is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) checks: usize,
    pub(crate) lists: usize,
    pub(crate) held: usize,
}

impl Effort {
    /// What a run over very many worlds can afford in each.
    pub(crate) const USUAL: Self = Self { checks: 24, lists: 2, held: 7 };
    /// More of each world.
    pub(crate) const THOROUGH: Self = Self { checks: 120, lists: 12, held: 40 };
}

pub(crate) fn folded(events: &[(EventMeta, Event)]) -> Result<Policy, String> {
    let mut policy = Policy::new();
    for (meta, event) in events {
        policy.apply(meta, event).map_err(|error| format!("event {}: {error}", meta.offset))?;
    }
    Ok(policy)
}

pub(crate) fn modelled(history: &History, mutation: Option<Mutation>) -> World {
    World::broken(mutation, history.steps.iter().flat_map(|step| &step.events))
}

/// The first difference between the real fold and the model, if there is one.
pub(crate) fn difference(history: &History, mutation: Option<Mutation>, effort: Effort) -> Option<String> {
    let policy = match folded(&history.events()) {
        Ok(policy) => policy,
        Err(error) => return Some(format!("the fold refuses a history that could have been: {error}")),
    };
    let world = modelled(history, mutation);
    Sides { policy: &policy, world: &world, history }.difference(effort)
}

/// The same state by other ways: another order of independent steps, and a snapshot.
pub(crate) fn difference_of_ways(history: &History) -> Option<String> {
    let Ok(policy) = folded(&history.events()) else { return Some("the fold refuses".to_owned()) };
    let other = match folded(&history.reordered(1).events()) {
        Ok(other) => other,
        Err(error) => return Some(format!("the fold refuses another order: {error}")),
    };
    if policy.digest() != other.digest() {
        return Some("another order of independent steps leads to another digest".to_owned());
    }
    let bytes = match policy.to_snapshot() {
        Ok(bytes) => bytes,
        Err(error) => return Some(format!("no snapshot can be written: {error}")),
    };
    let restored = match Policy::from_snapshot(&bytes) {
        Ok(restored) => restored,
        Err(error) => return Some(format!("the snapshot can't be read: {error}")),
    };
    if restored.digest() != policy.digest() || restored.version() != policy.version() {
        return Some("the snapshot holds another state".to_owned());
    }
    let world = modelled(history, None);
    let effort = Effort { checks: 8, lists: 1, held: 2 };
    for (way, policy) in [("another order", &other), ("a snapshot", &restored)] {
        if let Some(found) = (Sides { policy, world: &world, history }).difference(effort) {
            return Some(format!("by way of {way}: {found}"));
        }
    }
    None
}

/// Stops the test with the smallest history that still shows a difference.
pub(crate) fn report(history: &History, differs: impl Fn(&History) -> Option<String>) -> ! {
    let first = differs(history).unwrap_or_default();
    let refuses = |text: &str| text.contains("refuses");
    let smallest =
        history.shrunk(|smaller| differs(smaller).is_some_and(|text| refuses(&text) == refuses(&first)));
    let found = differs(&smallest).unwrap_or_default();
    panic!("{found}\n(at first: {first})\nsmallest history:\n{}", smallest.shown());
}
