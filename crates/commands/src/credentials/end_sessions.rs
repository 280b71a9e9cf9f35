//! Ends all sessions of a user.
//!
//! Refused: for another's, `forbidden` without `core.user.edit`, and `not_held` for an administrator's, unless the
//! caller is one; `token_too_narrow` through a masked token; `not_found`; `invalid_state`.

use super::require_may_end;
use crate::{Context, Decided, command::Decide, refusal::Refusal};
use charter_events::{CredentialSessionsEnded, UserId};
use charter_policy::Policy;

/// Ends all sessions of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSessions {
    /// Whose.
    pub user: UserId,
}

impl Decide for EndSessions {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_may_end(policy, ctx, self.user)?;
        Ok(Decided::one(CredentialSessionsEnded { user: self.user }))
    }
}
