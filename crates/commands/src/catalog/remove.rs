//! Removes keys from the catalog: they are stripped from roles and allow grants, each as an event of its own; a
//! deny keeps them, and binds again if the key returns.
//!
//! Refused: `forbidden` without `core.module.uninstall`; `not_held` unless by the module itself or an
//! administrator; `foreign_namespace`; `outside_namespace`; `unknown_permission`; `empty`; `in_use` for a key that
//! an object type names; `limit_exceeded`; `too_many_consequences`.

use super::{chunks::chunks, require_own_namespace};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    decide::require_consequences,
    refusal::{Code, Refusal},
};
use charter_events::{
    Effect, EndedBy, Event, GrantEnded, GrantKeysRemoved, Namespace, Pattern, PermissionKey,
    PermissionsRemoved, RolePermissionsChanged,
};
use charter_policy::{ContentView, Policy, Span};
use std::collections::BTreeSet;

/// Removes keys from the catalog; they are stripped from roles and allow grants, denies keep them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovePermissions {
    /// Whose.
    pub namespace: Namespace,
    /// The keys.
    pub keys: Vec<PermissionKey>,
}

impl Decide for RemovePermissions {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_own_namespace(policy, ctx, &self.namespace, "core.module.uninstall", Span::Now)?;
        let keys = self.valid_keys(policy, ctx)?;
        let mut events = stripped_roles(policy, &keys);
        events.extend(self.stripped_grants(policy, ctx, &keys));
        require_consequences(ctx, events.len())?;
        for keys in chunks(keys.into_iter().collect(), |key| key.as_str().len() + 3) {
            events.push(PermissionsRemoved { namespace: self.namespace.clone(), keys }.into());
        }
        Ok(Decided::events(events))
    }
}

impl RemovePermissions {
    fn valid_keys(&self, policy: &Policy, ctx: &Context<'_>) -> Result<BTreeSet<PermissionKey>, Refusal> {
        if self.keys.is_empty() {
            return Err(Refusal::of(Code::Empty, "keys", "no key is named"));
        }
        if self.keys.len() > ctx.limits.namespace_permissions {
            return Err(Refusal::limit("keys", "keys at once", ctx.limits.namespace_permissions));
        }
        for key in &self.keys {
            if !key.is_in(&self.namespace) {
                let detail = format!("permission `{key}` lies outside the namespace `{}`", self.namespace);
                return Err(Refusal::of(Code::OutsideNamespace, "keys", detail));
            }
            if policy.permission(key.as_str()).is_none() {
                let detail = format!("permission `{key}` is not in the catalog");
                return Err(Refusal::of(Code::UnknownPermission, "keys", detail));
            }
        }
        let keys: BTreeSet<_> = self.keys.iter().cloned().collect();
        require_unused(policy, &keys)?;
        Ok(keys)
    }

    fn stripped_grants(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        keys: &BTreeSet<PermissionKey>,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for grant in policy.grants() {
            let ContentView::Keys(held) = &grant.content else { continue };
            if grant.effect == Effect::Deny && ctx.stands(Guard::DenyKeepsKey) {
                continue;
            }
            let lost: Vec<PermissionKey> =
                held.iter().filter(|key| keys.contains(**key)).map(|key| (*key).clone()).collect();
            if lost.len() == held.len() {
                let by = EndedBy::Namespace(self.namespace.clone());
                events.push(GrantEnded { grant: grant.id, by }.into());
            } else if !lost.is_empty() {
                events.push(GrantKeysRemoved { grant: grant.id, keys: lost }.into());
            }
        }
        events
    }
}

/// An object type's own keys and aliases stay as long as the type.
fn require_unused(policy: &Policy, keys: &BTreeSet<PermissionKey>) -> Result<(), Refusal> {
    for known in policy.object_types() {
        let definition = known.definition;
        let own = [&definition.read, &definition.create, &definition.manage];
        let named = own.into_iter().chain(definition.aliases.iter().map(|alias| &alias.key));
        if let Some(key) = named.into_iter().find(|key| keys.contains(*key)) {
            let detail = format!("object type `{}` names `{key}`", definition.name);
            return Err(Refusal::of(Code::InUse, "keys", detail));
        }
    }
    Ok(())
}

fn stripped_roles(policy: &Policy, keys: &BTreeSet<PermissionKey>) -> Vec<Event> {
    let mut events = Vec::new();
    for role in policy.roles() {
        let lost: Vec<Pattern> =
            role.permissions.iter().filter(|item| keys.contains(item.as_str())).cloned().collect();
        for removed in chunks(lost, |item| item.as_str().len() + 3) {
            events.push(RolePermissionsChanged { role: role.id, added: Vec::new(), removed }.into());
        }
    }
    events
}
