//! The facts of a log as plain integers, for the floor, the peers and the questions. Folded here a second time, so that
//! nothing measured beside [`charter_policy::Policy`] leans on it.

use anyhow::{Context, bail};
use charter_events::{
    Content, Effect, Event, EventMeta, GrantIssued, Pattern, PermissionKey, Reach, Scope, Subject, Timestamp,
};
use std::collections::HashMap;
use uuid::Uuid;

/// Whom a grant is given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum To {
    User(u32),
    Group(u32),
}

/// One grant.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) to: To,
    /// Place in [`Facts::contents`].
    pub(crate) content: u32,
    /// The object; none: global.
    pub(crate) scope: Option<u32>,
    pub(crate) denies: bool,
    /// Whether its content is a role.
    pub(crate) is_role: bool,
    pub(crate) not_before: Option<Timestamp>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) reach: Reach,
}

impl Grant {
    /// Whether it counts at a moment.
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|begin| begin <= now) && self.expires_at.is_none_or(|end| now < end)
    }
}

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) parent: Option<u32>,
    pub(crate) inherits: bool,
    pub(crate) is_folder: bool,
}

/// Everything, by dense number.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) users: Vec<Uuid>,
    pub(crate) is_active: Vec<bool>,
    pub(crate) groups_of: Vec<Vec<u32>>,
    pub(crate) members: Vec<Vec<u32>>,
    pub(crate) keys: Vec<PermissionKey>,
    pub(crate) objects: Vec<Object>,
    /// What roles and grants hold.
    pub(crate) contents: Vec<Vec<Pattern>>,
    pub(crate) grants: Vec<Grant>,
    user_numbers: HashMap<Uuid, u32>,
    group_numbers: HashMap<Uuid, u32>,
    object_numbers: HashMap<Uuid, u32>,
    roles: HashMap<Uuid, u32>,
    /// The number of each content of literal keys.
    literals: HashMap<Vec<Pattern>, u32>,
    /// Where each standing grant is.
    standing: HashMap<Uuid, usize>,
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Facts {
    /// Folds a log.
    ///
    /// # Errors
    /// At an event no workload writes.
    pub(crate) fn of(events: impl Iterator<Item = (EventMeta, Event)>) -> anyhow::Result<Self> {
        let mut facts = Self::default();
        for (_, event) in events {
            facts.apply(&event)?;
        }
        Ok(facts)
    }

    /// The number of a user.
    pub(crate) fn user_number(&self, id: Uuid) -> anyhow::Result<u32> {
        self.user_numbers.get(&id).copied().context("a question names a user of the workload")
    }

    /// The number of an object.
    pub(crate) fn object_number(&self, id: Uuid) -> anyhow::Result<u32> {
        self.object_numbers.get(&id).copied().context("a question names an object of the workload")
    }

    /// The number of a key.
    pub(crate) fn key_number(&self, key: &PermissionKey) -> anyhow::Result<u32> {
        let place =
            self.keys.iter().position(|k| k == key).context("a question names a key of the workload")?;
        Ok(number(place))
    }

    fn apply(&mut self, event: &Event) -> anyhow::Result<()> {
        match event {
            Event::PermissionsRegistered(e) => {
                for permission in &e.permissions {
                    if !self.keys.contains(&permission.key) {
                        self.keys.push(permission.key.clone());
                    }
                }
            }
            Event::RoleCreated(e) => {
                self.roles.insert(e.role.as_uuid(), number(self.contents.len()));
                self.contents.push(e.permissions.clone());
            }
            Event::RolePermissionsChanged(e) => {
                let content = &mut self.contents[self.roles[&e.role.as_uuid()] as usize];
                content.retain(|pattern| !e.removed.contains(pattern));
                content.extend(e.added.iter().cloned());
            }
            Event::UserRegistered(e) => self.user(e.user.as_uuid(), true),
            Event::UserInvited(e) => self.user(e.user.as_uuid(), false),
            Event::UserSuspended(e) => self.set_active(e.user.as_uuid(), false),
            Event::UserReactivated(e) => self.set_active(e.user.as_uuid(), true),
            Event::GroupCreated(e) => {
                self.group_numbers.insert(e.group.as_uuid(), number(self.members.len()));
                self.members.push(Vec::new());
            }
            Event::GroupMemberAdded(e) => self.join(e.group.as_uuid(), e.user.as_uuid()),
            Event::GroupMemberRemoved(e) => self.leave(e.group.as_uuid(), e.user.as_uuid()),
            Event::ObjectCreated(e) => {
                self.object_numbers.insert(e.object.as_uuid(), number(self.objects.len()));
                self.objects.push(Object {
                    parent: e.parent.map(|id| self.object_numbers[&id.as_uuid()]),
                    inherits: e.inherits,
                    is_folder: e.object_type.is_folder(),
                });
            }
            Event::ObjectMoved(e) => {
                let parent = e.parent.map(|id| self.object_numbers[&id.as_uuid()]);
                self.object(e.object.as_uuid()).parent = parent;
            }
            Event::ObjectInheritanceChanged(e) => self.object(e.object.as_uuid()).inherits = e.inherits,
            Event::GrantIssued(e) => self.issue(e),
            Event::GrantRevoked(e) => self.end(e.grant.as_uuid()),
            Event::GrantEnded(e) => self.end(e.grant.as_uuid()),
            Event::InstallationCreated(_)
            | Event::ObjectTypesRegistered(_)
            | Event::GrantExpired(_)
            | Event::RoleRenamed(_)
            | Event::GroupRenamed(_)
            | Event::GroupExternalIdChanged(_)
            | Event::ObjectRenamed(_)
            | Event::ObjectTransferred(_)
            | Event::CredentialPasswordChanged(_) => {}
            other => bail!("a workload holds a `{}`, which the benchmark can't model", other.type_name()),
        }
        Ok(())
    }

    fn user(&mut self, id: Uuid, active: bool) {
        if self.user_numbers.contains_key(&id) {
            self.set_active(id, active);
            return;
        }
        self.user_numbers.insert(id, number(self.users.len()));
        self.users.push(id);
        self.is_active.push(active);
        self.groups_of.push(Vec::new());
    }

    fn set_active(&mut self, id: Uuid, active: bool) {
        self.is_active[self.user_numbers[&id] as usize] = active;
    }

    fn join(&mut self, group: Uuid, user: Uuid) {
        let (group, user) = (self.group_numbers[&group], self.user_numbers[&user]);
        self.groups_of[user as usize].push(group);
        self.members[group as usize].push(user);
    }

    fn leave(&mut self, group: Uuid, user: Uuid) {
        let (group, user) = (self.group_numbers[&group], self.user_numbers[&user]);
        self.groups_of[user as usize].retain(|g| *g != group);
        self.members[group as usize].retain(|u| *u != user);
    }

    fn object(&mut self, id: Uuid) -> &mut Object {
        &mut self.objects[self.object_numbers[&id] as usize]
    }

    fn issue(&mut self, e: &GrantIssued) {
        let to = match e.subject {
            Subject::User(id) => To::User(self.user_numbers[&id.as_uuid()]),
            Subject::Group(id) => To::Group(self.group_numbers[&id.as_uuid()]),
        };
        let (content, is_role) = match &e.content {
            Content::Role(role) => (self.roles[&role.as_uuid()], true),
            Content::Keys(keys) => (self.literal(keys), false),
        };
        let scope = match e.scope {
            Scope::Global => None,
            Scope::Object(id) => Some(self.object_numbers[&id.as_uuid()]),
        };
        self.standing.insert(e.grant.as_uuid(), self.grants.len());
        self.grants.push(Grant {
            to,
            content,
            scope,
            denies: e.effect == Effect::Deny,
            is_role,
            not_before: e.not_before,
            expires_at: e.expires_at,
            reach: Reach { affects: e.affects, child_types: e.child_types },
        });
    }

    fn literal(&mut self, keys: &[PermissionKey]) -> u32 {
        let keys: Vec<Pattern> = keys.iter().cloned().map(Pattern::from).collect();
        let next = number(self.contents.len());
        let content = *self.literals.entry(keys.clone()).or_insert(next);
        if content == next {
            self.contents.push(keys);
        }
        content
    }

    /// Takes a grant out; the last one takes its place.
    fn end(&mut self, id: Uuid) {
        let Some(place) = self.standing.remove(&id) else { return };
        let last = self.grants.len() - 1;
        self.grants.swap_remove(place);
        if let Some(moved) = self.standing.values_mut().find(|p| **p == last) {
            *moved = place;
        }
    }

    /// The object, its folders from nearest to root, and whether the global scope follows.
    pub(crate) fn chain(&self, object: u32) -> (Vec<u32>, bool) {
        let mut chain = Vec::new();
        let mut at = Some(object);
        while let Some(here) = at {
            chain.push(here);
            let object = &self.objects[here as usize];
            if !object.inherits {
                return (chain, false);
            }
            at = object.parent;
        }
        (chain, true)
    }

    /// For each object the places of the grants on it, and those of the global grants.
    pub(crate) fn by_scope(&self) -> (Vec<Vec<u32>>, Vec<u32>) {
        let mut on = vec![Vec::new(); self.objects.len()];
        let mut global = Vec::new();
        for (place, grant) in self.grants.iter().enumerate() {
            match grant.scope {
                Some(object) => on[object as usize].push(number(place)),
                None => global.push(number(place)),
            }
        }
        (on, global)
    }

    /// Whether a content matches a key.
    pub(crate) fn holds(&self, content: u32, key: u32) -> bool {
        let key = &self.keys[key as usize];
        self.contents[content as usize].iter().any(|pattern| pattern.matches(key))
    }

    /// Whether a content matches a key by a wildcard.
    pub(crate) fn holds_by_wildcard(&self, content: u32, key: u32) -> bool {
        let key = &self.keys[key as usize];
        self.contents[content as usize].iter().any(|pattern| pattern.is_wildcard() && pattern.matches(key))
    }
}
