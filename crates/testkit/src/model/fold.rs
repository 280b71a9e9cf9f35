//! Events into lists. What decisions never ask about (names, tokens, sessions) is not kept.

use super::{Grant, Group, Mutation, Object, Role, User, World};
use charter_events::{
    Content, Effect, Event, GrantIssued, Pattern, PermissionKey, PermissionsRemoved, RoleCreated,
    RolePermissionsChanged, UserId,
};

impl World {
    /// What changes with an event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::PermissionsRegistered(e) => {
                for permission in &e.permissions {
                    if !self.keys.contains(&permission.key) {
                        self.keys.push(permission.key.clone());
                    }
                }
            }
            Event::PermissionsRemoved(e) => self.remove_keys(e),
            Event::RoleCreated(e) => self.create_role(e),
            Event::RolePermissionsChanged(e) => self.change_role(e),
            Event::RoleDeleted(e) => self.roles.retain(|role| role.id != e.role),
            Event::GroupCreated(e) => self.groups.push(Group { id: e.group, members: Vec::new() }),
            Event::GroupDeleted(e) => self.groups.retain(|group| group.id != e.group),
            Event::GroupMemberAdded(e) => self.group_mut(e.group, |members| members.push(e.user)),
            Event::GroupMemberRemoved(e) if !self.breaks(Mutation::KeepLeavers) => {
                self.group_mut(e.group, |members| members.retain(|member| *member != e.user));
            }
            Event::GrantIssued(e) => self.issue(e),
            Event::GrantRevoked(_) if self.breaks(Mutation::IgnoreRevocations) => {}
            Event::GrantRevoked(e) => self.grants.retain(|grant| grant.id != e.grant),
            Event::GrantEnded(e) => self.grants.retain(|grant| grant.id != e.grant),
            Event::GrantKeysRemoved(e) => self.strip_grant(e.grant, &e.keys),
            _ => self.apply_to_objects_and_users(event),
        }
    }

    fn apply_to_objects_and_users(&mut self, event: &Event) {
        match event {
            Event::ObjectCreated(e) => self.objects.push(Object {
                id: e.object,
                object_type: e.object_type.clone(),
                parent: e.parent,
                inherits: e.inherits,
                owner: e.owner,
            }),
            Event::ObjectMoved(e) if !self.breaks(Mutation::IgnoreMoves) => {
                self.object_mut(e.object, |object| object.parent = e.parent);
            }
            Event::ObjectInheritanceChanged(e) => {
                self.object_mut(e.object, |object| object.inherits = e.inherits)
            }
            Event::ObjectTransferred(e) => self.object_mut(e.object, |object| object.owner = Some(e.owner)),
            Event::ObjectDeleted(e) => self.objects.retain(|object| object.id != e.object),
            Event::UserInvited(e) => self.add_user(e.user, false),
            Event::UserRegistered(e) => {
                self.users.retain(|user| user.id != e.user);
                self.add_user(e.user, true);
            }
            Event::UserSuspended(e) => self.activate(e.user, false),
            Event::UserDeletionScheduled(e) => self.user_mut(e.user, |user| {
                user.active_before_deletion = user.active;
                user.active = false;
            }),
            Event::UserErased(e) => self.activate(e.user, false),
            Event::UserReactivated(e) => self.activate(e.user, true),
            Event::UserDeletionCancelled(e) => {
                self.user_mut(e.user, |user| user.active = user.active_before_deletion)
            }
            _ => {}
        }
    }

    fn create_role(&mut self, e: &RoleCreated) {
        let mut permissions = e.permissions.clone();
        if self.breaks(Mutation::WildcardsExpandedEarly) && e.seeded.is_none() {
            permissions = self
                .keys
                .iter()
                .filter(|key| permissions.iter().any(|pattern| self.matches(pattern, key)))
                .map(|key| Pattern::from(key.clone()))
                .collect();
        }
        self.roles.push(Role { id: e.role, permissions });
    }

    fn change_role(&mut self, e: &RolePermissionsChanged) {
        let keep = self.breaks(Mutation::IgnoreRoleLosses);
        for role in self.roles.iter_mut().filter(|role| role.id == e.role) {
            role.permissions.retain(|pattern| keep || !e.removed.contains(pattern));
            role.permissions.extend(e.added.iter().cloned());
        }
    }

    fn remove_keys(&mut self, e: &PermissionsRemoved) {
        self.keys.retain(|key| !e.keys.contains(key));
        if self.breaks(Mutation::DropDeniesOfRemovedKeys) {
            for grant in self.grants.iter_mut().filter(|grant| grant.effect == Effect::Deny) {
                if let Content::Keys(keys) = &mut grant.content {
                    keys.retain(|key| !e.keys.contains(key));
                }
            }
        }
    }

    fn issue(&mut self, e: &GrantIssued) {
        self.grants.push(Grant {
            id: e.grant,
            subject: e.subject,
            content: e.content.clone(),
            scope: e.scope,
            effect: e.effect,
            not_before: e.not_before,
            expires_at: e.expires_at,
            affects: e.affects,
            child_types: e.child_types,
        });
    }

    fn strip_grant(&mut self, id: charter_events::GrantId, lost: &[PermissionKey]) {
        for grant in self.grants.iter_mut().filter(|grant| grant.id == id) {
            if let Content::Keys(keys) = &mut grant.content {
                keys.retain(|key| !lost.contains(key));
            }
        }
    }

    fn group_mut(&mut self, id: charter_events::GroupId, change: impl Fn(&mut Vec<UserId>)) {
        for group in self.groups.iter_mut().filter(|group| group.id == id) {
            change(&mut group.members);
        }
    }

    fn object_mut(&mut self, id: charter_events::ObjectId, change: impl Fn(&mut Object)) {
        self.objects.iter_mut().filter(|object| object.id == id).for_each(change);
    }

    fn add_user(&mut self, id: UserId, active: bool) {
        self.users.push(User { id, active, active_before_deletion: false });
    }

    fn user_mut(&mut self, id: UserId, change: impl Fn(&mut User)) {
        self.users.iter_mut().filter(|user| user.id == id).for_each(change);
    }

    fn activate(&mut self, id: UserId, active: bool) {
        self.user_mut(id, |user| user.active = active);
    }
}
