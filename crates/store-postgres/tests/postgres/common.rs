//! What the tests of the PostgreSQL store share.

use charter_events::{Offset, StoredEvent};
use charter_services::Database;
use charter_store::{
    LogStore, StoreError,
    conformance::{Writing, batch_of},
    verify::{self, Scanned},
};
use charter_store_postgres::{Access, PostgresStore, SecretUrl, migrate};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::{sync::Arc, time::Duration};

/// A database with its schema, and a folder for snapshots.
pub(crate) struct Db {
    pub(crate) database: Database,
    pub(crate) folder: tempfile::TempDir,
    /// Whether it is on the shared server; otherwise it goes with its own.
    shared: bool,
}

impl Db {
    /// One of its own on the shared server, with the rights of an installation; removed on drop.
    pub(crate) async fn fresh() -> Self {
        Self::empty().migrated().await
    }

    /// The same without a schema.
    pub(crate) fn empty() -> Self {
        let database = Database::fresh("store").unwrap();
        Self { database, folder: tempfile::tempdir().unwrap(), shared: true }
    }

    /// One on a server of the test's own.
    pub(crate) fn on(database: Database) -> Self {
        Self { database, folder: tempfile::tempdir().unwrap(), shared: false }
    }

    pub(crate) async fn migrated(self) -> Self {
        migrate(&self.owner_url(), Some(&self.database.server_role)).await.unwrap();
        self
    }

    pub(crate) fn owner_url(&self) -> SecretUrl {
        self.database.owner_url.parse().unwrap()
    }

    pub(crate) fn server_url(&self) -> SecretUrl {
        self.database.server_url.parse().unwrap()
    }

    pub(crate) async fn server(&self) -> Arc<PostgresStore> {
        PostgresStore::open(&self.server_url(), self.folder.path(), Access::Server).await.unwrap()
    }

    pub(crate) async fn reader(&self) -> Arc<PostgresStore> {
        PostgresStore::open(&self.owner_url(), self.folder.path(), Access::ReadOnly).await.unwrap()
    }

    pub(crate) async fn open_error(&self, url: &str) -> StoreError {
        let url = url.parse().unwrap();
        PostgresStore::open(&url, self.folder.path(), Access::Server).await.unwrap_err()
    }

    /// Runs statements as the superuser.
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.database.sql(statements).unwrap()
    }

    /// Takes away what keeps the log from being changed.
    pub(crate) fn disarm(&self) {
        self.sql(
            "ALTER TABLE log.events DISABLE TRIGGER ALL; ALTER TABLE log.log_head DISABLE TRIGGER ALL; \
             ALTER TABLE log.log_head DROP CONSTRAINT log_head_head_check",
        );
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if self.shared {
            // A database that is left over goes with the server.
            let _ = self.database.clone().remove();
        }
    }
}

/// The same address, of another database.
pub(crate) fn on_database(url: &str, name: &str) -> String {
    format!("{}/{name}", url.rsplit_once('/').unwrap().0)
}

/// Runs statements by an address of its own; the code and words of the error.
pub(crate) async fn run_as(url: &str, sql: &str) -> Result<(), (String, String)> {
    let mut connection = connection(url).await;
    let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await;
    done.map(drop).map_err(|error| {
        let code = error.as_database_error().and_then(|e| e.code()).unwrap_or_default().into_owned();
        (code, error.to_string())
    })
}

/// Waits until a question to the superuser has this answer.
pub(crate) async fn wait_for(db: &Db, question: &str, answer: &str) {
    for _ in 0..2_000 {
        if db.sql(question) == answer {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("`{question}` never became `{answer}`");
}

/// Ends every connection of the servers' role.
pub(crate) fn end_connections(db: &Db) {
    db.sql(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}'",
        db.database.server_role
    ));
}

/// A connection beside the store's.
pub(crate) async fn connection(url: &str) -> PgConnection {
    PgConnection::connect(url).await.unwrap()
}

/// Appends so many events in commands of 1 to 3.
pub(crate) async fn fill(store: &dyn LogStore, events: usize) -> Vec<StoredEvent> {
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    let mut all = Vec::new();
    while all.len() < events {
        let size = (all.len() % 3 + 1).min(events - all.len());
        all.extend(writing.command(size));
    }
    append.write(&batch_of(all.clone())).await.unwrap();
    append.commit().await.unwrap();
    all
}

pub(crate) async fn scan(store: &dyn LogStore) -> Result<Scanned, StoreError> {
    verify::scan(store, Offset::ZERO, |_| ()).await
}

/// Appends one event; its offset.
pub(crate) async fn append(store: &dyn LogStore) -> Result<u64, StoreError> {
    let mut append = store.append().await?;
    let events = Writing::new(append.head()).command(1);
    append.write(&batch_of(events)).await?;
    append.commit().await.map(|head| head.offset.get())
}
