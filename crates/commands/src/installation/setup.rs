//! Creates the first administrator.
//!
//! Refused: `setup_closed` once there has been an administrator, even if none is left; `invalid_credential`;
//! `name_taken`; `system_only`.

use crate::{
    Context, Decided, Guard,
    command::Decide,
    may::require_system,
    refusal::{Code, Refusal},
    users::{require_names_free, require_new_user},
};
use charter_events::{
    Affects, ChildTypes, Content, CredentialPasswordChanged, Effect, GrantId, GrantIssued, Scope,
    SealedProfile, SeededRole, Subject, UserId, UserKind, UserRegistered,
};
use charter_policy::Policy;

/// Creates the first administrator. Only while there has never been one; system only, behind the setup code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The new account.
    pub user: UserId,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it; it must be.
    pub has_password: bool,
}

impl Decide for Setup {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        ctx.guard(Guard::SetupOnce, || {
            if setup_is_closed(policy) {
                let detail = "there has been an administrator already; on the host, use `recover-admin`";
                return Err(Refusal::new(Code::SetupClosed, detail));
            }
            Ok(())
        })?;
        if !self.has_password {
            return Err(Refusal::of(
                Code::InvalidCredential,
                "password",
                "the first administrator needs one",
            ));
        }
        require_new_user(policy, self.user)?;
        require_names_free(policy, ctx, self.user, &self.profile)?;
        let user = self.user;
        let registered = UserRegistered { user, kind: UserKind::Person, profile: self.profile.clone() };
        let password = CredentialPasswordChanged { user, has_password: true };
        let grant = administrator_grant(policy, ctx, user)?;
        Ok(Decided::created(user.as_uuid(), vec![registered.into(), password.into(), grant.into()]))
    }
}

/// Accounts are made by administrators, so where there is one, there has been an administrator: erased users stay
/// known.
fn setup_is_closed(policy: &Policy) -> bool {
    policy.users().next().is_some()
}

/// The administrator's grant for a user, without end.
pub(super) fn administrator_grant(
    policy: &Policy,
    ctx: &mut Context<'_>,
    user: UserId,
) -> Result<GrantIssued, Refusal> {
    let role = policy
        .seeded_role(SeededRole::Administrator)
        .ok_or_else(|| Refusal::new(Code::InvalidState, "there is no administrator role yet"))?;
    Ok(GrantIssued {
        grant: GrantId::new(ctx.ids.next()),
        subject: Subject::User(user),
        content: Content::Role(role),
        scope: Scope::Global,
        effect: Effect::Allow,
        not_before: None,
        expires_at: None,
        affects: Affects::All,
        child_types: ChildTypes::All,
    })
}
