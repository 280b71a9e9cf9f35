//! Changes of secrets as statements.

use crate::statement::{Statement, integer};
use charter_events::{Timestamp, UserId};
use charter_store::{CredentialRef, CredentialRow, SecretHash, SecretWrite, StoreError};
use std::collections::BTreeMap;
use uuid::Uuid;

const PUT_USER_KEY: &str = "INSERT INTO log.user_keys (user_id, key) VALUES ($1, $2)";
const DESTROY_USER_KEY: &str = "DELETE FROM log.user_keys WHERE user_id = $1";
const PUT_PASSWORD: &str = "INSERT INTO log.passwords (user_id, hash) VALUES ($1, $2) \
                            ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash";
const REMOVE_PASSWORD: &str = "DELETE FROM log.passwords WHERE user_id = $1";
const PUT_CREDENTIAL: &str = "INSERT INTO log.credentials \
    (hash, kind, id, user_id, created_at, expires_at, began, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const REMOVE_BY_HASH: &str = "DELETE FROM log.credentials WHERE hash = $1";
const REMOVE_BY_ID: &str = "DELETE FROM log.credentials WHERE id = $1";
const REMOVE_OF_USER: &str = "DELETE FROM log.credentials WHERE user_id = $1";
const REMOVE_OF_KIND: &str = "DELETE FROM log.credentials WHERE user_id = $1 AND kind = $2";
const TOUCH: &str = "UPDATE log.credentials AS used SET last_used = greatest(used.last_used, seen.at) \
                     FROM unnest($1::uuid[], $2::bigint[]) AS seen (id, at) WHERE used.id = seen.id";
const PUT_SETUP_CODE: &str = "INSERT INTO log.setup_code (hash) VALUES ($1) \
                              ON CONFLICT (one) DO UPDATE SET hash = excluded.hash";
const CLEAR_SETUP_CODE: &str = "DELETE FROM log.setup_code";
/// Where there is a user's key, a trigger refuses it.
const PUT_INSTALLATION_KEYS: &str = "UPDATE log.installation_secrets \
    SET value = CASE WHEN name = 'tag_key' THEN $1 ELSE $2 END WHERE name IN ('tag_key', 'cursor_key')";
const PUT_SIGNING_KEY: &str = "UPDATE log.signing_key SET key = $1";

/// The statements that make changes, in order. Uses that follow each other become one statement: there are many.
pub(crate) fn statements(
    writes: &[SecretWrite],
) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    let is_touch = |write: &SecretWrite| matches!(write, SecretWrite::TouchCredential { .. });
    writes.chunk_by(move |one, next| is_touch(one) && is_touch(next)).map(move |run| match run {
        [write] if !is_touch(write) => statement(write),
        uses => touch(uses),
    })
}

fn touch(uses: &[SecretWrite]) -> Result<Statement, StoreError> {
    let mut last: BTreeMap<Uuid, Timestamp> = BTreeMap::new();
    for write in uses {
        if let SecretWrite::TouchCredential { id, at } = write {
            let known = last.entry(*id).or_insert(*at);
            *known = (*known).max(*at);
        }
    }
    let moments: Vec<_> = last.values().map(|at| at.as_micros()).collect();
    Statement::new(TOUCH).with(last.into_keys().collect::<Vec<_>>())?.with(moments)
}

fn statement(write: &SecretWrite) -> Result<Statement, StoreError> {
    let of = |sql, user: &UserId| Statement::new(sql).with(user.as_uuid());
    match write {
        SecretWrite::PutUserKey { user, key } => of(PUT_USER_KEY, user)?.with(key.expose().as_slice()),
        SecretWrite::DestroyUserKey { user } => of(DESTROY_USER_KEY, user),
        SecretWrite::PutPassword { user, hash } => of(PUT_PASSWORD, user)?.with(hash.expose()),
        SecretWrite::RemovePassword { user } => of(REMOVE_PASSWORD, user),
        SecretWrite::PutCredential { hash, row } => put(hash, row),
        SecretWrite::RemoveCredential(CredentialRef::Hash(hash)) => {
            Statement::new(REMOVE_BY_HASH).with(hash.expose().as_slice())
        }
        SecretWrite::RemoveCredential(CredentialRef::Id(id)) => Statement::new(REMOVE_BY_ID).with(*id),
        SecretWrite::RemoveCredentialsOf { user, kind: None } => of(REMOVE_OF_USER, user),
        SecretWrite::RemoveCredentialsOf { user, kind: Some(kind) } => {
            of(REMOVE_OF_KIND, user)?.with(kind.as_str())
        }
        SecretWrite::TouchCredential { .. } => touch(std::slice::from_ref(write)),
        SecretWrite::PutSetupCode { hash } => Statement::new(PUT_SETUP_CODE).with(hash.expose().as_slice()),
        SecretWrite::PutSigningKey { key } => Statement::new(PUT_SIGNING_KEY).with(key.expose().as_slice()),
        SecretWrite::ClearSetupCode => Ok(Statement::new(CLEAR_SETUP_CODE)),
        SecretWrite::PutInstallationKeys { tag_key, cursor_key } => Statement::new(PUT_INSTALLATION_KEYS)
            .with(tag_key.expose().as_slice())?
            .with(cursor_key.expose().as_slice()),
    }
}

fn put(hash: &SecretHash, row: &CredentialRow) -> Result<Statement, StoreError> {
    Statement::new(PUT_CREDENTIAL)
        .with(hash.expose().as_slice())?
        .with(row.kind.as_str())?
        .with(row.id)?
        .with(row.user.as_uuid())?
        .with(row.created_at.as_micros())?
        .with(row.expires_at.map(Timestamp::as_micros))?
        .with(integer(row.began.get())?)?
        .with(row.last_used.map(Timestamp::as_micros))
}
