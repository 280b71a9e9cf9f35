//! Links that are sent to people: each is a secret of 256 bits that works once, for a while, for one purpose and one
//! account. It is kept as a hash with its kind. Like a session it began at a version of the log, and is dead once its
//! user's sessions have ended since: whatever ends them ends what was sent before, on every server.

use super::{SECRET_BYTES, hash_of, new_secret};
use crate::{
    control::Control,
    error::{CommandError, IdentityError},
    mail::{self, LetterState, LinkRow, Room},
    request::Unchanged,
    secret::SecretText,
};
use charter_events::{Offset, Sealed, Timestamp, UserId};
use charter_policy::{Policy, UserView};
use charter_store::{CredentialKind, CredentialRow, SecretHash, SecretWrite, StoreError};
use std::time::Duration;
use uuid::Uuid;

/// What the secret of an invitation begins with.
pub const INVITATION_PREFIX: &str = "chi_";
/// What the secret of a link for a forgotten password begins with.
pub const RESET_PREFIX: &str = "chr_";
/// The length of 32 bytes in unpadded base64url.
const SECRET_CHARS: usize = (SECRET_BYTES * 8).div_ceil(6);

/// A link that is shown to whoever asked for it, once, because it can't be sent.
#[derive(Debug, Clone)]
pub struct Link {
    /// The secret itself.
    pub secret: SecretText,
    /// Where it is taken, with the secret behind `#`, which no browser sends to a server and no server logs. None
    /// where the installation's address is not known.
    pub url: Option<SecretText>,
}

/// How a link gets to its user.
pub(super) enum Way {
    /// To the address on record.
    Mailed(Room, String),
    /// Whoever asked for it is shown it.
    Shown,
}

/// A link to be kept, and its secret.
pub(super) struct NewLink {
    pub(super) secret: SecretText,
    pub(super) put: SecretWrite,
    pub(super) row: LinkRow,
    pub(super) expires_at: Timestamp,
}

/// A link that waits to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingLink {
    /// It works until just before this moment.
    pub expires_at: Option<Timestamp>,
    /// How its letter stands; none where it was shown instead.
    pub letter: Option<LetterState>,
}

/// A link that works.
pub(super) struct Found {
    pub(super) user: UserId,
    sessions_ended_at: Option<Offset>,
}

impl Found {
    /// Has the writer refuse the command when the link has died by the time it is decided.
    pub(super) const fn while_it_works(&self) -> Unchanged {
        Unchanged::Link { user: self.user, sessions_ended_at: self.sessions_ended_at, sealed: None }
    }

    /// The same, also when his names have changed.
    pub(super) fn with_these_names(&self, sealed: Sealed) -> Unchanged {
        Unchanged::Link { user: self.user, sessions_ended_at: self.sessions_ended_at, sealed: Some(sealed) }
    }
}

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Invitation,
    Reset,
}

impl Purpose {
    pub(super) const fn kind(self) -> CredentialKind {
        match self {
            Self::Invitation => CredentialKind::Invitation,
            Self::Reset => CredentialKind::Reset,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Invitation => INVITATION_PREFIX,
            Self::Reset => RESET_PREFIX,
        }
    }

    /// The page that takes it.
    const fn page(self) -> &'static str {
        match self {
            Self::Invitation => "invitation",
            Self::Reset => "reset-password",
        }
    }

    /// What removes whatever links of the kind a user has.
    pub(super) const fn none_of(self, user: UserId) -> SecretWrite {
        SecretWrite::RemoveCredentialsOf { user, kind: Some(self.kind()) }
    }
}

/// Whether a text has the form of a secret for this.
fn fits(secret: &str, purpose: Purpose) -> bool {
    secret.strip_prefix(purpose.prefix()).is_some_and(|rest| {
        rest.len() == SECRET_CHARS
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    })
}

impl Control {
    /// Whether this installation sends mail.
    pub fn sends_mail(&self) -> bool {
        self.inner.config.mailer.is_some()
    }

    /// How a link gets to somebody with this address, with room for the letter.
    pub(super) fn way_to(&self, address: Option<&str>) -> Result<Way, IdentityError> {
        match address.filter(|_| self.sends_mail()) {
            None => Ok(Way::Shown),
            Some(address) => match self.inner.mail.reserve() {
                Ok(room) => Ok(Way::Mailed(room, address.to_owned())),
                Err(crate::mail::TooManyLetters) => Err(IdentityError::TooManyLetters),
            },
        }
    }

    /// A new link; `began` is the version it begins at, or zero for that of the command it is written with. One that is
    /// shown is noted to have been handed over by then.
    pub(super) fn new_link(
        &self,
        purpose: Purpose,
        user: UserId,
        (began, shown): (Offset, bool),
    ) -> Result<NewLink, IdentityError> {
        let (secret, hash) = new_secret(purpose.prefix()).ok_or_else(super::users::no_randomness)?;
        let config = &self.inner.config;
        let length = match purpose {
            Purpose::Reset => config.reset_length,
            Purpose::Invitation => config.invitation_length,
        };
        let now = self.now();
        let expires_at = now.saturating_add_micros(micros(length));
        let row = CredentialRow {
            kind: purpose.kind(),
            id: Uuid::now_v7(),
            user,
            created_at: now,
            expires_at: Some(expires_at),
            began,
            last_used: shown.then_some(now),
        };
        let kept = LinkRow { id: row.id, created_at: now };
        Ok(NewLink { secret, put: SecretWrite::PutCredential { hash, row }, row: kept, expires_at })
    }

    /// When the link of a user ends that waits to be taken; now when there is none any more.
    pub(super) async fn link_ends(&self, user: UserId, purpose: Purpose) -> Result<Timestamp, IdentityError> {
        let links = self.inner.store.credentials_of(user, purpose.kind()).await?;
        Ok(links.first().and_then(|row| row.expires_at).unwrap_or_else(|| self.now()))
    }

    /// The link of an invitation that waits to be taken, if there is one that works.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn waiting_invitation(&self, user: UserId) -> Result<Option<WaitingLink>, StoreError> {
        let rows = self.inner.store.credentials_of(user, CredentialKind::Invitation).await?;
        let (policy, now) = (self.policy(), self.now());
        let ended = policy.user(user).and_then(|user| user.sessions_ended_at);
        let works = |row: &CredentialRow| {
            row.expires_at.is_none_or(|end| end > now) && ended.is_none_or(|ended| ended <= row.began)
        };
        let row = rows.into_iter().find(works);
        Ok(row.map(|row| WaitingLink { expires_at: row.expires_at, letter: self.letter_of(&row) }))
    }

    /// How the letter with a link stands.
    fn letter_of(&self, row: &CredentialRow) -> Option<LetterState> {
        let inner = &self.inner;
        let longest = micros(mail::longest_way(inner.config.mail_pause));
        // Another server may have it under way.
        let elsewhere =
            || self.servers().len() > 1 && row.created_at.saturating_add_micros(longest) > self.now();
        match row.last_used {
            Some(at) if at == row.created_at => None,
            Some(_) => Some(LetterState::Sent),
            None if inner.mail.carries(row.id) || elsewhere() => Some(LetterState::Waiting),
            None => Some(LetterState::Failed),
        }
    }

    /// A link as it is shown: the secret stands behind `#`.
    pub(super) fn link(&self, purpose: Purpose, secret: &SecretText) -> Link {
        let base = self.inner.config.public_url.as_deref().map(|url| url.trim_end_matches('/'));
        let url = base.map(|base| SecretText::new(format!("{base}/{}#{}", purpose.page(), secret.expose())));
        Link { secret: secret.clone(), url }
    }

    /// The account a link is for, if it works. What is wrong with one that does not is not told.
    pub(super) async fn find_link(
        &self,
        secret: &SecretText,
        purpose: Purpose,
        good: impl FnOnce(&Policy, &UserView<'_>) -> bool,
    ) -> Result<Found, IdentityError> {
        let inner = &self.inner;
        if !fits(secret.expose(), purpose) {
            return Err(IdentityError::InvalidLink);
        }
        let hash = hash_of(secret.expose());
        // A link is tried rarely, whoever tries: each try may hash a password.
        let attempt = inner.identity.limiter.attempt(&hash, inner.time());
        attempt.map_err(|retry_after_seconds| IdentityError::TooManyAttempts { retry_after_seconds })?;
        if !self.follow_others().await {
            return Err(CommandError::Unavailable { reason: "the store can't be reached" }.into());
        }
        let row = inner.store.credential(&SecretHash::new(hash)).await?;
        let row = row.filter(|row| row.kind == purpose.kind()).ok_or(IdentityError::InvalidLink)?;
        let behind = CommandError::Unavailable { reason: "this server has not seen the link begin yet" };
        let policy = self.at_least(row.began).await.map_err(|_| behind)?;
        let user = policy.user(row.user).ok_or(IdentityError::InvalidLink)?;
        let dead = row.expires_at.is_some_and(|end| end <= self.now())
            || user.sessions_ended_at.is_some_and(|ended| ended > row.began)
            || !good(&policy, &user);
        if dead {
            return Err(IdentityError::InvalidLink);
        }
        Ok(Found { user: row.user, sessions_ended_at: user.sessions_ended_at })
    }
}

/// What a command says when the link it came by died or was used meanwhile.
pub(super) fn died(error: IdentityError) -> IdentityError {
    match error.code() {
        "stale" | "invalid_state" | "inactive_caller" => IdentityError::InvalidLink,
        _ => error,
    }
}

fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_one_kind_has_not_the_form_of_another() {
        let body = "A".repeat(SECRET_CHARS);
        for (prefix, purpose) in [("chi_", Purpose::Invitation), ("chr_", Purpose::Reset)] {
            for other in ["chi_", "chr_", "chs_", "cht_", ""] {
                assert_eq!(
                    fits(&format!("{other}{body}"), purpose),
                    other == prefix,
                    "{other} as {purpose:?}"
                );
            }
            for wrong in [format!("{prefix}{body}A"), format!("{prefix}{}é", &body[2..])] {
                assert!(!fits(&wrong, purpose), "{wrong}");
            }
        }
    }
}
