//! What a namespace's document may say: judged whole, before anything of it counts.

use super::ApplyCatalog;
use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use charter_events::{
    AliasDefinition, Namespace, ObjectType, ObjectTypeDefinition, PermissionDefinition, PermissionKey,
    names::ANY_TYPE,
};
use charter_policy::Policy;
use std::collections::BTreeSet;

/// The document's permissions in byte order, their object types sorted.
pub(super) fn valid_permissions(
    policy: &Policy,
    ctx: &Context<'_>,
    document: &ApplyCatalog,
) -> Result<Vec<PermissionDefinition>, Refusal> {
    let maximum = ctx.limits.namespace_permissions;
    if document.permissions.len() > maximum {
        return Err(Refusal::limit("permissions", "permissions in a namespace", maximum));
    }
    let own: BTreeSet<_> = document.object_types.iter().map(|definition| &definition.name).collect();
    let exists = |name: &ObjectType| {
        name.as_str() == ANY_TYPE || own.contains(name) || policy.object_type(name.as_str()).is_some()
    };
    let mut permissions = document.permissions.clone();
    for permission in &mut permissions {
        require_in_namespace(ctx, "permissions", &permission.key, &document.namespace)?;
        if permission.object_types.len() > ctx.limits.permission_object_types {
            let maximum = ctx.limits.permission_object_types;
            return Err(Refusal::limit("permissions", "object types of one permission", maximum));
        }
        if let Some(name) = permission.object_types.iter().find(|name| !exists(name)) {
            let detail = format!("object type `{name}` of `{}` is not in the catalog", permission.key);
            return Err(Refusal::of(Code::UnknownObjectType, "permissions", detail));
        }
        permission.object_types.sort();
        permission.object_types.dedup();
    }
    permissions.sort_by(|a, b| a.key.cmp(&b.key));
    if let Some(twice) = permissions.windows(2).find_map(|pair| match pair {
        [a, b] if a.key == b.key => Some(&a.key),
        _ => None,
    }) {
        return Err(Refusal::of(Code::Duplicate, "permissions", format!("`{twice}` stands twice")));
    }
    Ok(permissions)
}

/// The document's types that are new or gain aliases, in byte order, whole.
pub(super) fn valid_types(
    policy: &Policy,
    ctx: &Context<'_>,
    document: &ApplyCatalog,
    permissions: &[PermissionDefinition],
) -> Result<Vec<ObjectTypeDefinition>, Refusal> {
    let maximum = ctx.limits.namespace_object_types;
    if document.object_types.len() > maximum {
        return Err(Refusal::limit("object_types", "object types in a namespace", maximum));
    }
    let mut seen = BTreeSet::new();
    let mut types = Vec::new();
    for definition in &document.object_types {
        if !seen.insert(&definition.name) {
            let detail = format!("`{}` stands twice", definition.name);
            return Err(Refusal::of(Code::Duplicate, "object_types", detail));
        }
        require_sound(policy, ctx, &document.namespace, definition, permissions)?;
        types.extend(news(policy, ctx, &document.namespace, definition)?);
    }
    types.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(types)
}

fn require_sound(
    policy: &Policy,
    ctx: &Context<'_>,
    namespace: &Namespace,
    definition: &ObjectTypeDefinition,
    permissions: &[PermissionDefinition],
) -> Result<(), Refusal> {
    if definition.name.as_str() == ANY_TYPE {
        return Err(Refusal::of(Code::ReservedName, "object_types", "`any` stands for every type"));
    }
    if definition.aliases.len() > ctx.limits.type_aliases {
        return Err(Refusal::limit("object_types", "aliases of one object type", ctx.limits.type_aliases));
    }
    let registered = |key: &PermissionKey| {
        permissions.binary_search_by(|permission| permission.key.cmp(key)).is_ok()
            || policy.permission(key.as_str()).is_some()
    };
    let own = [&definition.read, &definition.create, &definition.manage];
    for key in own.into_iter().chain(definition.aliases.iter().map(|alias| &alias.key)) {
        require_in_namespace(ctx, "object_types", key, namespace)?;
        if !registered(key) {
            let detail = format!("permission `{key}` of `{}` is not in the catalog", definition.name);
            return Err(Refusal::of(Code::UnknownPermission, "object_types", detail));
        }
    }
    if let Some(key) = definition.aliases.iter().find(|alias| is_key(alias.alias.as_str())) {
        let detail =
            format!("alias `{}` of `{}` has the form of a permission key", key.alias, definition.name);
        return Err(Refusal::of(Code::ReservedName, "object_types", detail));
    }
    let mut aliases = BTreeSet::new();
    match definition.aliases.iter().find(|alias| !aliases.insert(&alias.alias)) {
        Some(twice) => {
            let detail = format!("alias `{}` of `{}` stands twice", twice.alias, definition.name);
            Err(Refusal::of(Code::Duplicate, "object_types", detail))
        }
        None => Ok(()),
    }
}

/// Whoever asks by such a name means that key, whoever registered it, and nothing the alias says.
fn is_key(alias: &str) -> bool {
    alias.parse::<PermissionKey>().is_ok()
}

fn require_in_namespace(
    ctx: &Context<'_>,
    field: &str,
    key: &PermissionKey,
    namespace: &Namespace,
) -> Result<(), Refusal> {
    ctx.guard(Guard::KeysInNamespace, || {
        if key.is_in(namespace) {
            return Ok(());
        }
        let detail = format!("permission `{key}` lies outside the namespace `{namespace}`");
        Err(Refusal::of(Code::OutsideNamespace, field, detail))
    })
}

/// What the catalog doesn't say of a type already. Grants and gateways rely on what a type's keys and aliases mean,
/// so they never change; aliases the document leaves out stay.
fn news(
    policy: &Policy,
    ctx: &Context<'_>,
    namespace: &Namespace,
    definition: &ObjectTypeDefinition,
) -> Result<Option<ObjectTypeDefinition>, Refusal> {
    let mut wanted = definition.clone();
    wanted.aliases.sort_by(|a, b| a.alias.cmp(&b.alias));
    let Some(known) = policy.object_type(definition.name.as_str()) else { return Ok(Some(wanted)) };
    let standing = known.definition;
    let other = |alias: &&AliasDefinition| {
        standing.aliases.iter().any(|old| old.alias == alias.alias && old.key != alias.key)
    };
    ctx.guard(Guard::TypesStay, || {
        let taken = |detail: String| Err(Refusal::of(Code::AlreadyRegistered, "object_types", detail));
        if known.namespace != namespace {
            return taken(format!("object type `{}` is registered by another namespace", definition.name));
        }
        let same = standing.read == wanted.read
            && standing.create == wanted.create
            && standing.manage == wanted.manage;
        if !same {
            return taken(format!("the keys of object type `{}` never change", definition.name));
        }
        match wanted.aliases.iter().find(other) {
            Some(alias) => taken(format!("alias `{}` of `{}` never changes", alias.alias, definition.name)),
            None => Ok(()),
        }
    })?;
    let left_out = |old: &&AliasDefinition| !definition.aliases.iter().any(|alias| alias.alias == old.alias);
    wanted.aliases.extend(standing.aliases.iter().filter(left_out).cloned());
    wanted.aliases.sort_by(|a, b| a.alias.cmp(&b.alias));
    if wanted.aliases.len() > ctx.limits.type_aliases {
        return Err(Refusal::limit("object_types", "aliases of one object type", ctx.limits.type_aliases));
    }
    Ok((wanted != *standing).then_some(wanted))
}
