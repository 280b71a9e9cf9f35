//! Objects and what lies in what.

use crate::{
    ObjectView, Policy, Position, ancestry::Ancestry, ix::ObjectIx, sorted::Sorted, who_can::first_after,
};
use charter_events::{ObjectId, UserId};

impl Policy {
    /// A standing object.
    pub fn object(&self, id: ObjectId) -> Option<ObjectView<'_>> {
        self.object_view(self.objects.find(id)?)
    }

    /// The object of a type that is known by this external id: its own, or its id where it has none.
    pub fn object_by_external_id(&self, object_type: &str, external_id: &str) -> Option<ObjectId> {
        let ix = self.objects.by_external_id(self.catalog.type_ix(object_type)?, external_id)?;
        Some(self.object_id(ix))
    }

    /// How many objects were ever created.
    pub fn object_count(&self) -> usize {
        self.objects.ids.len()
    }

    /// All objects in order of creation.
    pub fn objects(&self) -> impl Iterator<Item = ObjectView<'_>> {
        self.objects_after(None)
    }

    /// The objects after a position.
    pub fn objects_after(&self, after: Option<Position>) -> impl Iterator<Item = ObjectView<'_>> {
        (first_after(after)..self.objects.ids.len() as u32).filter_map(|ix| self.object_view(ObjectIx(ix)))
    }

    /// The objects of a type after a position.
    pub fn objects_of_type(
        &self,
        object_type: &str,
        after: Option<Position>,
    ) -> impl Iterator<Item = ObjectView<'_>> {
        let from = ObjectIx(first_after(after));
        let objects = self.catalog.type_ix(object_type).and_then(|ix| self.objects.of_type(ix));
        objects.into_iter().flat_map(move |objects| objects.from(&from)).filter_map(|ix| self.object_view(ix))
    }

    /// How many objects of a type there are.
    pub fn object_count_of_type(&self, object_type: &str) -> usize {
        self.catalog.type_ix(object_type).and_then(|ix| self.objects.of_type(ix)).map_or(0, Sorted::len)
    }

    /// What lies directly in a folder, in order of creation.
    pub fn children(&self, folder: ObjectId) -> impl Iterator<Item = ObjectId> {
        let ix = self.objects.find(folder);
        ix.into_iter().flat_map(|ix| self.objects.contents(ix)).map(|child| self.object_id(child))
    }

    /// What lies directly in a folder, or at the top, after a position.
    pub fn children_after(
        &self,
        folder: Option<ObjectId>,
        after: Option<Position>,
    ) -> impl Iterator<Item = ObjectView<'_>> {
        let from = ObjectIx(first_after(after));
        let ix = folder.map_or(Some(ObjectIx::NONE), |id| self.objects.find(id));
        let children = ix.and_then(|ix| self.objects.children(ix));
        children.into_iter().flat_map(move |list| list.from(&from)).filter_map(|ix| self.object_view(ix))
    }

    /// What lies at the top.
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> {
        self.objects.contents(ObjectIx::NONE).map(|ix| self.object_id(ix))
    }

    /// How many things lie directly in a folder.
    pub fn child_count(&self, folder: ObjectId) -> usize {
        self.objects.find(folder).and_then(|ix| self.objects.children(ix)).map_or(0, Sorted::len)
    }

    /// How many folders are above an object.
    pub fn depth(&self, object: ObjectId) -> usize {
        self.objects.find(object).map_or(0, |ix| self.objects.depth(ix))
    }

    /// How many levels lie below an object: 0 when nothing does. Costs what lies below.
    pub fn subtree_height(&self, object: ObjectId) -> usize {
        self.objects.find(object).map_or(0, |ix| self.objects.height(ix))
    }

    /// Whether an object lies in a folder, however deep.
    pub fn is_below(&self, object: ObjectId, ancestor: ObjectId) -> bool {
        let both = self.objects.find(object).zip(self.objects.find(ancestor));
        both.is_some_and(|(object, ancestor)| self.objects.is_below(object, ancestor))
    }

    /// The folders above an object, nearest first, sealed or not.
    pub fn ancestors(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> {
        let ix = self.objects.find(object);
        ix.into_iter().flat_map(|ix| self.objects.ancestors(ix)).map(|folder| self.object_id(folder))
    }

    /// Everything below a folder, in no particular order; the folder itself is not given.
    pub fn subtree(&self, folder: ObjectId) -> impl Iterator<Item = ObjectId> {
        let ix = self.objects.find(folder);
        ix.into_iter().flat_map(|ix| self.objects.below(ix)).map(|(object, _)| self.object_id(object))
    }

    /// The objects a user owns, in order of creation.
    pub fn owned_objects(&self, user: UserId) -> impl Iterator<Item = ObjectId> {
        let owned = self.user_ix(user).and_then(|ix| self.users.owned.get(ix.at()));
        owned.into_iter().flat_map(Sorted::iter).map(|ix| self.object_id(ix))
    }

    pub(crate) fn object_view(&self, ix: ObjectIx) -> Option<ObjectView<'_>> {
        let (node, facts) = (self.objects.node(ix)?, self.objects.get(ix)?);
        Some(ObjectView {
            id: self.object_id(ix),
            object_type: &self.catalog.type_facts(node.object_type())?.name,
            external_id: facts.external_id.as_ref(),
            name: &facts.name,
            parent: node.parent.some().map(|parent| self.object_id(parent)),
            owner: facts.owner.some().map(|owner| self.user_id(owner)),
            inherits: node.inherits,
            is_folder: node.is_folder,
            created_at: facts.created_at,
            changed_at: facts.changed_at,
            owner_grant: facts.owner_grant.some().map(|grant| self.grant_id(grant)),
            position: Position(u64::from(ix.0)),
        })
    }
}
