//! Who is who: accounts with their names, passwords, sessions and API tokens.
//!
//! Each use case prepares (checks, hashes, seals, makes ids) and submits one command; what may be done is the
//! command's to say. Secrets are kept as hashes beside the log, written in the transaction of the command.

mod authenticate;
mod forgotten;
mod invitations;
mod limiter;
mod links;
mod passwords;
mod provision;
mod reset_links;
mod sessions;
mod setup;
mod sign_in;
mod tokens;
mod users;

pub use authenticate::{AuthError, Authenticated, Credential, Liveness};
pub use invitations::{Acceptance, Invited};
pub use links::{INVITATION_PREFIX, Link, RESET_PREFIX, WaitingLink};
pub use passwords::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
pub use provision::{AccountChange, GroupChange, MemberChange, NewAccount, NewGroup, is_in_directory};
pub use reset_links::SentReset;
pub use sessions::SessionInfo;
pub use setup::{Recovered, RecoveryOf};
pub use sign_in::{SignInError, SignedIn};
pub use tokens::{IssuedToken, NewToken, TokenInfo};
pub use users::{NewUser, ProfilePatch};

pub(crate) use authenticate::flush_last_uses;
pub(crate) use setup::renew_setup_code;

use crate::{
    cache::Cache,
    config::{Config, SignInLimits},
    seal::random,
    secret::SecretText,
};
use authenticate::{Known, LastUses};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use charter_store::SecretHash;
use limiter::Limiter;
use passwords::Passwords;
use sha2::{Digest, Sha256};
use std::time::Duration;
use zeroize::Zeroizing;

/// What a session's secret begins with.
pub const SESSION_PREFIX: &str = "chs_";
/// What an API token's secret begins with.
pub const TOKEN_PREFIX: &str = "cht_";
/// 256 random bits: guessing is out of the question, so a plain hash is enough.
const SECRET_BYTES: usize = 32;
/// How many credentials are known without asking the store.
const CREDENTIALS_KNOWN_MAX: usize = 200_000;
/// How many hashes are known to be no credential's. Kept apart, so that guesses push out nothing real.
const CREDENTIALS_UNKNOWN_MAX: usize = 10_000;

/// How many users' profiles change at the same time.
const EDITED_AT_ONCE_MAX: usize = 64;

/// Letters for forgotten passwords: three at once to one name and one more each ten minutes, a hundred in all.
const LETTERS: SignInLimits = SignInLimits {
    per_name_burst: 3,
    per_name_refill: Duration::from_secs(600),
    overall_burst: 100,
    overall_refill: Duration::from_secs(1),
    hashing_at_once_max: 1,
    hashing_waiting_max: 1,
};

/// What this server remembers about credentials.
pub(crate) struct Identity {
    known: Cache<[u8; 32], Known>,
    unknown: Cache<[u8; 32], charter_events::Timestamp>,
    uses: LastUses,
    limiter: Limiter,
    /// How often somebody may have a letter sent.
    letters: Limiter,
    passwords: Passwords,
    /// One change of a user's profile at a time: it is read, changed and written as a whole.
    editing: [tokio::sync::Mutex<()>; EDITED_AT_ONCE_MAX],
}

impl Identity {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            known: Cache::new(CREDENTIALS_KNOWN_MAX),
            unknown: Cache::new(CREDENTIALS_UNKNOWN_MAX),
            uses: LastUses::default(),
            limiter: Limiter::new(&config.sign_in),
            letters: Limiter::new(&LETTERS),
            passwords: Passwords::new(&config.sign_in),
            editing: [const { tokio::sync::Mutex::const_new(()) }; EDITED_AT_ONCE_MAX],
        }
    }

    /// Held while this user's profile changes; shared by a few users.
    fn editing(&self, user: charter_events::UserId) -> &tokio::sync::Mutex<()> {
        // The last byte of a UUIDv7 is random.
        let [.., last] = *user.as_uuid().as_bytes();
        let [first, ..] = &self.editing;
        self.editing.get(usize::from(last) % EDITED_AT_ONCE_MAX).unwrap_or(first)
    }
}

/// A new bearer secret and its hash; none when the system gives no random numbers.
pub(crate) fn new_secret(prefix: &str) -> Option<(SecretText, SecretHash)> {
    let bytes = Zeroizing::new(random::<SECRET_BYTES>()?);
    let mut text = String::with_capacity(prefix.len() + SECRET_BYTES.div_ceil(3) * 4);
    text.push_str(prefix);
    URL_SAFE_NO_PAD.encode_string(*bytes, &mut text);
    let secret = SecretText::new(text);
    let hash = SecretHash::new(hash_of(secret.expose()));
    Some((secret, hash))
}

/// The hash a secret is found by. The prefix is part of it, so a secret of one kind is no secret of another.
fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
impl Identity {
    /// How many passwords were hashed or compared.
    pub(crate) fn passwords_worked(&self) -> usize {
        self.passwords.worked.load(std::sync::atomic::Ordering::SeqCst)
    }
}

#[cfg(test)]
impl crate::Control {
    /// What would be handed to the writer for a new account.
    pub(crate) fn prepare_for_tests(
        &self,
        profile: &charter_events::Profile,
    ) -> (charter_events::SealedProfile, charter_store::SecretWrite) {
        match self.prepare_user(profile) {
            Ok(prepared) => (prepared.profile, prepared.key),
            Err(error) => panic!("{error}"),
        }
    }
}
