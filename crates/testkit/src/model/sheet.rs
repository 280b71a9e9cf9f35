//! All answers of one user at one moment: every key at a place at once. The same walk as [`World::check`], told once
//! for each scope instead of once for each key, so that a property test can ask about everything after every command.

use super::{Grant, Place, World, walk::includes};
use charter_events::{Content, Effect, Pattern, PermissionKey, RoleId, Scope, Timestamp, UserId};
use std::collections::HashMap;

/// Keys, one a bit, as [`Columns`] numbers them.
pub type Keys = u128;

/// The keys a sheet tells of, and what each pattern met so far matches of them.
#[derive(Debug)]
pub struct Columns {
    keys: Vec<PermissionKey>,
    numbers: HashMap<PermissionKey, usize>,
    matched: HashMap<Pattern, Keys>,
}

impl Columns {
    /// These keys, in this order; 128 at most.
    ///
    /// # Panics
    /// When there are more.
    pub fn new(keys: impl IntoIterator<Item = PermissionKey>) -> Self {
        let keys: Vec<_> = keys.into_iter().collect();
        assert!(keys.len() <= 128, "a sheet has 128 columns");
        let numbers = keys.iter().enumerate().map(|(number, key)| (key.clone(), number)).collect();
        Self { keys, numbers, matched: HashMap::new() }
    }

    /// The key of a column.
    pub fn key(&self, column: usize) -> &PermissionKey {
        &self.keys[column]
    }

    /// The columns of some keys; those without one are left out.
    pub fn of<'a>(&self, keys: impl IntoIterator<Item = &'a PermissionKey>) -> Keys {
        let columns = keys.into_iter().filter_map(|key| self.numbers.get(key));
        columns.fold(0, |all, column| all | 1 << column)
    }

    /// What a pattern matches.
    pub fn matched(&mut self, pattern: &Pattern) -> Keys {
        if let Some(known) = self.matched.get(pattern) {
            return *known;
        }
        let matches = |key: &PermissionKey| includes(pattern.as_str(), key.as_str());
        let columns = (0..self.keys.len()).filter(|column| matches(&self.keys[*column]));
        let matched = columns.fold(0, |all, column| all | 1 << column);
        self.matched.insert(pattern.clone(), matched);
        matched
    }

    /// The columns that are set.
    pub fn set(keys: Keys) -> impl Iterator<Item = usize> {
        (0..128).filter(move |column| keys & (1 << column) != 0)
    }
}

/// What a grant addressed to the user says.
#[derive(Debug)]
struct Entry<'w> {
    grant: &'w Grant,
    own: bool,
    keys: Keys,
}

/// One user's answers at one moment.
#[derive(Debug)]
pub struct Sheet<'w> {
    world: &'w World,
    entries: Vec<Entry<'w>>,
    administrator: Keys,
    known: Keys,
}

impl World {
    /// The user's answers, **whatever the state of his account**: a suspended one is told what he could do again.
    pub fn sheet<'w>(&'w self, columns: &mut Columns, user: UserId, now: Timestamp) -> Sheet<'w> {
        let known = columns.of(&self.keys);
        let mut sheet = Sheet { world: self, entries: Vec::new(), administrator: 0, known };
        for grant in self.grants.iter().filter(|grant| self.is_live(grant, now)) {
            let own = self.addressed_to_user(grant, user);
            if !own && !self.addressed_to_group_of(grant, user) {
                continue;
            }
            let mut keys = 0;
            match &grant.content {
                Content::Keys(literal) => keys |= columns.of(literal),
                Content::Role(role) => {
                    for pattern in self.role_content(*role) {
                        let matched = columns.matched(pattern);
                        keys |= matched;
                        if grant.scope == Scope::Global && pattern.as_str().ends_with('*') {
                            sheet.administrator |= matched;
                        }
                    }
                }
            }
            sheet.entries.push(Entry { grant, own, keys });
        }
        sheet
    }

    fn role_content(&self, id: RoleId) -> impl Iterator<Item = &Pattern> {
        self.roles.iter().filter(move |role| role.id == id).flat_map(|role| &role.permissions)
    }

    /// Whether the account works.
    pub fn is_active(&self, user: UserId) -> bool {
        self.users.iter().any(|known| known.id == user && known.active)
    }

    /// Every place there is: the platform, each object, and what may come to lie below each folder.
    pub fn everywhere(&self) -> Vec<Place> {
        let mut places = vec![Place::Global];
        for object in &self.objects {
            places.push(Place::At(object.id));
            if object.object_type.as_str() == "folder" {
                for (levels, is_folder) in [(1, false), (1, true), (2, false), (2, true)] {
                    places.push(Place::Below { folder: object.id, levels, is_folder });
                }
            }
        }
        places
    }

    /// The scopes from a place upwards, and for each what the place is, seen from there.
    pub fn seen_from_above(&self, place: Place) -> Vec<(Scope, Place)> {
        let is_folder = self.is_folder(place);
        let seen = |(scope, distance): (Scope, usize)| match scope {
            Scope::Global => (scope, Place::Global),
            Scope::Object(id) if distance == 0 => (scope, Place::At(id)),
            Scope::Object(folder) => (scope, Place::Below { folder, levels: distance.min(2), is_folder }),
        };
        self.chain(place).into_iter().map(seen).collect()
    }
}

impl Sheet<'_> {
    /// What is allowed at a place.
    pub fn at(&self, place: Place) -> Keys {
        let mut allowed = self.administrator;
        self.walk(place, |_, allows, _| allowed |= allows);
        allowed & self.known
    }

    /// The scope whose entries decide about a column at a place; none where nothing speaks, and for an administrator.
    pub fn decided_at(&self, place: Place, column: usize) -> Option<Scope> {
        let mut decided = None;
        self.walk(place, |scope, allows, denies| {
            if (allows | denies) & (1 << column) != 0 {
                decided = Some(scope);
            }
        });
        decided
    }

    /// Goes up from a place, and tells for each scope what it decides: what it allows, and what it denies.
    fn walk(&self, place: Place, mut decides: impl FnMut(Scope, Keys, Keys)) {
        let (world, is_folder) = (self.world, self.world.is_folder(place));
        let mut open = !self.administrator;
        for (scope, distance) in world.chain(place) {
            for own in [true, false] {
                let (mut allows, mut denies) = (0, 0);
                for entry in self.entries.iter().filter(|entry| entry.own == own) {
                    if entry.grant.scope == scope && world.reaches(entry.grant, distance, is_folder) {
                        match entry.grant.effect {
                            Effect::Allow => allows |= entry.keys,
                            Effect::Deny => denies |= entry.keys,
                        }
                    }
                }
                decides(scope, open & allows & !denies, open & denies);
                open &= !(allows | denies);
            }
        }
    }

    /// What is allowed everywhere, as an administrator.
    pub const fn administered(&self) -> Keys {
        self.administrator & self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::History;

    #[test]
    fn a_sheet_says_key_by_key_what_the_walk_says() {
        for seed in 0..150 {
            let history = History::of(seed);
            let mut world = World::of(history.steps.iter().flat_map(|step| &step.events));
            let mut columns = Columns::new(world.keys.clone());
            // The sheet leaves the account aside, so the walk is asked as if everyone's worked.
            world.users.iter_mut().for_each(|user| user.active = true);
            for user in &world.users {
                let sheet = world.sheet(&mut columns, user.id, history.now);
                for place in world.everywhere() {
                    let told = sheet.at(place);
                    for (column, key) in world.keys.iter().enumerate() {
                        let walked = world.check(user.id, key, place, history.now).allowed;
                        assert_eq!(told & (1 << column) != 0, walked, "{seed}: {} {key} {place:?}", user.id);
                    }
                }
            }
        }
    }
}
