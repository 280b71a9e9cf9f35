//! Ends an API token.
//!
//! Refused: `not_found` for a token that is not there, or is another's and the caller does not edit users;
//! `token_too_narrow` through a masked token; `not_held` for an administrator's, unless the caller is one.

use super::require_may_end;
use crate::{Context, Decided, Guard, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{CredentialTokenRevoked, TokenId};
use charter_policy::Policy;

/// Ends an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeToken {
    /// The token.
    pub token: TokenId,
}

impl Decide for RevokeToken {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let token = policy.token(self.token).ok_or_else(|| Refusal::not_found("token"))?;
        let edits = || require_global(policy, ctx, "core.user.edit").is_ok();
        if ctx.caller.user() != Some(token.user) && ctx.stands(Guard::MayKnow) && !edits() {
            return Err(Refusal::not_found("token"));
        }
        require_may_end(policy, ctx, token.user)?;
        Ok(Decided::one(CredentialTokenRevoked { token: token.id }))
    }
}
