//! What stands beside the log, page by page, for carrying it to another store.

use crate::{SqliteStore, append, error, secrets::credential};
use async_trait::async_trait;
use charter_events::UserId;
use charter_store::{
    Answer, CredentialRow, IdempotencyKey, MOVED_ROWS_MAX, MoveStore, PasswordHash, SecretHash, StoreError,
    UserKey,
};
use sqlx::Row;
use uuid::Uuid;
use zeroize::Zeroizing;

fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit.min(MOVED_ROWS_MAX)).unwrap_or(i64::MAX)
}

/// A key that sorts before every other when there is none.
fn after_user(after: Option<UserId>) -> Vec<u8> {
    after.map(|user| user.as_uuid().as_bytes().to_vec()).unwrap_or_default()
}

fn user(bytes: &[u8]) -> Result<UserId, StoreError> {
    Uuid::from_slice(bytes).map(UserId::new).map_err(|_| error::damaged("a user's id can't be read"))
}

fn key(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| error::damaged("a key can't be read"))
}

#[async_trait]
impl MoveStore for SqliteStore {
    async fn user_keys_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        const SQL: &str = "SELECT user_id, key FROM user_keys WHERE user_id > ? ORDER BY user_id LIMIT ?";
        let rows: Vec<(Vec<u8>, Vec<u8>)> = sqlx::query_as(SQL)
            .bind(after_user(after))
            .bind(rows_max(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("reading users' keys", e))?;
        let rows = rows.into_iter().map(|(id, bytes)| (id, Zeroizing::new(bytes)));
        rows.map(|(id, bytes)| Ok((user(&id)?, UserKey::new(key(&bytes)?)))).collect()
    }

    async fn passwords_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, PasswordHash)>, StoreError> {
        const SQL: &str = "SELECT user_id, hash FROM passwords WHERE user_id > ? ORDER BY user_id LIMIT ?";
        let rows: Vec<(Vec<u8>, String)> = sqlx::query_as(SQL)
            .bind(after_user(after))
            .bind(rows_max(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("reading passwords' hashes", e))?;
        rows.into_iter().map(|(id, hash)| Ok((user(&id)?, PasswordHash::new(hash)))).collect()
    }

    async fn credentials_after(
        &self,
        after: Option<&SecretHash>,
        limit: usize,
    ) -> Result<Vec<(SecretHash, CredentialRow)>, StoreError> {
        const SQL: &str = "SELECT hash, kind, id, user_id, created_at, expires_at, began, last_used \
                           FROM credentials WHERE hash > ? ORDER BY hash LIMIT ?";
        let rows = sqlx::query(SQL)
            .bind(after.map(|hash| hash.expose().to_vec()).unwrap_or_default())
            .bind(rows_max(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("reading sessions and tokens", e))?;
        let hash = |row: &sqlx::sqlite::SqliteRow| {
            let bytes: &[u8] =
                row.try_get("hash").map_err(|_| error::damaged("a session or token can't be read"))?;
            key(bytes).map(SecretHash::new)
        };
        rows.iter().map(|row| Ok((hash(row)?, credential(row)?))).collect()
    }

    async fn answers_after(
        &self,
        after: Option<&IdempotencyKey>,
        limit: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        const SQL: &str = "SELECT caller, key, request_hash, command_id, first, last, created, secret, at \
                           FROM answers WHERE (caller, key) > (?, ?) OR ? ORDER BY caller, key LIMIT ?";
        type Named = (String, String, Vec<u8>, Vec<u8>, i64, i64, Option<Vec<u8>>, bool, i64);
        let rows: Vec<Named> = sqlx::query_as(SQL)
            .bind(after.map_or("", |key| key.caller.as_str()))
            .bind(after.map_or("", |key| key.key.as_str()))
            .bind(after.is_none())
            .bind(rows_max(limit))
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("reading answers", e))?;
        let read = |(caller, key, request_hash, command_id, first, last, created, secret, at)| {
            let row = (request_hash, command_id, first, last, created, secret, at);
            append::kept(IdempotencyKey { caller, key }, row)
        };
        rows.into_iter().map(read).collect()
    }
}
