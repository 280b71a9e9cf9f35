//! Invitations: an account that waits for whoever has its link.

use super::{
    links::{Link, NewLink, Purpose, Way, died},
    users::PreparedUser,
};
use crate::{
    control::Control,
    error::{CommandError, IdentityError},
    letters,
    mail::{self, Letter},
    request::{Receipt, Request, RequestMeta},
    secret::SecretText,
};
use charter_commands::{AcceptInvitation, InviteUser, RenewInvitation, WithdrawInvitation};
use charter_events::{
    DisplayName, Identity, Offset, Profile, Sealed, SealedProfile, Timestamp, UserId, UserKind,
};
use charter_policy::{Caller, Policy, UserStatus, UserView};
use charter_store::SecretWrite;

/// An invitation that was sent, or is to be handed over.
#[derive(Debug, Clone)]
pub struct Invited {
    /// The account that waits.
    pub user: UserId,
    /// Until when.
    pub expires_at: Timestamp,
    /// The link, shown once, where it was not sent to the address on record.
    pub link: Option<Link>,
    /// The answer to the command.
    pub receipt: Receipt,
}

/// What whoever accepts an invitation says.
#[derive(Clone)]
pub struct Acceptance {
    /// The link's secret.
    pub secret: SecretText,
    /// His first password.
    pub password: SecretText,
    /// How he is shown; as the invitation said when absent.
    pub display_name: Option<DisplayName>,
}

/// An invitation on its way to be accepted.
struct Accepting {
    user: UserId,
    names: Profile,
    request: Request,
}

impl Control {
    /// Makes an account that waits to be accepted, and sends its link; without mail, or an address, the link is shown.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn invite(
        &self,
        caller: Caller,
        profile: Profile,
        meta: RequestMeta,
    ) -> Result<Invited, IdentityError> {
        let way = self.way_to(profile.email.as_deref())?;
        let PreparedUser { user, profile: sealed, key } = self.prepare_user(&profile)?;
        let shown = matches!(way, Way::Shown);
        let link = self.new_link(Purpose::Invitation, user, (Offset::ZERO, shown))?;
        let command = InviteUser { user, kind: UserKind::Person, profile: sealed };
        let request = Request {
            secrets: vec![key, link.put.clone()],
            answers_secret: shown,
            ..Request::new(caller, command.into(), meta)
        };
        let receipt = self.submit(request).await?;
        // A repeat is answered with the account that was made first.
        let user = receipt.created.map_or(user, UserId::new);
        self.invited(user, way, link, receipt).await
    }

    /// Sends the link of an invitation anew; the one that was sent before works no longer.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn renew_invitation(
        &self,
        caller: Caller,
        user: UserId,
        meta: RequestMeta,
    ) -> Result<Invited, IdentityError> {
        let email = self.profile(user).await.and_then(|profile| profile.email);
        let way = self.way_to(email.as_deref())?;
        let shown = matches!(way, Way::Shown);
        let link = self.new_link(Purpose::Invitation, user, (Offset::ZERO, shown))?;
        let request = Request {
            secrets: vec![Purpose::Invitation.none_of(user), link.put.clone()],
            answers_secret: shown,
            ..Request::new(caller, RenewInvitation { user, shown }.into(), meta)
        };
        let receipt = self.submit(request).await?;
        self.invited(user, way, link, receipt).await
    }

    async fn invited(
        &self,
        user: UserId,
        way: Way,
        new: NewLink,
        receipt: Receipt,
    ) -> Result<Invited, IdentityError> {
        let NewLink { secret, row, expires_at, .. } = new;
        let link = self.link(Purpose::Invitation, &secret);
        let (expires_at, link) = match way {
            Way::Shown => (expires_at, Some(link)),
            // The letter went with the first answer, and with that one's secret.
            Way::Mailed(..) if receipt.repeated => (self.link_ends(user, Purpose::Invitation).await?, None),
            Way::Mailed(room, to) => {
                let names = self.profile(user).await;
                let (policy, server) = (self.policy(), self.inner.config.public_url.as_deref());
                let (subject, text) =
                    letters::invitation(policy.installation(), server, &link, names.as_ref(), expires_at);
                mail::post(&self.inner, room, user, Some(row), Letter { to, subject, text });
                (expires_at, None)
            }
        };
        Ok(Invited { user, expires_at, link, receipt })
    }

    /// Takes an invitation back: the account is gone, and the link works no longer.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn withdraw_invitation(
        &self,
        caller: Caller,
        user: UserId,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let secrets = vec![
            SecretWrite::DestroyUserKey { user },
            SecretWrite::RemovePassword { user },
            SecretWrite::RemoveCredentialsOf { user, kind: None },
        ];
        let request = Request { secrets, ..Request::new(caller, WithdrawInvitation { user }.into(), meta) };
        let receipt = self.submit(request).await?;
        self.inner.profiles.forget(user);
        self.inner.keys_file.is_stale();
        Ok(receipt)
    }

    /// Makes the account of an invitation work, for whoever has its link. The link works once.
    ///
    /// # Errors
    /// [`IdentityError::InvalidLink`] for a link that is unknown, used, expired, replaced or withdrawn, and any other.
    pub async fn accept_invitation(
        &self,
        acceptance: Acceptance,
        meta: RequestMeta,
    ) -> Result<(UserId, Receipt), IdentityError> {
        let Acceptance { secret, password, display_name } = acceptance;
        let Accepting { user, names, request } =
            self.accepting(&secret, display_name, None, true, meta).await?;
        let receipt =
            self.submit_with_password(request, user, &password, Some(&names)).await.map_err(died)?;
        Ok((user, receipt))
    }

    /// Makes the account of an invitation work and links it to an identity at a provider, for whoever has its link and
    /// whom the provider has just vouched for: the caller has seen the proof, nothing is proved here. There is no
    /// password. The link works once; an identity that is another's already uses it up as little as any refusal.
    ///
    /// # Errors
    /// [`IdentityError::InvalidLink`] for a link that is unknown, used, expired, replaced or withdrawn, and any other.
    pub async fn accept_invitation_with_identity(
        &self,
        secret: &SecretText,
        identity: Identity,
        display_name: Option<DisplayName>,
        meta: RequestMeta,
    ) -> Result<(UserId, Receipt), IdentityError> {
        let Accepting { user, request, .. } =
            self.accepting(secret, display_name, Some(identity), false, meta).await?;
        let receipt = self.submit(request).await.map_err(|error| died(error.into()))?;
        Ok((user, receipt))
    }

    /// The request that accepts, for whoever has the link.
    async fn accepting(
        &self,
        secret: &SecretText,
        display_name: Option<DisplayName>,
        identity: Option<Identity>,
        has_password: bool,
        meta: RequestMeta,
    ) -> Result<Accepting, IdentityError> {
        let waits = |_: &Policy, user: &UserView<'_>| user.status == UserStatus::Invited;
        let found = self.find_link(secret, Purpose::Invitation, waits).await?;
        let user = found.user;
        let (names, read, profile) = self.accepted_names(user, display_name, identity).await?;
        let command = AcceptInvitation { user, profile, has_password };
        let request = Request {
            secrets: vec![Purpose::Invitation.none_of(user)],
            unchanged: Some(found.with_these_names(read)),
            ..Request::new(Caller::System, command.into(), meta)
        };
        Ok(Accepting { user, names, request })
    }

    /// The names an invited user goes on with, what they were read from, and sealed as they are kept.
    async fn accepted_names(
        &self,
        user: UserId,
        display_name: Option<DisplayName>,
        identity: Option<Identity>,
    ) -> Result<(Profile, Sealed, SealedProfile), IdentityError> {
        let cant = || IdentityError::from(CommandError::Unavailable { reason: "the names can't be opened" });
        let sealed = |policy: &Policy| policy.user(user).and_then(|user| user.profile.cloned());
        let known = sealed(&self.policy()).ok_or(IdentityError::InvalidLink)?;
        let mut names = self.profile(user).await.ok_or_else(cant)?;
        let before = names.clone();
        names.display_name = display_name.or(names.display_name);
        names.identity = identity.or(names.identity);
        if names == before {
            return Ok((names, known.sealed.clone(), known));
        }
        let key = self.inner.store.user_key(user).await?.ok_or_else(cant)?;
        let changed = self.inner.sealing.seal(user, &key, &names)?;
        Ok((names, known.sealed, changed))
    }
}
