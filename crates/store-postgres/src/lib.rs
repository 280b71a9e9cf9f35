//! The store in a PostgreSQL database.

mod stub;
mod url;

use charter_store::{StoreError, snapshot_files::SnapshotFiles};
use std::{path::Path, sync::Arc};
pub use url::{SecretUrl, UrlError};

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// By one of the servers: reads and appends.
    Server,
    /// By a tool, also beside running servers: reads only.
    ReadOnly,
}

/// The store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    snapshots: SnapshotFiles,
}

/// What a migration did: the schema's version before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// Before; 0 when there was none.
    pub from: i64,
    /// After.
    pub to: i64,
}

/// The schema this build works with.
pub const KNOWN: i64 = 1;

impl PostgresStore {
    /// Opens the store.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn open(_url: &SecretUrl, snapshots: &Path, _access: Access) -> Result<Arc<Self>, StoreError> {
        let _ = Self { snapshots: SnapshotFiles::new(snapshots) };
        Err(StoreError::Closed)
    }

    /// Closes all connections.
    pub async fn close(&self) {}
}

/// Makes or brings up to date the schema, as its owner.
///
/// # Errors
/// [`StoreError`].
pub async fn migrate(_owner: &SecretUrl, _server_role: Option<&str>) -> Result<Migrated, StoreError> {
    Err(StoreError::Closed)
}

/// The schema's version; 0 when there is none.
///
/// # Errors
/// [`StoreError`].
pub async fn schema_version(_url: &SecretUrl) -> Result<i64, StoreError> {
    Err(StoreError::Closed)
}
