//! What the tests of the SQLite store share.

use charter_events::{Offset, StoredEvent};
use charter_store::{
    LogStore, StoreError,
    conformance::{Writing, batch_of},
    verify::{self, Scanned},
};
use charter_store_sqlite::{Access, SqliteStore};
use sqlx::{ConnectOptions, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{path::Path, sync::Arc};

pub(crate) async fn server(dir: &Path) -> Arc<SqliteStore> {
    SqliteStore::open(dir, Access::Server).await.unwrap()
}

pub(crate) async fn reader(dir: &Path) -> Arc<SqliteStore> {
    SqliteStore::open(dir, Access::ReadOnly).await.unwrap()
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

/// The database without the store's care: no triggers, no syncing.
pub(crate) async fn raw(dir: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(dir.join("charter.db")).pragma("synchronous", "OFF");
    let mut connection = options.connect().await.unwrap();
    for sql in [
        "DROP TRIGGER IF EXISTS events_are_never_changed",
        "DROP TRIGGER IF EXISTS events_are_never_deleted",
        "DROP TRIGGER IF EXISTS log_head_is_never_deleted",
    ] {
        run(&mut connection, sql).await;
    }
    connection
}

pub(crate) async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

pub(crate) async fn scan(store: &dyn LogStore) -> Result<Scanned, StoreError> {
    verify::scan(store, Offset::ZERO, |_| ()).await
}
