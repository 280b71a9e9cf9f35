//! Lets a suspended account work again.
//!
//! Refused: `forbidden` without `core.user.suspend`; `not_found`; `invalid_state` unless suspended or active already;
//! `not_held`, `outlives_holder` for an administrator's, now or later, unless the caller is one without end.

use super::{invalid_state, known, require_may_restore};
use crate::{Context, Decided, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{UserId, UserReactivated};
use charter_policy::{Policy, UserStatus};

/// Lets a suspended account work again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactivateUser {
    /// The user.
    pub user: UserId,
}

impl Decide for ReactivateUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.suspend")?;
        let user = known(policy, self.user)?;
        require_may_restore(policy, ctx, user.id)?;
        match user.status {
            UserStatus::Suspended => Ok(Decided::one(UserReactivated { user: user.id })),
            UserStatus::Active => Ok(Decided::nothing()),
            UserStatus::Invited | UserStatus::AwaitingDeletion | UserStatus::Erased => {
                Err(invalid_state(&user))
            }
        }
    }
}
