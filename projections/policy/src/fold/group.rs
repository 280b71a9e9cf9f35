//! What group events mean.

use super::{Fold, Folded};
use crate::{
    ix::{GroupIx, UserIx},
    state::users::GroupFacts,
};
use charter_events::{
    GroupCreated, GroupDeleted, GroupExternalIdChanged, GroupMemberAdded, GroupMemberRemoved, GroupRenamed,
};

impl Fold<'_> {
    pub(super) fn group_created(&mut self, e: &GroupCreated) -> Folded {
        let groups = &mut self.policy.groups;
        if groups.slugs.contains_key(&e.slug) {
            return Err(self.taken("group", &e.slug));
        }
        let Some(ix) = groups.ids.insert(e.group.as_uuid()) else {
            return Err(self.taken("group", &e.group));
        };
        groups.slugs.insert(e.slug.clone(), GroupIx(ix));
        groups.push(Some(GroupFacts {
            slug: e.slug.clone(),
            name: e.name.clone(),
            external_id: None,
            changed_at: self.meta.offset,
        }));
        Ok(())
    }

    pub(super) fn group_renamed(&mut self, e: &GroupRenamed) -> Folded {
        let ix = self.group(e.group)?;
        self.touch_group(ix);
        if let Some(Some(facts)) = self.policy.groups.facts.get_mut(ix.at()) {
            facts.name = e.name.clone();
        }
        Ok(())
    }

    pub(super) fn group_external_id_changed(&mut self, e: &GroupExternalIdChanged) -> Folded {
        let ix = self.group(e.group)?;
        self.touch_group(ix);
        if let Some(Some(facts)) = self.policy.groups.facts.get_mut(ix.at()) {
            facts.external_id = e.external_id.clone();
        }
        Ok(())
    }

    pub(super) fn group_member_added(&mut self, e: &GroupMemberAdded) -> Folded {
        let (group, user) = (self.group(e.group)?, self.user(e.user)?);
        if !self.policy.set_membership(group, user, true) {
            return Err(self.contradiction(&e.group, "the user is a member already"));
        }
        self.touch_group(group);
        Ok(())
    }

    pub(super) fn group_member_removed(&mut self, e: &GroupMemberRemoved) -> Folded {
        let (group, user) = (self.group(e.group)?, self.user(e.user)?);
        if !self.policy.set_membership(group, user, false) {
            return Err(self.contradiction(&e.group, "the user is no member"));
        }
        self.touch_group(group);
        Ok(())
    }

    pub(super) fn group_deleted(&mut self, e: &GroupDeleted) -> Folded {
        let ix = self.group(e.group)?;
        let groups = &mut self.policy.groups;
        if groups.members(ix).is_some_and(|members| !members.is_empty()) {
            return Err(self.contradiction(&e.group, "there are members"));
        }
        if groups.grants(ix).is_some_and(|grants| !grants.is_empty()) {
            return Err(self.contradiction(&e.group, "there are grants to it"));
        }
        if let Some(facts) = groups.facts.get_mut(ix.at()).and_then(Option::take) {
            groups.slugs.remove(&facts.slug);
        }
        Ok(())
    }

    fn touch_group(&mut self, ix: GroupIx) {
        if let Some(Some(facts)) = self.policy.groups.facts.get_mut(ix.at()) {
            facts.changed_at = self.meta.offset;
        }
    }
}

impl crate::Policy {
    /// Puts a user into a group or takes him out; `false` when he was there, or out, already.
    pub(crate) fn set_membership(&mut self, group: GroupIx, user: UserIx, is_in: bool) -> bool {
        let Some(members) = self.groups.members.get_mut(group.at()) else { return false };
        let changed = if is_in { members.insert(user) } else { members.remove(&user) };
        if changed && let Some(node) = self.users.nodes.get_mut(user.at()) {
            match node.groups.binary_search(&group) {
                Ok(place) if !is_in => {
                    node.groups.remove(place);
                }
                Err(place) if is_in => node.groups.insert(place, group),
                Ok(_) | Err(_) => {}
            }
        }
        changed
    }
}
