//! Other people's engines on our questions. Each says what it could model exactly.

pub(crate) mod casbin;
pub(crate) mod cedar;

use crate::{
    facts::{Facts, Grant, To},
    questions::Question,
};
use charter_events::Timestamp;

/// What speaks on one scope of a question's chain, nearest first.
pub(crate) struct Level<'a> {
    /// The object; none: the global scope.
    pub(crate) scope: Option<u32>,
    /// The grants there that are live, match the key and reach the object.
    pub(crate) grants: Vec<&'a Grant>,
}

/// The slice of the facts that one question needs.
pub(crate) struct Slice<'a> {
    /// Global grants of roles whose wildcard matches.
    pub(crate) wild: Vec<&'a Grant>,
    /// The chain.
    pub(crate) levels: Vec<Level<'a>>,
}

/// The facts with an index by scope, from which slices are cut.
pub(crate) struct Index<'a> {
    pub(crate) facts: &'a Facts,
    on: Vec<Vec<u32>>,
    global: Vec<u32>,
    now: Timestamp,
}

impl<'a> Index<'a> {
    /// Indexes the facts for one moment.
    pub(crate) fn new(facts: &'a Facts, now: Timestamp) -> Self {
        let (on, global) = facts.by_scope();
        Self { facts, on, global, now }
    }

    /// What one question needs: for both peers the time, the reach and the role's content are resolved here.
    pub(crate) fn slice(&self, question: &Question) -> Slice<'a> {
        let facts = self.facts;
        let is_folder = question.object.is_some_and(|object| facts.objects[object as usize].is_folder);
        let speaking = |places: &[u32], distance: usize| -> Vec<&'a Grant> {
            let grants = places.iter().map(|place| &facts.grants[*place as usize]);
            grants
                .filter(|g| g.is_live(self.now) && g.reach.reaches(distance, is_folder))
                .filter(|g| facts.holds(g.content, question.key))
                .collect()
        };
        let (chain, then_global) = question.object.map_or((Vec::new(), true), |object| facts.chain(object));
        let mut levels: Vec<Level<'a>> = chain
            .iter()
            .enumerate()
            .map(|(distance, object)| Level {
                scope: Some(*object),
                grants: speaking(&self.on[*object as usize], distance),
            })
            .collect();
        if then_global {
            levels.push(Level { scope: None, grants: speaking(&self.global, 0) });
        }
        let wild = self.global.iter().map(|place| &facts.grants[*place as usize]);
        let wild = wild
            .filter(|g| g.is_role && g.is_live(self.now) && facts.holds_by_wildcard(g.content, question.key))
            .collect();
        Slice { wild, levels }
    }

    /// The longest chain there is, the global scope included.
    pub(crate) fn chain_max(&self) -> usize {
        let mut depths = vec![0_usize; self.facts.objects.len()];
        let mut longest = 0;
        for object in 0..self.facts.objects.len() {
            let mut open = vec![object];
            while let Some(here) = open.last().copied() {
                let parent = self.facts.objects[here].parent.map(|p| p as usize);
                match parent {
                    Some(parent) if depths[parent] == 0 => open.push(parent),
                    _ => {
                        depths[here] = parent.map_or(0, |p| depths[p]) + 1;
                        longest = longest.max(depths[here]);
                        open.pop();
                    }
                }
            }
        }
        longest + 1
    }
}

/// The name of a subject for a peer.
pub(crate) fn name(to: To) -> String {
    match to {
        To::User(user) => format!("u{user}"),
        To::Group(group) => format!("g{group}"),
    }
}
