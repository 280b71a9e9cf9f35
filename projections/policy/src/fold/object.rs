//! What object events mean.

use super::{Fold, Folded};
use crate::{
    FoldError,
    ancestry::Ancestry,
    entries::Entries,
    ix::{GrantIx, ObjectIx, TypeIx, UserIx},
    state::objects::{Node, ObjectFacts},
};
use charter_events::{
    ExternalId, ObjectCreated, ObjectDeleted, ObjectId, ObjectInheritanceChanged, ObjectMoved, ObjectRenamed,
    ObjectTransferred,
};

impl Fold<'_> {
    pub(super) fn object_created(&mut self, e: &ObjectCreated) -> Folded {
        let parent = self.folder(e.parent)?;
        let owner = e.owner.map_or(Ok(UserIx::NONE), |owner| self.user(owner))?;
        let catalog = &self.policy.catalog;
        let registered = catalog
            .type_ix(e.object_type.as_str())
            .filter(|ix| catalog.type_facts(*ix).is_some_and(|facts| facts.definition.is_some()));
        let Some(object_type) = registered else { return Err(self.missing("object type", &e.object_type)) };
        let type_ix = u16::try_from(object_type.0).map_err(|_| FoldError::Full("object type"))?;
        self.external_id_is_free(object_type, None, e.external_id.as_ref(), e.object)?;
        let objects = &mut self.policy.objects;
        let Some(ix) = objects.ids.insert(e.object.as_uuid()) else {
            return Err(self.taken("object", &e.object));
        };
        let node = Node {
            parent,
            type_ix,
            exists: true,
            is_folder: e.object_type.is_folder(),
            inherits: e.inherits,
            entries: Entries::default(),
        };
        let facts = ObjectFacts {
            name: e.name.clone(),
            external_id: e.external_id.clone(),
            owner,
            owner_grant: GrantIx::NONE,
            created_at: self.meta.recorded_at,
            changed_at: self.meta.offset,
        };
        objects.push(node, Some(facts));
        if let Some(owned) = self.policy.users.owned.get_mut(owner.at()) {
            owned.insert(ObjectIx(ix));
        }
        Ok(())
    }

    pub(super) fn object_renamed(&mut self, e: &ObjectRenamed) -> Folded {
        let ix = self.object(e.object)?;
        let object_type = self.object_type(ix);
        self.external_id_is_free(object_type, Some(ix), e.external_id.as_ref(), e.object)?;
        let objects = &mut self.policy.objects;
        objects.set_external_id(ix, object_type, e.external_id.clone());
        if let Some(facts) = objects.get_mut(ix) {
            facts.name = e.name.clone();
            facts.changed_at = self.meta.offset;
        }
        Ok(())
    }

    pub(super) fn object_moved(&mut self, e: &ObjectMoved) -> Folded {
        let ix = self.object(e.object)?;
        let parent = self.folder(e.parent)?;
        if parent == ix || self.policy.objects.is_below(parent, ix) {
            return Err(self.contradiction(&e.object, "it would lie in itself"));
        }
        self.policy.objects.move_to(ix, parent);
        self.touch_object(ix);
        Ok(())
    }

    pub(super) fn object_transferred(&mut self, e: &ObjectTransferred) -> Folded {
        let ix = self.object(e.object)?;
        let owner = self.user(e.owner)?;
        let policy = &mut *self.policy;
        let before = policy.objects.get_mut(ix).map(|facts| std::mem::replace(&mut facts.owner, owner));
        if let Some(owned) = before.and_then(|before| policy.users.owned.get_mut(before.at())) {
            owned.remove(&ix);
        }
        if let Some(owned) = policy.users.owned.get_mut(owner.at()) {
            owned.insert(ix);
        }
        policy.find_owner_grant(ix);
        self.touch_object(ix);
        Ok(())
    }

    pub(super) fn object_inheritance_changed(&mut self, e: &ObjectInheritanceChanged) -> Folded {
        let ix = self.object(e.object)?;
        if let Some(node) = self.policy.objects.nodes.get_mut(ix.at()) {
            node.inherits = e.inherits;
        }
        self.touch_object(ix);
        Ok(())
    }

    pub(super) fn object_deleted(&mut self, e: &ObjectDeleted) -> Folded {
        let ix = self.object(e.object)?;
        let policy = &mut *self.policy;
        if policy.objects.children(ix).is_some_and(|children| !children.is_empty()) {
            return Err(self.contradiction(&e.object, "it contains something"));
        }
        if policy.objects.node(ix).is_some_and(|node| !node.entries.is_empty()) {
            return Err(self.contradiction(&e.object, "there are grants on it"));
        }
        let owner = policy.objects.get(ix).map_or(UserIx::NONE, |facts| facts.owner);
        if let Some(owned) = policy.users.owned.get_mut(owner.at()) {
            owned.remove(&ix);
        }
        policy.objects.delete(ix);
        Ok(())
    }

    fn folder(&self, parent: Option<ObjectId>) -> Result<ObjectIx, FoldError> {
        let Some(id) = parent else { return Ok(ObjectIx::NONE) };
        let ix = self.object(id)?;
        if !self.policy.objects.node(ix).is_some_and(|node| node.is_folder) {
            return Err(self.contradiction(&id, "it is no folder"));
        }
        Ok(ix)
    }

    fn object_type(&self, ix: ObjectIx) -> TypeIx {
        self.policy.objects.node(ix).map_or(TypeIx(u32::MAX), Node::object_type)
    }

    /// Two objects of a type are never known by one external id, given or implied.
    fn external_id_is_free(
        &self,
        object_type: TypeIx,
        own: Option<ObjectIx>,
        external: Option<&ExternalId>,
        id: ObjectId,
    ) -> Folded {
        let implied = id.to_string();
        let text = external.map_or(implied.as_str(), ExternalId::as_str);
        match self.policy.objects.by_external_id(object_type, text) {
            Some(other) if Some(other) != own => Err(self.taken("external id", &text)),
            Some(_) | None => Ok(()),
        }
    }

    fn touch_object(&mut self, ix: ObjectIx) {
        if let Some(facts) = self.policy.objects.get_mut(ix) {
            facts.changed_at = self.meta.offset;
        }
    }
}
