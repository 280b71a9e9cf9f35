//! Opening and closing: connections as the log needs them, and what is checked before anyone gets a store.

use crate::{Access, SqliteStore, error, place::Place, read, schema, tables::Tables, writer::Writer};
use charter_store::{StoreError, TAIL_EVENTS, snapshot_files::SnapshotFiles, verify};
use sqlx::{
    ConnectOptions, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{path::Path, sync::Arc, time::Duration};
use uuid::Uuid;

/// The oldest SQLite whose WAL is trusted (the one before could damage a log that is reset while being read).
pub(crate) const SQLITE_OLDEST: [u32; 3] = [3, 51, 3];

/// How long to wait for another program that holds the file, such as a backup.
const BUSY_SECONDS_MAX: u64 = 5;
const READERS_MAX: u32 = 4;
const ROWS_BUFFERED_MAX: usize = 1024;
const WAL_BYTES_KEPT: &str = "67108864";

impl SqliteStore {
    /// Opens the store in a folder.
    ///
    /// A server checks both ends of the log before it gets the store; a tool that reads gets a damaged log too, to
    /// look at it.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another server has the folder, [`StoreError::TooNew`], [`StoreError::NotAStore`],
    /// [`StoreError::Damaged`], [`StoreError::Full`], [`StoreError::Unavailable`].
    pub async fn open(dir: &Path, access: Access) -> Result<Arc<Self>, StoreError> {
        let place = Place::new(dir);
        match access {
            Access::Server => Self::open_server(&place).await,
            Access::ReadOnly => Self::open_reader(&place).await,
        }
    }

    async fn open_server(place: &Place) -> Result<Arc<Self>, StoreError> {
        place.make_folder()?;
        // Before anything else: the files may be those of a server that runs.
        let lock = place.lock()?;
        place.make_database(&lock)?;
        let options = writing(place);
        let mut connection = connect_first(&options, place).await?;
        let found = schema::check(&mut connection, place).await?;
        check_version(&mut connection).await?;
        schema::migrate(&mut connection, found).await?;
        make_installation(&mut connection).await?;
        make_signing_key(&mut connection).await?;
        let readers = pool(place);
        let writer = Writer::start(connection, options, lock);
        let snapshots = SnapshotFiles::new(place.snapshots());
        let tables = Tables::open_server(place.clone(), readers.clone()).await;
        let store = Arc::new(Self { readers, writer: Some(writer), snapshots, tables });
        if let Err(error) = verify::check_ends(&*store, TAIL_EVENTS).await {
            store.close().await;
            return Err(error);
        }
        Ok(store)
    }

    async fn open_reader(place: &Place) -> Result<Arc<Self>, StoreError> {
        if !place.database().is_file() {
            return Err(place.not_ours("there is no `charter.db` in it"));
        }
        let mut connection = connect_first(&reading(place), place).await?;
        let found = schema::check(&mut connection, place).await?;
        check_version(&mut connection).await?;
        if found < schema::READABLE {
            return Err(place.not_ours("nothing was made in it yet; start the server once"));
        }
        let snapshots = SnapshotFiles::new(place.snapshots());
        let readers = pool(place);
        let tables = Tables::open_reader(place.clone(), readers.clone()).await;
        Ok(Arc::new(Self { readers, writer: None, snapshots, tables }))
    }

    /// Closes all connections and frees the folder. An append that is under way is undone.
    pub async fn close(&self) {
        self.tables.close().await;
        // Those that read first: the last connection moves the write-ahead log into the file, and must be able to.
        self.readers.close().await;
        if let Some(writer) = &self.writer {
            writer.close().await;
        }
    }
}

/// The schema's version of the store in a folder, which is left as it is; 0 when there is none yet.
///
/// # Errors
/// [`StoreError::TooNew`], [`StoreError::NotAStore`], [`StoreError::Unavailable`].
pub async fn schema_version(dir: &Path) -> Result<i64, StoreError> {
    let place = Place::new(dir);
    if !place.database().is_file() {
        return Ok(0);
    }
    schema::check(&mut connect_first(&reading(&place), &place).await?, &place).await
}

fn base(place: &Place) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(place.database())
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))
        .foreign_keys(true)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .row_buffer_size(ROWS_BUFFERED_MAX)
        .disable_statement_logging()
}

/// A commit is durable when it returns (`FULL`), and what is deleted is overwritten: a destroyed key must not be found
/// in the file.
fn writing(place: &Place) -> SqliteConnectOptions {
    base(place)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("secure_delete", "ON")
        .pragma("journal_size_limit", WAL_BYTES_KEPT)
}

fn reading(place: &Place) -> SqliteConnectOptions {
    base(place).read_only(true)
}

fn pool(place: &Place) -> sqlx::SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(reading(place))
}

/// The first connection, which finds out whether the file is a database at all.
async fn connect_first(
    options: &SqliteConnectOptions,
    place: &Place,
) -> Result<SqliteConnection, StoreError> {
    options.connect().await.map_err(|e| match error::code(&e) {
        Some(error::NOT_A_DATABASE) => place.not_ours("`charter.db` is no SQLite database"),
        _ => error::map("opening the database", e),
    })
}

/// A new connection.
pub(crate) async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    options.connect().await.map_err(|e| error::map("opening the database", e))
}

async fn check_version(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let found: String = sqlx::query_scalar("SELECT sqlite_version()")
        .fetch_one(connection)
        .await
        .map_err(|e| error::map("asking for SQLite's version", e))?;
    if is_new_enough(&found) {
        return Ok(());
    }
    let [major, minor, patch] = SQLITE_OLDEST;
    Err(StoreError::Refused(format!("SQLite {found}; at least {major}.{minor}.{patch} is needed")))
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let found: [u32; 3] = std::array::from_fn(|_| parts.next().unwrap_or(0));
    found >= SQLITE_OLDEST
}

/// Makes the log's id and the installation's keys, once.
async fn make_installation(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let map = |e| error::map("making the installation's keys", e);
    let mut transaction = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE").await.map_err(map)?;
    let heads: i64 = sqlx::query_scalar("SELECT count(*) FROM log_head")
        .fetch_one(&mut *transaction)
        .await
        .map_err(map)?;
    if heads > 0 {
        return Ok(());
    }
    let events: i64 =
        sqlx::query_scalar("SELECT count(*) FROM events").fetch_one(&mut *transaction).await.map_err(map)?;
    if events > 0 {
        return Err(error::damaged(read::HEAD_UNREADABLE));
    }
    let empty = charter_store::chain::empty(Uuid::now_v7().into());
    sqlx::query("INSERT INTO log_head (one, log_id, head, head_hash, recorded_at) VALUES (1, ?, 0, ?, ?)")
        .bind(empty.log_id.as_uuid().as_bytes().to_vec())
        .bind(empty.hash.as_bytes().to_vec())
        .bind(empty.recorded_at.as_micros())
        .execute(&mut *transaction)
        .await
        .map_err(map)?;
    for name in ["tag_key", "cursor_key"] {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|e| StoreError::unavailable("drawing a key", e))?;
        sqlx::query("INSERT INTO installation_secrets (name, value) VALUES (?, ?)")
            .bind(name)
            .bind(key.to_vec())
            .execute(&mut *transaction)
            .await
            .map_err(map)?;
    }
    transaction.commit().await.map_err(map)
}

/// Makes the key that signs checkpoints, once.
async fn make_signing_key(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut key = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *key).map_err(|e| StoreError::unavailable("drawing a key", e))?;
    sqlx::query("INSERT INTO signing_key (one, key) VALUES (1, ?) ON CONFLICT DO NOTHING")
        .bind(key.to_vec())
        .execute(connection)
        .await
        .map(drop)
        .map_err(|e| error::map("making the key that signs checkpoints", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_whose_wal_is_sound_are_taken() {
        for (version, taken) in [
            ("3.51.3", true),
            ("3.52.0", true),
            ("4.0.0", true),
            ("3.51.2", false),
            ("3.9.99", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), taken, "{version}");
        }
    }

    #[tokio::test]
    async fn the_bundled_sqlite_is_new_enough() {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        check_version(&mut connection).await.unwrap();
    }
}
