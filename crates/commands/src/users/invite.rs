//! Creates an account that waits to be accepted.
//!
//! Refused: `forbidden` without `core.user.create`; `invalid_credential` for a service, which accepts nothing,
//! and for an identity, which is linked by whoever accepts; `name_taken`; `limit_exceeded`.

use super::{require_names_free, require_new_user};
use crate::{
    Context, Decided,
    command::Decide,
    may::require_global,
    refusal::{Code, Refusal},
};
use charter_events::{SealedProfile, UserId, UserInvited, UserKind};
use charter_policy::Policy;

/// Creates an account that waits to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteUser {
    /// The new account.
    pub user: UserId,
    /// A person; a service accepts nothing.
    pub kind: UserKind,
    /// The names known so far, sealed.
    pub profile: SealedProfile,
}

impl Decide for InviteUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.create")?;
        if self.kind == UserKind::Service {
            let detail = "a service is created, not invited: nobody is there to accept";
            return Err(Refusal::of(Code::InvalidCredential, "kind", detail));
        }
        if self.profile.identity.is_some() {
            let detail = "an identity is linked when the invitation is accepted";
            return Err(Refusal::of(Code::InvalidCredential, "identity", detail));
        }
        require_new_user(policy, self.user)?;
        require_names_free(policy, ctx, self.user, &self.profile)?;
        let user = self.user;
        let invited = UserInvited { user, kind: self.kind, profile: self.profile.clone() };
        Ok(Decided::created(user.as_uuid(), vec![invited.into()]))
    }
}
