//! Permissions and object types.

use crate::{ObjectTypeView, PermissionView, Policy, ix::KeyIx, state::catalog::TypeFacts};
use charter_events::Namespace;

impl Policy {
    /// A key of the catalog.
    pub fn permission(&self, key: &str) -> Option<PermissionView<'_>> {
        self.permission_view(self.catalog.registered_key(key)?)
    }

    /// All keys of the catalog in byte order.
    pub fn permissions(&self) -> impl Iterator<Item = PermissionView<'_>> {
        self.catalog.registered.values().filter_map(|ix| self.permission_view(*ix))
    }

    fn permission_view(&self, ix: KeyIx) -> Option<PermissionView<'_>> {
        let facts = self.catalog.facts.get(ix.at())?.as_ref()?;
        let registration = facts.registration.as_ref()?;
        Some(PermissionView {
            key: &facts.key,
            description: &registration.description,
            object_types: &registration.object_types,
            deprecated: registration.deprecated,
            namespace: facts.key.namespace(),
        })
    }

    /// A registered object type.
    pub fn object_type(&self, name: &str) -> Option<ObjectTypeView<'_>> {
        type_view(self.catalog.type_facts(self.catalog.type_ix(name)?)?)
    }

    /// All registered object types in order of registration.
    pub fn object_types(&self) -> impl Iterator<Item = ObjectTypeView<'_>> {
        self.catalog.types.iter().filter_map(type_view)
    }

    /// The revision of the build that registered a namespace's keys last, where it named one.
    pub fn catalog_revision(&self, namespace: &Namespace) -> Option<u32> {
        self.catalog.revisions.get(namespace).copied()
    }
}

fn type_view(facts: &TypeFacts) -> Option<ObjectTypeView<'_>> {
    let (definition, namespace) = facts.definition.as_ref()?;
    Some(ObjectTypeView { definition, namespace })
}
