//! What happens to a random world afterwards: everything that changes an answer.

use super::{
    Fact, Thing,
    make::{KEYS, Making, exists, key_thing, subject_id},
};
use crate::{history::parsed, ids};
use charter_events::{
    Content, Effect, EndedBy, Event, GrantEnded, GrantExpired, GrantId, GrantKeysRemoved, GrantRevoked,
    GroupDeleted, GroupId, GroupMemberRemoved, ObjectDeleted, ObjectId, ObjectInheritanceChanged,
    ObjectMoved, ObjectTransferred, Pattern, PermissionKey, PermissionsRemoved, RoleDeleted, RoleId,
    RolePermissionsChanged, Scope, Subject, UserDeletionCancelled, UserDeletionScheduled, UserErased, UserId,
    UserKind, UserReactivated, UserRegistered, UserSuspended,
};

const TREE: Thing = (Fact::Tree, 0);

impl Making {
    /// One more thing happens; nothing, when what came up is not possible.
    pub(super) fn edit(&mut self) {
        match self.rng.below(24) {
            0..=2 => self.move_object(),
            3 => self.transfer(),
            4 | 5 => self.add_to_role(),
            6 | 7 => self.take_from_role(),
            8 | 9 => self.join_or_leave(),
            10 => self.suspend(),
            11 => self.schedule_or_cancel(),
            12 => self.register_another(),
            13 | 14 => self.remove_key(),
            15 | 16 => self.revoke(),
            17 => self.delete_object(),
            18 => self.seal(),
            19 => self.delete_role(),
            20 => self.delete_group(),
            21 => self.erase(),
            22 => self.expire(),
            _ => self.grant(),
        }
    }

    fn any_object(&mut self) -> Option<ObjectId> {
        let objects: Vec<ObjectId> = self.world.objects.iter().map(|object| object.id).collect();
        self.rng.any(&objects)
    }

    fn is_in(&self, object: ObjectId, folder: ObjectId) -> bool {
        let mut at = Some(object);
        while let Some(id) = at {
            if id == folder {
                return true;
            }
            at = self.world.objects.iter().find(|object| object.id == id).and_then(|object| object.parent);
        }
        false
    }

    fn move_object(&mut self) {
        let Some(object) = self.any_object() else { return };
        let folders: Vec<ObjectId> =
            self.folders().into_iter().filter(|folder| !self.is_in(*folder, object)).collect();
        let parent = if self.rng.percent(80) { self.rng.any(&folders) } else { None };
        let mut reads = vec![exists(object.as_uuid())];
        reads.extend(parent.map(|folder| exists(folder.as_uuid())));
        self.step(vec![ObjectMoved { object, parent }.into()], reads, vec![TREE]);
    }

    fn seal(&mut self) {
        let Some(object) = self.any_object() else { return };
        let inherits = self.world.objects.iter().any(|o| o.id == object && !o.inherits);
        let writes = vec![(Fact::Inherits, object.as_uuid().as_u128())];
        let event = ObjectInheritanceChanged { object, inherits };
        self.step(vec![event.into()], vec![exists(object.as_uuid())], writes);
    }

    fn transfer(&mut self) {
        let (Some(object), users) = (self.any_object(), self.living()) else { return };
        let old = self.world.objects.iter().find(|o| o.id == object).and_then(|o| o.owner);
        let Some(owner) = self.rng.any(&users).filter(|owner| Some(*owner) != old) else { return };
        let on_it = self.world.grants.iter().filter(|grant| grant.scope == Scope::Object(object));
        let ended: Vec<_> = on_it
            .filter(|grant| {
                let owners = grant.content == Content::Role(self.owner_role);
                let denies_him = grant.effect == Effect::Deny && grant.subject == Subject::User(owner);
                owners || denies_him
            })
            .map(|grant| grant.id)
            .collect();
        let issued = self.owner_grant(object, owner);
        let mut reads = vec![exists(object.as_uuid()), exists(owner.as_uuid())];
        reads.extend(old.map(|old| exists(old.as_uuid())));
        let mut writes = vec![(Fact::Owner, object.as_uuid().as_u128()), exists(issued.grant.as_uuid())];
        writes.extend(ended.iter().map(|grant| exists(grant.as_uuid())));
        let by = EndedBy::Transfer(object);
        let mut events: Vec<Event> =
            ended.into_iter().map(|grant| GrantEnded { grant, by: by.clone() }.into()).collect();
        events.extend([ObjectTransferred { object, owner }.into(), issued.into()]);
        self.ending(events, reads, writes);
    }

    fn delete_object(&mut self) {
        let Some(object) = self.any_object() else { return };
        if self.world.objects.iter().any(|other| other.parent == Some(object)) {
            return;
        }
        let owner = self.world.objects.iter().find(|o| o.id == object).and_then(|o| o.owner);
        let reads = owner.map(|owner| exists(owner.as_uuid())).into_iter().collect();
        let (mut events, mut writes) =
            self.ended(EndedBy::Object(object), |grant| grant.scope == Scope::Object(object));
        events.push(ObjectDeleted { object }.into());
        writes.extend([exists(object.as_uuid()), (Fact::Owner, object.as_uuid().as_u128()), TREE]);
        self.ending(events, reads, writes);
    }

    /// What a grant hangs on: it ends before any of that can go.
    fn hangs_on(&self, id: GrantId) -> Vec<Thing> {
        let mut things = Vec::new();
        for grant in self.world.grants.iter().filter(|grant| grant.id == id) {
            things.push(exists(subject_id(grant.subject)));
            if let Scope::Object(object) = grant.scope {
                things.push(exists(object.as_uuid()));
            }
            if let Content::Role(role) = grant.content {
                things.push(exists(role.as_uuid()));
            }
        }
        things
    }

    /// A step that ends grants, in which each event comes before what it makes possible.
    fn ending(&mut self, events: Vec<Event>, mut reads: Vec<Thing>, writes: Vec<Thing>) {
        for event in &events {
            match event {
                Event::GrantEnded(e) => reads.extend(self.hangs_on(e.grant)),
                Event::GrantRevoked(e) => reads.extend(self.hangs_on(e.grant)),
                Event::GrantExpired(e) => reads.extend(self.hangs_on(e.grant)),
                Event::GrantKeysRemoved(e) => reads.extend(self.hangs_on(e.grant)),
                Event::RolePermissionsChanged(e) => reads.push(exists(e.role.as_uuid())),
                Event::GroupMemberRemoved(e) => {
                    reads.extend([exists(e.group.as_uuid()), exists(e.user.as_uuid())]);
                }
                _ => {}
            }
        }
        self.step(events, reads, writes);
    }

    /// The ends of the grants that go with something.
    fn ended(&self, by: EndedBy, goes: impl Fn(&crate::model::Grant) -> bool) -> (Vec<Event>, Vec<Thing>) {
        let going: Vec<_> =
            self.world.grants.iter().filter(|grant| goes(grant)).map(|grant| grant.id).collect();
        let events = going.iter().map(|grant| GrantEnded { grant: *grant, by: by.clone() }.into()).collect();
        (events, going.iter().map(|grant| exists(grant.as_uuid())).collect())
    }

    fn any_role(&mut self) -> Option<RoleId> {
        let owner = self.owner_role;
        let roles: Vec<RoleId> =
            self.world.roles.iter().map(|role| role.id).filter(|id| *id != owner).collect();
        self.rng.any(&roles)
    }

    fn content_of(&self, role: RoleId) -> Vec<Pattern> {
        self.world.roles.iter().filter(|r| r.id == role).flat_map(|r| r.permissions.clone()).collect()
    }

    fn change_role(&mut self, role: RoleId, added: Vec<Pattern>, removed: Vec<Pattern>) {
        let mut reads = vec![exists(role.as_uuid())];
        reads.extend(added.iter().chain(&removed).filter_map(Pattern::as_key).map(|key| key_thing(&key)));
        let writes = vec![(Fact::Content, role.as_uuid().as_u128())];
        self.step(vec![RolePermissionsChanged { role, added, removed }.into()], reads, writes);
    }

    fn add_to_role(&mut self) {
        let Some(role) = self.any_role().filter(|_| !self.world.keys.is_empty()) else { return };
        let added = self.pattern();
        if !self.content_of(role).contains(&added) {
            self.change_role(role, vec![added], Vec::new());
        }
    }

    fn take_from_role(&mut self) {
        let Some(role) = self.any_role() else { return };
        let content = self.content_of(role);
        if !content.is_empty() {
            let removed = self.rng.pick(&content).clone();
            self.change_role(role, Vec::new(), vec![removed]);
        }
    }

    fn delete_role(&mut self) {
        let Some(role) = self.any_role() else { return };
        let (mut events, mut writes) =
            self.ended(EndedBy::Role(role), |grant| grant.content == Content::Role(role));
        events.push(RoleDeleted { role }.into());
        writes.extend([exists(role.as_uuid()), (Fact::Content, role.as_uuid().as_u128())]);
        self.ending(events, Vec::new(), writes);
    }

    fn any_group(&mut self) -> Option<GroupId> {
        let groups: Vec<GroupId> = self.world.groups.iter().map(|group| group.id).collect();
        self.rng.any(&groups)
    }

    fn join_or_leave(&mut self) {
        let (Some(group), users) = (self.any_group(), self.living()) else { return };
        let Some(user) = self.rng.any(&users) else { return };
        if self.world.groups.iter().any(|g| g.id == group && g.members.contains(&user)) {
            let reads = vec![exists(group.as_uuid()), exists(user.as_uuid())];
            self.step(vec![GroupMemberRemoved { group, user }.into()], reads, vec![member(group, user)]);
        } else {
            self.join(group, user);
        }
    }

    fn delete_group(&mut self) {
        let Some(group) = self.any_group() else { return };
        let (mut events, mut writes) =
            self.ended(EndedBy::Group(group), |grant| grant.subject == Subject::Group(group));
        let members: Vec<UserId> =
            self.world.groups.iter().filter(|g| g.id == group).flat_map(|g| g.members.clone()).collect();
        for user in members {
            events.push(GroupMemberRemoved { group, user }.into());
            writes.push(member(group, user));
        }
        events.push(GroupDeleted { group }.into());
        writes.push(exists(group.as_uuid()));
        self.ending(events, Vec::new(), writes);
    }

    fn set_status(&mut self, user: UserId, event: Event) {
        let writes = vec![(Fact::Status, user.as_uuid().as_u128())];
        self.step(vec![event], vec![exists(user.as_uuid())], writes);
    }

    /// The event that says where a user's account stands: a deletion that was called off never was.
    fn last_status(&self, id: UserId) -> Option<&Event> {
        let about = |event: &&Event| match event {
            Event::UserInvited(e) => e.user == id,
            Event::UserRegistered(e) => e.user == id,
            Event::UserSuspended(e) => e.user == id,
            Event::UserReactivated(e) => e.user == id,
            Event::UserDeletionScheduled(e) => e.user == id,
            Event::UserDeletionCancelled(e) => e.user == id,
            Event::UserErased(e) => e.user == id,
            _ => false,
        };
        let mut stands = Vec::new();
        for event in self.steps.iter().flat_map(|step| &step.events).filter(about) {
            if matches!(event, Event::UserDeletionCancelled(_)) {
                stands.pop();
            } else {
                stands.push(event);
            }
        }
        stands.pop()
    }

    fn suspend(&mut self) {
        let users = self.living();
        let Some(user) = self.rng.any(&users) else { return };
        let event: Event = match self.last_status(user) {
            Some(Event::UserSuspended(_)) => UserReactivated { user }.into(),
            Some(Event::UserDeletionScheduled(_)) => return,
            Some(Event::UserInvited(_)) => {
                let profile = ids::profile(&user.to_string());
                UserRegistered { user, kind: UserKind::Person, profile }.into()
            }
            _ => UserSuspended { user }.into(),
        };
        self.set_status(user, event);
    }

    fn schedule_or_cancel(&mut self) {
        let users = self.living();
        let Some(user) = self.rng.any(&users) else { return };
        let event: Event = match self.last_status(user) {
            Some(Event::UserDeletionScheduled(_)) => UserDeletionCancelled { user }.into(),
            _ => UserDeletionScheduled { user, erase_at: self.now }.into(),
        };
        self.set_status(user, event);
    }

    fn erase(&mut self) {
        let users: Vec<UserId> = self
            .living()
            .into_iter()
            .filter(|user| !self.world.objects.iter().any(|object| object.owner == Some(*user)))
            .collect();
        let Some(user) = self.rng.any(&users).filter(|_| users.len() > 1) else { return };
        let (mut events, mut writes) =
            self.ended(EndedBy::User(user), |grant| subject_id(grant.subject) == user.as_uuid());
        for group in self.world.groups.iter().filter(|group| group.members.contains(&user)) {
            events.push(GroupMemberRemoved { group: group.id, user }.into());
            writes.push(member(group.id, user));
        }
        events.push(UserErased { user }.into());
        writes.extend([exists(user.as_uuid()), (Fact::Status, user.as_uuid().as_u128())]);
        self.ending(events, Vec::new(), writes);
    }

    fn register_another(&mut self) {
        let missing: Vec<PermissionKey> =
            KEYS.iter().map(|text| parsed(text)).filter(|key| !self.world.keys.contains(key)).collect();
        if !missing.is_empty() {
            let key = self.rng.pick(&missing).clone();
            self.register(&key);
        }
    }

    /// A key leaves the catalog: roles and allows lose it, denies keep it. Half of the time it comes back at once.
    fn remove_key(&mut self) {
        let keys = self.world.keys.clone();
        if keys.len() < 2 {
            return;
        }
        let key = self.rng.pick(&keys).clone();
        let pattern = Pattern::from(key.clone());
        let (mut events, mut writes) = (Vec::new(), vec![key_thing(&key)]);
        for role in self.world.roles.iter().filter(|role| role.permissions.contains(&pattern)) {
            let change =
                RolePermissionsChanged { role: role.id, added: Vec::new(), removed: vec![pattern.clone()] };
            events.push(change.into());
            writes.push((Fact::Content, role.id.as_uuid().as_u128()));
        }
        for grant in self.world.grants.iter().filter(|grant| grant.effect == Effect::Allow) {
            let Content::Keys(held) = &grant.content else { continue };
            if held.contains(&key) {
                let by = EndedBy::Namespace(parsed(key.namespace()));
                let stripped = GrantKeysRemoved { grant: grant.id, keys: vec![key.clone()] };
                events.push(if held.len() > 1 {
                    stripped.into()
                } else {
                    GrantEnded { grant: grant.id, by }.into()
                });
                writes.push(exists(grant.id.as_uuid()));
            }
        }
        events
            .push(PermissionsRemoved { namespace: parsed(key.namespace()), keys: vec![key.clone()] }.into());
        self.ending(events, Vec::new(), writes);
        if self.rng.percent(50) {
            self.register(&key);
        }
    }

    fn revoke(&mut self) {
        let owner = self.owner_role;
        let grants: Vec<_> = self
            .world
            .grants
            .iter()
            .filter(|grant| grant.content != Content::Role(owner))
            .map(|grant| grant.id)
            .collect();
        let Some(grant) = self.rng.any(&grants) else { return };
        self.ending(vec![GrantRevoked { grant }.into()], Vec::new(), vec![exists(grant.as_uuid())]);
    }

    fn expire(&mut self) {
        let ended: Vec<_> = self
            .world
            .grants
            .iter()
            .filter(|grant| grant.expires_at.is_some_and(|end| end <= self.now))
            .map(|grant| grant.id)
            .collect();
        let Some(grant) = self.rng.any(&ended) else { return };
        self.ending(vec![GrantExpired { grant }.into()], Vec::new(), vec![exists(grant.as_uuid())]);
        // Its end has passed: to the model it makes no difference whether that is recorded.
        self.world.grants.retain(|other| other.id != grant);
    }
}

fn member(group: GroupId, user: UserId) -> Thing {
    (Fact::Member, group.as_uuid().as_u128().wrapping_mul(31) ^ user.as_uuid().as_u128())
}
