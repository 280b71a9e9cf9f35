//! Makes the link of an invitation anew: the one that was sent works no longer.
//!
//! Refused: `forbidden` without `core.user.create`; `not_found`; `invalid_state` unless invited; `not_held`,
//! `outlives_holder` unless the caller holds for good whatever waits on the account, when he is shown the link himself
//! or an administrator's grant is among it: whoever has the link can become that user.

use super::{invalid_state, known};
use crate::{
    Context, Decided, Guard, command::Decide, holding::require_all_of_his_held, may::require_global,
    refusal::Refusal,
};
use charter_events::{CredentialSessionsEnded, UserId};
use charter_policy::{Policy, Span, UserStatus};

/// Makes the link of an invitation anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewInvitation {
    /// The account.
    pub user: UserId,
    /// Whether the caller sees the new link; otherwise it goes to the address on record.
    pub shown: bool,
}

impl Decide for RenewInvitation {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.create")?;
        let user = known(policy, self.user)?;
        if user.status != UserStatus::Invited {
            return Err(invalid_state(&user));
        }
        ctx.guard(Guard::HoldToReset, || {
            if self.shown || policy.is_or_will_be_administrator(user.id, ctx.now) {
                return require_all_of_his_held(policy, ctx, user.id, Span::Until(None));
            }
            Ok(())
        })?;
        // Ends every credential of the account that began before it, links among them.
        Ok(Decided::one(CredentialSessionsEnded { user: user.id }))
    }
}
