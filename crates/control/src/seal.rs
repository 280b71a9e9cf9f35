//! Sealing personal data under a key of each user's own, and the keyed tags by which names are looked up.
//!
//! A sealed profile is `0x01 ‖ nonce (24 bytes) ‖ XChaCha20-Poly1305(profile as JSON, padded with spaces)`,
//! with the log id and the user id as associated data, so that no sealed profile can be moved to another
//! user or log. A tag is `HMAC-SHA-256(tag key, "charter-name\0" ‖ text)`; usernames, login names (lower-cased) and
//! external ids share it. An identity's is `HMAC-SHA-256(tag key, "charter-identity\0" ‖ length of the issuer (8 bytes,
//! big-endian) ‖ issuer ‖ subject)`: no name and no other pair has the same.

use crate::error::IdentityError;
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use charter_events::{Identity, LogId, NameTag, Profile, Sealed, SealedProfile, UserId};
use charter_store::{Key32, UserKey};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use uuid::Uuid;
use zeroize::Zeroizing;

/// The longest e-mail address, in bytes.
pub const EMAIL_BYTES_MAX: usize = 254;
/// The longest login name, in characters.
pub const LOGIN_NAME_CHARS_MAX: usize = 128;
/// A profile is padded to a multiple of so many bytes: its length tells little about the names in it.
const PADDING_BYTES: usize = 128;
const VERSION: u8 = 1;
const NONCE_BYTES: usize = 24;

/// Random bytes can't be had, or a profile is larger than any valid one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the profile can't be sealed")]
pub(crate) struct CantSeal;

/// Seals, opens and tags for one log.
pub(crate) struct Sealing {
    log_id: LogId,
    tag_key: Key32,
}

impl Sealing {
    pub(crate) const fn new(log_id: LogId, tag_key: Key32) -> Self {
        Self { log_id, tag_key }
    }

    /// The tag of a username or external id, as it is.
    pub(crate) fn tag(&self, text: &str) -> NameTag {
        name_tag(&self.tag_key, text)
    }

    /// The tag of a login name, which is compared ignoring case.
    pub(crate) fn login_tag(&self, text: &str) -> NameTag {
        self.tag(&text.to_lowercase())
    }

    /// The tag of an identity at a provider.
    pub(crate) fn identity_tag(&self, identity: &Identity) -> NameTag {
        let (issuer, subject) = (identity.issuer.as_str().as_bytes(), identity.subject.as_str().as_bytes());
        let length = (issuer.len() as u64).to_be_bytes();
        hmac(&self.tag_key, &[b"charter-identity\0", &length, issuer, subject])
    }

    /// The tag under which attempts are counted: those of one purpose never count for another.
    pub(crate) fn attempts_tag(&self, purpose: &str, of: &str) -> NameTag {
        self.tag(&format!("\0{purpose}\0{of}"))
    }

    /// Seals a profile that was checked.
    pub(crate) fn seal(
        &self,
        user: UserId,
        key: &UserKey,
        profile: &Profile,
    ) -> Result<SealedProfile, CantSeal> {
        let mut plain = Zeroizing::new(serde_json::to_vec(profile).map_err(|_| CantSeal)?);
        let padded = plain.len().next_multiple_of(PADDING_BYTES);
        plain.resize(padded, b' ');
        let nonce: [u8; NONCE_BYTES] = random().ok_or(CantSeal)?;
        let payload = Payload { msg: &plain, aad: &self.associated(user) };
        let sealed = XChaCha20Poly1305::new(key.expose().into())
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| CantSeal)?;
        let mut bytes = Vec::with_capacity(1 + NONCE_BYTES + sealed.len());
        bytes.push(VERSION);
        bytes.extend(nonce);
        bytes.extend(sealed);
        Ok(SealedProfile {
            sealed: Sealed::new(&bytes),
            username: self.tag(profile.username.as_str()),
            login_name: profile.login_name.as_deref().map(|name| self.login_tag(name)),
            external_id: profile.external_id.as_ref().map(|id| self.tag(id.as_str())),
            identity: profile.identity.as_ref().map(|identity| self.identity_tag(identity)),
        })
    }

    /// Opens a profile; `None` when the bytes were not sealed for this user of this log under this key.
    pub(crate) fn open(&self, user: UserId, key: &UserKey, sealed: &Sealed) -> Option<Profile> {
        let (version, rest) = sealed.as_bytes().split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        if *version != VERSION {
            return None;
        }
        let payload = Payload { msg: sealed, aad: &self.associated(user) };
        let plain =
            XChaCha20Poly1305::new(key.expose().into()).decrypt(&XNonce::from(*nonce), payload).ok()?;
        serde_json::from_slice(&Zeroizing::new(plain)).ok()
    }

    fn associated(&self, user: UserId) -> [u8; 32] {
        let mut bytes = [0; 32];
        let (log, rest) = bytes.split_at_mut(16);
        log.copy_from_slice(self.log_id.as_uuid().as_bytes());
        rest.copy_from_slice(user.as_uuid().as_bytes());
        bytes
    }
}

/// The tag of a username or external id under an installation's key: by it a name is found in a log that holds none.
pub fn name_tag(key: &Key32, text: &str) -> NameTag {
    hmac(key, &[b"charter-name\0", text.as_bytes()])
}

fn hmac(key: &Key32, parts: &[&[u8]]) -> NameTag {
    let mut mac = match Hmac::<Sha256>::new_from_slice(key.expose()) {
        Ok(mac) => mac,
        // HMAC takes keys of any length; the type of the error is all there is of it.
        Err(_) => return NameTag::new([0; 32]),
    };
    parts.iter().for_each(|part| mac.update(part));
    NameTag::new(mac.finalize().into_bytes().into())
}

/// Random bytes of the system; `None` when it has none.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}

/// Refuses a profile with a member that is not acceptable. The value is never repeated.
pub(crate) fn check(profile: &Profile) -> Result<(), IdentityError> {
    let invalid = |field, code, detail| Err(IdentityError::Invalid { field, code, detail });
    let is_uuid = |text: &str| Uuid::try_parse(text).is_ok();
    if is_uuid(profile.username.as_str()) {
        return invalid("username", "reserved_name", "a username must not have the form of an id");
    }
    if profile.external_id.as_ref().is_some_and(|id| is_uuid(id.as_str())) {
        return invalid("external_id", "reserved_name", "an external id must not have the form of an id");
    }
    if let Some(name) = &profile.login_name {
        let chars = name.chars().count();
        if !(1..=LOGIN_NAME_CHARS_MAX).contains(&chars)
            || name.chars().any(char::is_control)
            || name.trim() != name
        {
            return invalid(
                "login_name",
                "invalid_name",
                "it takes 1 to 128 characters without space around",
            );
        }
        if is_uuid(name) {
            return invalid("login_name", "reserved_name", "a login name must not have the form of an id");
        }
    }
    if profile.email.as_deref().is_some_and(|email| !is_email(email)) {
        return invalid("email", "invalid_email", "it takes `name@domain`, at most 254 bytes");
    }
    Ok(())
}

/// Modest on purpose: only a mail server knows which addresses exist.
fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else { return false };
    text.len() <= EMAIL_BYTES_MAX
        && !name.is_empty()
        && !domain.is_empty()
        && !domain.contains('@')
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}
