//! Entries of objects.

use super::entry::Entry;
use crate::{projection::Poison, words::missing};
use charter_events::{
    ExternalId, ObjectCreated, ObjectId, ObjectInheritanceChanged, ObjectMoved, ObjectRenamed,
    ObjectTransferred, UserId,
};
use charter_policy::ObjectView;

impl<'a> Entry<'a> {
    fn standing(&self, id: ObjectId) -> Result<ObjectView<'a>, Poison> {
        self.before.object(id).ok_or_else(|| missing("object", id))
    }

    fn folder_name(&self, id: Option<ObjectId>) -> Option<&'a str> {
        Some(self.before.object(id?)?.name.as_str())
    }

    pub(super) fn object_created(self, e: &ObjectCreated) -> Self {
        let parent_name = self.folder_name(e.parent);
        let entry = self
            .object_called(e.object, e.object_type.as_str(), e.name.as_str())
            .is("object_type", e.object_type.as_str())
            .is("name", e.name.as_str())
            .maybe_is("external_id", e.external_id.as_ref().map(ExternalId::as_str))
            .maybe_is("parent", e.parent.map(|id| id.to_string()))
            .maybe_is("parent_name", parent_name)
            .maybe_is("owner", e.owner.map(|id| id.to_string()))
            .is("inherits", e.inherits);
        let entry = e.external_id.iter().fold(entry, |entry, id| entry.word(id.as_str()));
        e.owner.into_iter().fold(entry, Self::user)
    }

    pub(super) fn object_renamed(self, e: &ObjectRenamed) -> Result<Self, Poison> {
        let view = self.standing(e.object)?;
        let mut entry = self.object(e.object);
        if view.name != &e.name {
            let name = e.name.as_str();
            entry = entry.was("name", view.name.as_str()).is("name", name).word(name);
        }
        let (old, new) = (view.external_id, e.external_id.as_ref());
        if old != new {
            entry = entry
                .maybe_was("external_id", old.map(ExternalId::as_str))
                .maybe_is("external_id", new.map(ExternalId::as_str));
            entry = new.into_iter().fold(entry, |entry, id| entry.word(id.as_str()));
        }
        Ok(entry)
    }

    pub(super) fn object_moved(self, e: &ObjectMoved) -> Result<Self, Poison> {
        let from = self.standing(e.object)?.parent;
        let (old_name, new_name) = (self.folder_name(from), self.folder_name(e.parent));
        let entry = self
            .object(e.object)
            .was("parent", from.map(|id| id.to_string()))
            .maybe_was("parent_name", old_name)
            .is("parent", e.parent.map(|id| id.to_string()))
            .maybe_is("parent_name", new_name);
        Ok(old_name.into_iter().chain(new_name).fold(entry, Self::word))
    }

    pub(super) fn object_transferred(self, e: &ObjectTransferred) -> Result<Self, Poison> {
        let old: Option<UserId> = self.standing(e.object)?.owner;
        Ok(self
            .object(e.object)
            .user(e.owner)
            .was("owner", old.map(|id| id.to_string()))
            .is("owner", e.owner.to_string()))
    }

    pub(super) fn object_inheritance_changed(self, e: &ObjectInheritanceChanged) -> Result<Self, Poison> {
        let old = self.standing(e.object)?.inherits;
        Ok(self.object(e.object).was("inherits", old).is("inherits", e.inherits))
    }

    pub(super) fn object_deleted(self, id: ObjectId) -> Result<Self, Poison> {
        let view = self.standing(id)?;
        let parent_name = self.folder_name(view.parent);
        Ok(self
            .object(id)
            .was("object_type", view.object_type.as_str())
            .was("name", view.name.as_str())
            .maybe_was("external_id", view.external_id.map(ExternalId::as_str))
            .maybe_was("parent", view.parent.map(|id| id.to_string()))
            .maybe_was("parent_name", parent_name)
            .maybe_was("owner", view.owner.map(|id| id.to_string())))
    }
}
