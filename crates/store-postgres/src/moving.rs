//! Reading all that stands beside the log, a page at a time, to carry it to another store.

use crate::{
    PostgresStore, answers, readers, secrets,
    statement::{self, Statement},
};
use async_trait::async_trait;
use charter_events::UserId;
use charter_store::{
    Answer, CredentialRow, IdempotencyKey, MOVED_ROWS_MAX, MoveStore, PasswordHash, SecretHash, StoreError,
    UserKey,
};
use sqlx::{Row, postgres::PgRow};

const READING: &str = "reading what stands beside the log";

impl PostgresStore {
    async fn moved(&self, statement: Statement) -> Result<Vec<PgRow>, StoreError> {
        self.readers.rows(READING, statement, readers::READ).await
    }
}

/// A page of rows by user: the first, or the one after a user.
fn by_user(
    [first, next]: [&'static str; 2],
    after: Option<UserId>,
    limit: usize,
) -> Result<Statement, StoreError> {
    match after {
        None => Statement::new(first).with(page(limit)),
        Some(user) => Statement::new(next).with(page(limit))?.with(user.as_uuid()),
    }
}

fn page(limit: usize) -> i64 {
    statement::limit(limit.min(MOVED_ROWS_MAX))
}

#[async_trait]
impl MoveStore for PostgresStore {
    async fn user_keys_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        const PAGES: [&str; 2] = [
            "SELECT user_id, key FROM log.user_keys ORDER BY user_id LIMIT $1",
            "SELECT user_id, key FROM log.user_keys WHERE user_id > $2 ORDER BY user_id LIMIT $1",
        ];
        self.moved(by_user(PAGES, after, limit)?).await?.iter().map(secrets::user_key).collect()
    }

    async fn passwords_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, PasswordHash)>, StoreError> {
        const PAGES: [&str; 2] = [
            "SELECT user_id, hash FROM log.passwords ORDER BY user_id LIMIT $1",
            "SELECT user_id, hash FROM log.passwords WHERE user_id > $2 ORDER BY user_id LIMIT $1",
        ];
        self.moved(by_user(PAGES, after, limit)?).await?.iter().map(secrets::password).collect()
    }

    async fn credentials_after(
        &self,
        after: Option<&SecretHash>,
        limit: usize,
    ) -> Result<Vec<(SecretHash, CredentialRow)>, StoreError> {
        const SQL: &str = "SELECT kind, id, user_id, created_at, expires_at, began, last_used, hash \
                           FROM log.credentials WHERE hash > $1 ORDER BY hash LIMIT $2";
        // Every hash comes after no bytes at all.
        let after = after.map_or(&[] as &[u8], |hash| hash.expose().as_slice());
        let rows = self.moved(Statement::new(SQL).with(after)?.with(page(limit))?).await?;
        let read = |row: &PgRow| {
            let hash = row.try_get::<&[u8], _>("hash").ok().and_then(|hash| hash.try_into().ok());
            let hash = hash.ok_or_else(|| crate::error::damaged("a credential's hash can't be read"))?;
            Ok((SecretHash::new(hash), secrets::credential(row)?))
        };
        rows.iter().map(read).collect()
    }

    async fn answers_after(
        &self,
        after: Option<&IdempotencyKey>,
        limit: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        self.moved(answers::after(after, page(limit))?).await?.iter().map(answers::answer).collect()
    }
}
