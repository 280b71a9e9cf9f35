//! Records the end of grants that have passed it.
//!
//! Refused: `system_only`.

use crate::{Context, Decided, command::Decide, may::require_system, refusal::Refusal};
use charter_events::GrantExpired;
use charter_policy::Policy;

/// Records the end of grants that have passed it. A record only: they had not counted since. System only; ask again
/// until nothing comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpireGrants {}

impl Decide for ExpireGrants {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        let ended = policy.grants_ending_by(ctx.now, ctx.limits.expired_grants);
        Ok(Decided::events(ended.into_iter().map(|grant| GrantExpired { grant }.into()).collect()))
    }
}
