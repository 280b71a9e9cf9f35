//! The port of what never enters the log: keys, password hashes, hashes of sessions and tokens.
//!
//! Nothing here is printed: `Debug` of a secret says only what it is, and its memory is wiped when it is dropped.
//! Must not know how a hash or a key is made, nor what a session may do.

use crate::{
    error::StoreError,
    limits::{PASSWORD_HASH_BYTES_MAX, SECRET_WRITES_MAX},
};
use async_trait::async_trait;
use charter_events::{Offset, Timestamp, UserId};
use std::fmt;
use uuid::Uuid;
use zeroize::Zeroizing;

macro_rules! secret_bytes {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Zeroizing<[u8; 32]>);

        impl $name {
            /// Takes 32 bytes; the caller's copy is the caller's to wipe.
            pub fn new(bytes: [u8; 32]) -> Self {
                Self(Zeroizing::new(bytes))
            }

            /// The bytes.
            pub fn expose(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    )+};
}

secret_bytes! {
    /// A key of the installation.
    Key32,
    /// The key one user's personal data is sealed under.
    UserKey,
    /// SHA-256 of a session's, token's or setup code's secret: by which it is found, never by the secret itself.
    SecretHash,
}

impl PartialEq for SecretHash {
    /// Compares in constant time.
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0.iter()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
    }
}

impl Eq for SecretHash {}

/// A password's hash as a PHC string.
#[derive(Clone)]
pub struct PasswordHash(Zeroizing<String>);

impl PasswordHash {
    /// Takes a PHC string.
    pub fn new(phc: String) -> Self {
        Self(Zeroizing::new(phc))
    }

    /// The PHC string.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// Keys made when the store was first opened; they never change, but where a log moves in.
#[derive(Debug, Clone)]
pub struct InstallationSecrets {
    /// Names are tagged with it (HMAC).
    pub tag_key: Key32,
    /// Cursors of pages are signed with it.
    pub cursor_key: Key32,
    /// Checkpoints of the log are signed with it: an Ed25519 seed. None only where an older build made the store and
    /// nobody has opened it to write since.
    pub signing_key: Option<Key32>,
    /// Hash of the code that lets the first administrator in, while there is one.
    pub setup_code_hash: Option<SecretHash>,
}

/// What a bearer secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CredentialKind {
    /// A sign-in's session. Exists in the store only.
    Session,
    /// An API token. Its owner, expiry, mask and revocation are facts of the log.
    Token,
    /// A link by which an invitation is accepted, once.
    Invitation,
    /// A link by which a forgotten password is replaced, once.
    Reset,
}

impl CredentialKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Session, Self::Token, Self::Invitation, Self::Reset];

    /// As stores keep it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Token => "token",
            Self::Invitation => "invitation",
            Self::Reset => "reset",
        }
    }

    /// The kind a store kept.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A session, token or link as the store knows it; its secret is kept as a hash only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRow {
    /// What the secret is for.
    pub kind: CredentialKind,
    /// Its id.
    pub id: Uuid,
    /// For whom it speaks.
    pub user: UserId,
    /// When it was made.
    pub created_at: Timestamp,
    /// It works until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// The policy version it began at: a later event may end it.
    pub began: Offset,
    /// When it was last seen in use; written in batches, so it may lag. Of a link: when its letter was sent, or,
    /// where it was shown instead, when it was made.
    pub last_used: Option<Timestamp>,
}

/// By which a credential is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialRef {
    /// By the hash of its secret.
    Hash(SecretHash),
    /// By its id.
    Id(Uuid),
}

/// A change of secrets.
#[derive(Debug, Clone)]
pub enum SecretWrite {
    /// A new user's key. A key is never replaced: that would lose what was sealed under it.
    PutUserKey {
        /// The user.
        user: UserId,
        /// The key.
        key: UserKey,
    },
    /// Forgets a user's key, and thereby the person. No-op when there is none.
    DestroyUserKey {
        /// The user.
        user: UserId,
    },
    /// Sets or replaces a user's password.
    PutPassword {
        /// The user.
        user: UserId,
        /// The hash, a PHC string of at most 512 bytes.
        hash: PasswordHash,
    },
    /// Removes a user's password. No-op when there is none.
    RemovePassword {
        /// The user.
        user: UserId,
    },
    /// A new session, token or link; neither its id nor its hash may be known yet.
    PutCredential {
        /// Hash of the secret.
        hash: SecretHash,
        /// What it is.
        row: CredentialRow,
    },
    /// Removes one session, token or link. No-op when there is none.
    RemoveCredential(CredentialRef),
    /// Removes a user's sessions, tokens and links.
    RemoveCredentialsOf {
        /// The user.
        user: UserId,
        /// Only this kind; all when absent.
        kind: Option<CredentialKind>,
    },
    /// Notes a use; an earlier moment than the one noted changes nothing. No-op when there is no such credential.
    TouchCredential {
        /// The session or token.
        id: Uuid,
        /// When it was used.
        at: Timestamp,
    },
    /// Sets or replaces the setup code.
    PutSetupCode {
        /// Hash of the code.
        hash: SecretHash,
    },
    /// Removes the setup code. No-op when there is none.
    ClearSetupCode,
    /// Replaces the installation's keys by those of the installation whose log this store takes over. Refused while
    /// there is any user's key: names are tagged then.
    PutInstallationKeys {
        /// As [`InstallationSecrets::tag_key`].
        tag_key: Key32,
        /// As [`InstallationSecrets::cursor_key`].
        cursor_key: Key32,
    },
    /// Replaces the key that signs checkpoints by that of the installation whose log this store takes over. Refused
    /// while there is any user's key: by then checkpoints were given away.
    PutSigningKey {
        /// As [`InstallationSecrets::signing_key`].
        key: Key32,
    },
}

/// Secrets, kept beside the log and never in it.
#[async_trait]
pub trait SecretStore: Send + Sync {
    /// The installation's keys. They were made when the store was first opened.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn installation_secrets(&self) -> Result<InstallationSecrets, StoreError>;

    /// A user's key; `None` when there never was one or it was destroyed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn user_key(&self, user: UserId) -> Result<Option<UserKey>, StoreError>;

    /// The keys of several users, at most [`SECRET_WRITES_MAX`]; unknown users are left out. For whoever opens a
    /// page of names.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn user_keys(&self, users: &[UserId]) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        let mut found = Vec::new();
        for user in users.iter().take(SECRET_WRITES_MAX) {
            if let Some(key) = self.user_key(*user).await? {
                found.push((*user, key));
            }
        }
        Ok(found)
    }

    /// A user's password hash.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn password(&self, user: UserId) -> Result<Option<PasswordHash>, StoreError>;

    /// The session, token or link whose secret has this hash. Whether it is still live is not judged here.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn credential(&self, hash: &SecretHash) -> Result<Option<CredentialRow>, StoreError>;

    /// A user's sessions, tokens or links, newest first, at most [`SESSIONS_LISTED_MAX`](crate::SESSIONS_LISTED_MAX).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn credentials_of(
        &self,
        user: UserId,
        kind: CredentialKind,
    ) -> Result<Vec<CredentialRow>, StoreError>;

    /// A user's sessions, newest first.
    ///
    /// # Errors
    /// As [`SecretStore::credentials_of`].
    async fn sessions_of(&self, user: UserId) -> Result<Vec<CredentialRow>, StoreError> {
        self.credentials_of(user, CredentialKind::Session).await
    }

    /// Changes secrets outside an append, all or none, durable when it returns. At most [`SECRET_WRITES_MAX`].
    ///
    /// # Errors
    /// [`StoreError::Refused`] for what could never be kept; [`StoreError::ReadOnly`], [`StoreError::Full`],
    /// [`StoreError::Unavailable`].
    async fn write_secrets(&self, writes: &[SecretWrite]) -> Result<(), StoreError>;

    /// Removes sessions, tokens and links whose end lies before a moment, at most
    /// [`FORGET_ROWS_MAX`](crate::FORGET_ROWS_MAX) a call, and says how many went.
    ///
    /// # Errors
    /// As [`SecretStore::write_secrets`].
    async fn forget_credentials_ended_before(&self, moment: Timestamp) -> Result<usize, StoreError>;
}

/// Refuses changes that no store takes, whatever it already holds: too many, or one over a limit.
///
/// # Errors
/// [`StoreError::Refused`].
pub fn check_writes(writes: &[SecretWrite]) -> Result<(), StoreError> {
    if writes.len() > SECRET_WRITES_MAX {
        return Err(StoreError::Refused(format!("more than {SECRET_WRITES_MAX} changes of secrets")));
    }
    let too_long = |write: &SecretWrite| match write {
        SecretWrite::PutPassword { hash, .. } => hash.expose().len() > PASSWORD_HASH_BYTES_MAX,
        _ => false,
    };
    if writes.iter().any(too_long) {
        return Err(StoreError::Refused(format!("a password hash over {PASSWORD_HASH_BYTES_MAX} bytes")));
    }
    Ok(())
}
