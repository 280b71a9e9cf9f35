//! Takes an invitation back before it was accepted: the account is gone at once, and its names are free again. Nothing
//! is lost with it, so nothing has to be restorable.
//!
//! Refused: `forbidden` without `core.user.delete`; `not_found`; `invalid_state` unless invited; `in_use` while grants
//! or memberships wait on the account: they are taken back first, or its deletion is scheduled as any other's.

use super::{invalid_state, known};
use crate::{
    Context, Decided,
    command::Decide,
    may::require_global,
    refusal::{Code, Refusal},
};
use charter_events::{Subject, UserErased, UserId};
use charter_policy::{Policy, UserStatus};

/// Takes an invitation back before it was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawInvitation {
    /// The account.
    pub user: UserId,
}

impl Decide for WithdrawInvitation {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.delete")?;
        let user = known(policy, self.user)?;
        if user.status != UserStatus::Invited {
            return Err(invalid_state(&user));
        }
        let waits = policy.grant_count_of(Subject::User(user.id)) > 0
            || policy.groups_of(user.id).next().is_some()
            || policy.tokens_of(user.id).next().is_some()
            || policy.owned_objects(user.id).next().is_some();
        if waits {
            let detail =
                "grants or memberships wait on the account: take them back, or schedule its deletion";
            return Err(Refusal::of(Code::InUse, "user", detail));
        }
        Ok(Decided::one(UserErased { user: user.id }))
    }
}
