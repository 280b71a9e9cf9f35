//! What a store in memory keeps beside the log, page by page.

use super::MemoryStore;
use crate::{
    error::StoreError,
    log::{Answer, IdempotencyKey},
    moving::{MOVED_ROWS_MAX, MoveStore},
    secrets::{CredentialRow, PasswordHash, SecretHash, UserKey},
};
use async_trait::async_trait;
use charter_events::UserId;
use std::ops::Bound;

fn beyond<T>(after: Option<T>) -> (Bound<T>, Bound<T>) {
    (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}

#[async_trait]
impl MoveStore for MemoryStore {
    async fn user_keys_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        let kept = self.read_kept();
        let rows = kept.secrets.user_keys.range(beyond(after)).take(limit.min(MOVED_ROWS_MAX));
        Ok(rows.map(|(user, key)| (*user, key.clone())).collect())
    }

    async fn passwords_after(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, PasswordHash)>, StoreError> {
        let kept = self.read_kept();
        let rows = kept.secrets.passwords.range(beyond(after)).take(limit.min(MOVED_ROWS_MAX));
        Ok(rows.map(|(user, hash)| (*user, hash.clone())).collect())
    }

    async fn credentials_after(
        &self,
        after: Option<&SecretHash>,
        limit: usize,
    ) -> Result<Vec<(SecretHash, CredentialRow)>, StoreError> {
        let mut rows = self.read_kept().secrets.credentials.clone();
        rows.retain(|(hash, _)| after.is_none_or(|after| hash.expose() > after.expose()));
        rows.sort_by_key(|(hash, _)| *hash.expose());
        rows.truncate(limit.min(MOVED_ROWS_MAX));
        Ok(rows)
    }

    async fn answers_after(
        &self,
        after: Option<&IdempotencyKey>,
        limit: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        let kept = self.read_kept();
        let rows = kept.answers.range::<IdempotencyKey, _>(beyond(after)).take(limit.min(MOVED_ROWS_MAX));
        Ok(rows.map(|(_, answer)| answer.clone()).collect())
    }
}
