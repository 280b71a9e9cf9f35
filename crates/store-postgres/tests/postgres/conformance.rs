//! The PostgreSQL store passes the suite every store must pass: as a server with its own rights only, and as the owner.

use crate::common::Db;
use charter_store::{Store, conformance};
use charter_store_postgres::{Access, PostgresStore, migrate};
use std::sync::{Arc, Mutex};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_postgres_store_conforms_with_the_rights_of_a_server() {
    let kept = Mutex::new(None);
    conformance::run_all(|| async {
        let db = Db::fresh().await;
        let store = db.server().await;
        // The database of the case before goes.
        *kept.lock().unwrap() = Some(db);
        store as Arc<dyn Store>
    })
    .await;
}

/// These are about connections, not about rights.
const LONG: [&str; 4] = ["10,000", "64 writers", "a future cancelled", "1,000 random"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_postgres_store_conforms_where_the_owner_is_the_server_too() {
    for case in conformance::CASES
        .iter()
        .chain(conformance::TABLE_CASES)
        .filter(|case| !LONG.iter().any(|long| case.name.starts_with(long)))
    {
        let db = Db::empty();
        migrate(&db.owner_url(), None).await.unwrap();
        let store = PostgresStore::open(&db.owner_url(), db.folder.path(), Access::Server).await.unwrap();
        let done = tokio::spawn((case.run)(store)).await;
        done.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}
