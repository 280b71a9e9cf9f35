//! The lines of a file of secrets: their form, both ways. `Debug` shows nothing of them.

use charter_events::{CommandId, Hash, Head, LogId, Offset, Timestamp, UserId};
use charter_store::{
    Answer, CredentialKind, CredentialRow, IdempotencyKey, InstallationSecrets, Key32, PasswordHash,
    SecretHash, SecretWrite, UserKey,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use uuid::Uuid;
use zeroize::Zeroizing;

/// The longest line, in bytes.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024;
const FORMAT: &str = "charter-secrets.v1";
const WARNING: &str = "keys and password hashes of an installation: keep secret, destroy after the move";

/// 32 secret bytes, as hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Hex(Zeroizing<[u8; 32]>);

impl Hex {
    pub(crate) fn new(bytes: &[u8; 32]) -> Self {
        Self(Zeroizing::new(*bytes))
    }

    pub(crate) fn bytes(&self) -> [u8; 32] {
        *self.0
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Zeroizing::new(hex::encode(*self.0)))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.as_bytes(), &mut *bytes)
            .map_err(|_| D::Error::custom("not 64 hex digits"))?;
        Ok(Self(bytes))
    }
}

/// What the file is, which log it belongs to, and the installation's own keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstLine {
    format: String,
    warning: String,
    pub(super) log_id: LogId,
    pub(super) head: Offset,
    pub(super) head_hash: Hash,
    tag_key: Hex,
    cursor_key: Hex,
    /// Absent in files of builds that signed no checkpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signing_key: Option<Hex>,
    setup_code_hash: Option<Hex>,
}

impl FirstLine {
    pub(super) fn new(head: &Head, keys: &InstallationSecrets) -> Self {
        Self {
            format: FORMAT.to_owned(),
            warning: WARNING.to_owned(),
            log_id: head.log_id,
            head: head.offset,
            head_hash: head.hash,
            tag_key: Hex::new(keys.tag_key.expose()),
            cursor_key: Hex::new(keys.cursor_key.expose()),
            signing_key: keys.signing_key.as_ref().map(|key| Hex::new(key.expose())),
            setup_code_hash: keys.setup_code_hash.as_ref().map(|hash| Hex::new(hash.expose())),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        self.format == FORMAT
    }

    /// Whether these are the keys a store has.
    pub(super) fn has_keys(&self, kept: &InstallationSecrets) -> bool {
        let signing = |key: &Hex| kept.signing_key.as_ref().is_some_and(|kept| key.bytes() == *kept.expose());
        self.tag_key.bytes() == *kept.tag_key.expose()
            && self.cursor_key.bytes() == *kept.cursor_key.expose()
            && self.signing_key.as_ref().is_none_or(signing)
    }

    /// What makes them a store's.
    pub(super) fn writes(&self) -> Vec<SecretWrite> {
        let code = self.setup_code_hash.as_ref().map(|hash| SecretHash::new(hash.bytes()));
        let mut writes = vec![
            SecretWrite::PutInstallationKeys {
                tag_key: Key32::new(self.tag_key.bytes()),
                cursor_key: Key32::new(self.cursor_key.bytes()),
            },
            code.map_or(SecretWrite::ClearSetupCode, |hash| SecretWrite::PutSetupCode { hash }),
        ];
        // Without one the store keeps its own: nobody holds a checkpoint of the other.
        let key = self.signing_key.as_ref().map(|key| Key32::new(key.bytes()));
        writes.extend(key.map(|key| SecretWrite::PutSigningKey { key }));
        writes
    }
}

/// Any other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Row {
    UserKey {
        user: UserId,
        key: Hex,
    },
    Password {
        user: UserId,
        hash: String,
    },
    Session(Credential),
    Token(Credential),
    Invitation(Credential),
    Reset(Credential),
    Answer(Kept),
    /// The last one.
    End {
        rows: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credential {
    hash: Hex,
    id: Uuid,
    user: UserId,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    began: Offset,
    last_used: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    caller: String,
    key: String,
    request_hash: Hash,
    command_id: CommandId,
    first: Offset,
    last: Offset,
    created: Option<Uuid>,
    secret: bool,
    at: Timestamp,
}

/// A row as it is written into a store.
pub(super) enum Written {
    Secret(SecretWrite),
    Answer(Answer),
    End { rows: u64 },
}

impl Row {
    pub(super) fn user_key((user, key): (UserId, UserKey)) -> Self {
        Self::UserKey { user, key: Hex::new(key.expose()) }
    }

    pub(super) fn password((user, hash): (UserId, PasswordHash)) -> Self {
        Self::Password { user, hash: hash.expose().to_owned() }
    }

    pub(super) fn credential((hash, row): (SecretHash, CredentialRow)) -> Self {
        let CredentialRow { kind, id, user, created_at, expires_at, began, last_used } = row;
        let hash = Hex::new(hash.expose());
        let row = Credential { hash, id, user, created_at, expires_at, began, last_used };
        match kind {
            CredentialKind::Session => Self::Session(row),
            CredentialKind::Token => Self::Token(row),
            CredentialKind::Invitation => Self::Invitation(row),
            CredentialKind::Reset => Self::Reset(row),
        }
    }

    pub(super) fn answer(answer: Answer) -> Self {
        let Answer { key, request_hash, command_id, first, last, created, secret, at } = answer;
        let IdempotencyKey { caller, key } = key;
        Self::Answer(Kept { caller, key, request_hash, command_id, first, last, created, secret, at })
    }

    pub(super) fn written(self) -> Written {
        Written::Secret(match self {
            Self::UserKey { user, key } => SecretWrite::PutUserKey { user, key: UserKey::new(key.bytes()) },
            Self::Password { user, hash } => SecretWrite::PutPassword { user, hash: PasswordHash::new(hash) },
            Self::Session(row) => row.written(CredentialKind::Session),
            Self::Token(row) => row.written(CredentialKind::Token),
            Self::Invitation(row) => row.written(CredentialKind::Invitation),
            Self::Reset(row) => row.written(CredentialKind::Reset),
            Self::Answer(kept) => return Written::Answer(kept.answer()),
            Self::End { rows } => return Written::End { rows },
        })
    }
}

impl Credential {
    fn written(self, kind: CredentialKind) -> SecretWrite {
        let Self { hash, id, user, created_at, expires_at, began, last_used } = self;
        let row = CredentialRow { kind, id, user, created_at, expires_at, began, last_used };
        SecretWrite::PutCredential { hash: SecretHash::new(hash.bytes()), row }
    }
}

impl Kept {
    fn answer(self) -> Answer {
        let Self { caller, key, request_hash, command_id, first, last, created, secret, at } = self;
        let key = IdempotencyKey { caller, key };
        Answer { key, request_hash, command_id, first, last, created, secret, at }
    }
}
