//! Renames a role, or changes what it holds.
//!
//! Refused: `forbidden` without `core.role.edit`; `not_found`; `stale`; `protected_role`; `not_held`,
//! `outlives_holder` for what is added and not held globally and over the reach of each of the role's grants until
//! that grant's end, and for a content that is narrowed and not held globally now; `unknown_permission`;
//! `deprecated_permission`; `duplicate`; `limit_exceeded`.

use super::{
    content::{require_few, valid_items},
    require_unprotected,
};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_held,
    may::{require_global, require_unchanged},
    refusal::{Code, Refusal},
};
use charter_events::{
    DisplayName, Event, Pattern, Reach, RoleId, RolePermissionsChanged, RoleRenamed, Scope,
};
use charter_policy::{Policy, RoleView, Span};

/// Renames a role, or changes what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRole {
    /// The role.
    pub role: RoleId,
    /// How it is shown from now on.
    pub name: Option<DisplayName>,
    /// What it gains; what it holds already counts for nothing.
    pub add: Vec<Pattern>,
    /// What it loses; what it lacks counts for nothing.
    pub remove: Vec<Pattern>,
}

impl Decide for ChangeRole {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.role.edit")?;
        let role = policy.role(self.role).ok_or_else(|| Refusal::not_found("role"))?;
        require_unchanged(ctx, role.changed_at)?;
        require_unprotected(ctx, &role)?;
        let (added, removed) = self.difference(policy, ctx, &role)?;
        require_may_add(policy, ctx, &role, &added)?;
        require_may_narrow(policy, ctx, &role, &removed)?;
        let mut events: Vec<Event> = Vec::new();
        if let Some(name) = self.name.as_ref().filter(|name| *name != role.name) {
            events.push(RoleRenamed { role: role.id, name: name.clone() }.into());
        }
        if !added.is_empty() || !removed.is_empty() {
            events.push(RolePermissionsChanged { role: role.id, added, removed }.into());
        }
        Ok(Decided::events(events))
    }
}

impl ChangeRole {
    /// What really comes and what really goes.
    fn difference(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        role: &RoleView<'_>,
    ) -> Result<(Vec<Pattern>, Vec<Pattern>), Refusal> {
        require_few(ctx, "remove", self.remove.len())?;
        require_few(ctx, "add", self.add.len())?;
        if let Some(both) = self.add.iter().find(|item| self.remove.contains(item)) {
            return Err(Refusal::of(Code::Duplicate, "add", format!("`{both}` is both added and removed")));
        }
        let held = |item: &Pattern| role.permissions.binary_search(item).is_ok();
        let new: Vec<_> = self.add.iter().filter(|item| !held(item)).cloned().collect();
        let added = valid_items(policy, ctx, "add", &new)?;
        let mut removed: Vec<_> = self.remove.iter().filter(|item| held(item)).cloned().collect();
        removed.sort();
        removed.dedup();
        require_few(ctx, "add", (role.permissions.len() + added.len()).saturating_sub(removed.len()))?;
        Ok((added, removed))
    }
}

/// Whatever is added reaches every holder of the role at once: it must be held globally, and wherever the role is
/// granted. The refusal names items, never where: the caller may not know those places.
fn require_may_add(
    policy: &Policy,
    ctx: &Context<'_>,
    role: &RoleView<'_>,
    added: &[Pattern],
) -> Result<(), Refusal> {
    if added.is_empty() {
        return Ok(());
    }
    ctx.guard(Guard::HoldRoleGlobally, || {
        require_held(policy, ctx, added, Scope::Global, Reach::ALL, Span::Until(None))
    })?;
    ctx.guard(Guard::HoldRoleAtGrants, || {
        for grant in policy.grants_of_role(role.id).filter(|grant| !grant.has_ended(ctx.now)) {
            require_held(policy, ctx, added, grant.scope, grant.reach, Span::Until(grant.expires_at))?;
        }
        Ok(())
    })
}

/// Narrowing demotes everybody who has the role, so its whole content must be held; now is enough, for nothing
/// lasting is given.
pub(super) fn require_may_narrow(
    policy: &Policy,
    ctx: &Context<'_>,
    role: &RoleView<'_>,
    removed: &[Pattern],
) -> Result<(), Refusal> {
    if removed.is_empty() {
        return Ok(());
    }
    ctx.guard(Guard::HoldToNarrowRole, || {
        require_held(policy, ctx, role.permissions, Scope::Global, Reach::ALL, Span::Now)
    })
}
