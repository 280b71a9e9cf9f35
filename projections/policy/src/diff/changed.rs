//! What differs between two states as far as decisions read it: users, grants that count, rows of the catalog, places.
//! Pages the two share are not read.

use super::{Of, Sides};
use crate::{
    ix::{GrantIx, KeyIx, ObjectIx, RoleIx, UserIx},
    state::{grants::Grant, keys::KeyRow, objects::Node},
};
use std::collections::BTreeMap;

/// A row of the catalog that differs.
pub(super) enum ChangedKey {
    /// The key came or went.
    Registration(KeyIx),
    /// These roles began or ceased to hold it, by a wildcard or literally.
    Roles(KeyIx, Vec<RoleIx>),
}

/// A place whose chain differs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangedPlace {
    pub(super) object: ObjectIx,
    /// It is there on one side only.
    pub(super) came_or_went: bool,
}

impl<'p> Sides<'p> {
    /// Users whose account works on one side only, or whose groups differ.
    pub(super) fn changed_users(self) -> impl Iterator<Item = UserIx> {
        let (before, after) = (&self.before.policy.users.nodes, &self.after.policy.users.nodes);
        before.unshared(after).map(|at| UserIx(at as u32)).filter(move |ix| {
            let of = |which: Of| {
                let node = self.of(which).policy.users.node(*ix).filter(|node| node.active);
                node.map(|node| node.groups.as_slice())
            };
            of(Of::Before) != of(Of::After)
        })
    }

    /// A grant as it counts on one side: standing, and live at that side's moment.
    pub(super) fn counting(self, which: Of, ix: GrantIx) -> Option<&'p Grant> {
        let side = self.of(which);
        side.policy.grants.get(ix).filter(|grant| grant.is_live(side.now))
    }

    /// Grants that count on one side only, or otherwise than on the other.
    pub(super) fn changed_grants(self) -> Vec<GrantIx> {
        let [before, after] = Sides::BOTH.map(|which| &self.of(which).policy.grants);
        let mut changed: Vec<GrantIx> =
            before.hot.unshared(&after.hot).map(|at| GrantIx(at as u32)).collect();
        if self.before.now != self.after.now {
            changed.extend(before.timed.iter().chain(after.timed.iter()).map(|(_, ix)| ix));
        }
        changed.retain(|ix| self.counting(Of::Before, *ix) != self.counting(Of::After, *ix));
        changed.sort_unstable();
        changed.dedup();
        changed
    }

    /// Rows of the catalog that differ for keys that are registered on either side.
    pub(super) fn changed_keys(self) -> Vec<ChangedKey> {
        let nothing = KeyRow::default();
        let (before, after) = (&self.before.policy.catalog.rows, &self.after.policy.catalog.rows);
        let mut changed = Vec::new();
        for at in before.unshared(after) {
            let (one, two) = (before.get(at).unwrap_or(&nothing), after.get(at).unwrap_or(&nothing));
            let key = KeyIx(at as u32);
            if one.registered != two.registered {
                changed.push(ChangedKey::Registration(key));
            } else if one.registered {
                let mut roles: Vec<RoleIx> = one.roles.differing(&two.roles).collect();
                roles.extend(one.wildcard_roles.differing(&two.wildcard_roles));
                roles.sort_unstable();
                roles.dedup();
                if !roles.is_empty() {
                    changed.push(ChangedKey::Roles(key, roles));
                }
            }
        }
        changed
    }

    /// Objects that came or went, lie elsewhere, or inherit otherwise.
    pub(super) fn changed_places(self) -> impl Iterator<Item = ChangedPlace> {
        let (before, after) = (&self.before.policy.objects.nodes, &self.after.policy.objects.nodes);
        let ways = |node: &Node| (node.parent, node.inherits);
        before.unshared(after).map(|at| ObjectIx(at as u32)).filter_map(move |object| {
            let one = self.before.policy.objects.node(object).map(ways);
            let two = self.after.policy.objects.node(object).map(ways);
            (one != two).then_some(ChangedPlace { object, came_or_went: one.is_some() != two.is_some() })
        })
    }
}

/// The keys of each role that began or ceased to be held, and the keys that came or went.
pub(super) fn by_role(changed: Vec<ChangedKey>) -> (BTreeMap<RoleIx, Vec<KeyIx>>, Vec<KeyIx>) {
    let (mut of_roles, mut registrations) = (BTreeMap::<RoleIx, Vec<KeyIx>>::new(), Vec::new());
    for key in changed {
        match key {
            ChangedKey::Registration(key) => registrations.push(key),
            ChangedKey::Roles(key, roles) => {
                for role in roles {
                    of_roles.entry(role).or_default().push(key);
                }
            }
        }
    }
    (of_roles, registrations)
}
