//! Accounts and their names and passwords. Suspension and the like need no secrets and are plain commands.

use super::{Authenticated, Credential, passwords};
use crate::{
    control::Control,
    error::{CommandError, IdentityError},
    request::{Receipt, Request, RequestMeta},
    seal::{self, CantSeal},
    secret::SecretText,
    writer,
};
use charter_commands::{ChangePassword, EditUser, EndSessions, RegisterUser};
use charter_events::{
    DisplayName, ExternalId, Offset, Profile, ProfileField, SealedProfile, Slug, Timestamp, UserId, UserKind,
    Via,
};
use charter_policy::Caller;
use charter_store::{CredentialKind, CredentialRef, CredentialRow, SecretWrite, UserKey};
use uuid::Uuid;

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
}

impl ProfilePatch {
    /// The profile with the changes, and which they are, sorted.
    fn apply(self, profile: &Profile) -> (Profile, Vec<ProfileField>) {
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
            new.external_id = id;
        }
        let differs = [
            (ProfileField::Username, new.username != profile.username),
            (ProfileField::DisplayName, new.display_name != profile.display_name),
            (ProfileField::Email, new.email != profile.email),
            (ProfileField::LoginName, new.login_name != profile.login_name),
            (ProfileField::ExternalId, new.external_id != profile.external_id),
        ];
        let changed = differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
        (new, changed)
    }
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
        let _one_at_a_time = self.inner.identity.editing(user).lock().await;
        let kind = patch.kind;
        let (profile, changed) = match self.profile(user).await {
            None => (None, Vec::new()),
            Some(before) => {
                let (after, changed) = patch.apply(&before);
                seal::check(&after)?;
                let key = self.inner.store.user_key(user).await?.filter(|_| !changed.is_empty());
                let sealed = key.map(|key| self.inner.sealing.seal(user, &key, &after)).transpose()?;
                (sealed, changed)
            }
        };
        // A service has no password, so who becomes one loses it.
        let becomes_service = kind == Some(UserKind::Service);
        let secrets = becomes_service.then_some(SecretWrite::RemovePassword { user }).into_iter().collect();
        let command = EditUser { user, kind, profile, changed };
        let request = Request { secrets, ..Request::new(caller, command.into(), meta) };
        Ok(self.submit(request).await?)
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
        self.require_password(who.user, current).await?;
        let profile = self.profile(who.user).await;
        let command = ChangePassword { user: who.user, has_password: true };
        let via = meta.via;
        let request = Request::new(who.caller.clone(), command.into(), meta);
        let receipt = self.submit_with_password(request, who.user, new, profile.as_ref()).await?;
        self.end_other_sessions(who, &receipt, via).await?;
        Ok(receipt)
    }

    /// Ends the sessions that began before a password was changed, all but the one it was changed in.
    async fn end_other_sessions(
        &self,
        who: &Authenticated,
        changed: &Receipt,
        via: Via,
    ) -> Result<(), IdentityError> {
        let ended_at = self.policy().user(who.user).and_then(|user| user.sessions_ended_at);
        let last = if ended_at.is_some_and(|ended| ended >= changed.first) {
            changed.last
        } else {
            let command = EndSessions { user: who.user };
            self.submit(Request::new(who.caller.clone(), command.into(), RequestMeta::new(via))).await?.last
        };
        self.keep_session(who, last).await;
        Ok(())
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
        let tag = inner.sealing.tag(&user.to_string());
        inner
            .identity
            .limiter
            .attempt(tag.as_bytes(), inner.config.clock.now())
            .map_err(|retry_after_seconds| IdentityError::TooManyAttempts { retry_after_seconds })?;
        let hash = inner.store.password(user).await?;
        if !inner.identity.passwords.matches(password, hash).await? {
            return Err(IdentityError::Wrong { what: "password" });
        }
        inner.identity.limiter.succeeded(tag.as_bytes());
        Ok(())
    }

    /// Lets the session in which a password was changed go on: it begins anew, after the event that ended all. If that
    /// fails, its user signs in again.
    async fn keep_session(&self, who: &Authenticated, ended_at: Offset) {
        let Credential::Session(session) = who.credential else { return };
        let row = CredentialRow {
            kind: CredentialKind::Session,
            id: session.as_uuid(),
            user: who.user,
            created_at: self.now(),
            expires_at: Some(who.expires_at.unwrap_or(Timestamp::MAX)),
            began: ended_at,
            last_used: Some(self.now()),
        };
        let writes = [
            SecretWrite::RemoveCredential(CredentialRef::Id(row.id)),
            SecretWrite::PutCredential { hash: who.hash.clone(), row: row.clone() },
        ];
        match self.inner.store.write_secrets(&writes).await {
            Ok(()) => self.learn_credential(&who.hash, row),
            Err(error) => tracing::warn!(%error, "a session did not outlast its password"),
        }
    }
}
