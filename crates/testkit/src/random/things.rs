//! What a random world is made of: users, groups, roles, objects, each made by one command.

use super::{
    Fact, Thing,
    make::{Making, exists, key_thing},
};
use crate::{history::parsed, ids};
use charter_events::{
    Affects, ChildTypes, Content, Effect, GrantIssued, GroupCreated, GroupMemberAdded, ObjectCreated,
    ObjectId, Pattern, RoleCreated, RoleId, RoleScope, Scope, SealedProfile, Subject, UserId, UserInvited,
    UserKind, UserRegistered,
};

impl Making {
    pub(super) fn user(&mut self, name: &str) {
        let user: UserId = self.id(1).into();
        // Some are linked to an identity, and no die is thrown for it.
        let is_linked = ids::tag(name).as_bytes().first().is_some_and(|byte| byte % 3 == 0);
        let identity = is_linked.then(|| ids::tag(&format!("identity {name}")));
        let (kind, profile) = (UserKind::Person, SealedProfile { identity, ..ids::profile(name) });
        let event = if self.rng.percent(6) {
            UserInvited { user, kind, profile }.into()
        } else {
            UserRegistered { user, kind, profile }.into()
        };
        self.step(vec![event], Vec::new(), vec![exists(user.as_uuid())]);
    }

    /// A group, with about half of the users in it.
    pub(super) fn group(&mut self, slug: &str) {
        let group = self.id(2).into();
        let event = GroupCreated { group, slug: parsed(slug), name: ids::shown(slug) };
        self.step(vec![event.into()], Vec::new(), vec![exists(group.as_uuid())]);
        for user in self.living() {
            if self.rng.percent(55) {
                self.join(group, user);
            }
        }
    }

    pub(super) fn join(&mut self, group: charter_events::GroupId, user: UserId) {
        let (a, b) = (group.as_uuid(), user.as_uuid());
        let member = (Fact::Member, a.as_u128().wrapping_mul(31) ^ b.as_u128());
        self.step(vec![GroupMemberAdded { group, user }.into()], vec![exists(a), exists(b)], vec![member]);
    }

    pub(super) fn role(&mut self, slug: &str) {
        let role: RoleId = self.id(3).into();
        let scope = *self.rng.pick(&[
            RoleScope::Both,
            RoleScope::Both,
            RoleScope::Both,
            RoleScope::Object,
            RoleScope::Global,
        ]);
        let mut permissions: Vec<Pattern> = Vec::new();
        for _ in 0..self.rng.between(0, 3) {
            permissions.push(self.pattern());
        }
        permissions.sort();
        permissions.dedup();
        let reads = permissions.iter().filter_map(Pattern::as_key).map(|key| key_thing(&key)).collect();
        self.scopes.push((role, scope));
        let name = ids::shown(slug);
        let event = RoleCreated { role, slug: parsed(slug), name, scope, permissions, seeded: None };
        self.step(vec![event.into()], reads, vec![exists(role.as_uuid())]);
    }

    pub(super) fn object(&mut self, name: &str) {
        let object: ObjectId = self.id(4).into();
        let kind = *self.rng.pick(&["folder", "folder", "server", "server", "world"]);
        let folders = self.folders();
        let parent = if self.rng.percent(80) { self.rng.any(&folders) } else { None };
        let users = self.living();
        let owner = if self.rng.percent(30) { self.rng.any(&users) } else { None };
        let created = ObjectCreated {
            object,
            object_type: parsed(kind),
            external_id: None,
            name: ids::shown(name),
            parent,
            owner,
            inherits: !self.rng.percent(15),
        };
        let mut reads: Vec<Thing> = parent.map(|folder| exists(folder.as_uuid())).into_iter().collect();
        let mut writes = vec![exists(object.as_uuid())];
        let mut events = vec![created.into()];
        if let Some(owner) = owner {
            reads.push(exists(owner.as_uuid()));
            let grant = self.owner_grant(object, owner);
            writes.push(exists(grant.grant.as_uuid()));
            events.push(grant.into());
        }
        self.step(events, reads, writes);
    }

    pub(super) fn owner_grant(&mut self, object: ObjectId, owner: UserId) -> GrantIssued {
        GrantIssued {
            grant: self.id(5).into(),
            subject: Subject::User(owner),
            content: Content::Role(self.owner_role),
            scope: Scope::Object(object),
            effect: Effect::Allow,
            not_before: None,
            expires_at: None,
            affects: Affects::All,
            child_types: ChildTypes::All,
        }
    }
}
