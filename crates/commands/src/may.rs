//! May the caller ask for this here? The key of the command, what he may know, and what he last saw.
//!
//! Two rules keep answers from telling what exists: on global collections the key is asked before anything is looked
//! up; on objects, what the caller may not know answers as what does not exist.

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use charter_events::{ObjectId, Offset, PermissionKey, Scope};
use charter_policy::{AccessControl, AccessError, ObjectView, Policy};

/// One of core's keys.
pub(crate) fn core_key(text: &'static str) -> Result<PermissionKey, Refusal> {
    text.parse().map_err(|_| Refusal::new(Code::UnknownPermission, format!("`{text}` is no key")))
}

/// Requires one of core's keys platform-wide.
pub(crate) fn require_global(policy: &Policy, ctx: &Context<'_>, key: &'static str) -> Result<(), Refusal> {
    require(policy, ctx, &core_key(key)?, Scope::Global)
}

/// Requires a key at a scope.
pub(crate) fn require(
    policy: &Policy,
    ctx: &Context<'_>,
    key: &PermissionKey,
    scope: Scope,
) -> Result<(), Refusal> {
    ctx.guard(Guard::CommandKey, || asked(policy, ctx, key, scope))
}

fn asked(policy: &Policy, ctx: &Context<'_>, key: &PermissionKey, scope: Scope) -> Result<(), Refusal> {
    policy.at(ctx.now).require(ctx.caller, key, scope).map_err(|error| refused(&error, key))
}

fn refused(error: &AccessError, key: &PermissionKey) -> Refusal {
    match error {
        AccessError::TokenTooNarrow { .. } => token_too_narrow(key.as_str()),
        // a policy is never unavailable; whoever is, decides nothing
        AccessError::Forbidden { .. } | AccessError::UnknownPermission(_) | AccessError::Unavailable(_) => {
            Refusal::new(Code::Forbidden, format!("you need `{key}` for this")).missing(key.as_str())
        }
    }
}

pub(crate) fn token_too_narrow(item: &str) -> Refusal {
    Refusal::new(Code::TokenTooNarrow, format!("your token does not reach `{item}`")).missing(item)
}

/// The object, for a caller who asks for a key of core on it.
///
/// The token's mask is asked first, for that answer is the same for every object, there or not.
pub(crate) fn object_for<'p>(
    policy: &'p Policy,
    ctx: &Context<'_>,
    field: &str,
    id: ObjectId,
    key: &'static str,
) -> Result<ObjectView<'p>, Refusal> {
    let key = core_key(key)?;
    require_within_ceiling(ctx, &key)?;
    let object = policy.object(id).ok_or_else(|| Refusal::not_found(field))?;
    require_on_object(policy, ctx, field, &object, &key)?;
    Ok(object)
}

/// The object, for a caller who asks for the manage key of its type.
pub(crate) fn object_to_manage<'p>(
    policy: &'p Policy,
    ctx: &Context<'_>,
    id: ObjectId,
) -> Result<ObjectView<'p>, Refusal> {
    let object = policy.object(id).ok_or_else(|| Refusal::not_found("object"))?;
    let key = type_keys(policy, &object)?.manage.clone();
    require_on_object(policy, ctx, "object", &object, &key)?;
    Ok(object)
}

/// The keys of an object's type.
pub(crate) fn type_keys<'p>(
    policy: &'p Policy,
    object: &ObjectView<'_>,
) -> Result<&'p charter_events::ObjectTypeDefinition, Refusal> {
    match policy.object_type(object.object_type.as_str()) {
        Some(known) => Ok(known.definition),
        None => Err(Refusal::not_found("object")),
    }
}

/// Requires a key on an object: 403 with the key where the caller may know the object, 404 where he may not.
pub(crate) fn require_on_object(
    policy: &Policy,
    ctx: &Context<'_>,
    field: &str,
    object: &ObjectView<'_>,
    key: &PermissionKey,
) -> Result<(), Refusal> {
    match require(policy, ctx, key, Scope::Object(object.id)) {
        Err(_) if ctx.stands(Guard::MayKnow) && !may_know(policy, ctx, object) => {
            Err(Refusal::not_found(field))
        }
        answer => answer,
    }
}

/// Whether the caller may know that an object exists: its type's read key or `core.decision.read` there.
pub(crate) fn may_know(policy: &Policy, ctx: &Context<'_>, object: &ObjectView<'_>) -> bool {
    let scope = Scope::Object(object.id);
    let allowed = |key: &PermissionKey| asked(policy, ctx, key, scope).is_ok();
    type_keys(policy, object).is_ok_and(|keys| allowed(&keys.read))
        || core_key("core.decision.read").is_ok_and(|key| allowed(&key))
}

/// Requires the caller's token, if he comes with a masked one, to reach a key.
pub(crate) fn require_within_ceiling(ctx: &Context<'_>, key: &PermissionKey) -> Result<(), Refusal> {
    if ctx.caller.reaches(key) { Ok(()) } else { Err(token_too_narrow(key.as_str())) }
}

/// Requires the target to be as the caller last saw it.
pub(crate) fn require_unchanged(ctx: &Context<'_>, changed_at: Offset) -> Result<(), Refusal> {
    ctx.guard(Guard::Unchanged, || match ctx.if_match {
        Some(seen) if seen != changed_at => Err(Refusal::new(
            Code::Stale,
            format!("it changed: you saw version {seen}, it is at {changed_at}"),
        )),
        _ => Ok(()),
    })
}

/// Requires the control plane itself.
pub(crate) fn require_system(ctx: &Context<'_>) -> Result<(), Refusal> {
    ctx.guard(Guard::SystemOnly, || match ctx.caller {
        charter_policy::Caller::System => Ok(()),
        _ => Err(Refusal::new(Code::SystemOnly, "only the control plane itself does this")),
    })
}
