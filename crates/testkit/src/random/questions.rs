//! What a random world is asked.

use super::{
    History,
    make::{HOUR_MICROS, KEYS, WILDCARDS, random_reach},
};
use crate::{Rng, clock::later, history::parsed, model::World};
use charter_events::{
    Affects, ChildTypes, Event, ObjectId, Pattern, PermissionKey, Scope, Timestamp, UserId,
};

/// May this user do this there?
#[derive(Debug, Clone)]
pub struct Question {
    /// Who; now and then nobody.
    pub user: UserId,
    /// What; now and then a key that is not registered.
    pub key: PermissionKey,
    /// Where.
    pub scope: Scope,
}

/// Does this user hold this over that reach, for that long?
#[derive(Debug, Clone)]
pub struct Held {
    /// Who.
    pub user: UserId,
    /// What, sorted.
    pub content: Vec<Pattern>,
    /// Where, how far down, which kinds.
    pub reach: (Scope, Affects, ChildTypes),
    /// `None`: now only. Else until the end, or without one.
    pub until: Option<Option<Timestamp>>,
}

impl History {
    /// The users, erased or not.
    pub fn users(&self) -> Vec<UserId> {
        let events = self.steps.iter().flat_map(|step| &step.events);
        events
            .filter_map(|event| match event {
                Event::UserInvited(e) => Some(e.user),
                Event::UserRegistered(e) => Some(e.user),
                _ => None,
            })
            .collect()
    }

    /// So many questions of a world this history led to.
    pub fn questions(&self, world: &World, count: usize) -> Vec<Question> {
        let mut rng = Rng::part(self.seed, 22, 0);
        let (users, objects) = (self.users(), objects(world));
        (0..count)
            .map(|_| Question {
                user: user(&mut rng, &users),
                key: key(&mut rng, world),
                scope: scope(&mut rng, &objects),
            })
            .collect()
    }

    /// So many questions of holding.
    pub fn held(&self, world: &World, count: usize) -> Vec<Held> {
        let mut rng = Rng::part(self.seed, 23, 0);
        let (users, objects) = (self.users(), objects(world));
        (0..count)
            .map(|_| {
                let scope = scope(&mut rng, &objects);
                let (affects, child_types) = random_reach(&mut rng, world, scope);
                let mut content: Vec<Pattern> =
                    (0..rng.between(1, 3)).map(|_| item(&mut rng, world)).collect();
                content.sort();
                content.dedup();
                let ahead = [1, 2, HOUR_MICROS, HOUR_MICROS + 1, 3 * HOUR_MICROS, 5 * HOUR_MICROS];
                let until = match rng.below(3) {
                    0 => None,
                    1 => Some(None),
                    _ => Some(Some(later(self.now, *rng.pick(&ahead)))),
                };
                Held { user: user(&mut rng, &users), content, reach: (scope, affects, child_types), until }
            })
            .collect()
    }
}

fn objects(world: &World) -> Vec<ObjectId> {
    world.objects.iter().map(|object| object.id).collect()
}

fn user(rng: &mut Rng, users: &[UserId]) -> UserId {
    match rng.any(users) {
        Some(user) if !rng.percent(2) => user,
        _ => UserId::from_u128(1),
    }
}

fn key(rng: &mut Rng, world: &World) -> PermissionKey {
    if world.keys.is_empty() || rng.percent(8) {
        parsed(KEYS[rng.below(KEYS.len())])
    } else {
        rng.pick(&world.keys).clone()
    }
}

fn scope(rng: &mut Rng, objects: &[ObjectId]) -> Scope {
    match rng.any(objects) {
        Some(object) if !rng.percent(12) => Scope::Object(object),
        _ => Scope::Global,
    }
}

fn item(rng: &mut Rng, world: &World) -> Pattern {
    if rng.percent(45) { parsed(WILDCARDS[rng.below(WILDCARDS.len())]) } else { key(rng, world).into() }
}
