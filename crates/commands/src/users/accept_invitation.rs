//! Makes an invited account active.
//!
//! Refused: `system_only`; `not_found`; `invalid_state` unless invited; `invalid_credential`, also for an identity
//! where the account has another already; `name_taken`; `limit_exceeded`.

use super::{invalid_state, known, require_identity_fits, require_names_free, require_password_fits};
use crate::{
    Context, Decided,
    command::Decide,
    may::require_system,
    refusal::{Code, Refusal},
};
use charter_events::{CredentialPasswordChanged, Event, SealedProfile, UserId, UserRegistered};
use charter_policy::{Policy, UserStatus};

/// Makes an invited account active. By the control plane, which has seen the invitation's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptInvitation {
    /// The account.
    pub user: UserId,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it.
    pub has_password: bool,
}

impl Decide for AcceptInvitation {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        let user = known(policy, self.user)?;
        if user.status != UserStatus::Invited {
            return Err(invalid_state(&user));
        }
        require_password_fits(user.kind, self.has_password)?;
        require_identity_fits(user.kind, &self.profile)?;
        // A directory may have said who he is before he accepts: a link that was passed on makes him nobody else.
        let linked = user.profile.and_then(|profile| profile.identity);
        if linked.is_some() && self.profile.identity != linked {
            let detail = "the account is linked to another identity already";
            return Err(Refusal::of(Code::InvalidCredential, "identity", detail));
        }
        require_names_free(policy, ctx, user.id, &self.profile)?;
        let registered = UserRegistered { user: user.id, kind: user.kind, profile: self.profile.clone() };
        let mut events: Vec<Event> = vec![registered.into()];
        if self.has_password {
            events.push(CredentialPasswordChanged { user: user.id, has_password: true }.into());
        }
        Ok(Decided::events(events))
    }
}
