//! Stands in for the ports until they are written.

use crate::PostgresStore;
use async_trait::async_trait;
use charter_events::{Head, LogId, Offset, StoredEvent, Timestamp, UserId};
use charter_store::{
    Answer, Append, CredentialKind, CredentialRow, IdempotencyKey, InstallationSecrets, Loaded, LogStore, PasswordHash,
    SecretHash, SecretStore, SecretWrite, ServerStore, Snapshot, SnapshotStore, StoreError, UserKey, Wanted,
};

type Done<T> = Result<T, StoreError>;

#[async_trait]
impl LogStore for PostgresStore {
    async fn head(&self) -> Done<Head> {
        Err(StoreError::Closed)
    }
    async fn read(&self, _: Offset, _: usize) -> Done<Vec<StoredEvent>> {
        Err(StoreError::Closed)
    }
    async fn append(&self) -> Done<Box<dyn Append>> {
        Err(StoreError::Closed)
    }
    async fn kept_answer(&self, _: &IdempotencyKey) -> Done<Option<Answer>> {
        Err(StoreError::Closed)
    }
    async fn forget_answers_before(&self, _: Timestamp) -> Done<usize> {
        Err(StoreError::Closed)
    }
    async fn adopt(&self, _: LogId) -> Done<()> {
        Err(StoreError::Closed)
    }
}

#[async_trait]
impl SecretStore for PostgresStore {
    async fn installation_secrets(&self) -> Done<InstallationSecrets> {
        Err(StoreError::Closed)
    }
    async fn user_key(&self, _: UserId) -> Done<Option<UserKey>> {
        Err(StoreError::Closed)
    }
    async fn password(&self, _: UserId) -> Done<Option<PasswordHash>> {
        Err(StoreError::Closed)
    }
    async fn credential(&self, _: &SecretHash) -> Done<Option<CredentialRow>> {
        Err(StoreError::Closed)
    }
    async fn credentials_of(&self, _: UserId, _: CredentialKind) -> Done<Vec<CredentialRow>> {
        Err(StoreError::Closed)
    }
    async fn write_secrets(&self, _: &[SecretWrite]) -> Done<()> {
        Err(StoreError::Closed)
    }
    async fn forget_credentials_ended_before(&self, _: Timestamp) -> Done<usize> {
        Err(StoreError::Closed)
    }
}

#[async_trait]
impl SnapshotStore for PostgresStore {
    async fn save(&self, snapshot: Snapshot) -> Done<()> {
        self.snapshots.save(snapshot).await
    }
    async fn latest(&self, wanted: &Wanted) -> Done<Loaded> {
        self.snapshots.latest(self, wanted).await
    }
}

impl ServerStore for PostgresStore {}
impl charter_store::MoveStore for PostgresStore {}
