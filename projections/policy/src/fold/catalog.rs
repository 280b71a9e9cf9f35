//! What catalog events mean. Removing a key touches the catalog alone: roles and allow grants lose it by events of
//! their own, denies keep it.

use super::{Fold, Folded};
use crate::{FoldError, state::catalog::Registration};
use charter_events::{
    ObjectTypesRegistered, ObjectTypesRemoved, PermissionsDeprecated, PermissionsRegistered,
    PermissionsRemoved,
};

impl Fold<'_> {
    pub(super) fn permissions_registered(&mut self, e: &PermissionsRegistered) -> Folded {
        for definition in &e.permissions {
            if !definition.key.is_in(&e.namespace) {
                return Err(self.contradiction(&definition.key, "the key lies in another namespace"));
            }
            let catalog = &mut self.policy.catalog;
            let ix = match catalog.key(definition.key.as_str()) {
                Some(ix) => ix,
                None => {
                    let ix = catalog.intern(&definition.key).ok_or(FoldError::Full("permission"))?;
                    self.policy.roles.key_interned(ix, &definition.key, catalog);
                    ix
                }
            };
            let registration = Registration {
                description: definition.description.clone(),
                object_types: definition.object_types.as_slice().into(),
                deprecated: false,
            };
            self.policy.catalog.set_registration(ix, Some(registration));
        }
        if let Some(revision) = e.revision {
            self.policy.catalog.revisions.insert(e.namespace.clone(), revision);
        }
        Ok(())
    }

    pub(super) fn permissions_deprecated(&mut self, e: &PermissionsDeprecated) -> Folded {
        for key in &e.keys {
            let ix = self.registered_key(key)?;
            let facts = self.policy.catalog.facts.get_mut(ix.at());
            if let Some(registration) = facts.and_then(|f| f.as_mut()).and_then(|f| f.registration.as_mut()) {
                registration.deprecated = true;
            }
        }
        Ok(())
    }

    pub(super) fn permissions_removed(&mut self, e: &PermissionsRemoved) -> Folded {
        for key in &e.keys {
            if !key.is_in(&e.namespace) {
                return Err(self.contradiction(key, "the key lies in another namespace"));
            }
            let ix = self.registered_key(key)?;
            self.policy.catalog.set_registration(ix, None);
        }
        Ok(())
    }

    pub(super) fn object_types_registered(&mut self, e: &ObjectTypesRegistered) -> Folded {
        for definition in &e.types {
            let name = &definition.name;
            let catalog = &self.policy.catalog;
            let standing = catalog.type_ix(name.as_str()).and_then(|ix| catalog.type_facts(ix));
            if let Some((_, owner)) = standing.and_then(|facts| facts.definition.as_ref())
                && *owner != e.namespace
            {
                return Err(self.contradiction(name, "the object type is another namespace's"));
            }
            self.policy
                .catalog
                .set_type(name, Some((definition.clone(), e.namespace.clone())))
                .ok_or(FoldError::Full("object type"))?;
        }
        Ok(())
    }

    pub(super) fn object_types_removed(&mut self, e: &ObjectTypesRemoved) -> Folded {
        for name in &e.types {
            let policy = &mut *self.policy;
            let standing = policy
                .catalog
                .type_ix(name.as_str())
                .filter(|ix| policy.catalog.type_facts(*ix).is_some_and(|facts| facts.definition.is_some()));
            let Some(ix) = standing else { return Err(self.missing("object type", name)) };
            if policy.objects.of_type(ix).is_some_and(|objects| !objects.is_empty()) {
                return Err(self.contradiction(name, "there are objects of the type"));
            }
            policy.catalog.set_type(name, None);
        }
        Ok(())
    }
}
