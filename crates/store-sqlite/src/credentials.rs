//! Changes of secrets as statements.

use crate::insert::{Statement, integer};
use charter_store::{CredentialRef, CredentialRow, SecretHash, SecretWrite, StoreError};

const PUT_USER_KEY: &str = "INSERT INTO user_keys (user_id, key) VALUES (?, ?)";
const DESTROY_USER_KEY: &str = "DELETE FROM user_keys WHERE user_id = ?";
const PUT_PASSWORD: &str = "INSERT INTO passwords (user_id, hash) VALUES (?, ?) \
                            ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash";
const REMOVE_PASSWORD: &str = "DELETE FROM passwords WHERE user_id = ?";
const PUT_CREDENTIAL: &str = "INSERT INTO credentials \
    (hash, kind, id, user_id, created_at, expires_at, began, last_used) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
const REMOVE_BY_HASH: &str = "DELETE FROM credentials WHERE hash = ?";
const REMOVE_BY_ID: &str = "DELETE FROM credentials WHERE id = ?";
const REMOVE_OF_USER: &str = "DELETE FROM credentials WHERE user_id = ?";
const REMOVE_OF_KIND: &str = "DELETE FROM credentials WHERE user_id = ? AND kind = ?";
const TOUCH: &str = "UPDATE credentials SET last_used = max(coalesce(last_used, ?1), ?1) WHERE id = ?2";
const PUT_SETUP_CODE: &str = "INSERT INTO installation_secrets (name, value) VALUES ('setup_code_hash', ?) \
                              ON CONFLICT (name) DO UPDATE SET value = excluded.value";
/// Nothing is no key, so that the table refuses it while there are users.
const PUT_INSTALLATION_KEYS: &str = "UPDATE installation_secrets SET value = \
    CASE WHEN EXISTS (SELECT 1 FROM user_keys) THEN NULL WHEN name = 'tag_key' THEN ?1 ELSE ?2 END \
    WHERE name IN ('tag_key', 'cursor_key')";
const PUT_SIGNING_KEY: &str =
    "UPDATE signing_key SET key = CASE WHEN EXISTS (SELECT 1 FROM user_keys) THEN NULL ELSE ?1 END";
const CLEAR_SETUP_CODE: &str = "DELETE FROM installation_secrets WHERE name = 'setup_code_hash'";

/// The statement that makes a change.
pub(crate) fn statement(write: &SecretWrite) -> Result<Statement, StoreError> {
    let of =
        |sql, user: &charter_events::UserId| Statement::new(sql).with(user.as_uuid().as_bytes().as_slice());
    match write {
        SecretWrite::PutUserKey { user, key } => of(PUT_USER_KEY, user)?.with(key.expose().as_slice()),
        SecretWrite::DestroyUserKey { user } => of(DESTROY_USER_KEY, user),
        SecretWrite::PutPassword { user, hash } => of(PUT_PASSWORD, user)?.with(hash.expose()),
        SecretWrite::RemovePassword { user } => of(REMOVE_PASSWORD, user),
        SecretWrite::PutCredential { hash, row } => put(hash, row),
        SecretWrite::RemoveCredential(CredentialRef::Hash(hash)) => {
            Statement::new(REMOVE_BY_HASH).with(hash.expose().as_slice())
        }
        SecretWrite::RemoveCredential(CredentialRef::Id(id)) => {
            Statement::new(REMOVE_BY_ID).with(id.as_bytes().as_slice())
        }
        SecretWrite::RemoveCredentialsOf { user, kind: None } => of(REMOVE_OF_USER, user),
        SecretWrite::RemoveCredentialsOf { user, kind: Some(kind) } => {
            of(REMOVE_OF_KIND, user)?.with(kind.as_str())
        }
        SecretWrite::TouchCredential { id, at } => {
            Statement::new(TOUCH).with(at.as_micros())?.with(id.as_bytes().as_slice())
        }
        SecretWrite::PutSetupCode { hash } => Statement::new(PUT_SETUP_CODE).with(hash.expose().as_slice()),
        SecretWrite::PutInstallationKeys { tag_key, cursor_key } => Statement::new(PUT_INSTALLATION_KEYS)
            .with(tag_key.expose().as_slice())?
            .with(cursor_key.expose().as_slice()),
        SecretWrite::PutSigningKey { key } => Statement::new(PUT_SIGNING_KEY).with(key.expose().as_slice()),
        SecretWrite::ClearSetupCode => Ok(Statement::new(CLEAR_SETUP_CODE)),
    }
}

fn put(hash: &SecretHash, row: &CredentialRow) -> Result<Statement, StoreError> {
    Statement::new(PUT_CREDENTIAL)
        .with(hash.expose().as_slice())?
        .with(row.kind.as_str())?
        .with(row.id.as_bytes().as_slice())?
        .with(row.user.as_uuid().as_bytes().as_slice())?
        .with(row.created_at.as_micros())?
        .with(row.expires_at.map(charter_events::Timestamp::as_micros))?
        .with(integer(row.began.get())?)?
        .with(row.last_used.map(charter_events::Timestamp::as_micros))
}
