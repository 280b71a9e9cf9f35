//! Creates an active account.
//!
//! Refused: `forbidden` without `core.user.create`; `invalid_credential` for a service with a password or an
//! identity; `name_taken`;
//! `limit_exceeded`.

use super::{require_identity_fits, require_names_free, require_new_user, require_password_fits};
use crate::{Context, Decided, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{CredentialPasswordChanged, Event, SealedProfile, UserId, UserKind, UserRegistered};
use charter_policy::Policy;

/// Creates an active account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterUser {
    /// The new account.
    pub user: UserId,
    /// Person or service.
    pub kind: UserKind,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it.
    pub has_password: bool,
}

impl Decide for RegisterUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.create")?;
        require_password_fits(self.kind, self.has_password)?;
        require_identity_fits(self.kind, &self.profile)?;
        require_new_user(policy, self.user)?;
        require_names_free(policy, ctx, self.user, &self.profile)?;
        let user = self.user;
        let registered = UserRegistered { user, kind: self.kind, profile: self.profile.clone() };
        let mut events: Vec<Event> = vec![registered.into()];
        if self.has_password {
            events.push(CredentialPasswordChanged { user, has_password: true }.into());
        }
        Ok(Decided::created(user.as_uuid(), events))
    }
}
