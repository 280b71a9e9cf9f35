//! The first administrator, and one recovered from the host.

use super::users::PreparedUser;
use crate::{
    control::Control,
    error::{CommandError, IdentityError, StartError},
    request::{Receipt, Request, RequestMeta},
    seal::random,
    secret::SecretText,
    writer,
};
use charter_commands::{Code, RecoverAdministrator, Setup};
use charter_events::{NameTag, Profile, Sealed, SealedProfile, UserId, Via};
use charter_policy::Caller;
use charter_store::{CredentialKind, SecretHash, SecretWrite};
use uuid::Uuid;

/// 26 characters of five bits: 130 random bits.
const CODE_CHARS: usize = 26;
/// Between groups of so many there is a hyphen.
const CODE_GROUP_CHARS: usize = 5;
/// Without `I`, `L`, `O` and `U`, which are misread (Crockford's base 32).
const CODE_ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Whom to make an administrator again.
#[derive(Clone)]
pub enum RecoveryOf {
    /// An account there is; it gets a new password if one is given.
    Existing(UserId),
    /// A new account with these names.
    New(Profile),
}

/// An administrator recovered from the host.
#[derive(Debug, Clone, Copy)]
pub struct Recovered {
    /// The account.
    pub user: UserId,
    /// The answer to the command.
    pub receipt: Receipt,
}

impl Control {
    /// Whether the first administrator may still be made: only while there never was one.
    pub fn setup_is_open(&self) -> bool {
        let profile = SealedProfile {
            sealed: Sealed::new(&[]),
            username: NameTag::new([0; 32]),
            login_name: None,
            external_id: None,
            identity: None,
        };
        let command = Setup { user: UserId::new(Uuid::nil()), profile, has_password: true };
        let request = Request::new(Caller::System, command.into(), RequestMeta::new(Via::System));
        // The command's own rule is asked, so that there is one rule.
        match writer::try_on(&self.inner, &self.policy(), &request) {
            Ok(_) => true,
            Err(refusal) => refusal.code != Code::SetupClosed,
        }
    }

    /// Makes the first administrator, for whoever has the setup code.
    ///
    /// # Errors
    /// [`IdentityError::Wrong`] when the code is wrong; `setup_closed` once there was an administrator.
    pub async fn setup(
        &self,
        code: &SecretText,
        profile: Profile,
        password: SecretText,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let inner = &self.inner;
        let tag = inner.sealing.attempts_tag("setup", "");
        inner
            .identity
            .limiter
            .attempt(tag.as_bytes(), inner.time())
            .map_err(|retry_after_seconds| IdentityError::TooManyAttempts { retry_after_seconds })?;
        if !self.follow_others().await {
            return Err(CommandError::Unavailable { reason: "the store can't be reached" }.into());
        }
        if self.setup_is_open() {
            let expected = inner.store.installation_secrets().await?.setup_code_hash;
            // Compared as hashes, and those in constant time.
            if expected.as_ref() != Some(&code_hash(code)) {
                return Err(IdentityError::Wrong { what: "setup code" });
            }
        }
        let PreparedUser { user, profile: sealed, key } = self.prepare_user(&profile)?;
        let command = Setup { user, profile: sealed, has_password: true };
        let secrets = vec![key, SecretWrite::ClearSetupCode];
        let request = Request { secrets, ..Request::new(Caller::System, command.into(), meta) };
        self.submit_with_password(request, user, &password, Some(&profile)).await
    }

    /// Makes somebody a lasting administrator, for whoever has the host. Recorded as the system's act.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn recover_administrator(
        &self,
        whom: RecoveryOf,
        password: Option<SecretText>,
        meta: RequestMeta,
    ) -> Result<Recovered, IdentityError> {
        let has_password = password.is_some();
        let (command, secrets, names) = match whom {
            RecoveryOf::New(names) => {
                let PreparedUser { user, profile, key } = self.prepare_user(&names)?;
                let command = RecoverAdministrator { user, profile: Some(profile), has_password };
                (command, vec![key], Some(names))
            }
            RecoveryOf::Existing(user) => {
                let names = self.profile(user).await;
                let sessions = SecretWrite::RemoveCredentialsOf { user, kind: Some(CredentialKind::Session) };
                (RecoverAdministrator { user, profile: None, has_password }, vec![sessions], names)
            }
        };
        let user = command.user;
        let request = Request { secrets, ..Request::new(Caller::System, command.into(), meta) };
        let receipt = match &password {
            Some(password) => self.submit_with_password(request, user, password, names.as_ref()).await?,
            None => self.submit(request).await?,
        };
        Ok(Recovered { user, receipt })
    }
}

/// A fresh setup code while there never was an administrator; the old one works no longer, whichever server showed it.
pub(crate) async fn renew_setup_code(control: &Control) -> Result<Option<SecretText>, StartError> {
    if !control.setup_is_open() {
        control.inner.store.write_secrets(&[SecretWrite::ClearSetupCode]).await?;
        return Ok(None);
    }
    let code = new_code().ok_or(StartError::NoRandomness)?;
    control.inner.store.write_secrets(&[SecretWrite::PutSetupCode { hash: code_hash(&code) }]).await?;
    Ok(Some(code))
}

fn new_code() -> Option<SecretText> {
    let bytes = random::<CODE_CHARS>()?;
    let mut text = String::with_capacity(CODE_CHARS + CODE_CHARS / CODE_GROUP_CHARS);
    for (place, byte) in bytes.into_iter().enumerate() {
        if place > 0 && place % CODE_GROUP_CHARS == 0 {
            text.push('-');
        }
        let letter = CODE_ALPHABET.get(usize::from(byte % 32))?;
        text.push(char::from(*letter));
    }
    Some(SecretText::new(text))
}

/// Typed by hand: case and hyphens don't count.
fn code_hash(code: &SecretText) -> SecretHash {
    let plain: String =
        code.expose().chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_uppercase()).collect();
    SecretHash::new(super::hash_of(&format!("setup_{}", SecretText::new(plain).expose())))
}

// The least that is random about a code.
const _: () = assert!(CODE_CHARS * 5 >= 128 && CODE_ALPHABET.len() == 32);

impl std::fmt::Debug for RecoveryOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Existing(user) => f.debug_tuple("Existing").field(user).finish(),
            Self::New(_) => f.write_str("New(…)"),
        }
    }
}
