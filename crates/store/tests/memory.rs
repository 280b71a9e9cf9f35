//! The store in memory passes the suite every store must pass.

use charter_store::{MemoryStore, Store, conformance};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_in_memory_conforms() {
    conformance::run_all(|| async { Arc::new(MemoryStore::default()) as Arc<dyn Store> }).await;
}
