//! What may stand in a role, and which items are asked for when it changes.

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use charter_events::Pattern;
use charter_policy::Policy;

/// Items for a role: in byte order, each once, every literal key registered and not deprecated. A wildcard may match
/// nothing yet.
pub(super) fn valid_items(
    policy: &Policy,
    ctx: &Context<'_>,
    field: &str,
    items: &[Pattern],
) -> Result<Vec<Pattern>, Refusal> {
    require_few(ctx, field, items.len())?;
    let mut valid = items.to_vec();
    valid.sort();
    valid.dedup();
    for item in valid.iter().filter(|item| !item.is_wildcard()) {
        let Some(known) = policy.permission(item.as_str()) else {
            let detail = format!("permission `{item}` is not in the catalog");
            return Err(Refusal::of(Code::UnknownPermission, field, detail));
        };
        require_current(ctx, field, known)?;
    }
    Ok(valid)
}

/// A deprecated key is still checked and held, but no longer newly given.
pub(crate) fn require_current(
    ctx: &Context<'_>,
    field: &str,
    known: charter_policy::PermissionView<'_>,
) -> Result<(), Refusal> {
    ctx.guard(Guard::NotDeprecated, || {
        if known.deprecated {
            let detail = format!("permission `{}` is deprecated", known.key);
            return Err(Refusal::of(Code::DeprecatedPermission, field, detail));
        }
        Ok(())
    })
}

pub(super) fn require_few(ctx: &Context<'_>, field: &str, items: usize) -> Result<(), Refusal> {
    let maximum = ctx.limits.role_content_items;
    if items > maximum { Err(Refusal::limit(field, "items in a role", maximum)) } else { Ok(()) }
}
