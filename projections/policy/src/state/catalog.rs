//! The catalog: keys, object types, and the sets of keys that grants give. A key's index is for ever: it outlives its
//! registration, because denies keep the keys that left and bind again when they return.

use super::keys::{KeyIndex, KeyRow};
use crate::{
    ix::{KeyIx, KeySetIx, THINGS_MAX, TypeIx},
    pages::Paged,
};
use charter_events::{DisplayName, Namespace, ObjectType, ObjectTypeDefinition, PermissionKey};
use imbl::OrdMap;
use std::sync::Arc;

/// What the catalog says of a registered key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    pub(crate) description: DisplayName,
    pub(crate) object_types: Arc<[ObjectType]>,
    pub(crate) deprecated: bool,
}

/// A key that was ever named.
#[derive(Debug, Clone)]
pub(crate) struct KeyFacts {
    pub(crate) key: PermissionKey,
    pub(crate) registration: Option<Registration>,
}

/// A type that was ever registered.
#[derive(Debug, Clone)]
pub(crate) struct TypeFacts {
    pub(crate) name: ObjectType,
    pub(crate) definition: Option<(ObjectTypeDefinition, Namespace)>,
}

/// The most object types ever registered: what an object's node has room for.
pub(crate) const TYPES_MAX: usize = 1 << 16;

#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    index: Arc<KeyIndex>,
    pub(crate) facts: Paged<Option<KeyFacts>, 64>,
    pub(crate) rows: Paged<KeyRow, 64>,
    pub(crate) registered: OrdMap<PermissionKey, KeyIx>,
    pub(crate) types: Arc<Vec<TypeFacts>>,
    type_index: OrdMap<ObjectType, TypeIx>,
    pub(crate) revisions: OrdMap<Namespace, u32>,
    pub(crate) sets: Paged<Arc<[KeyIx]>, 64>,
    set_index: OrdMap<Arc<[KeyIx]>, KeySetIx>,
}

impl Catalog {
    /// The index of a key that was ever named.
    #[inline]
    pub(crate) fn key(&self, key: &str) -> Option<KeyIx> {
        self.index.get(key).copied()
    }

    /// The index of a key that is in the catalog.
    pub(crate) fn registered_key(&self, key: &str) -> Option<KeyIx> {
        self.key(key).filter(|ix| self.rows.get(ix.at()).is_some_and(|row| row.registered))
    }

    pub(crate) fn key_text(&self, key: KeyIx) -> Option<&PermissionKey> {
        self.facts.get(key.at())?.as_ref().map(|facts| &facts.key)
    }

    /// Names a key for the first time; its row is still empty.
    pub(crate) fn intern(&mut self, key: &PermissionKey) -> Option<KeyIx> {
        if self.facts.len() >= THINGS_MAX {
            return None;
        }
        let ix = KeyIx(self.facts.push(Some(KeyFacts { key: key.clone(), registration: None })) as u32);
        self.rows.push(KeyRow::default());
        Arc::make_mut(&mut self.index).insert(key.clone(), ix);
        Some(ix)
    }

    /// Registers an interned key, registers it anew, or (with `None`) takes it out.
    pub(crate) fn set_registration(&mut self, ix: KeyIx, registration: Option<Registration>) {
        if let Some(row) = self.rows.get_mut(ix.at()) {
            row.registered = registration.is_some();
        }
        let Some(Some(facts)) = self.facts.get_mut(ix.at()) else { return };
        if registration.is_some() {
            self.registered.insert(facts.key.clone(), ix);
        } else {
            self.registered.remove(&facts.key);
        }
        facts.registration = registration;
    }

    /// The index of a type that was ever registered.
    pub(crate) fn type_ix(&self, name: &str) -> Option<TypeIx> {
        self.type_index.get(name).copied()
    }

    pub(crate) fn type_facts(&self, ix: TypeIx) -> Option<&TypeFacts> {
        self.types.get(ix.at())
    }

    /// Registers a type, registers it anew, or (with `None`) takes it out.
    pub(crate) fn set_type(
        &mut self,
        name: &ObjectType,
        definition: Option<(ObjectTypeDefinition, Namespace)>,
    ) -> Option<TypeIx> {
        let types = Arc::make_mut(&mut self.types);
        if let Some(ix) = self.type_index.get(name) {
            types.get_mut(ix.at())?.definition = definition;
            return Some(*ix);
        }
        if types.len() >= TYPES_MAX {
            return None;
        }
        let ix = TypeIx(types.len() as u32);
        types.push(TypeFacts { name: name.clone(), definition });
        self.type_index.insert(name.clone(), ix);
        Some(ix)
    }

    /// The set of these keys, which are sorted by index.
    pub(crate) fn key_set(&mut self, keys: &[KeyIx]) -> Option<KeySetIx> {
        if let Some(set) = self.set_index.get(keys) {
            return Some(*set);
        }
        if self.sets.len() >= THINGS_MAX {
            return None;
        }
        let keys: Arc<[KeyIx]> = keys.into();
        let set = KeySetIx(self.sets.push(Arc::clone(&keys)) as u32);
        self.set_index.insert(keys, set);
        Some(set)
    }
}
