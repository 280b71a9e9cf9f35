//! Reading secrets, and changing them outside an append; and the snapshots beside the database.

use crate::{
    SqliteStore, credentials, error,
    insert::Statement,
    writer::{After, Writer},
};
use async_trait::async_trait;
use charter_events::{Offset, Timestamp, UserId};
use charter_store::{
    CredentialKind, CredentialRow, FORGET_ROWS_MAX, InstallationSecrets, Key32, Loaded, PasswordHash,
    SESSIONS_LISTED_MAX, SecretHash, SecretStore, SecretWrite, ServerStore, Snapshot, SnapshotStore,
    StoreError, UserKey, Wanted, check_writes,
};
use sqlx::{Row, sqlite::SqliteRow};
use uuid::Uuid;
use zeroize::Zeroizing;

impl SqliteStore {
    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or(StoreError::ReadOnly)
    }

    /// None in a file of schema 1, which is open for reading then.
    async fn signing_key(&self) -> Result<Option<Key32>, StoreError> {
        const THERE: &str = "SELECT count(*) FROM sqlite_schema WHERE name = 'signing_key'";
        let map = |e| error::map("reading the key that signs checkpoints", e);
        let there: i64 = sqlx::query_scalar(THERE).fetch_one(&self.readers).await.map_err(map)?;
        if there == 0 {
            return Ok(None);
        }
        let key: Option<Vec<u8>> = sqlx::query_scalar("SELECT key FROM signing_key")
            .fetch_optional(&self.readers)
            .await
            .map_err(map)?;
        let Some(key) = key.map(Zeroizing::new) else { return Ok(None) };
        let bytes = key.as_slice().try_into();
        bytes
            .map(|bytes| Some(Key32::new(bytes)))
            .map_err(|_| error::damaged("the signing key can't be read"))
    }
}

#[async_trait]
impl SecretStore for SqliteStore {
    async fn installation_secrets(&self) -> Result<InstallationSecrets, StoreError> {
        let rows: Vec<(String, Vec<u8>)> = sqlx::query_as("SELECT name, value FROM installation_secrets")
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("reading the installation's keys", e))?;
        let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name, Zeroizing::new(value))).collect();
        let find = |name: &str| {
            let value = rows.iter().find(|(found, _)| found == name).map(|(_, value)| value)?;
            <[u8; 32]>::try_from(value.as_slice()).ok()
        };
        let missing = || error::damaged("the installation's keys are missing");
        Ok(InstallationSecrets {
            tag_key: Key32::new(find("tag_key").ok_or_else(missing)?),
            cursor_key: Key32::new(find("cursor_key").ok_or_else(missing)?),
            signing_key: self.signing_key().await?,
            setup_code_hash: find("setup_code_hash").map(SecretHash::new),
        })
    }

    async fn user_key(&self, user: UserId) -> Result<Option<UserKey>, StoreError> {
        let key: Option<Vec<u8>> = sqlx::query_scalar("SELECT key FROM user_keys WHERE user_id = ?")
            .bind(user.as_uuid().as_bytes().as_slice())
            .fetch_optional(&self.readers)
            .await
            .map_err(|e| error::map("reading a user's key", e))?;
        let Some(key) = key.map(Zeroizing::new) else { return Ok(None) };
        let bytes = key.as_slice().try_into().map_err(|_| error::damaged("a user's key can't be read"))?;
        Ok(Some(UserKey::new(bytes)))
    }

    async fn password(&self, user: UserId) -> Result<Option<PasswordHash>, StoreError> {
        let hash: Option<String> = sqlx::query_scalar("SELECT hash FROM passwords WHERE user_id = ?")
            .bind(user.as_uuid().as_bytes().as_slice())
            .fetch_optional(&self.readers)
            .await
            .map_err(|e| error::map("reading a password's hash", e))?;
        Ok(hash.map(PasswordHash::new))
    }

    async fn credential(&self, hash: &SecretHash) -> Result<Option<CredentialRow>, StoreError> {
        const SQL: &str = "SELECT kind, id, user_id, created_at, expires_at, began, last_used FROM credentials \
                           WHERE hash = ?";
        let row = sqlx::query(SQL)
            .bind(hash.expose().as_slice())
            .fetch_optional(&self.readers)
            .await
            .map_err(|e| error::map("reading a credential", e))?;
        row.as_ref().map(credential).transpose()
    }

    async fn credentials_of(
        &self,
        user: UserId,
        kind: CredentialKind,
    ) -> Result<Vec<CredentialRow>, StoreError> {
        const SQL: &str = "SELECT kind, id, user_id, created_at, expires_at, began, last_used FROM credentials \
                           WHERE user_id = ? AND kind = ? ORDER BY created_at DESC, id DESC LIMIT ?";
        let rows = sqlx::query(SQL)
            .bind(user.as_uuid().as_bytes().as_slice())
            .bind(kind.as_str())
            .bind(i64::try_from(SESSIONS_LISTED_MAX).unwrap_or(i64::MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(|e| error::map("listing credentials", e))?;
        rows.iter().map(credential).collect()
    }

    async fn write_secrets(&self, writes: &[SecretWrite]) -> Result<(), StoreError> {
        check_writes(writes)?;
        let writer = self.writer()?;
        if writes.is_empty() {
            return Ok(());
        }
        let statements = writes.iter().map(credentials::statement).collect::<Result<Vec<_>, _>>()?;
        let forgets = writes.iter().any(|write| matches!(write, SecretWrite::DestroyUserKey { .. }));
        writer.once(statements, if forgets { After::Forget } else { After::Nothing }).await.map(drop)
    }

    async fn forget_credentials_ended_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        const SQL: &str = "DELETE FROM credentials WHERE hash IN \
                           (SELECT hash FROM credentials WHERE expires_at < ? ORDER BY expires_at LIMIT ?)";
        let limit = i64::try_from(FORGET_ROWS_MAX).unwrap_or(i64::MAX);
        let statement = Statement::new(SQL).with(moment.as_micros())?.with(limit)?;
        let gone = self.writer()?.once(vec![statement], After::Tidy).await?;
        Ok(usize::try_from(gone).unwrap_or(usize::MAX))
    }
}

/// Reads a row that has the columns of a session or token.
pub(crate) fn credential(row: &SqliteRow) -> Result<CredentialRow, StoreError> {
    let bytes = |name| row.try_get::<&[u8], _>(name).ok().and_then(|bytes| Uuid::from_slice(bytes).ok());
    // `None` when unreadable, `Some(None)` when there is none.
    let moment = |name| match row.try_get::<Option<i64>, _>(name).ok()? {
        Some(micros) => Timestamp::from_micros(micros).map(Some),
        None => Some(None),
    };
    let read = || {
        Some(CredentialRow {
            kind: CredentialKind::of(row.try_get("kind").ok()?)?,
            id: bytes("id")?,
            user: UserId::new(bytes("user_id")?),
            created_at: moment("created_at")??,
            expires_at: moment("expires_at")?,
            began: Offset::new(u64::try_from(row.try_get::<i64, _>("began").ok()?).ok()?)?,
            last_used: moment("last_used")?,
        })
    };
    read().ok_or_else(|| error::damaged("a session or token can't be read"))
}

#[async_trait]
impl SnapshotStore for SqliteStore {
    async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.writer()?;
        self.snapshots.save(snapshot).await
    }

    async fn latest(&self, wanted: &Wanted) -> Result<Loaded, StoreError> {
        self.snapshots.latest(self, wanted).await
    }
}

/// One server at a time has the folder, so it is alone.
#[async_trait]
impl ServerStore for SqliteStore {}
