//! Deletes a role; each of its grants ends.
//!
//! Refused: `forbidden` without `core.role.delete`; `not_found`; `stale`; `protected_role`; `not_held` for a
//! content the caller does not hold globally now; `too_many_consequences`; `last_administrator`.

use super::{change::require_may_narrow, require_unprotected};
use crate::{
    Context, Decided,
    command::Decide,
    decide::require_consequences,
    may::{require_global, require_unchanged},
    refusal::Refusal,
};
use charter_events::{EndedBy, Event, GrantEnded, RoleDeleted, RoleId};
use charter_policy::Policy;

/// Deletes a role; each of its grants ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRole {
    /// The role.
    pub role: RoleId,
}

impl Decide for DeleteRole {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.role.delete")?;
        let role = policy.role(self.role).ok_or_else(|| Refusal::not_found("role"))?;
        require_unchanged(ctx, role.changed_at)?;
        require_unprotected(ctx, &role)?;
        require_may_narrow(policy, ctx, &role, role.permissions)?;
        require_consequences(ctx, policy.grant_count_of_role(role.id).saturating_add(1))?;
        let by = EndedBy::Role(role.id);
        let mut events: Vec<Event> = policy
            .grants_of_role(role.id)
            .map(|grant| GrantEnded { grant: grant.id, by: by.clone() }.into())
            .collect();
        events.push(RoleDeleted { role: role.id }.into());
        Ok(Decided::events(events))
    }
}
