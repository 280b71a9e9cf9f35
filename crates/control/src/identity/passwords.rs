//! Passwords: what is acceptable, and hashing off the async threads, bounded.
//!
//! 8 to 256 characters of any kind, at most 1,024 bytes, not the username; nothing is normalised, folded or
//! trimmed: the bytes that were set are the bytes that count.

use crate::{config::SignInLimits, error::IdentityError, seal::random, secret::SecretText};
use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier},
};
use charter_events::Profile;
use charter_store::PasswordHash;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{OnceCell, Semaphore};

/// The shortest password, in characters.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// The longest password, in characters.
pub const PASSWORD_CHARS_MAX: usize = 256;
const PASSWORD_BYTES_MAX: usize = 1_024;
/// argon2id, 19 MiB, two passes, one lane (the first recommendation of OWASP's password storage cheat sheet).
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;

/// More sign-ins wait for their turn than may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Busy;

impl From<Busy> for IdentityError {
    fn from(Busy: Busy) -> Self {
        Self::TooManyAttempts { retry_after_seconds: 1 }
    }
}

/// Hashes and compares passwords, a few at a time.
pub(super) struct Passwords {
    turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    waiting_max: usize,
    /// Of a password nobody knows: what is compared with when there is nothing to compare with. Made at the first
    /// sign-in, whoever's it is.
    nobodys: OnceCell<PasswordHash>,
    /// How many passwords were hashed or compared.
    #[cfg(test)]
    pub(super) worked: AtomicUsize,
}

impl Passwords {
    pub(super) fn new(limits: &SignInLimits) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(limits.hashing_at_once_max.max(1))),
            waiting: Arc::new(AtomicUsize::new(0)),
            waiting_max: limits.hashing_waiting_max.max(1),
            nobodys: OnceCell::new(),
            #[cfg(test)]
            worked: AtomicUsize::new(0),
        }
    }

    /// Hashes an acceptable password.
    pub(super) async fn hash(&self, password: &SecretText) -> Result<PasswordHash, IdentityError> {
        let password = password.clone();
        let hash = self.in_turn(move || hash_bytes(password.expose().as_bytes())).await?;
        hash.ok_or(IdentityError::Command(crate::error::CommandError::Unavailable {
            reason: "the password could not be hashed",
        }))
    }

    /// Whether the password has the hash. Without a hash the answer is no, after the same work.
    pub(super) async fn matches(
        &self,
        password: &SecretText,
        hash: Option<PasswordHash>,
    ) -> Result<bool, Busy> {
        let known = hash.is_some();
        let nobodys = self.nobodys.get_or_try_init(|| self.hash_nobodys()).await?;
        let hash = hash.unwrap_or_else(|| nobodys.clone());
        let password = password.clone();
        let matches = self
            .in_turn(move || {
                // What is too long was never set; the same work all the same, on what fits.
                let bytes = password.expose().as_bytes();
                let bytes = bytes.get(..PASSWORD_BYTES_MAX + 1).unwrap_or(bytes);
                hasher().is_some_and(|hasher| hasher.verify_password(bytes, hash.expose()).is_ok())
            })
            .await?;
        Ok(matches && known)
    }

    async fn hash_nobodys(&self) -> Result<PasswordHash, Busy> {
        let password = random::<32>().ok_or(Busy)?;
        self.in_turn(move || hash_bytes(&password)).await?.ok_or(Busy)
    }

    /// Runs on a blocking thread when it is its turn. The turn is the work's own: a caller that goes away frees
    /// nothing before the work is done.
    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Busy> {
        if self.waiting.fetch_add(1, Ordering::SeqCst) >= self.waiting_max {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(Busy);
        }
        let waits = Waits(Arc::clone(&self.waiting));
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Busy)?;
        drop(waits);
        #[cfg(test)]
        self.worked.fetch_add(1, Ordering::SeqCst);
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        done.await.map_err(|_| Busy)
    }
}

/// One who waits; dropped when he has his turn or has gone away.
struct Waits(Arc<AtomicUsize>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash_bytes(password: &[u8]) -> Option<PasswordHash> {
    let salt = random::<SALT_BYTES>()?;
    let hash = hasher()?.hash_password_with_salt(password, &salt).ok()?;
    Some(PasswordHash::new(hash.to_string()))
}

/// Refuses a password that is not acceptable. The password is never repeated.
pub(super) fn check(password: &SecretText, profile: Option<&Profile>) -> Result<(), IdentityError> {
    let invalid = |code, detail| Err(IdentityError::Invalid { field: "password", code, detail });
    let text = password.expose();
    let chars = text.chars().count();
    if chars < PASSWORD_CHARS_MIN {
        return invalid("password_too_short", "a password takes at least 8 characters");
    }
    if chars > PASSWORD_CHARS_MAX || text.len() > PASSWORD_BYTES_MAX {
        return invalid("password_too_long", "a password takes at most 256 characters and 1024 bytes");
    }
    let is_name = |name: &str| name.eq_ignore_ascii_case(text);
    let named = profile.is_some_and(|profile| {
        is_name(profile.username.as_str())
            || profile.login_name.as_deref().is_some_and(is_name)
            || profile.email.as_deref().is_some_and(is_name)
    });
    if named {
        return invalid("password_is_name", "a password must not be one of the user's names");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_8_to_256_characters_of_any_kind() {
        let code = |text: &str| check(&SecretText::new(text), None).err().map(|error| error.code());
        assert_eq!(code("1234567"), Some("password_too_short"));
        assert_eq!(code("12345678"), None);
        assert_eq!(code(" пароль "), None);
        assert_eq!(code(&"x".repeat(256)), None);
        assert_eq!(code(&"x".repeat(257)), Some("password_too_long"));
        assert_eq!(code(&"\u{1F512}".repeat(256)), None);
        assert_eq!(code(&"\u{1F512}".repeat(257)), Some("password_too_long"));
    }

    #[test]
    fn a_password_is_none_of_the_users_names() {
        let profile = Profile {
            username: "somebody".parse().unwrap(),
            display_name: None,
            email: Some("some@body.example".to_owned()),
            login_name: Some("Some.Body".to_owned()),
            external_id: None,
            identity: None,
        };
        for text in ["somebody", "SomeBody", "some@body.example", "some.body"] {
            let error = check(&SecretText::new(text), Some(&profile)).unwrap_err();
            assert_eq!(error.code(), "password_is_name");
        }
    }

    #[tokio::test]
    async fn only_the_very_bytes_match_and_nothing_matches_without_a_hash() {
        let passwords = Passwords::new(&SignInLimits::default());
        let secret = SecretText::new("correct horse");
        let hash = passwords.hash(&secret).await.unwrap();
        assert!(hash.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.expose());
        assert_eq!(passwords.matches(&secret, Some(hash.clone())).await, Ok(true));
        for wrong in ["correct horse ", "Correct horse", ""] {
            assert_eq!(passwords.matches(&SecretText::new(wrong), Some(hash.clone())).await, Ok(false));
        }
        assert_eq!(passwords.matches(&secret, None).await, Ok(false));
    }
}
