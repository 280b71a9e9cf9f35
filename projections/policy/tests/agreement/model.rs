//! The real fold against the naive model, on random worlds dense with conflict: every question, with its explanation.
//!
//! `CHARTER_WORLDS` sets how many worlds in all; a failure prints the smallest history that still shows it.

use crate::{
    compare::same,
    sides::{Effort, difference, difference_of_ways, folded, report},
};
use charter_testkit::{
    at,
    model::{Mutation, World},
    random::History,
    workload::{Conflict, RbacW, Size},
};

/// Worlds of a run, over all parts.
const WORLDS: u64 = 100_000;
/// Tests the worlds are split over, so that they run side by side.
const PARTS: u64 = 4;

fn worlds() -> u64 {
    std::env::var("CHARTER_WORLDS").ok().and_then(|text| text.parse().ok()).unwrap_or(WORLDS)
}

fn part(number: u64) {
    let first = std::env::var("CHARTER_FIRST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    for seed in (first..first + worlds()).filter(|seed| seed % PARTS == number) {
        let history = History::of(seed);
        if difference(&history, None, Effort::USUAL).is_some() {
            report(&history, |history| difference(history, None, Effort::THOROUGH));
        }
        // Other ways to the same state cost three folds and a snapshot: every eighth world.
        if (seed / PARTS).is_multiple_of(8) && difference_of_ways(&history).is_some() {
            report(&history, difference_of_ways);
        }
    }
}

#[test]
fn policy_and_model_agree_on_random_worlds_0() {
    part(0);
}

#[test]
fn policy_and_model_agree_on_random_worlds_1() {
    part(1);
}

#[test]
fn policy_and_model_agree_on_random_worlds_2() {
    part(2);
}

#[test]
fn policy_and_model_agree_on_random_worlds_3() {
    part(3);
}

#[test]
fn a_few_worlds_are_asked_everything() {
    for seed in 1_000_000..1_000_300 {
        let history = History::of(seed);
        let differs = |history: &History| difference(history, None, Effort::THOROUGH);
        if differs(&history).is_some() {
            report(&history, differs);
        }
    }
}

/// Lists that outgrow their inline form, and whole subtrees of entries.
#[test]
fn policy_and_model_agree_on_crowded_worlds() {
    for seed in 0..160 {
        let history = History::crowded(seed);
        let differs = |history: &History| {
            difference(history, None, Effort { checks: 60, lists: 3, held: 8 })
                .or_else(|| difference_of_ways(history))
        };
        if differs(&history).is_some() {
            report(&history, differs);
        }
    }
}

#[test]
fn policy_and_model_agree_on_the_workloads() {
    let conflict = Conflict::new(7);
    let policy = folded(&conflict.events().collect::<Vec<_>>()).unwrap();
    let world = World::of(conflict.events().map(|(_, event)| event).collect::<Vec<_>>().iter());
    for (user, key, scope) in conflict.questions(1).take(4_000) {
        let now = conflict.now();
        let (got, expected) = (policy.check(user, &key, scope, now), world.check(user, &key, scope, now));
        assert!(same(&got, &expected), "X: {user} {key} {scope:?}\n  model  {expected:?}\n  policy {got:?}");
    }
    let calm = RbacW::new(Size::Xs, 7);
    let policy = folded(&calm.events().collect::<Vec<_>>()).unwrap();
    let world = World::of(calm.events().map(|(_, event)| event).collect::<Vec<_>>().iter());
    let now = at("2026-06-01T00:00:00Z");
    for q in calm.questions(1).take(4_000) {
        let (got, expected) =
            (policy.check(q.user, &q.key, q.scope, now), world.check(q.user, &q.key, q.scope, now));
        assert!(same(&got, &expected), "RBAC-W: {q:?}\n  model  {expected:?}\n  policy {got:?}");
    }
}

/// The comparison itself is worth nothing if the worlds do not tell right from wrong.
#[test]
fn every_broken_rule_is_noticed_within_a_few_hundred_worlds() {
    const WITHIN: u64 = 3_000;
    let mut unnoticed = Vec::new();
    for mutation in Mutation::ALL {
        let found = (0..WITHIN)
            .find(|seed| difference(&History::of(*seed), Some(*mutation), Effort::USUAL).is_some());
        match found {
            Some(seed) => println!("{mutation:?}: after {} worlds", seed + 1),
            None => unnoticed.push(mutation),
        }
    }
    assert!(unnoticed.is_empty(), "not noticed within {WITHIN} worlds: {unnoticed:?}");
}

#[test]
fn questions_are_asked_at_the_very_moment_grants_begin_and_end() {
    let now = History::of(0).now;
    assert_eq!(now, at("2026-01-02T00:00:00Z"));
    let mut at_the_moment = 0;
    for seed in 0..200 {
        let events = History::of(seed).events();
        at_the_moment += events
            .iter()
            .filter(|(_, event)| match event {
                charter_events::Event::GrantIssued(grant) => {
                    grant.expires_at == Some(now) || grant.not_before == Some(now)
                }
                _ => false,
            })
            .count();
    }
    assert!(at_the_moment > 50, "{at_the_moment}");
}
