//! Who a bearer secret speaks for. The store is asked once for each secret; whether it is still good is judged from
//! the policy at every request, so a revoked token or a suspended user stops with the next version.

use super::{SECRET_BYTES, SESSION_PREFIX, TOKEN_PREFIX, hash_of};
use crate::{
    TRACES,
    control::{Control, Inner},
};
use charter_events::{Offset, Pattern, SessionId, Timestamp, TokenId, UserId};
use charter_policy::{Caller, Policy};
use charter_store::{CredentialKind, CredentialRow, SecretHash, SecretWrite, causes};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};
use tracing::Instrument;
use uuid::Uuid;

/// The length of 32 bytes in unpadded base64url.
const SECRET_CHARS: usize = (SECRET_BYTES * 8).div_ceil(6);
/// How long a hash that was no credential's is taken to be none.
const UNKNOWN_MICROS: i64 = 60 * 1_000_000;
/// A use is noted again only this much later.
const USE_NOTED_MICROS: i64 = 60 * 1_000_000;
/// How many uses wait to be written; more are not noted.
const USES_MAX: usize = 50_000;
/// How many uses are written at once.
const USES_WRITTEN_MAX: usize = 1_000;

/// Why a bearer secret lets nobody in. Clients see one refusal (401) for all but the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// It has not the form of a secret.
    #[error("this is no credential")]
    Malformed,
    /// It is no session's and no token's.
    #[error("the credential is not known")]
    Unknown,
    /// It has expired, was revoked or ended, or its user is not active.
    #[error("the credential works no longer")]
    Ended,
    /// The store can't be asked, or the credential is newer than what this server has seen in time (503).
    #[error("credentials can't be checked now")]
    Unavailable,
}

/// By what somebody authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// A session.
    Session(SessionId),
    /// An API token.
    Token(TokenId),
}

/// Somebody who authenticated.
#[derive(Debug, Clone)]
pub struct Authenticated {
    /// As whom commands and questions are judged.
    pub caller: Caller,
    /// The user.
    pub user: UserId,
    /// By what.
    pub credential: Credential,
    /// The credential works until just before this moment.
    pub expires_at: Option<Timestamp>,
    pub(super) hash: SecretHash,
    pub(super) row: Arc<CredentialRow>,
}

/// What tells whether a credential is still good; says nothing of its secret.
#[derive(Debug, Clone)]
pub struct Liveness(Arc<CredentialRow>);

impl Authenticated {
    /// What the writer needs to judge the credential again.
    pub fn liveness(&self) -> Liveness {
        Liveness(Arc::clone(&self.row))
    }
}

impl Liveness {
    /// Whether the credential is good by a policy and a moment.
    pub(crate) fn is_good(&self, policy: &Policy, now: Timestamp) -> bool {
        judge_row(policy, &self.0, now).is_ok()
    }
}

/// A row of the store, the version this server was at when it was read, and when its last use was noted.
#[derive(Clone)]
pub(super) struct Known {
    row: Arc<CredentialRow>,
    read_at: Offset,
    noted: Arc<AtomicI64>,
}

/// Uses that are not written yet.
#[derive(Default)]
pub(super) struct LastUses(Mutex<HashMap<Uuid, Timestamp>>);

impl Control {
    /// Who a bearer secret speaks for, as of the newest policy.
    ///
    /// # Errors
    /// [`AuthError`].
    pub async fn authenticate(&self, secret: &str) -> Result<Authenticated, AuthError> {
        let kind = kind_of(secret).ok_or(AuthError::Malformed)?;
        let hash = hash_of(secret);
        let known = self.known_credential(&hash, kind).await?;
        // Only now: looking it up may have taken a while.
        let now = self.now();
        let authenticated = judge(&self.policy(), &known.row, SecretHash::new(hash), now)?;
        self.inner.identity.uses.note(&known, now);
        Ok(authenticated)
    }

    /// Whether a credential that was good still is: for whoever holds a connection open.
    pub async fn is_still_good(&self, authenticated: &Authenticated) -> bool {
        let kind = match authenticated.credential {
            Credential::Session(_) => CredentialKind::Session,
            Credential::Token(_) => CredentialKind::Token,
        };
        let hash = *authenticated.hash.expose();
        match self.known_credential(&hash, kind).await {
            Ok(known) => judge(&self.policy(), &known.row, authenticated.hash.clone(), self.now()).is_ok(),
            Err(_) => false,
        }
    }

    async fn known_credential(&self, hash: &[u8; 32], kind: CredentialKind) -> Result<Known, AuthError> {
        let identity = &self.inner.identity;
        let policy = self.policy();
        if let Some(known) = identity.known.get(hash)
            && !known.is_outdated(&policy)
        {
            return self.reached(known).await;
        }
        // Whoever knows a secret got it after its row was durable, so that no later row makes this wrong, here or on
        // another server.
        let now = self.now();
        if identity.unknown.get(hash).is_some_and(|until| now < until) {
            return Err(AuthError::Unknown);
        }
        // Nobody waits for a store that does not answer, least of all whoever guesses.
        if self.inner.config.follow_every.is_some() && self.inner.contact.is_lost() {
            return Err(AuthError::Unavailable);
        }
        let asking = tracing::info_span!(target: TRACES, "store.credential");
        match self.inner.store.credential(&SecretHash::new(*hash)).instrument(asking).await {
            Ok(Some(row)) if row.kind == kind => {
                let known = Known::new(row, policy.version());
                identity.known.insert(*hash, known.clone());
                self.reached(known).await
            }
            Ok(_) => {
                identity.known.remove(hash);
                identity.unknown.insert(*hash, now.saturating_add_micros(UNKNOWN_MICROS));
                Err(AuthError::Unknown)
            }
            Err(error) => {
                tracing::error!(error = %causes(&error), "a credential can't be looked up");
                Err(AuthError::Unavailable)
            }
        }
    }

    /// A credential that began on another server is judged when this one has come as far: before, its user or the token
    /// itself may not be known here.
    async fn reached(&self, known: Known) -> Result<Known, AuthError> {
        if let Err(error) = self.at_least(known.row.began).await {
            tracing::warn!(error = %causes(&error), "a credential began at a version that does not come");
            return Err(AuthError::Unavailable);
        }
        Ok(known)
    }

    /// A credential this server has just made or changed.
    pub(super) fn learn_credential(&self, hash: &SecretHash, row: CredentialRow) {
        let identity = &self.inner.identity;
        identity.unknown.remove(hash.expose());
        let read_at = row.began;
        identity.known.insert(*hash.expose(), Known::new(row, read_at));
    }
}

impl Known {
    fn new(row: CredentialRow, read_at: Offset) -> Self {
        let noted = row.last_used.map_or(i64::MIN, Timestamp::as_micros);
        Self { row: Arc::new(row), read_at, noted: Arc::new(AtomicI64::new(noted)) }
    }

    /// Whether the user's sessions have ended since the row was read. One of them may have been kept, by another
    /// server: then its row begins anew.
    fn is_outdated(&self, policy: &Policy) -> bool {
        let ended = policy.user(self.row.user).and_then(|user| user.sessions_ended_at);
        self.row.kind == CredentialKind::Session && ended.is_some_and(|ended| ended > self.read_at)
    }
}

/// The kind a secret says it is of; none when it has not the form of one.
fn kind_of(secret: &str) -> Option<CredentialKind> {
    let (kind, rest) = match (secret.strip_prefix(SESSION_PREFIX), secret.strip_prefix(TOKEN_PREFIX)) {
        (Some(rest), _) => (CredentialKind::Session, rest),
        (_, Some(rest)) => (CredentialKind::Token, rest),
        (None, None) => return None,
    };
    let fits = rest.len() == SECRET_CHARS
        && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    fits.then_some(kind)
}

/// Whether a credential is good, from the facts of the log.
fn judge(
    policy: &Policy,
    row: &Arc<CredentialRow>,
    hash: SecretHash,
    now: Timestamp,
) -> Result<Authenticated, AuthError> {
    let Judged { credential, ceiling, expires_at } = judge_row(policy, row, now)?;
    let caller = Caller::User { id: row.user, ceiling };
    Ok(Authenticated { caller, user: row.user, credential, expires_at, hash, row: Arc::clone(row) })
}

struct Judged {
    credential: Credential,
    ceiling: Option<Arc<[Pattern]>>,
    expires_at: Option<Timestamp>,
}

fn judge_row(policy: &Policy, row: &CredentialRow, now: Timestamp) -> Result<Judged, AuthError> {
    let has_ended = |end: Option<Timestamp>| end.is_some_and(|end| end <= now);
    if has_ended(row.expires_at) || !policy.user(row.user).is_some_and(|user| user.is_active()) {
        return Err(AuthError::Ended);
    }
    let (credential, ceiling, expires_at) = match row.kind {
        CredentialKind::Session => {
            let session = SessionId::new(row.id);
            if policy.session_is_ended(session, row.user, row.began) {
                return Err(AuthError::Ended);
            }
            (Credential::Session(session), None, row.expires_at)
        }
        CredentialKind::Token => {
            let id = TokenId::new(row.id);
            let token = policy.token(id).filter(|token| token.user == row.user).ok_or(AuthError::Ended)?;
            if has_ended(token.expires_at) {
                return Err(AuthError::Ended);
            }
            (Credential::Token(id), token.mask.cloned(), token.expires_at)
        }
        // A link is no credential, whatever it is sent as.
        CredentialKind::Invitation | CredentialKind::Reset => return Err(AuthError::Ended),
    };
    Ok(Judged { credential, ceiling, expires_at })
}

impl LastUses {
    fn note(&self, known: &Known, now: Timestamp) {
        let now_micros = now.as_micros();
        let noted = known.noted.load(Ordering::Relaxed);
        if now_micros.saturating_sub(noted) < USE_NOTED_MICROS {
            return;
        }
        known.noted.store(now_micros, Ordering::Relaxed);
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.len() < USES_MAX {
            uses.insert(known.row.id, now);
        }
    }

    fn take(&self) -> HashMap<Uuid, Timestamp> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes the last uses noted so far. A failure loses them; nothing depends on them.
pub(crate) async fn flush_last_uses(inner: &Inner) {
    let uses: Vec<SecretWrite> = inner
        .identity
        .uses
        .take()
        .into_iter()
        .map(|(id, at)| SecretWrite::TouchCredential { id, at })
        .collect();
    for some in uses.chunks(USES_WRITTEN_MAX) {
        if let Err(error) = inner.store.write_secrets(some).await {
            return tracing::warn!(error = %causes(&error), "last uses of credentials were not written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prefix_and_43_characters_of_base64url_have_the_form_of_a_secret() {
        let body = "A".repeat(43);
        assert_eq!(kind_of(&format!("chs_{body}")), Some(CredentialKind::Session));
        assert_eq!(kind_of(&format!("cht_{body}")), Some(CredentialKind::Token));
        for text in
            ["", "chs_", &body, &format!("chx_{body}"), &format!("chs_{body}A"), &format!("CHS_{body}")]
        {
            assert_eq!(kind_of(text), None, "{text}");
        }
        for wrong in ['=', '+', '/', ' ', '\0', 'é'] {
            assert_eq!(kind_of(&format!("chs_{}{wrong}", "A".repeat(43 - wrong.len_utf8()))), None);
        }
    }
}
