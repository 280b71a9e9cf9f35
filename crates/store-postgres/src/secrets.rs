//! Reading secrets, and changing them outside an append; and the snapshots beside the database.

use crate::{
    PostgresStore, credentials, error, readers,
    statement::{self, Statement},
    writer::Writer,
};
use async_trait::async_trait;
use charter_events::{Offset, Timestamp, UserId};
use charter_store::{
    CredentialKind, CredentialRow, FORGET_ROWS_MAX, InstallationSecrets, Key32, Loaded, PasswordHash,
    SECRET_WRITES_MAX, SESSIONS_LISTED_MAX, SecretHash, SecretStore, SecretWrite, Snapshot, SnapshotStore,
    StoreError, UserKey, Wanted, check_writes,
};
use sqlx::{Row, postgres::PgRow};
use std::collections::BTreeMap;
use uuid::Uuid;
use zeroize::Zeroizing;

impl PostgresStore {
    pub(crate) fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or(StoreError::ReadOnly)
    }

    async fn secret_rows(&self, what: &'static str, statement: Statement) -> Result<Vec<PgRow>, StoreError> {
        self.readers.rows(what, statement, readers::READ).await
    }
}

#[async_trait]
impl SecretStore for PostgresStore {
    async fn installation_secrets(&self) -> Result<InstallationSecrets, StoreError> {
        const SQL: &str = "SELECT name, value FROM log.installation_secrets \
                           UNION ALL SELECT 'signing_key', key FROM log.signing_key \
                           UNION ALL SELECT 'setup_code_hash', hash FROM log.setup_code";
        let rows = self.secret_rows("reading the installation's keys", Statement::new(SQL)).await?;
        let find = |name: &str| {
            let row = rows.iter().find(|row| row.try_get::<&str, _>(0).is_ok_and(|found| found == name))?;
            key(row, 1)
        };
        let missing = || error::damaged("the installation's keys are missing");
        Ok(InstallationSecrets {
            tag_key: Key32::new(find("tag_key").ok_or_else(missing)?),
            cursor_key: Key32::new(find("cursor_key").ok_or_else(missing)?),
            signing_key: find("signing_key").map(Key32::new),
            setup_code_hash: find("setup_code_hash").map(SecretHash::new),
        })
    }

    async fn user_key(&self, user: UserId) -> Result<Option<UserKey>, StoreError> {
        Ok(self.user_keys(&[user]).await?.pop().map(|(_, key)| key))
    }

    async fn user_keys(&self, users: &[UserId]) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        const SQL: &str = "SELECT user_id, key FROM log.user_keys WHERE user_id = ANY($1)";
        let users = users.get(..SECRET_WRITES_MAX).unwrap_or(users);
        let ids: Vec<Uuid> = users.iter().map(|user| user.as_uuid()).collect();
        let rows = self.secret_rows("reading users' keys", Statement::new(SQL).with(ids)?).await?;
        let found: BTreeMap<_, _> = rows.iter().map(user_key).collect::<Result<_, _>>()?;
        Ok(users.iter().filter_map(|user| Some((*user, found.get(user)?.clone()))).collect())
    }

    async fn password(&self, user: UserId) -> Result<Option<PasswordHash>, StoreError> {
        const SQL: &str = "SELECT user_id, hash FROM log.passwords WHERE user_id = $1";
        let statement = Statement::new(SQL).with(user.as_uuid())?;
        let rows = self.secret_rows("reading a password's hash", statement).await?;
        Ok(rows.first().map(password).transpose()?.map(|(_, hash)| hash))
    }

    async fn credential(&self, hash: &SecretHash) -> Result<Option<CredentialRow>, StoreError> {
        const SQL: &str = "SELECT kind, id, user_id, created_at, expires_at, began, last_used \
                           FROM log.credentials WHERE hash = $1";
        let statement = Statement::new(SQL).with(hash.expose().as_slice())?;
        // Anyone may make this be asked: it has a few connections of its own.
        let rows = self.credentials.rows("reading a credential", statement, readers::GLANCE).await?;
        rows.first().map(credential).transpose()
    }

    async fn credentials_of(
        &self,
        user: UserId,
        kind: CredentialKind,
    ) -> Result<Vec<CredentialRow>, StoreError> {
        const SQL: &str = "SELECT kind, id, user_id, created_at, expires_at, began, last_used \
                           FROM log.credentials WHERE user_id = $1 AND kind = $2 \
                           ORDER BY created_at DESC, id DESC LIMIT $3";
        let statement = Statement::new(SQL)
            .with(user.as_uuid())?
            .with(kind.as_str())?
            .with(statement::limit(SESSIONS_LISTED_MAX))?;
        self.secret_rows("listing credentials", statement).await?.iter().map(credential).collect()
    }

    async fn write_secrets(&self, writes: &[SecretWrite]) -> Result<(), StoreError> {
        check_writes(writes)?;
        let writer = self.writer()?;
        if writes.is_empty() {
            return Ok(());
        }
        let statements = credentials::statements(writes).collect::<Result<Vec<_>, _>>()?;
        writer.once(statements).await.map(drop)
    }

    async fn forget_credentials_ended_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        const SQL: &str = "DELETE FROM log.credentials WHERE hash IN \
                           (SELECT hash FROM log.credentials WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)";
        let statement =
            Statement::new(SQL).with(moment.as_micros())?.with(statement::limit(FORGET_ROWS_MAX))?;
        let gone = self.writer()?.once(vec![statement]).await?;
        Ok(usize::try_from(gone).unwrap_or(usize::MAX))
    }
}

fn key(row: &PgRow, index: usize) -> Option<[u8; 32]> {
    let bytes = Zeroizing::new(row.try_get::<Vec<u8>, _>(index).ok()?);
    bytes.as_slice().try_into().ok()
}

/// A user and the user's key, from a row of both.
pub(crate) fn user_key(row: &PgRow) -> Result<(UserId, UserKey), StoreError> {
    let read = || Some((UserId::new(row.try_get(0).ok()?), UserKey::new(key(row, 1)?)));
    read().ok_or_else(|| error::damaged("a user's key can't be read"))
}

/// A user and the user's password hash, from a row of both.
pub(crate) fn password(row: &PgRow) -> Result<(UserId, PasswordHash), StoreError> {
    let read = || Some((UserId::new(row.try_get(0).ok()?), PasswordHash::new(row.try_get(1).ok()?)));
    read().ok_or_else(|| error::damaged("a password's hash can't be read"))
}

/// A session or token, from columns of these names.
pub(crate) fn credential(row: &PgRow) -> Result<CredentialRow, StoreError> {
    // `None` when unreadable, `Some(None)` when there is none.
    let moment = |name| match row.try_get::<Option<i64>, _>(name).ok()? {
        Some(micros) => Timestamp::from_micros(micros).map(Some),
        None => Some(None),
    };
    let read = || {
        Some(CredentialRow {
            kind: CredentialKind::of(row.try_get("kind").ok()?)?,
            id: row.try_get("id").ok()?,
            user: UserId::new(row.try_get("user_id").ok()?),
            created_at: moment("created_at")??,
            expires_at: moment("expires_at")?,
            began: Offset::new(u64::try_from(row.try_get::<i64, _>("began").ok()?).ok()?)?,
            last_used: moment("last_used")?,
        })
    };
    read().ok_or_else(|| error::damaged("a session or token can't be read"))
}

#[async_trait]
impl SnapshotStore for PostgresStore {
    async fn save(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.writer()?;
        self.snapshots.save(snapshot).await
    }

    async fn latest(&self, wanted: &Wanted) -> Result<Loaded, StoreError> {
        self.snapshots.latest(self, wanted).await
    }
}
