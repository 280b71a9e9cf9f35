//! Whether a role or a key may be granted at a scope at all, whoever asks.

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
    roles::require_current,
};
use charter_events::{Effect, PermissionKey, Scope, SeededRole, names::ANY_TYPE};
use charter_policy::{ObjectView, Policy, RoleView};

/// A role is assigned where its scope field says; the role `owner` by creating or receiving an object only.
pub(super) fn require_role_fits(ctx: &Context<'_>, role: &RoleView<'_>, scope: Scope) -> Result<(), Refusal> {
    ctx.guard(Guard::OwnerRoleNotGiven, || {
        if role.seeded == Some(SeededRole::Owner) {
            let detail = "the role `owner` is given by creating or receiving an object only";
            return Err(Refusal::of(Code::OwnerGrant, "role", detail));
        }
        Ok(())
    })?;
    ctx.guard(Guard::RoleScope, || {
        if role.scope.allows(scope) {
            return Ok(());
        }
        let place = if scope == Scope::Global { "globally" } else { "on an object" };
        Err(Refusal::of(
            Code::RoleScope,
            "role",
            format!("the role `{}` can't be assigned {place}", role.slug),
        ))
    })
}

/// Each key is registered, current where it is to let in, and fits the object's type: on a folder any type will do,
/// for the grant reaches further down.
pub(super) fn require_keys_fit(
    policy: &Policy,
    ctx: &Context<'_>,
    keys: &[PermissionKey],
    object: Option<&ObjectView<'_>>,
    effect: Effect,
) -> Result<(), Refusal> {
    for key in keys {
        let Some(known) = policy.permission(key.as_str()) else {
            let detail = format!("permission `{key}` is not in the catalog");
            return Err(Refusal::of(Code::UnknownPermission, "keys", detail));
        };
        if effect == Effect::Allow {
            require_current(ctx, "keys", known)?;
        }
        let Some(object) = object else { continue };
        ctx.guard(Guard::TypeFits, || {
            let types = known.object_types;
            let listed = || types.iter().any(|name| name.as_str() == ANY_TYPE || name == object.object_type);
            if types.is_empty() {
                let detail = format!("permission `{key}` is platform-wide, it can't be granted on an object");
                return Err(Refusal::of(Code::TypeMismatch, "keys", detail));
            }
            if !object.is_folder && !listed() {
                let detail = format!("permission `{key}` does not apply to a `{}`", object.object_type);
                return Err(Refusal::of(Code::TypeMismatch, "keys", detail));
            }
            Ok(())
        })?;
    }
    Ok(())
}
