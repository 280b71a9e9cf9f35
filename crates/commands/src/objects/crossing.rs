//! What begins and what ceases to reach an object when what lies above it changes: a move, or an opened seal.
//!
//! Judged by places, as grants are: the object itself and, of a folder, an imaginary folder and an imaginary object
//! one and two levels below it. So a guard costs the entries on the two chains, never the subtree.

use crate::{
    Context, Guard,
    holding::{content, items, require_held},
    refusal::Refusal,
};
use charter_events::{Effect, ObjectId, Pattern, Reach, Scope};
use charter_policy::{ContentView, GrantView, ObjectView, Policy, Span};
use std::collections::{BTreeMap, BTreeSet};

/// What lies above an object and counts for it.
#[derive(Debug, Default)]
pub(super) struct Above {
    /// Each folder with its distance, from 1.
    distances: BTreeMap<ObjectId, usize>,
    /// Whether the chain goes on to the global scope.
    global: bool,
}

impl Above {
    /// Nothing counts: the object is sealed.
    pub(super) fn sealed() -> Self {
        Self::default()
    }

    /// What would count for an object that inherits and lies in this folder, or at the top.
    pub(super) fn from_parent(policy: &Policy, parent: Option<ObjectId>) -> Self {
        let mut above = Self::default();
        let mut next = parent;
        while let Some(folder) = next.and_then(|id| policy.object(id)) {
            let distance = above.distances.len() + 1;
            above.distances.insert(folder.id, distance);
            if !folder.inherits {
                return above;
            }
            next = folder.parent;
        }
        above.global = true;
        above
    }
}

/// Requires the caller to hold, for good and over everything below the object as it is now, the content of every
/// allow grant that begins to reach it and the keys of every deny that ceases to.
pub(super) fn require_crossing_held(
    policy: &Policy,
    ctx: &Context<'_>,
    object: &ObjectView<'_>,
    before: &Above,
    after: &Above,
) -> Result<(), Refusal> {
    let (begins, ceases) = crossing(policy, ctx, object, before, after);
    let held = |wanted: &BTreeSet<Pattern>| {
        let wanted: Vec<_> = wanted.iter().cloned().collect();
        require_held(policy, ctx, &wanted, Scope::Object(object.id), Reach::ALL, Span::Until(None))
    };
    ctx.guard(Guard::HoldWhatBegins, || held(&begins))?;
    ctx.guard(Guard::HoldWhatCeases, || held(&ceases))
}

fn crossing(
    policy: &Policy,
    ctx: &Context<'_>,
    object: &ObjectView<'_>,
    before: &Above,
    after: &Above,
) -> (BTreeSet<Pattern>, BTreeSet<Pattern>) {
    let (mut begins, mut ceases) = (BTreeSet::new(), BTreeSet::new());
    let folders: BTreeSet<_> = before.distances.keys().chain(after.distances.keys()).collect();
    for folder in folders {
        let (old, new) = (before.distances.get(folder).copied(), after.distances.get(folder).copied());
        for grant in policy.grants_at(Scope::Object(*folder)).filter(|grant| !grant.has_ended(ctx.now)) {
            match grant.effect {
                Effect::Allow if comes(grant.reach, object, old, new) => {
                    begins.extend(content(policy, &grant))
                }
                Effect::Deny if comes(grant.reach, object, new, old) => {
                    ceases.extend(content(policy, &grant))
                }
                Effect::Allow | Effect::Deny => {}
            }
        }
    }
    if before.global != after.global {
        for grant in policy.grants_at(Scope::Global).filter(|grant| !grant.has_ended(ctx.now)) {
            match grant.effect {
                Effect::Allow if after.global => begins.extend(literals(policy, &grant)),
                Effect::Deny if before.global => ceases.extend(content(policy, &grant)),
                Effect::Allow | Effect::Deny => {}
            }
        }
    }
    (begins, ceases)
}

/// Whether a grant at `new` levels above reaches a place of the object that it did not from `old` levels above.
fn comes(reach: Reach, object: &ObjectView<'_>, old: Option<usize>, new: Option<usize>) -> bool {
    let reached = |distance: Option<usize>, (below, is_folder): (usize, bool)| {
        distance.is_some_and(|distance| reach.reaches(distance.saturating_add(below), is_folder))
    };
    let itself = (0, object.is_folder);
    let inside = [(1, false), (1, true), (2, false), (2, true)];
    let places = std::iter::once(itself).chain(inside.into_iter().filter(|_| object.is_folder));
    places.into_iter().any(|place| reached(new, place) && !reached(old, place))
}

/// The items of a global grant that begin to count: its wildcards counted everywhere before, as an administrator's.
fn literals(policy: &Policy, grant: &GrantView<'_>) -> Vec<Pattern> {
    match &grant.content {
        ContentView::Keys(keys) => items(keys.iter().copied()),
        ContentView::Role(_) => {
            let all = content(policy, grant);
            let wild = |item: &Pattern| all.iter().any(|other| other.is_wildcard() && other.covers(item));
            all.iter().filter(|item| !wild(item)).cloned().collect()
        }
    }
}
