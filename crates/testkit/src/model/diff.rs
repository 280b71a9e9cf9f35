//! Who gained and lost what between two worlds: every user, every key and every place of both, one by one.

use super::{Answer, Because, World};
use charter_events::{PermissionKey, Scope, Timestamp, UserId};
use std::collections::BTreeSet;

/// One answer that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Whose.
    pub user: UserId,
    /// Where; none: everywhere, as an administrator on one side.
    pub scope: Option<Scope>,
    /// Of which key.
    pub key: PermissionKey,
    /// From no to yes; else from yes to no.
    pub gained: bool,
}

impl World {
    /// The answers that differ between this world at a moment and another at another. With `every_place` one for each
    /// place; without it a key that a user has as an administrator on one side is told once, and one he has so on both
    /// sides is not told.
    pub fn diff(
        &self,
        at: Timestamp,
        after: &Self,
        at_after: Timestamp,
        every_place: bool,
    ) -> BTreeSet<Difference> {
        let users = self.users.iter().chain(&after.users).map(|user| user.id).collect::<BTreeSet<_>>();
        let keys = self.keys.iter().chain(&after.keys).collect::<BTreeSet<_>>();
        let objects = self.objects.iter().chain(&after.objects).map(|object| Scope::Object(object.id));
        let places = std::iter::once(Scope::Global).chain(objects).collect::<BTreeSet<_>>();
        let mut found = BTreeSet::new();
        for user in users {
            for key in &keys {
                let administers = |world: &Self, now| {
                    world.check(user, key, Scope::Global, now).because == Because::Administrator
                };
                let key = (*key).clone();
                match (administers(self, at), administers(after, at_after)) {
                    (true, true) if !every_place => {}
                    (before, gained) if before != gained && !every_place => {
                        found.insert(Difference { user, scope: None, key, gained });
                    }
                    _ => found.extend(places.iter().filter_map(|scope| {
                        let before = self.check_if_there(user, &key, *scope, at);
                        let gained = after.check_if_there(user, &key, *scope, at_after);
                        let key = key.clone();
                        (before != gained).then_some(Difference { user, scope: Some(*scope), key, gained })
                    })),
                }
            }
        }
        found
    }

    /// Whether he may; on what is not there nobody may.
    fn check_if_there(&self, user: UserId, key: &PermissionKey, scope: Scope, now: Timestamp) -> bool {
        let there = match scope {
            Scope::Global => true,
            Scope::Object(id) => self.objects.iter().any(|object| object.id == id),
        };
        let answer: Answer = self.check(user, key, scope, now);
        there && answer.allowed
    }
}
