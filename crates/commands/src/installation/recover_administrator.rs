//! Makes somebody a lasting administrator again, from the host.
//!
//! Refused: `not_found`; `name_taken`; `invalid_state` for an erased account; `system_only`. Never for lack of an
//! administrator: that is when it is needed.

use super::setup::administrator_grant;
use crate::{
    Context, Decided,
    command::Decide,
    may::require_system,
    refusal::{Code, Refusal},
    users::{require_names_free, require_new_user},
};
use charter_events::{
    CredentialPasswordChanged, CredentialSessionsEnded, Event, SealedProfile, SeededRole, Subject,
    UserDeletionCancelled, UserId, UserKind, UserProfileChanged, UserReactivated, UserRegistered,
};
use charter_policy::{ContentView, Policy, UserStatus};

/// Makes somebody a lasting administrator again, from the host. System only; never refused for lack of an
/// administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoverAdministrator {
    /// The account.
    pub user: UserId,
    /// Names of a new account; none for one that exists.
    pub profile: Option<SealedProfile>,
    /// Whether a password is kept beside it with this command.
    pub has_password: bool,
}

impl Decide for RecoverAdministrator {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        let mut events = match &self.profile {
            Some(profile) => self.new_account(policy, ctx, profile)?,
            None => self.known_account(policy)?,
        };
        if self.has_password {
            events.push(CredentialPasswordChanged { user: self.user, has_password: true }.into());
        }
        if !self.has_lasting_grant(policy) {
            events.push(administrator_grant(policy, ctx, self.user)?.into());
        }
        let created = self.profile.as_ref().map(|_| self.user.as_uuid());
        Ok(Decided { events, created })
    }
}

impl RecoverAdministrator {
    fn new_account(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        profile: &SealedProfile,
    ) -> Result<Vec<Event>, Refusal> {
        require_new_user(policy, self.user)?;
        require_names_free(policy, ctx, self.user, profile)?;
        let registered = UserRegistered { user: self.user, kind: UserKind::Person, profile: profile.clone() };
        Ok(vec![registered.into()])
    }

    /// Whatever keeps the account from being an administrator's is undone, and its sessions end: whoever is signed in
    /// may be the reason for the recovery.
    fn known_account(&self, policy: &Policy) -> Result<Vec<Event>, Refusal> {
        let user = policy.user(self.user).ok_or_else(|| Refusal::not_found("user"))?;
        let profile = user
            .profile
            .filter(|_| user.status != UserStatus::Erased)
            .ok_or_else(|| Refusal::of(Code::InvalidState, "user", "the account is erased"))?;
        let mut events: Vec<Event> = Vec::new();
        match user.status {
            UserStatus::Suspended => events.push(UserReactivated { user: user.id }.into()),
            UserStatus::AwaitingDeletion => events.push(UserDeletionCancelled { user: user.id }.into()),
            UserStatus::Invited => {
                let accepted =
                    UserRegistered { user: user.id, kind: UserKind::Person, profile: profile.clone() };
                events.push(accepted.into());
            }
            UserStatus::Active | UserStatus::Erased => {}
        }
        if user.kind == UserKind::Service && user.status != UserStatus::Invited {
            let kind = UserKind::Person;
            events.push(
                UserProfileChanged { user: user.id, kind, profile: profile.clone(), changed: vec![] }.into(),
            );
        }
        events.push(CredentialSessionsEnded { user: user.id }.into());
        Ok(events)
    }

    fn has_lasting_grant(&self, policy: &Policy) -> bool {
        let administrator = policy.seeded_role(SeededRole::Administrator);
        policy.grants_of(Subject::User(self.user)).any(|grant| {
            let role = match grant.content {
                ContentView::Role(role) => Some(role),
                ContentView::Keys(_) => None,
            };
            role.is_some()
                && role == administrator
                && grant.not_before.is_none()
                && grant.expires_at.is_none()
        })
    }
}
