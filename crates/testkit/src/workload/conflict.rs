//! X: 100 users, 1,000 objects; folders carry grants, a third deny, grants begin and end, reach terms, sealed objects,
//! suspended users, a key removed and registered again.
//!
//! Small enough to be made at once, and to be asked of the naive model.

use super::{OBJECT_TYPE, beginning, numbered, profile, role};
use crate::{
    Rng,
    clock::{START, at, later},
    history::{parsed, seeded},
    ids::{self, shaped},
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Event, EventMeta, GrantId, GrantIssued, GroupCreated, GroupId,
    GroupMemberAdded, ObjectCreated, ObjectId, Pattern, PermissionKey, RoleId, RoleScope, Scope, SeededRole,
    Subject, Timestamp, UserId, UserKind, UserRegistered, UserSuspended,
};

const USERS: usize = 100;
const GROUPS: usize = 10;
const FOLDERS: usize = 200;
const OBJECTS: usize = 1_000;
const ROLES: usize = 12;
const KEYS: usize = 24;
const HOUR_MICROS: i64 = 3_600_000_000;

/// The world of a seed.
#[derive(Debug, Clone)]
pub struct Conflict {
    events: Vec<Event>,
    keys: Vec<PermissionKey>,
    now: Timestamp,
    seed: u64,
}

impl Conflict {
    /// The world of a seed.
    pub fn new(seed: u64) -> Self {
        let keys: Vec<PermissionKey> = (0..KEYS)
            .map(|number| parsed(&format!("x{}.res{}.act{}", number / 12, number / 4 % 3, number % 4)))
            .collect();
        let mut making = Making {
            rng: Rng::part(seed, 10, 0),
            now: later(at(START), HOUR_MICROS * 24),
            keys: &keys,
            grants: 0,
        };
        let mut events = beginning(&keys);
        making.people(&mut events);
        making.objects(&mut events);
        making.grants(&mut events);
        let now = making.now;
        Self { events, keys, now, seed }
    }

    /// The moment to ask at: grants begin and end at it, just before and just after it.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The keys.
    pub fn keys(&self) -> &[PermissionKey] {
        &self.keys
    }

    /// The log.
    pub fn events(&self) -> impl Iterator<Item = (EventMeta, Event)> + '_ {
        numbered(self.events.iter().cloned())
    }

    /// Questions without end, of anybody about anything anywhere.
    pub fn questions(&self, seed: u64) -> impl Iterator<Item = (UserId, PermissionKey, Scope)> + '_ {
        let mut rng = Rng::part(self.seed, 11, seed);
        std::iter::from_fn(move || {
            let object = rng.below(OBJECTS + 10);
            let scope = if object < OBJECTS { Scope::Object(object_id(object)) } else { Scope::Global };
            Some((user_id(rng.below(USERS)), rng.pick(&self.keys).clone(), scope))
        })
    }
}

const fn user_id(number: usize) -> UserId {
    UserId::new(shaped(1, number as u128))
}

const fn group_id(number: usize) -> GroupId {
    GroupId::new(shaped(2, number as u128))
}

const fn role_id(number: usize) -> RoleId {
    RoleId::new(shaped(3, number as u128))
}

const fn object_id(number: usize) -> ObjectId {
    ObjectId::new(shaped(4, number as u128))
}

struct Making<'a> {
    rng: Rng,
    now: Timestamp,
    keys: &'a [PermissionKey],
    grants: u128,
}

impl Making<'_> {
    fn people(&mut self, events: &mut Vec<Event>) {
        for number in 0..ROLES {
            let mut content: Vec<Pattern> =
                (0..3).map(|_| Pattern::from(self.rng.pick(self.keys).clone())).collect();
            if number % 3 == 0 {
                let key = self.rng.pick(self.keys);
                content.push(parsed(&format!("{}.{}.*", key.namespace(), key.resource())));
            }
            content.sort();
            content.dedup();
            events.push(role(role_id(number), &format!("role-{number}"), RoleScope::Both, content, None));
        }
        for number in 0..USERS {
            let (user, kind) = (user_id(number), UserKind::Person);
            events.push(UserRegistered { user, kind, profile: profile(number as u64) }.into());
        }
        for number in 0..GROUPS {
            let slug = format!("group-{number}");
            let group = group_id(number);
            events.push(GroupCreated { group, slug: parsed(&slug), name: ids::shown(&slug) }.into());
            for user in (0..USERS).filter(|_| self.rng.percent(30)).collect::<Vec<_>>() {
                events.push(GroupMemberAdded { group, user: user_id(user) }.into());
            }
        }
        for number in USERS - 5..USERS {
            events.push(UserSuspended { user: user_id(number) }.into());
        }
    }

    fn objects(&mut self, events: &mut Vec<Event>) {
        for number in 0..OBJECTS {
            let is_folder = number < FOLDERS;
            // Roots first, then anywhere above: chains of up to a dozen folders.
            let parent = (number >= 5).then(|| self.rng.below(number.min(FOLDERS)));
            let owner = self.rng.percent(20).then(|| self.rng.below(USERS - 5));
            let object = object_id(number);
            events.push(
                ObjectCreated {
                    object,
                    object_type: parsed(if is_folder { "folder" } else { OBJECT_TYPE }),
                    external_id: None,
                    name: ids::shown(&format!("object-{number}")),
                    parent: parent.map(object_id),
                    owner: owner.map(user_id),
                    inherits: !self.rng.percent(8),
                }
                .into(),
            );
            if let Some(owner) = owner {
                let content = Content::Role(seeded(SeededRole::Owner));
                let grant =
                    self.issued(Subject::User(user_id(owner)), content, Scope::Object(object), Effect::Allow);
                events.push(grant.into());
            }
        }
    }

    fn grants(&mut self, events: &mut Vec<Event>) {
        for number in 0..2 {
            let content = Content::Role(seeded(SeededRole::Administrator));
            events.push(
                self.issued(Subject::User(user_id(number)), content, Scope::Global, Effect::Allow).into(),
            );
        }
        for number in 0..OBJECTS {
            let (count, on) = if number < FOLDERS { (8, object_id(number)) } else { (3, object_id(number)) };
            for _ in 0..count {
                let mut grant = self.any(Scope::Object(on));
                if number < FOLDERS && self.rng.percent(50) {
                    (grant.affects, grant.child_types) = self.reach();
                }
                events.push(grant.into());
            }
        }
        for _ in 0..40 {
            let grant = self.any(Scope::Global);
            events.push(grant.into());
        }
    }

    fn any(&mut self, scope: Scope) -> GrantIssued {
        let subject = if self.rng.percent(60) {
            Subject::Group(group_id(self.rng.below(GROUPS)))
        } else {
            Subject::User(user_id(self.rng.below(USERS)))
        };
        let deny = self.rng.percent(33);
        let content = if deny || self.rng.percent(20) {
            let mut keys: Vec<_> = (0..4).map(|_| self.rng.pick(self.keys).clone()).collect();
            keys.sort();
            keys.dedup();
            Content::Keys(keys)
        } else {
            Content::Role(role_id(self.rng.below(ROLES)))
        };
        let mut grant = self.issued(subject, content, scope, if deny { Effect::Deny } else { Effect::Allow });
        match self.rng.below(12) {
            0 => grant.expires_at = Some(self.now),
            1 => grant.expires_at = Some(later(self.now, 1)),
            2 => grant.not_before = Some(self.now),
            3 => grant.not_before = Some(later(self.now, 1)),
            4 => grant.expires_at = Some(later(self.now, HOUR_MICROS)),
            _ => {}
        }
        grant
    }

    fn reach(&mut self) -> (Affects, ChildTypes) {
        let affects = *self.rng.pick(&[
            Affects::All,
            Affects::SelfOnly,
            Affects::ChildrenOnly,
            Affects::SelfAndDirectChildren,
            Affects::DirectChildrenOnly,
        ]);
        let child_types = *self.rng.pick(&[ChildTypes::All, ChildTypes::Objects, ChildTypes::Containers]);
        (affects, if affects == Affects::SelfOnly { ChildTypes::All } else { child_types })
    }

    fn issued(&mut self, subject: Subject, content: Content, scope: Scope, effect: Effect) -> GrantIssued {
        self.grants += 1;
        GrantIssued {
            grant: GrantId::new(shaped(5, self.grants)),
            subject,
            content,
            scope,
            effect,
            not_before: None,
            expires_at: None,
            affects: Affects::All,
            child_types: ChildTypes::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Because, World};

    #[test]
    fn scopes_contradict_each_other_all_over() {
        let world = Conflict::new(2);
        let model = World::of(&world.events);
        let answers: Vec<_> = world
            .questions(1)
            .take(400)
            .map(|(user, key, scope)| model.check(user, &key, scope, world.now()))
            .collect();
        let count =
            |test: fn(&crate::model::Answer) -> bool| answers.iter().filter(|answer| test(answer)).count();
        let (allowed, denied) = (count(|a| a.allowed), count(|a| !a.allowed && a.because == Because::Grant));
        assert!(allowed > 80 && denied > 40, "{allowed} allowed, {denied} denied by a grant, of 400");
    }
}
