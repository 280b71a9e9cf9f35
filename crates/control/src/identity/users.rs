//! Accounts and their names and passwords. Suspension and the like need no secrets and are plain commands.

use super::{Authenticated, Credential, passwords};
use crate::{
    control::Control,
    error::{CommandError, IdentityError},
    request::{KeptSession, Receipt, Request, RequestMeta, Unchanged},
    seal::{self, CantSeal},
    secret::SecretText,
    writer,
};
use charter_commands::{ChangePassword, Code, EditUser, RegisterUser};
use charter_events::{
    DisplayName, ExternalId, Identity, Issuer, Profile, ProfileField, SealedProfile, Slug, UserId, UserKind,
};
use charter_policy::Caller;
use charter_store::{CredentialRow, SecretWrite, UserKey};
use uuid::Uuid;

/// How often a change of names is made up anew when another server has changed them meanwhile.
pub(super) const EDIT_ATTEMPTS_MAX: usize = 5;

/// An account to be made.
#[derive(Clone)]
pub struct NewUser {
    /// Person or service.
    pub kind: UserKind,
    /// All names.
    pub profile: Profile,
    /// The first password; a service has none.
    pub password: Option<SecretText>,
}

/// What is to change of an account; what is absent stays.
#[derive(Clone, Default)]
pub struct ProfilePatch {
    /// Person or service.
    pub kind: Option<UserKind>,
    /// The username.
    pub username: Option<Slug>,
    /// The display name, or none.
    pub display_name: Option<Option<DisplayName>>,
    /// The e-mail address, or none.
    pub email: Option<Option<String>>,
    /// The login name, or none.
    pub login_name: Option<Option<String>>,
    /// The external id, or none.
    pub external_id: Option<Option<ExternalId>>,
    /// The identity at a provider, or none.
    pub identity: Option<Option<Identity>>,
}

impl ProfilePatch {
    /// Whether any name or address is to change.
    pub(super) const fn names_any(&self) -> bool {
        self.username.is_some()
            || self.display_name.is_some()
            || self.email.is_some()
            || self.login_name.is_some()
            || self.external_id.is_some()
            || self.identity.is_some()
    }

    /// The profile with the changes, and which they are, sorted. A directory whose ids are an issuer's subjects links
    /// by setting one, and unlinks whom it had linked by taking it away.
    fn apply(
        self,
        profile: &Profile,
        directory: Option<&Issuer>,
    ) -> Result<(Profile, Vec<ProfileField>), IdentityError> {
        let mut new = profile.clone();
        if let Some(username) = self.username {
            new.username = username;
        }
        if let Some(name) = self.display_name {
            new.display_name = name;
        }
        if let Some(email) = self.email {
            new.email = email;
        }
        if let Some(name) = self.login_name {
            new.login_name = name;
        }
        if let Some(id) = self.external_id {
            if let Some(issuer) = directory {
                match &id {
                    Some(id) => new.identity = Some(identity_at(issuer, id)?),
                    None if is_linked_by(issuer, profile) => new.identity = None,
                    None => {}
                }
            }
            new.external_id = id;
        }
        if let Some(identity) = self.identity {
            new.identity = identity;
        }
        let differs = [
            (ProfileField::Username, new.username != profile.username),
            (ProfileField::DisplayName, new.display_name != profile.display_name),
            (ProfileField::Email, new.email != profile.email),
            (ProfileField::LoginName, new.login_name != profile.login_name),
            (ProfileField::ExternalId, new.external_id != profile.external_id),
            (ProfileField::Identity, new.identity != profile.identity),
        ];
        let changed = differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
        Ok((new, changed))
    }
}

/// Whom a directory's id means at the issuer whose subjects its ids are.
pub(super) fn identity_at(issuer: &Issuer, id: &ExternalId) -> Result<Identity, IdentityError> {
    let too_long = |_| IdentityError::Invalid {
        field: "external_id",
        code: "invalid_name",
        detail: "an external id that is a provider's subject takes at most 255 bytes",
    };
    Ok(Identity { issuer: issuer.clone(), subject: id.as_str().parse().map_err(too_long)? })
}

fn is_linked_by(issuer: &Issuer, profile: &Profile) -> bool {
    let (Some(id), Some(identity)) = (&profile.external_id, &profile.identity) else { return false };
    identity.issuer == *issuer && identity.subject.as_str() == id.as_str()
}

pub(super) const fn no_randomness() -> IdentityError {
    IdentityError::Command(CommandError::Unavailable { reason: "the system gives no random numbers" })
}

impl From<CantSeal> for IdentityError {
    fn from(CantSeal: CantSeal) -> Self {
        no_randomness()
    }
}

/// A new account's names, ready to be written.
pub(super) struct PreparedUser {
    pub(super) user: UserId,
    pub(super) profile: SealedProfile,
    pub(super) key: SecretWrite,
}

impl Control {
    /// Checks and seals what makes a new account.
    pub(super) fn prepare_user(&self, profile: &Profile) -> Result<PreparedUser, IdentityError> {
        seal::check(profile)?;
        let user = UserId::new(Uuid::now_v7());
        let key = UserKey::new(seal::random().ok_or_else(no_randomness)?);
        let sealed = self.inner.sealing.seal(user, &key, profile)?;
        Ok(PreparedUser { user, profile: sealed, key: SecretWrite::PutUserKey { user, key } })
    }

    /// Submits a command that sets a user's password. What is refused anyway is refused before anything is hashed, so
    /// that nobody makes this server work who may not.
    pub(super) async fn submit_with_password(
        &self,
        mut request: Request,
        user: UserId,
        password: &SecretText,
        profile: Option<&Profile>,
    ) -> Result<Receipt, IdentityError> {
        passwords::check(password, profile)?;
        if request.meta.preview.is_some() {
            // What is thrown away anyway is not hashed.
            return Ok(self.submit(request).await?);
        }
        writer::refuse_early(&self.inner, &request).await?;
        let hash = self.inner.identity.passwords.hash(password).await?;
        request.secrets.push(SecretWrite::PutPassword { user, hash });
        Ok(self.submit(request).await?)
    }

    /// Creates an active account. `created` of the receipt is its id.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn register_user(
        &self,
        caller: Caller,
        new: NewUser,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let NewUser { kind, profile: names, password } = new;
        let PreparedUser { user, profile, key } = self.prepare_user(&names)?;
        let command = RegisterUser { user, kind, profile, has_password: password.is_some() };
        let request = Request { secrets: vec![key], ..Request::new(caller, command.into(), meta) };
        match &password {
            Some(password) => self.submit_with_password(request, user, password, Some(&names)).await,
            None => Ok(self.submit(request).await?),
        }
    }

    /// Changes a user's names, address or kind.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn edit_user(
        &self,
        caller: Caller,
        user: UserId,
        patch: ProfilePatch,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        // Read, changed and written as a whole, whether or not anyone still waits for it.
        let control = self.clone();
        self.one_at_a_time(user, async move { control.edit_user_alone(caller, user, patch, meta).await })
            .await
    }

    /// Does what changes a user's profile on a task of its own, and no two such things of one user at a time here.
    pub(super) async fn one_at_a_time(
        &self,
        user: UserId,
        work: impl Future<Output = Result<Receipt, IdentityError>> + Send + 'static,
    ) -> Result<Receipt, IdentityError> {
        let control = self.clone();
        let editing = async move {
            let _one_at_a_time = control.inner.identity.editing(user).lock().await;
            work.await
        };
        let ended = CommandError::Unavailable { reason: "the edit was cut short" };
        self.inner.tasks.spawn(editing).await.map_err(|_| ended)?
    }

    /// Alone on this server. Another may change the same names at the same time: whoever is decided later begins again.
    async fn edit_user_alone(
        &self,
        caller: Caller,
        user: UserId,
        patch: ProfilePatch,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        for _ in 1..EDIT_ATTEMPTS_MAX {
            match self.try_to_edit_user(caller.clone(), user, patch.clone(), meta.clone()).await {
                Err(error) if error.code() == Code::Stale.as_str() => {}
                result => return result,
            }
        }
        self.try_to_edit_user(caller, user, patch, meta).await
    }

    async fn try_to_edit_user(
        &self,
        caller: Caller,
        user: UserId,
        patch: ProfilePatch,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        // A service has no password, so who becomes one loses it.
        let becomes_service = patch.kind == Some(UserKind::Service);
        let secrets = becomes_service.then_some(SecretWrite::RemovePassword { user }).into_iter().collect();
        let (command, unchanged) = self.edit(user, patch, None).await?;
        let request = Request { secrets, unchanged, ..Request::new(caller, command.into(), meta) };
        Ok(self.submit(request).await?)
    }

    /// The command a patch is, and what it was made up from; `directory` is the issuer whose subjects the external ids
    /// of whoever asks are.
    pub(super) async fn edit(
        &self,
        user: UserId,
        mut patch: ProfilePatch,
        directory: Option<&Issuer>,
    ) -> Result<(EditUser, Option<Unchanged>), IdentityError> {
        let kind = patch.kind;
        if kind == Some(UserKind::Service) && patch.identity.is_none() && self.is_linked(user) {
            // A service signs in nowhere, so who becomes one loses his identity.
            patch.identity = Some(None);
        }
        let Some((before, key, seen)) = self.names_to_edit(user, &patch).await? else {
            return Ok((EditUser { user, kind, profile: None, changed: Vec::new() }, None));
        };
        let (after, changed) = patch.apply(&before, directory)?;
        seal::check(&after)?;
        let seals = !changed.is_empty();
        let profile = seals.then(|| self.inner.sealing.seal(user, &key, &after)).transpose()?;
        Ok((EditUser { user, kind, profile, changed }, Some(seen)))
    }

    /// Whether a user is linked to an identity.
    fn is_linked(&self, user: UserId) -> bool {
        let policy = self.policy();
        policy.user(user).and_then(|user| user.profile).is_some_and(|profile| profile.identity.is_some())
    }

    /// Links a user to an identity at a provider, or unlinks him. His sessions end.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn set_identity(
        &self,
        caller: Caller,
        user: UserId,
        identity: Option<Identity>,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let patch = ProfilePatch { identity: Some(identity), ..ProfilePatch::default() };
        self.edit_user(caller, user, patch, meta).await
    }

    /// The names a patch changes, the key they are sealed under, and what they were read from. None when it names none,
    /// or the user has none: then the command says what is wrong.
    async fn names_to_edit(
        &self,
        user: UserId,
        patch: &ProfilePatch,
    ) -> Result<Option<(Profile, UserKey, Unchanged)>, IdentityError> {
        let policy = self.policy();
        let names = policy.user(user).and_then(|user| user.profile);
        let Some(names) = names.filter(|_| patch.names_any()) else { return Ok(None) };
        let seen = Unchanged::Names { user, sealed: names.sealed.clone() };
        let key = self.inner.store.user_key(user).await?;
        match (self.profile(user).await, key) {
            (Some(profile), Some(key)) => Ok(Some((profile, key, seen))),
            _ => Err(CommandError::Unavailable { reason: "the names can't be opened" }.into()),
        }
    }

    /// Changes one's own password, for whoever knows the current one. All other sessions end; the session it is
    /// changed in goes on.
    ///
    /// # Errors
    /// [`IdentityError::Wrong`] when the current password is wrong, and any other.
    pub async fn change_password(
        &self,
        who: &Authenticated,
        current: &SecretText,
        new: &SecretText,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        // Before the password is compared: whoever resets it meanwhile is not overruled by who knew the old one.
        let sessions_ended_at = self.policy().user(who.user).and_then(|user| user.sessions_ended_at);
        let unchanged = Some(Unchanged::Password { user: who.user, sessions_ended_at });
        self.require_password(who.user, current).await?;
        let profile = self.profile(who.user).await;
        let command = ChangePassword { user: who.user, has_password: true };
        let meta = meta.while_good(who);
        let kept = self.kept_session(who);
        let request = Request::new(who.caller.clone(), command.into(), meta);
        let request = Request { keeps_session: kept.clone(), unchanged, ..request };
        let receipt = self.submit_with_password(request, who.user, new, profile.as_ref()).await?;
        if let Some(KeptSession { hash, row }) = kept.filter(|_| !receipt.repeated) {
            self.learn_credential(&hash, CredentialRow { began: receipt.last, ..row });
        }
        Ok(receipt)
    }

    /// The session somebody authenticated by, to begin anew after the event that ends all.
    fn kept_session(&self, who: &Authenticated) -> Option<KeptSession> {
        let Credential::Session(_) = who.credential else { return None };
        let row = CredentialRow { last_used: Some(self.now()), ..(*who.row).clone() };
        Some(KeptSession { hash: who.hash.clone(), row })
    }

    /// Sets another user's password.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn reset_password(
        &self,
        caller: Caller,
        user: UserId,
        new: &SecretText,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let profile = self.profile(user).await;
        let command = ChangePassword { user, has_password: true };
        let request = Request::new(caller, command.into(), meta);
        self.submit_with_password(request, user, new, profile.as_ref()).await
    }

    /// Removes a user's password.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn remove_password(
        &self,
        caller: Caller,
        user: UserId,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let secrets = vec![SecretWrite::RemovePassword { user }];
        let command = ChangePassword { user, has_password: false };
        let request = Request { secrets, ..Request::new(caller, command.into(), meta) };
        Ok(self.submit(request).await?)
    }

    /// The user's current password, guessed as rarely as at sign-in.
    async fn require_password(&self, user: UserId, password: &SecretText) -> Result<(), IdentityError> {
        let inner = &self.inner;
        let tag = inner.sealing.attempts_tag("password", &user.to_string());
        inner
            .identity
            .limiter
            .attempt(tag.as_bytes(), inner.time())
            .map_err(|retry_after_seconds| IdentityError::TooManyAttempts { retry_after_seconds })?;
        let hash = inner.store.password(user).await?;
        if !inner.identity.passwords.matches(password, hash).await? {
            return Err(IdentityError::Wrong { what: "password" });
        }
        inner.identity.limiter.succeeded(tag.as_bytes());
        Ok(())
    }
}
