//! Which answers are worth comparing: from what differs to the users, keys and places it can matter for.
//!
//! A superset, found without asking the walk. Why nothing is missed: a decision reads whether the user is active, his
//! groups, the key's row, the chain of the place, and the entries on it and the administrators' that are addressed to
//! him and give the key. If it differs, one of these does, and for each that does the entries behind it are followed,
//! on the side where they count.

use super::{
    Budget, DiffBound, Of, Only, Sides,
    changed::{ChangedPlace, by_role},
};
use crate::{
    ancestry::Ancestry,
    entries::{Entry, Terms},
    ix::{ContentIx, GrantIx, KeyIx, ObjectIx, RoleIx, SubjectIx, UserIx, What, Who},
    sorted::Sorted,
    state::grants::Grant,
};
use charter_events::Affects;
use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

/// Keys and places, each of the ones with each of the others.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) keys: Rc<[KeyIx]>,
    pub(super) places: Rc<[ObjectIx]>,
}

/// What is worth comparing for each user.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) regions: Vec<Region>,
    /// Places in the list of regions.
    pub(super) of_users: BTreeMap<UserIx, Vec<usize>>,
}

type Found = Result<(), DiffBound>;

/// Follows what differs.
pub(super) struct Finder<'p, 'b> {
    sides: Sides<'p>,
    only: Only,
    budget: &'b mut Budget,
    candidates: Candidates,
    /// The keys of contents, and the places grants reach, as they were found before.
    keys: HashMap<(Of, ContentIx), Rc<[KeyIx]>>,
    reaches: HashMap<(Of, ObjectIx, Terms), Rc<[ObjectIx]>>,
}

impl<'p, 'b> Finder<'p, 'b> {
    pub(super) fn new(sides: Sides<'p>, only: Only, budget: &'b mut Budget) -> Self {
        Self {
            sides,
            only,
            budget,
            candidates: Candidates::default(),
            keys: HashMap::new(),
            reaches: HashMap::new(),
        }
    }

    pub(super) fn find(mut self) -> Result<Candidates, DiffBound> {
        self.users()?;
        self.grants()?;
        self.catalog()?;
        self.places()?;
        Ok(self.candidates)
    }

    /// Of a user who is active on one side only: everything that counts for him there. Of one whose groups differ: what
    /// counts for the groups he left or joined.
    fn users(&mut self) -> Found {
        let only = self.only.user;
        for user in self.sides.changed_users().filter(|user| only.is_none_or(|only| only == *user)) {
            let [before, after] = Sides::BOTH.map(|which| self.sides.of(which).policy.asker_ix(user));
            for (which, own, other) in [(Of::Before, before, after), (Of::After, after, before)] {
                let Some(own) = own else { continue };
                if other.is_none() {
                    self.given(which, user, SubjectIx::user(user))?;
                }
                let there = other.map_or(&[][..], |other| other.groups);
                for group in own.groups.iter().filter(|group| !there.contains(group)) {
                    self.given(which, user, SubjectIx::group(*group))?;
                }
            }
        }
        Ok(())
    }

    /// What a subject is given on one side, for one user.
    fn given(&mut self, which: Of, user: UserIx, subject: SubjectIx) -> Found {
        let policy = self.sides.of(which).policy;
        for given in policy.grant_list_of(subject).into_iter().flat_map(Sorted::iter) {
            if let Some(grant) = self.sides.counting(which, given.grant) {
                self.follow(which, grant, SubjectIx::user(user), None)?;
            }
        }
        Ok(())
    }

    fn grants(&mut self) -> Found {
        for ix in self.sides.changed_grants() {
            for which in Sides::BOTH {
                if let Some(grant) = self.sides.counting(which, ix) {
                    self.follow(which, grant, grant.subject, None)?;
                }
            }
        }
        Ok(())
    }

    /// Of a role's keys that came or went: all grants of it. Of a key that was registered or removed: all grants that
    /// give it.
    fn catalog(&mut self) -> Found {
        let (of_roles, registrations) = by_role(self.sides.changed_keys());
        for (role, mut keys) in of_roles {
            keys.retain(|key| self.only.key.is_none_or(|only| only == *key));
            let keys: Rc<[KeyIx]> = keys.into();
            for which in Sides::BOTH {
                let grants = self.sides.of(which).policy.roles.grants(role);
                for ix in grants.into_iter().flat_map(Sorted::iter) {
                    self.follow_if_counting(which, ix, &keys)?;
                }
            }
        }
        if registrations.is_empty() {
            return Ok(());
        }
        for which in Sides::BOTH {
            for at in 0..self.sides.of(which).policy.grants.hot.len() {
                let ix = GrantIx(at as u32);
                let Some(grant) = self.sides.counting(which, ix) else { continue };
                let given = self.keys_of(which, grant.content)?;
                let keys: Rc<[KeyIx]> =
                    given.iter().copied().filter(|key| registrations.contains(key)).collect();
                self.follow(which, grant, grant.subject, Some(&keys))?;
            }
        }
        Ok(())
    }

    fn follow_if_counting(&mut self, which: Of, ix: GrantIx, keys: &Rc<[KeyIx]>) -> Found {
        match self.sides.counting(which, ix) {
            Some(grant) => self.follow(which, grant, grant.subject, Some(keys)),
            None => Ok(()),
        }
    }

    /// Of a place whose chain differs: what stands above it, for it and everything below it that inherits from it.
    fn places(&mut self) -> Found {
        for place in self.sides.changed_places() {
            let Some(below) = self.at_or_below(place.object)? else { continue };
            for which in Sides::BOTH {
                self.above(which, place, &below)?;
            }
        }
        Ok(())
    }

    fn above(&mut self, which: Of, changed: ChangedPlace, places: &Rc<[ObjectIx]>) -> Found {
        let policy = self.sides.of(which).policy;
        let Some(place) = policy.place_of(changed.object) else { return Ok(()) };
        for scope in policy.scopes(place).skip(1) {
            for entry in scope.entries.iter() {
                self.entry(which, entry, places)?;
            }
        }
        if changed.came_or_went && !self.only.folds {
            // Administrators may there too, whatever stands above.
            for entry in policy.administrators.iter() {
                self.entry(which, entry, places)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, which: Of, entry: Entry, places: &Rc<[ObjectIx]>) -> Found {
        self.budget.spend(1)?;
        let Some(grant) = self.sides.counting(which, entry.grant) else { return Ok(()) };
        let keys = self.keys_of(which, grant.content)?;
        self.add(which, entry.subject, keys, Rc::clone(places))
    }

    /// Notes what a grant gives on one side, or some keys of it, for a subject, wherever it reaches.
    fn follow(&mut self, which: Of, grant: &Grant, subject: SubjectIx, keys: Option<&Rc<[KeyIx]>>) -> Found {
        self.budget.spend(1)?;
        let keys = match keys {
            Some(keys) => Rc::clone(keys),
            None => self.keys_of(which, grant.content)?,
        };
        if keys.is_empty() {
            return Ok(());
        }
        let places = self.reach_of(which, grant)?;
        self.add(which, subject, keys, places)
    }

    fn add(&mut self, which: Of, subject: SubjectIx, keys: Rc<[KeyIx]>, places: Rc<[ObjectIx]>) -> Found {
        if keys.is_empty() || places.is_empty() {
            return Ok(());
        }
        let only = self.only.user;
        let region = self.candidates.regions.len();
        self.candidates.regions.push(Region { keys, places });
        let of_users = &mut self.candidates.of_users;
        match subject.who() {
            Who::User(user) if only.is_none_or(|only| only == user) => {
                of_users.entry(user).or_default().push(region);
            }
            Who::User(_) => {}
            Who::Group(group) => {
                let Some(members) = self.sides.of(which).policy.groups.members(group) else { return Ok(()) };
                match only {
                    Some(only) if members.contains(&only) => {
                        of_users.entry(only).or_default().push(region);
                    }
                    Some(_) => {}
                    None => {
                        self.budget.spend(members.len())?;
                        members.iter().for_each(|user| of_users.entry(user).or_default().push(region));
                    }
                }
            }
        }
        Ok(())
    }

    /// The keys a content gives on one side, those of a role that its rows name.
    fn keys_of(&mut self, which: Of, content: ContentIx) -> Result<Rc<[KeyIx]>, DiffBound> {
        if let Some(keys) = self.keys.get(&(which, content)) {
            return Ok(Rc::clone(keys));
        }
        let policy = self.sides.of(which).policy;
        let mut keys = match content.what() {
            What::Role(role) => {
                self.budget.spend(policy.catalog.rows.len())?;
                held(policy, role)
            }
            What::Key(_) | What::Keys(_) => policy.keys_of(content),
        };
        keys.retain(|key| self.only.key.is_none_or(|only| only == *key));
        let keys: Rc<[KeyIx]> = keys.into();
        self.keys.insert((which, content), Rc::clone(&keys));
        Ok(keys)
    }

    /// The places a grant reaches on one side; with a filter by place that place alone, reached or not.
    fn reach_of(&mut self, which: Of, grant: &Grant) -> Result<Rc<[ObjectIx]>, DiffBound> {
        if let Some(only) = self.only.place {
            return Ok(Rc::new([only]));
        }
        let known = (which, grant.scope, grant.terms);
        if let Some(places) = self.reaches.get(&known) {
            return Ok(Rc::clone(places));
        }
        let mut places = Vec::new();
        let policy = self.sides.of(which).policy;
        match policy.objects.node(grant.scope) {
            None => {
                places.push(ObjectIx::NONE);
                self.inheriting(which, grant.scope, &mut |object, _, _| places.push(object))?;
            }
            Some(node) => {
                if grant.terms.reaches(0, node.is_folder) {
                    places.push(grant.scope);
                }
                if node.is_folder && grant.terms.reach().affects != Affects::SelfOnly {
                    self.inheriting(which, grant.scope, &mut |object, distance, is_folder| {
                        if grant.terms.reaches(distance, is_folder) {
                            places.push(object);
                        }
                    })?;
                }
            }
        }
        let places: Rc<[ObjectIx]> = places.into();
        self.reaches.insert(known, Rc::clone(&places));
        Ok(places)
    }

    /// An object and what inherits from it on either side; none when a filter by place leaves nothing of it.
    fn at_or_below(&mut self, object: ObjectIx) -> Result<Option<Rc<[ObjectIx]>>, DiffBound> {
        if let Some(only) = self.only.place {
            let covered = only == object
                || Sides::BOTH.iter().any(|which| {
                    only != ObjectIx::NONE && self.sides.of(*which).policy.objects.is_below(only, object)
                });
            return Ok(covered.then(|| Rc::from([only])));
        }
        let mut places = vec![object];
        for which in Sides::BOTH {
            self.inheriting(which, object, &mut |object, _, _| places.push(object))?;
        }
        places.sort_unstable();
        places.dedup();
        Ok(Some(places.into()))
    }

    /// What lies below a folder on one side, or below the global scope, and inherits all the way: each with its
    /// distance, and whether it is a folder.
    fn inheriting(
        &mut self,
        which: Of,
        folder: ObjectIx,
        found: &mut dyn FnMut(ObjectIx, usize, bool),
    ) -> Found {
        let objects = &self.sides.of(which).policy.objects;
        let mut waiting = vec![(folder, 1)];
        while let Some((folder, distance)) = waiting.pop() {
            for child in objects.contents(folder) {
                self.budget.spend(1)?;
                let Some(node) = objects.node(child).filter(|node| node.inherits) else { continue };
                found(child, distance, node.is_folder);
                if node.is_folder {
                    waiting.push((child, distance + 1));
                }
            }
        }
        Ok(())
    }
}

/// The keys a role holds, in order of their indexes.
fn held(policy: &crate::Policy, role: RoleIx) -> Vec<KeyIx> {
    let rows = policy.catalog.rows.iter().enumerate();
    rows.filter(|(_, row)| row.roles.has(role)).map(|(at, _)| KeyIx(at as u32)).collect()
}
