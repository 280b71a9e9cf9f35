//! Ends one session before its time.
//!
//! Refused: for another's, `forbidden` without `core.user.edit`, and `not_held` for an administrator's, unless the
//! caller is one; `token_too_narrow` through a masked token; `not_found`; `invalid_state`.

use super::require_may_end;
use crate::{Context, Decided, command::Decide, refusal::Refusal};
use charter_events::{CredentialSessionEnded, SessionId, Timestamp, UserId};
use charter_policy::Policy;

/// Ends one session before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSession {
    /// The session.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// When it would end anyway.
    pub expires_at: Timestamp,
}

impl Decide for EndSession {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_may_end(policy, ctx, self.user)?;
        if self.expires_at <= ctx.now {
            return Ok(Decided::nothing());
        }
        let ended =
            CredentialSessionEnded { session: self.session, user: self.user, expires_at: self.expires_at };
        Ok(Decided::one(ended))
    }
}
