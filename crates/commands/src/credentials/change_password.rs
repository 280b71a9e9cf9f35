//! Sets, changes or removes a password: one's own, or another's (a reset). All sessions end with it, in the same
//! command; the session one's own was changed in begins anew beside it.
//!
//! Refused: for another's, `forbidden` without `core.user.edit`, and `not_held`, `outlives_holder` unless the
//! caller holds for good whatever that user has and will have; `token_too_narrow` for one's own through a masked
//! token; `not_found`; `invalid_state`; `invalid_credential` for a service; `last_administrator`.

use super::require_unmasked;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_all_of_his_held,
    may::require_global,
    refusal::{Code, Refusal},
    users::existing,
};
use charter_events::{CredentialPasswordChanged, CredentialSessionsEnded, UserId, UserKind};
use charter_policy::{Policy, Span};

/// Sets, changes or removes a password: one's own, or another's (a reset). Ends that user's sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePassword {
    /// Whose.
    pub user: UserId,
    /// Whether there is a password from now on.
    pub has_password: bool,
}

impl Decide for ChangePassword {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let own = ctx.caller.user() == Some(self.user);
        if own {
            require_unmasked(ctx)?;
        } else {
            require_global(policy, ctx, "core.user.edit")?;
        }
        let user = existing(policy, self.user)?;
        if !own {
            ctx.guard(Guard::HoldToReset, || {
                require_all_of_his_held(policy, ctx, user.id, Span::Until(None))
            })?;
        }
        if user.kind == UserKind::Service && self.has_password {
            return Err(Refusal::of(Code::InvalidCredential, "password", "a service has no password"));
        }
        if !self.has_password && !user.has_password {
            return Ok(Decided::nothing());
        }
        let changed = CredentialPasswordChanged { user: user.id, has_password: self.has_password };
        let ended = CredentialSessionsEnded { user: user.id };
        Ok(Decided::events(vec![changed.into(), ended.into()]))
    }
}
