//! Registers one namespace's keys, object types and aliases as a whole document.
//!
//! Refused: `forbidden` without `core.module.install`; `not_held` unless by the module itself or an administrator;
//! `foreign_namespace`; `outside_namespace`; `duplicate`; `unknown_permission`, `unknown_object_type` for what the
//! document names and neither it nor the catalog holds; `already_registered` for a type of another namespace, or
//! one that would change what it means; `reserved_name`; `limit_exceeded`.

use super::{chunks::chunks, document, require_own_namespace};
use crate::{Context, Decided, command::Decide, refusal::Refusal};
use charter_events::{
    Event, Namespace, ObjectTypeDefinition, ObjectTypesRegistered, PermissionDefinition, PermissionKey,
    PermissionsDeprecated, PermissionsRegistered,
};
use charter_policy::{Policy, Span};

/// Registers one namespace's keys, object types and aliases as a whole document. A key that is missing becomes
/// deprecated; types and aliases stay. The same document again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyCatalog {
    /// Whose.
    pub namespace: Namespace,
    /// All its keys.
    pub permissions: Vec<PermissionDefinition>,
    /// Its object types.
    pub object_types: Vec<ObjectTypeDefinition>,
}

impl Decide for ApplyCatalog {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_own_namespace(policy, ctx, &self.namespace, "core.module.install", Span::Until(None))?;
        let permissions = document::valid_permissions(policy, ctx, self)?;
        let types = document::valid_types(policy, ctx, self, &permissions)?;
        let mut events: Vec<Event> = Vec::new();
        for types in chunks(types, type_bytes) {
            events.push(ObjectTypesRegistered { namespace: self.namespace.clone(), types }.into());
        }
        let gone = self.gone(policy, &permissions);
        let new: Vec<_> = permissions.into_iter().filter(|permission| is_news(policy, permission)).collect();
        for permissions in chunks(new, permission_bytes) {
            let namespace = self.namespace.clone();
            events.push(PermissionsRegistered { namespace, revision: None, permissions }.into());
        }
        for keys in chunks(gone, |key| key.as_str().len() + 3) {
            events.push(PermissionsDeprecated { namespace: self.namespace.clone(), keys }.into());
        }
        Ok(Decided::events(events))
    }
}

impl ApplyCatalog {
    /// Standing keys the document no longer names.
    fn gone(&self, policy: &Policy, named: &[PermissionDefinition]) -> Vec<PermissionKey> {
        let known = policy.permissions().filter(|known| known.namespace == self.namespace.as_str());
        known
            .filter(|known| !known.deprecated)
            .filter(|known| named.binary_search_by(|permission| permission.key.cmp(known.key)).is_err())
            .map(|known| known.key.clone())
            .collect()
    }
}

fn is_news(policy: &Policy, permission: &PermissionDefinition) -> bool {
    policy.permission(permission.key.as_str()).is_none_or(|known| {
        known.deprecated
            || *known.description != permission.description
            || known.object_types != permission.object_types
    })
}

/// No less than the definition takes in a payload, but for escapes.
fn permission_bytes(permission: &PermissionDefinition) -> usize {
    let types: usize = permission.object_types.iter().map(|name| name.as_str().len() + 3).sum();
    permission.key.as_str().len() + permission.description.as_str().len() + types + 64
}

fn type_bytes(definition: &ObjectTypeDefinition) -> usize {
    let key = |key: &PermissionKey| key.as_str().len() + 16;
    let aliases: usize =
        definition.aliases.iter().map(|alias| alias.alias.as_str().len() + key(&alias.key) + 16).sum();
    let keys = key(&definition.read) + key(&definition.create) + key(&definition.manage);
    definition.name.as_str().len() + keys + aliases + 64
}
