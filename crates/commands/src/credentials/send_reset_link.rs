//! Makes a link with which a user chooses another password, or his first one. It goes to his address on record, or the
//! caller hands it over. Sessions and links that began before it end.
//!
//! Refused: `forbidden` without `core.user.edit`; `token_too_narrow` for one's own through a masked token;
//! `not_found`; `invalid_state` unless active, and for whoever is or will be an administrator, whose password no link
//! replaces; `invalid_credential` for a service; `not_held`, `outlives_holder` unless the caller holds for good
//! whatever that user has and will have, when he is shown the link himself or that user is an administrator.

use super::require_unmasked;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_all_of_his_held,
    may::require_global,
    refusal::{Code, Refusal},
    users::{invalid_state, known},
};
use charter_events::{CredentialSessionsEnded, UserId, UserKind};
use charter_policy::{Policy, Span, UserStatus};

/// Makes a link with which a user chooses another password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendResetLink {
    /// Whose password.
    pub user: UserId,
    /// Whether the caller sees the link; otherwise it goes to the address on record.
    pub shown: bool,
}

impl Decide for SendResetLink {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.edit")?;
        if ctx.caller.user() == Some(self.user) {
            require_unmasked(ctx)?;
        }
        let user = known(policy, self.user)?;
        let administrator = policy.is_or_will_be_administrator(user.id, ctx.now);
        ctx.guard(Guard::HoldToReset, || {
            if self.shown || administrator {
                return require_all_of_his_held(policy, ctx, user.id, Span::Until(None));
            }
            Ok(())
        })?;
        if user.kind == UserKind::Service {
            return Err(Refusal::of(Code::InvalidCredential, "user", "a service has no password"));
        }
        if user.status != UserStatus::Active {
            return Err(invalid_state(&user));
        }
        ctx.guard(Guard::NoLinkToAdministrator, || {
            if administrator {
                let detail =
                    "no link replaces an administrator's password: set it, or use `charter recover-admin`";
                return Err(Refusal::of(Code::InvalidState, "user", detail));
            }
            Ok(())
        })?;
        // Ends every credential of the account that began before it, links among them.
        Ok(Decided::one(CredentialSessionsEnded { user: user.id }))
    }
}
