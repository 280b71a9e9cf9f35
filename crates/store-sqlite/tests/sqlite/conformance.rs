//! The SQLite store passes the suite every store must pass.

use charter_store::{Store, conformance};
use charter_store_sqlite::{Access, SqliteStore};
use std::{
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sqlite_store_conforms() {
    let root = tempfile::tempdir().unwrap();
    let made = AtomicUsize::new(0);
    conformance::run_all(|| async {
        let dir = root.path().join(made.fetch_add(1, Ordering::Relaxed).to_string());
        SqliteStore::open(&dir, Access::Server).await.unwrap() as Arc<dyn Store>
    })
    .await;
}
