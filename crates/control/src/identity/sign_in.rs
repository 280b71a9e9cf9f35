//! Sign-in by password: the same work and the same answer whatever was wrong. Or as an identity a provider has just
//! vouched for: the same answer whatever was wrong.

use super::{SESSION_PREFIX, new_secret, passwords::Busy};
use crate::{control::Control, request::RequestMeta, secret::SecretText};
use charter_commands::EndSession;
use charter_events::{Identity, SessionId, Timestamp, UserId, Via};
use charter_policy::{Caller, Policy};
use charter_store::{CredentialKind, CredentialRow, SecretWrite, StoreError, causes};
use uuid::Uuid;

/// How many sessions a user has at once; a further one ends the oldest.
const SESSIONS_PER_USER_MAX: usize = 100;

/// Why a sign-in came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// Name or password is wrong, or the account does not work; which of them is not said (401).
    #[error("the name or the password is wrong, or the account is not active")]
    Refused,
    /// Too many attempts at the name, or altogether (429).
    #[error("too many attempts")]
    TooManyAttempts {
        /// When to try again.
        retry_after_seconds: u64,
    },
    /// The store can't be reached, or there is no randomness (503).
    #[error("nobody can sign in now")]
    Unavailable,
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> Self {
        tracing::error!(error = %causes(&error), "a sign-in failed");
        Self::Unavailable
    }
}

impl From<Busy> for SignInError {
    fn from(Busy: Busy) -> Self {
        Self::TooManyAttempts { retry_after_seconds: 1 }
    }
}

/// A session that has just begun.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// What the client sends from now on. Shown once.
    pub secret: SecretText,
    /// The session.
    pub session: SessionId,
    /// Who signed in.
    pub user: UserId,
    /// When the session ends.
    pub expires_at: Timestamp,
}

impl Control {
    /// Begins a session for whoever knows a user's name and password.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn sign_in(&self, name: &str, password: SecretText) -> Result<SignedIn, SignInError> {
        let inner = &self.inner;
        let name_tag = inner.sealing.attempts_tag("sign-in", &name.to_lowercase());
        inner
            .identity
            .limiter
            .attempt(name_tag.as_bytes(), inner.time())
            .map_err(|retry_after_seconds| SignInError::TooManyAttempts { retry_after_seconds })?;
        // Somebody another server has just made, or whose password it has just changed, signs in here as well. For
        // everyone, known or not: it takes the same time.
        if !self.follow_others().await {
            return Err(SignInError::Unavailable);
        }
        // The version before the password is read: a password changed meanwhile ends the session at once.
        let policy = self.policy();
        let user = self.user_by_login(&policy, name);
        // The store is asked also when there is nobody to ask for.
        let hash = inner.store.password(user.unwrap_or(UserId::new(Uuid::nil()))).await?;
        let hash = hash.filter(|_| user.is_some());
        let matches = inner.identity.passwords.matches(&password, hash).await?;
        let user = user.filter(|_| matches).ok_or(SignInError::Refused)?;
        inner.identity.limiter.succeeded(name_tag.as_bytes());
        self.begin_session(&policy, user).await
    }

    /// Begins a session for whoever is linked to an identity. The caller has seen a provider's proof of it, just now:
    /// nothing is proved here. Nothing but issuer and subject counts; an identity nobody is linked to, and one whose
    /// account does not work, are refused alike.
    ///
    /// # Errors
    /// [`SignInError`].
    pub async fn sign_in_with_identity(&self, identity: &Identity) -> Result<SignedIn, SignInError> {
        let inner = &self.inner;
        let tag =
            inner.sealing.attempts_tag("sign-in identity", &inner.sealing.identity_tag(identity).to_string());
        inner
            .identity
            .limiter
            .attempt(tag.as_bytes(), inner.time())
            .map_err(|retry_after_seconds| SignInError::TooManyAttempts { retry_after_seconds })?;
        if !self.follow_others().await {
            return Err(SignInError::Unavailable);
        }
        // An identity that is unlinked meanwhile ends the session at once: it begins at this version.
        let policy = self.policy();
        let user = self
            .user_by_identity(&policy, identity)
            .filter(|user| policy.user(*user).is_some_and(|user| user.is_active()))
            .ok_or(SignInError::Refused)?;
        inner.identity.limiter.succeeded(tag.as_bytes());
        self.begin_session(&policy, user).await
    }

    /// An active user with a password by username or login name.
    pub(super) fn user_by_login(&self, policy: &Policy, name: &str) -> Option<UserId> {
        let (exact, folded) = (self.inner.sealing.tag(name), self.inner.sealing.login_tag(name));
        let user = |id: UserId| policy.user(id).filter(|user| user.is_active() && user.has_password);
        let by_username = policy
            .user_by_tag(&exact)
            .and_then(user)
            .filter(|user| user.profile.is_some_and(|profile| profile.username == exact));
        let by_login_name = policy
            .user_by_tag(&folded)
            .and_then(user)
            .filter(|user| user.profile.is_some_and(|profile| profile.login_name == Some(folded)));
        by_username.or(by_login_name).map(|user| user.id)
    }

    async fn begin_session(&self, policy: &Policy, user: UserId) -> Result<SignedIn, SignInError> {
        let inner = &self.inner;
        let (secret, hash) = new_secret(SESSION_PREFIX).ok_or(SignInError::Unavailable)?;
        let now = self.now();
        let length = i64::try_from(inner.config.session_length.as_micros()).unwrap_or(i64::MAX);
        let row = CredentialRow {
            kind: CredentialKind::Session,
            id: Uuid::now_v7(),
            user,
            created_at: now,
            expires_at: Some(now.saturating_add_micros(length)),
            began: policy.version(),
            last_used: None,
        };
        self.end_surplus_sessions(user).await?;
        let write = SecretWrite::PutCredential { hash: hash.clone(), row: row.clone() };
        inner.store.write_secrets(&[write]).await?;
        let signed_in = SignedIn {
            secret,
            session: SessionId::new(row.id),
            user,
            expires_at: row.expires_at.unwrap_or(Timestamp::MAX),
        };
        self.learn_credential(&hash, row);
        Ok(signed_in)
    }

    /// Ends the oldest sessions of a user who has as many as he may, on every server.
    async fn end_surplus_sessions(&self, user: UserId) -> Result<(), SignInError> {
        let sessions = self.inner.store.sessions_of(user).await?;
        for row in sessions.into_iter().skip(SESSIONS_PER_USER_MAX - 1) {
            let expires_at = row.expires_at.unwrap_or(Timestamp::MAX);
            let command = EndSession { session: SessionId::new(row.id), user, expires_at };
            let ended = self.end(Caller::of(user), command, RequestMeta::new(Via::System)).await;
            ended.map_err(|error| {
                tracing::error!(error = %causes(&error), "the oldest session could not be ended");
                SignInError::Unavailable
            })?;
        }
        Ok(())
    }
}
