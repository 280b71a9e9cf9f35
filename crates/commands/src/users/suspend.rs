//! Stops an account at once; nothing is lost but its sessions, which end for good.
//!
//! Refused: `forbidden` without `core.user.suspend`; `not_found`; `invalid_state` unless active or suspended already;
//! `not_held` for an administrator's, now or later, unless the caller is one; `last_administrator`.

use super::{invalid_state, known, require_may_touch};
use crate::{Context, Decided, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{CredentialSessionsEnded, UserId, UserSuspended};
use charter_policy::{Policy, UserStatus};

/// Stops an account at once; nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspendUser {
    /// The user.
    pub user: UserId,
}

impl Decide for SuspendUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.suspend")?;
        let user = known(policy, self.user)?;
        require_may_touch(policy, ctx, user.id)?;
        match user.status {
            // Whoever is reactivated signs in again: an old session must not come back with the account.
            UserStatus::Active => Ok(Decided::events(vec![
                UserSuspended { user: user.id }.into(),
                CredentialSessionsEnded { user: user.id }.into(),
            ])),
            UserStatus::Suspended => Ok(Decided::nothing()),
            UserStatus::Invited | UserStatus::AwaitingDeletion | UserStatus::Erased => {
                Err(invalid_state(&user))
            }
        }
    }
}
