//! Users and their lifecycle. One file a command.

mod accept_invitation;
mod cancel_deletion;
mod edit;
mod erase;
mod invite;
mod reactivate;
mod register;
mod renew_invitation;
mod schedule_deletion;
mod suspend;
mod withdraw_invitation;

pub use accept_invitation::AcceptInvitation;
pub use cancel_deletion::CancelDeletion;
pub use edit::EditUser;
pub use erase::EraseUser;
pub use invite::InviteUser;
pub use reactivate::ReactivateUser;
pub use register::RegisterUser;
pub use renew_invitation::RenewInvitation;
pub use schedule_deletion::ScheduleDeletion;
pub use suspend::SuspendUser;
pub use withdraw_invitation::WithdrawInvitation;

use crate::{
    Context, Guard,
    holding::require_administrator,
    refusal::{Code, Refusal},
};
use charter_events::{SealedProfile, UserId, UserKind, people::SEALED_BYTES_MAX};
use charter_policy::{Policy, Span, UserStatus, UserView};

/// The user; erased ones included.
pub(crate) fn known(policy: &Policy, user: UserId) -> Result<UserView<'_>, Refusal> {
    policy.user(user).ok_or_else(|| Refusal::not_found("user"))
}

/// The user, unless erased.
pub(crate) fn existing(policy: &Policy, user: UserId) -> Result<UserView<'_>, Refusal> {
    let known = known(policy, user)?;
    if known.status == UserStatus::Erased {
        return Err(invalid_state(&known));
    }
    Ok(known)
}

pub(crate) fn invalid_state(user: &UserView<'_>) -> Refusal {
    Refusal::of(Code::InvalidState, "user", format!("the account is {}", user.status.as_str()))
}

/// Requires an id that no user has or had.
pub(crate) fn require_new_user(policy: &Policy, user: UserId) -> Result<(), Refusal> {
    match policy.user(user) {
        Some(_) => Err(Refusal::of(Code::NameTaken, "user", "the id is another user's")),
        None => Ok(()),
    }
}

/// Requires names that no other user goes by: username, login name and external id share one space.
pub(crate) fn require_names_free(
    policy: &Policy,
    ctx: &Context<'_>,
    user: UserId,
    profile: &SealedProfile,
) -> Result<(), Refusal> {
    if profile.sealed.as_bytes().len() > SEALED_BYTES_MAX {
        return Err(Refusal::limit("profile", "bytes of sealed names", SEALED_BYTES_MAX));
    }
    let names = [
        ("username", Some(profile.username)),
        ("login_name", profile.login_name),
        ("external_id", profile.external_id),
        ("identity", profile.identity),
    ];
    for (field, tag) in names {
        let Some(tag) = tag else { continue };
        ctx.guard(Guard::NamesUnique, || match policy.user_by_tag(&tag) {
            Some(other) if other != user => Err(Refusal::of(Code::NameTaken, field, taken(field))),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

fn taken(field: &str) -> &'static str {
    if field == "identity" {
        "another user is linked to this identity"
    } else {
        "another user goes by this name"
    }
}

/// Requires that nobody but a person signs in at a provider.
fn require_identity_fits(kind: UserKind, profile: &SealedProfile) -> Result<(), Refusal> {
    if kind == UserKind::Service && profile.identity.is_some() {
        return Err(Refusal::of(
            Code::InvalidCredential,
            "identity",
            "a service has no identity at a provider",
        ));
    }
    Ok(())
}

/// Requires that a new account's credential fits its kind.
fn require_password_fits(kind: UserKind, has_password: bool) -> Result<(), Refusal> {
    if has_password && kind == UserKind::Service {
        return Err(Refusal::of(Code::InvalidCredential, "password", "a service has no password"));
    }
    Ok(())
}

/// Requires an administrator to suspend, delete or edit somebody who is one, or will be.
pub(crate) fn require_may_touch(policy: &Policy, ctx: &Context<'_>, user: UserId) -> Result<(), Refusal> {
    ctx.guard(Guard::TouchAdministrator, || {
        if policy.is_or_will_be_administrator(user, ctx.now) {
            return require_administrator(policy, ctx, Span::Now);
        }
        Ok(())
    })
}

/// Requires an administrator without end to let somebody work again who is one, or will be: that lasts.
fn require_may_restore(policy: &Policy, ctx: &Context<'_>, user: UserId) -> Result<(), Refusal> {
    ctx.guard(Guard::RestoreAdministrator, || {
        if policy.is_or_will_be_administrator(user, ctx.now) {
            return require_administrator(policy, ctx, Span::Until(None));
        }
        Ok(())
    })
}
