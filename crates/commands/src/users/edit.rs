//! Changes a user's names, address, identity at a provider or kind.
//!
//! Refused: `forbidden` without `core.user.edit`; `not_found`; `invalid_state` for an erased account; `not_held`,
//! `outlives_holder` unless the caller holds, for good, what another user has and may get through the name or identity
//! he changes or the password he takes away by turning somebody into a service, and, whatever is edited of an
//! administrator, is one; the same for one's own identity unless one is an administrator for good; `token_too_narrow`
//! for oneself through a masked token; `invalid_credential` for a service with an identity; `name_taken`;
//! `limit_exceeded`; `last_administrator`.
//!
//! Who signs in as an identity is whom it is linked to, so all sessions of a user end with a change of his, in the same
//! command, as with a password.

use super::{existing, require_identity_fits, require_may_touch, require_names_free};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    credentials::require_unmasked,
    holding::{require_administrator, require_all_of_his_held},
    may::require_global,
    refusal::Refusal,
};
use charter_events::{
    CredentialPasswordChanged, CredentialSessionsEnded, Event, ProfileField, SealedProfile, UserId, UserKind,
    UserProfileChanged,
};
use charter_policy::{Policy, Span, UserView};
use std::collections::BTreeSet;

/// Changes a user's names, address, identity at a provider or kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditUser {
    /// The user.
    pub user: UserId,
    /// Person or service, from now on.
    pub kind: Option<UserKind>,
    /// All names as they are from now on, sealed.
    pub profile: Option<SealedProfile>,
    /// Which of them change.
    pub changed: Vec<ProfileField>,
}

impl Decide for EditUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.edit")?;
        let user = existing(policy, self.user)?;
        require_may_touch(policy, ctx, user.id)?;
        let changed = self.changed(&user);
        let kind = self.kind.unwrap_or(user.kind);
        if changed.is_empty() && kind == user.kind {
            return Ok(Decided::nothing());
        }
        let own = ctx.caller.user() == Some(user.id);
        if own {
            require_unmasked(ctx)?;
        }
        // Gateways, providers and resets go by these names: who gives somebody another one can become him.
        if !own && changed.iter().any(is_name) {
            ctx.guard(Guard::HoldToRename, || {
                require_all_of_his_held(policy, ctx, user.id, Span::Until(None))
            })?;
        }
        let relinked = changed.contains(&ProfileField::Identity);
        if relinked {
            require_may_link(policy, ctx, &user)?;
        }
        let loses_password = kind == UserKind::Service && user.has_password;
        if !own && loses_password {
            ctx.guard(Guard::HoldToReset, || {
                require_all_of_his_held(policy, ctx, user.id, Span::Until(None))
            })?;
        }
        let profile = match (&self.profile, user.profile) {
            (Some(profile), _) => profile.clone(),
            (None, Some(profile)) => profile.clone(),
            (None, None) => return Err(super::invalid_state(&user)),
        };
        require_identity_fits(kind, &profile)?;
        require_names_free(policy, ctx, user.id, &profile)?;
        let changed = changed.into_iter().collect();
        let mut events: Vec<Event> =
            vec![UserProfileChanged { user: user.id, kind, profile, changed }.into()];
        if loses_password {
            events.push(CredentialPasswordChanged { user: user.id, has_password: false }.into());
        }
        if loses_password || relinked {
            events.push(CredentialSessionsEnded { user: user.id }.into());
        }
        Ok(Decided::events(events))
    }
}

impl EditUser {
    /// What is said to change, and what the tags show to: the names are sealed, the tags are not.
    fn changed(&self, user: &UserView<'_>) -> BTreeSet<ProfileField> {
        let Some(profile) = &self.profile else { return BTreeSet::new() };
        let mut changed: BTreeSet<_> = self.changed.iter().copied().collect();
        let differs = |field, old: Option<_>, new: Option<_>| (old != new).then_some(field);
        let old = user.profile;
        changed.extend(differs(ProfileField::Username, old.map(|old| old.username), Some(profile.username)));
        changed.extend(differs(
            ProfileField::LoginName,
            old.and_then(|old| old.login_name),
            profile.login_name,
        ));
        changed.extend(differs(
            ProfileField::ExternalId,
            old.and_then(|old| old.external_id),
            profile.external_id,
        ));
        changed.extend(differs(ProfileField::Identity, old.and_then(|old| old.identity), profile.identity));
        changed
    }
}

/// By what others mean a user, and reach him; the identity has a rule of its own.
const fn is_name(field: &ProfileField) -> bool {
    match field {
        ProfileField::Username | ProfileField::Email | ProfileField::LoginName | ProfileField::ExternalId => {
            true
        }
        ProfileField::DisplayName | ProfileField::Identity => false,
    }
}

/// Whoever links somebody to an identity can become him: that is a reset. And nobody makes himself another way in than
/// his own password, which takes knowing it, but for an administrator, who could have another do it.
fn require_may_link(policy: &Policy, ctx: &Context<'_>, user: &UserView<'_>) -> Result<(), Refusal> {
    let lasting = Span::Until(None);
    if ctx.caller.user() == Some(user.id) {
        ctx.guard(Guard::OwnIdentity, || require_administrator(policy, ctx, lasting))
    } else {
        ctx.guard(Guard::HoldToLink, || require_all_of_his_held(policy, ctx, user.id, lasting))
    }
}
