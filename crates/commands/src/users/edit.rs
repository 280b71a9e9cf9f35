//! Changes a user's names, address or kind.
//!
//! Refused: `forbidden` without `core.user.edit`; `not_found`; `invalid_state` for an erased account; `not_held`,
//! `outlives_holder` unless the caller holds, for good, what another user has and may get through the name he
//! changes or the password he takes away by turning somebody into a service, and, whatever is edited of an
//! administrator, is one; `token_too_narrow` for oneself through a masked token; `name_taken`; `limit_exceeded`;
//! `last_administrator`.

use super::{existing, require_may_touch, require_names_free};
use crate::{
    Context, Decided, Guard, command::Decide, credentials::require_unmasked,
    holding::require_all_of_his_held, may::require_global, refusal::Refusal,
};
use charter_events::{
    CredentialPasswordChanged, CredentialSessionsEnded, Event, ProfileField, SealedProfile, UserId, UserKind,
    UserProfileChanged,
};
use charter_policy::{Policy, Span, UserView};
use std::collections::BTreeSet;

/// Changes a user's names, address or kind.
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
        if !own && changed.iter().any(|field| *field != ProfileField::DisplayName) {
            ctx.guard(Guard::HoldToRename, || {
                require_all_of_his_held(policy, ctx, user.id, Span::Until(None))
            })?;
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
        require_names_free(policy, ctx, user.id, &profile)?;
        let changed = changed.into_iter().collect();
        let mut events: Vec<Event> =
            vec![UserProfileChanged { user: user.id, kind, profile, changed }.into()];
        if loses_password {
            events.push(CredentialPasswordChanged { user: user.id, has_password: false }.into());
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
        changed
    }
}
