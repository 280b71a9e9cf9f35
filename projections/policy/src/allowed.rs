//! On which objects of a type a user may do something: candidates from his and his groups' grants and what these reach,
//! then the same walk for each. Never by looking at all objects, unless a global grant reaches them all.

use crate::{
    AllowedObjects, Page, Policy,
    ancestry::Ancestry,
    entries::Terms,
    ix::{ObjectIx, TypeIx},
    sorted::Sorted,
    walk::{Asked, Asker, Walk},
    who_can::{first_after, object_position},
};
use charter_events::{Affects, PermissionKey, Timestamp, UserId};

/// What the grants of somebody reach, of one type.
enum Reached {
    /// Everything: a global grant is among them.
    All,
    /// These, in order.
    Some(Vec<ObjectIx>),
}

impl Policy {
    /// The objects of a type on which the walk allows a user something; for an administrator `all`, and the objects of
    /// the type nevertheless, page by page.
    pub fn allowed_objects(
        &self,
        user: UserId,
        key: &PermissionKey,
        object_type: &str,
        now: Timestamp,
        page: Page,
    ) -> AllowedObjects {
        self.allowed_objects_counted(user, key, object_type, now, page).0
    }

    /// [`Policy::allowed_objects`], and how many entries and candidates it looked at.
    pub fn allowed_objects_counted(
        &self,
        user: UserId,
        key: &PermissionKey,
        object_type: &str,
        now: Timestamp,
        page: Page,
    ) -> (AllowedObjects, u64) {
        let mut walk = Walk::new(self, now);
        let (Some(asker), Some(asked)) = (self.asker(user), self.asked(key)) else {
            return (AllowedObjects::default(), walk.visited);
        };
        if !walk.administrator(asker, asked).is_empty() {
            return (self.all_objects(object_type, page), walk.visited);
        }
        let Some(type_ix) = self.catalog.type_ix(object_type) else {
            return (AllowedObjects::default(), walk.visited);
        };
        let from = ObjectIx(first_after(page.after));
        let answer = match self.reached(&mut walk, asker, asked, type_ix) {
            Reached::All => {
                let objects = self.objects.of_type(type_ix).into_iter();
                let candidates = objects.flat_map(|objects| objects.from(&from));
                self.filter(&mut walk, asker, asked, candidates, page.limit)
            }
            Reached::Some(mut objects) => {
                objects.retain(|object| *object >= from);
                objects.sort_unstable();
                objects.dedup();
                self.filter(&mut walk, asker, asked, objects.into_iter(), page.limit)
            }
        };
        (answer, walk.visited)
    }

    fn filter<'p>(
        &'p self,
        walk: &mut Walk<'p>,
        asker: Asker<'p>,
        asked: Asked<'p>,
        candidates: impl Iterator<Item = ObjectIx>,
        limit: usize,
    ) -> AllowedObjects {
        let mut answer = AllowedObjects::default();
        let mut last = None;
        for object in candidates {
            walk.visited += 1;
            let Some(place) = self.place_of(object) else { continue };
            if !walk.decide(asker, asked, place).allowed() {
                continue;
            }
            if answer.objects.len() >= limit {
                answer.next = last.map(object_position);
                break;
            }
            answer.objects.push(self.object_id(object));
            last = Some(object);
        }
        answer
    }

    /// Where the user's and his groups' live allow grants of the key reach.
    fn reached(&self, walk: &mut Walk<'_>, asker: Asker<'_>, asked: Asked<'_>, wanted: TypeIx) -> Reached {
        let mut objects = Vec::new();
        for (subject, given) in self.given_to(asker) {
            walk.visited += 1;
            if !walk.might_allow(given.entry(subject), asked) {
                continue;
            }
            let Some(scope) = given.scope.some() else { return Reached::All };
            let Some(node) = self.objects.node(scope) else { continue };
            if node.object_type() == wanted {
                objects.push(scope);
            }
            if node.is_folder {
                self.below_of_type(walk, scope, given.terms, wanted, &mut objects);
            }
        }
        Reached::Some(objects)
    }

    /// The objects of a type below a folder that a grant on it can reach: what is sealed, and what lies in
    /// it, can't be.
    fn below_of_type(
        &self,
        walk: &mut Walk<'_>,
        folder: ObjectIx,
        terms: Terms,
        wanted: TypeIx,
        objects: &mut Vec<ObjectIx>,
    ) {
        let deep = matches!(terms.reach().affects, Affects::All | Affects::ChildrenOnly);
        if terms.reach().affects == Affects::SelfOnly {
            return;
        }
        let mut waiting = vec![folder];
        while let Some(folder) = waiting.pop() {
            for child in self.objects.contents(folder) {
                walk.visited += 1;
                let Some(node) = self.objects.node(child).filter(|node| node.inherits) else { continue };
                if node.object_type() == wanted {
                    objects.push(child);
                }
                if deep && node.is_folder {
                    waiting.push(child);
                }
            }
        }
    }

    /// All objects of a type: an administrator's answer.
    pub(crate) fn all_objects(&self, object_type: &str, page: Page) -> AllowedObjects {
        let of_type = self.catalog.type_ix(object_type).and_then(|ix| self.objects.of_type(ix));
        let from = ObjectIx(first_after(page.after));
        let mut rest = of_type.into_iter().flat_map(|objects: &Sorted<ObjectIx>| objects.from(&from));
        let shown: Vec<ObjectIx> = rest.by_ref().take(page.limit).collect();
        let more = rest.next().is_some();
        AllowedObjects {
            all: true,
            next: shown.last().filter(|_| more).map(|last| object_position(*last)),
            objects: shown.into_iter().map(|ix| self.object_id(ix)).collect(),
        }
    }
}
