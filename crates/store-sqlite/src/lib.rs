//! The store in one SQLite file.
//!
//! Layer 3, an adapter. Owns the file's schema, its connections and its errors; must not know who appends or what
//! events mean. One task owns the only connection that writes (`writer.rs`); everything that reads has short-lived
//! snapshots from a small pool. In the folder: `charter.db` (and SQLite's `-wal` and `-shm` beside it), `tables.db`
//! with what is made from the log, `server.lock` held by the one server, `snapshots/`.

mod append;
mod credentials;
mod error;
mod insert;
mod moving;
mod open;
mod place;
mod read;
mod rows;
mod schema;
mod secrets;
mod tables;
mod writer;

use charter_store::snapshot_files::SnapshotFiles;
pub use open::schema_version;
pub use schema::KNOWN;
use sqlx::SqlitePool;

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// By the one server: reads, appends, makes the folder and the file when they are not there, brings the schema
    /// up to date, holds the folder's lock until it is closed.
    Server,
    /// By a tool, also beside a running server: reads only, makes nothing.
    ReadOnly,
}

/// The store in one SQLite file.
pub struct SqliteStore {
    readers: SqlitePool,
    /// `None` when opened for reading.
    writer: Option<writer::Writer>,
    snapshots: SnapshotFiles,
    tables: tables::Tables,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("writes", &self.writer.is_some()).finish_non_exhaustive()
    }
}
