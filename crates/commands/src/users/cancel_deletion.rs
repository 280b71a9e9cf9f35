//! Calls a scheduled deletion off; the account is as it was.
//!
//! Refused: `forbidden` without `core.user.delete`; `not_found`; `invalid_state` unless awaiting deletion;
//! `not_held`, `outlives_holder` for an administrator's, now or later, unless the caller is one without end.

use super::{invalid_state, known, require_may_restore};
use crate::{Context, Decided, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{UserDeletionCancelled, UserId};
use charter_policy::{Policy, UserStatus};

/// Calls a scheduled deletion off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelDeletion {
    /// The user.
    pub user: UserId,
}

impl Decide for CancelDeletion {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.delete")?;
        let user = known(policy, self.user)?;
        require_may_restore(policy, ctx, user.id)?;
        if user.status != UserStatus::AwaitingDeletion {
            return Err(invalid_state(&user));
        }
        Ok(Decided::one(UserDeletionCancelled { user: user.id }))
    }
}
