//! Objects.

use super::{Noted, Rows, tables::OBJECTS};
use crate::{
    rows::{Row, Value},
    words::{self, folded, missing, searched},
};
use charter_events::{
    ObjectCreated, ObjectId, ObjectInheritanceChanged, ObjectMoved, ObjectRenamed, ObjectTransferred, Offset,
    Timestamp, UserId,
};

/// A row of `objects`.
struct Object<'a> {
    id: ObjectId,
    object_type: &'a str,
    external_id: Option<&'a str>,
    name: &'a str,
    parent: Option<ObjectId>,
    owner: Option<UserId>,
    inherits: bool,
    created_at: Timestamp,
    changed_at: Offset,
    position: u64,
}

impl Object<'_> {
    fn row(&self) -> Row {
        vec![
            Value::Uuid(self.id.as_uuid()),
            Value::text(self.object_type),
            Value::maybe(self.external_id, Value::text),
            Value::text(self.name),
            Value::text(folded(self.name)),
            searched([self.name].into_iter().chain(self.external_id)),
            Value::maybe(self.parent, |id| Value::Uuid(id.as_uuid())),
            Value::maybe(self.owner, |id| Value::Uuid(id.as_uuid())),
            Value::Bool(self.inherits),
            words::moment(self.created_at),
            words::offset(self.changed_at),
            words::count(self.position),
        ]
    }
}

impl<'a> Rows<'a> {
    fn object(&self, id: ObjectId) -> Result<Object<'a>, crate::Poison> {
        let view = self.before.object(id).ok_or_else(|| missing("object", id))?;
        Ok(Object {
            id,
            object_type: view.object_type.as_str(),
            external_id: view.external_id.map(|id| id.as_str()),
            name: view.name.as_str(),
            parent: view.parent,
            owner: view.owner,
            inherits: view.inherits,
            created_at: view.created_at,
            changed_at: self.recorded.stored.offset,
            position: view.position.get(),
        })
    }

    pub(super) fn object_created(&mut self, e: &ObjectCreated) -> Noted {
        let stored = self.recorded.stored;
        let object = Object {
            id: e.object,
            object_type: e.object_type.as_str(),
            external_id: e.external_id.as_ref().map(|id| id.as_str()),
            name: e.name.as_str(),
            parent: e.parent,
            owner: e.owner,
            inherits: e.inherits,
            created_at: stored.recorded_at,
            changed_at: stored.offset,
            position: self.before.object_count() as u64,
        };
        self.put(OBJECTS, object.row());
        Ok(())
    }

    pub(super) fn object_renamed(&mut self, e: &ObjectRenamed) -> Noted {
        let external_id = e.external_id.as_ref().map(|id| id.as_str());
        let row = Object { name: e.name.as_str(), external_id, ..self.object(e.object)? }.row();
        self.put(OBJECTS, row);
        Ok(())
    }

    pub(super) fn object_moved(&mut self, e: &ObjectMoved) -> Noted {
        let row = Object { parent: e.parent, ..self.object(e.object)? }.row();
        self.put(OBJECTS, row);
        Ok(())
    }

    pub(super) fn object_transferred(&mut self, e: &ObjectTransferred) -> Noted {
        let row = Object { owner: Some(e.owner), ..self.object(e.object)? }.row();
        self.put(OBJECTS, row);
        Ok(())
    }

    pub(super) fn object_inheritance_changed(&mut self, e: &ObjectInheritanceChanged) -> Noted {
        let row = Object { inherits: e.inherits, ..self.object(e.object)? }.row();
        self.put(OBJECTS, row);
        Ok(())
    }

    pub(super) fn object_deleted(&mut self, id: ObjectId) -> Noted {
        self.delete(OBJECTS, [Value::Uuid(id.as_uuid())]);
        Ok(())
    }
}
