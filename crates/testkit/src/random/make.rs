//! How a random history begins: catalog, people, roles, a tree, grants. What happens afterwards is in `edits`.

use super::{Fact, History, Step, Thing};
use crate::{
    Rng,
    clock::{START, at, later},
    history::parsed,
    ids::{self, shaped},
    model::World,
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Event, GrantId, GrantIssued, InstallationCreated, ObjectId,
    ObjectTypeDefinition, ObjectTypesRegistered, Pattern, PermissionDefinition, PermissionKey,
    PermissionsRegistered, RoleCreated, RoleId, RoleScope, Scope, SeededRole, Subject, Timestamp, UserId,
};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Every key there could be: names that are prefixes of each other, in two namespaces.
pub(super) const KEYS: [&str; 8] =
    ["a.s.x", "a.s.y", "a.st.x", "a.st.y", "ab.s.x", "ab.s.y", "ab.st.x", "ab.st.y"];
/// Every wildcard there could be.
pub(super) const WILDCARDS: [&str; 7] = ["*", "a.*", "ab.*", "a.s.*", "a.st.*", "ab.s.*", "ab.st.*"];
pub(super) const HOUR_MICROS: i64 = 3_600_000_000;

pub(super) fn history(seed: u64, size: Size) -> History {
    let mut making = Making::begun(seed, size);
    let (grants, edits) = match size {
        Size::Small => (making.rng.between(3, 16), making.rng.below(9)),
        Size::Crowded => (making.rng.between(200, 700), making.rng.below(60)),
        Size::Long => (0, 0),
    };
    for _ in 0..grants {
        making.grant();
    }
    for _ in 0..edits {
        making.edit();
    }
    History { seed, steps: making.steps, now: making.now }
}

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    /// Hundreds of grants, most of them on one object or global; dozens of users.
    Crowded,
    /// Begins small, and goes on for long.
    Long,
}

/// A history being made; the model says what is there so far.
pub(super) struct Making {
    pub(super) rng: Rng,
    size: Size,
    pub(super) now: Timestamp,
    pub(super) steps: Vec<Step>,
    pub(super) world: World,
    pub(super) owner_role: RoleId,
    /// Scopes of the roles.
    pub(super) scopes: Vec<(RoleId, RoleScope)>,
    erased: BTreeSet<UserId>,
    ids: u128,
}

pub(super) const fn exists(id: Uuid) -> Thing {
    (Fact::Exists, id.as_u128())
}

pub(super) fn key_thing(key: &PermissionKey) -> Thing {
    (Fact::Key, u128::from(ids::hashed(key.as_str(), 77)))
}

pub(super) fn subject_id(subject: Subject) -> Uuid {
    match subject {
        Subject::User(user) => user.as_uuid(),
        Subject::Group(group) => group.as_uuid(),
    }
}

impl Making {
    /// A catalog, people, roles and a tree.
    pub(super) fn begun(seed: u64, size: Size) -> Self {
        let mut making = Self::new(seed, size);
        making.begin();
        making.catalog();
        making.people();
        making.roles();
        making.objects();
        making
    }

    fn new(seed: u64, size: Size) -> Self {
        Self {
            size,
            rng: Rng::part(seed, 20, 0),
            now: later(at(START), HOUR_MICROS * 24),
            steps: Vec::new(),
            world: World::default(),
            owner_role: RoleId::new(shaped(3, 0)),
            scopes: Vec::new(),
            erased: BTreeSet::new(),
            ids: 0,
        }
    }

    pub(super) fn id(&mut self, kind: u16) -> Uuid {
        self.ids += 1;
        shaped(kind, self.ids)
    }

    pub(super) fn step(&mut self, events: Vec<Event>, reads: Vec<Thing>, writes: Vec<Thing>) {
        for event in &events {
            self.world.apply(event);
            if let Event::UserErased(erased) = event {
                self.erased.insert(erased.user);
            }
        }
        self.steps.push(Step { events, at: self.now, reads, writes });
    }

    fn begin(&mut self) {
        let types = |namespace: &str, name: &str| {
            let key = |action: &str| parsed(&format!("{namespace}.{name}.{action}"));
            let (read, create, manage) = (key("read"), key("create"), key("manage"));
            let types =
                vec![ObjectTypeDefinition { name: parsed(name), read, create, manage, aliases: Vec::new() }];
            Event::from(ObjectTypesRegistered { namespace: parsed(namespace), types })
        };
        let owner = RoleCreated {
            role: self.owner_role,
            slug: parsed("owner"),
            name: ids::shown("Owner"),
            scope: RoleScope::Object,
            permissions: vec![Pattern::all()],
            seeded: Some(SeededRole::Owner),
        };
        let events = vec![
            InstallationCreated { name: ids::shown("Random") }.into(),
            types("core", "folder"),
            types("a", "server"),
            types("ab", "world"),
            owner.into(),
        ];
        self.step(events, Vec::new(), Vec::new());
    }

    fn catalog(&mut self) {
        for text in KEYS {
            if self.rng.percent(65) {
                self.register(&parsed(text));
            }
        }
        if self.world.keys.is_empty() {
            self.register(&parsed(KEYS[0]));
        }
    }

    pub(super) fn register(&mut self, key: &PermissionKey) {
        let definition = PermissionDefinition {
            key: key.clone(),
            description: ids::shown(key.as_str()),
            object_types: vec![parsed("any")],
        };
        let namespace = parsed(key.namespace());
        let event = PermissionsRegistered { namespace, revision: None, permissions: vec![definition] };
        self.step(vec![event.into()], Vec::new(), vec![key_thing(key)]);
    }

    fn people(&mut self) {
        let users =
            if self.size == Size::Crowded { self.rng.between(60, 120) } else { self.rng.between(2, 4) };
        for number in 0..users {
            self.user(&format!("u{number}"));
        }
        for number in 0..self.rng.between(0, 3) {
            self.group(&format!("g{number}"));
        }
    }

    fn roles(&mut self) {
        for number in 0..self.rng.between(1, 4) {
            self.role(&format!("r{number}"));
        }
    }

    /// Something a role may hold: a registered key, or a wildcard.
    pub(super) fn pattern(&mut self) -> Pattern {
        if self.rng.percent(40) {
            let wide = self.rng.percent(15);
            return parsed(WILDCARDS[if wide { 0 } else { self.rng.between(1, WILDCARDS.len() - 1) }]);
        }
        let keys = self.world.keys.clone();
        self.rng.pick(&keys).clone().into()
    }

    fn objects(&mut self) {
        for number in 0..self.rng.between(2, 7) {
            self.object(&format!("o{number}"));
        }
    }

    pub(super) fn folders(&self) -> Vec<ObjectId> {
        self.world
            .objects
            .iter()
            .filter(|object| object.object_type.is_folder())
            .map(|object| object.id)
            .collect()
    }

    /// A grant to somebody, somewhere: a third of them denies.
    pub(super) fn grant(&mut self) {
        let users: Vec<Subject> = self.living().into_iter().map(Subject::User).collect();
        let groups: Vec<Subject> = self.world.groups.iter().map(|group| Subject::Group(group.id)).collect();
        let among = if groups.is_empty() || self.rng.percent(50) { users } else { groups };
        let Some(subject) = self.rng.any(&among) else { return };
        let objects: Vec<ObjectId> = self.world.objects.iter().map(|object| object.id).collect();
        let crowded_here = self.size == Size::Crowded && self.rng.percent(45);
        let scope = match self.rng.any(&objects) {
            Some(_) if crowded_here => Scope::Object(objects[0]),
            _ if self.size == Size::Crowded && self.rng.percent(45) => Scope::Global,
            Some(object) if self.rng.percent(82) => Scope::Object(object),
            _ => Scope::Global,
        };
        let effect = if self.rng.percent(34) { Effect::Deny } else { Effect::Allow };
        let Some(content) = self.content(scope, effect) else { return };
        let (affects, child_types) = self.reach(scope);
        let (not_before, expires_at) = self.times();
        let grant: GrantId = self.id(5).into();
        let mut reads = vec![exists(subject_id(subject))];
        if let Scope::Object(object) = scope {
            reads.push(exists(object.as_uuid()));
        }
        match &content {
            Content::Role(role) => reads.push(exists(role.as_uuid())),
            Content::Keys(keys) => reads.extend(keys.iter().map(key_thing)),
        }
        let event = GrantIssued {
            grant,
            subject,
            content,
            scope,
            effect,
            not_before,
            expires_at,
            affects,
            child_types,
        };
        self.step(vec![event.into()], reads, vec![exists(grant.as_uuid())]);
    }

    fn content(&mut self, scope: Scope, effect: Effect) -> Option<Content> {
        if effect == Effect::Allow && self.rng.percent(70) {
            let roles: Vec<RoleId> =
                self.scopes.iter().filter(|(_, s)| s.allows(scope)).map(|(id, _)| *id).collect();
            let standing: Vec<RoleId> =
                roles.into_iter().filter(|id| self.world.roles.iter().any(|role| role.id == *id)).collect();
            let role = self.rng.any(&standing);
            let wild = |id: RoleId| {
                self.world
                    .roles
                    .iter()
                    .any(|role| role.id == id && role.permissions.iter().any(Pattern::is_wildcard))
            };
            // Too many administrators would leave nothing for the walk to decide.
            let too_wide = scope == Scope::Global && role.is_some_and(wild) && self.rng.percent(60);
            if let Some(role) = role.filter(|_| !too_wide) {
                return Some(Content::Role(role));
            }
        }
        let keys = self.world.keys.clone();
        let mut some: Vec<PermissionKey> = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            some.extend(keys.get(self.rng.below(keys.len())).cloned());
        }
        some.sort();
        some.dedup();
        (!some.is_empty()).then_some(Content::Keys(some))
    }

    /// A valid reach for a grant there.
    pub(super) fn reach(&mut self, scope: Scope) -> (Affects, ChildTypes) {
        random_reach(&mut self.rng, &self.world, scope)
    }

    fn times(&mut self) -> (Option<Timestamp>, Option<Timestamp>) {
        let mut moment = |offsets: &[i64]| Some(later(self.now, *self.rng.pick(offsets)));
        let begun = [-HOUR_MICROS, -1, 0];
        let ahead = [1, HOUR_MICROS, 2 * HOUR_MICROS];
        match moment(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).map(|m| m.as_micros() - self.now.as_micros()) {
            Some(0) => (None, moment(&begun)),
            Some(1) => (None, moment(&ahead)),
            Some(2) => (moment(&begun), moment(&ahead)),
            Some(3) => (moment(&begun), None),
            Some(4) => (moment(&ahead), None),
            Some(5) => (moment(&ahead), moment(&[3 * HOUR_MICROS, 4 * HOUR_MICROS])),
            _ => (None, None),
        }
    }

    /// Users who are not erased.
    pub(super) fn living(&self) -> Vec<UserId> {
        self.world.users.iter().map(|user| user.id).filter(|user| !self.erased.contains(user)).collect()
    }
}

/// A valid reach there: the defaults, but on a folder.
pub(super) fn random_reach(rng: &mut Rng, world: &World, scope: Scope) -> (Affects, ChildTypes) {
    let Scope::Object(id) = scope else { return (Affects::All, ChildTypes::All) };
    let on_folder = world.objects.iter().any(|object| object.id == id && object.object_type.is_folder());
    if !on_folder || rng.percent(40) {
        return (Affects::All, ChildTypes::All);
    }
    let affects = *rng.pick(&[
        Affects::All,
        Affects::SelfOnly,
        Affects::ChildrenOnly,
        Affects::SelfAndDirectChildren,
        Affects::DirectChildrenOnly,
    ]);
    let child_types = *rng.pick(&[ChildTypes::All, ChildTypes::Objects, ChildTypes::Containers]);
    (affects, if affects == Affects::SelfOnly { ChildTypes::All } else { child_types })
}
