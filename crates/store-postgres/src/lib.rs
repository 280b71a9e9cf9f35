//! The store in a PostgreSQL database, which several servers share.
//!
//! Layer 3, an adapter. Owns the database's schema, its rights, its connections and its errors; must not know who
//! appends or what events mean. One task of each server owns the only connection that writes (`writer.rs`); a few
//! others read (`readers.rs`); leadership, nudges and listening have one each. Two roles: the owner of the schema
//! `log`, who migrates, and the servers', which can add to the log and not change it (`rights.rs`).

mod answers;
mod append;
mod bell;
mod connect;
mod credentials;
mod error;
mod insert;
mod lead;
mod link;
mod moving;
mod opening;
mod read;
mod readers;
mod rights;
mod rows;
mod schema;
mod secrets;
mod servers;
mod statement;
mod tables;
mod url;
mod writer;

use charter_store::snapshot_files::SnapshotFiles;

pub use schema::{may_migrate, migrate, schema_version};
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
pub struct PostgresStore {
    /// Pages of events, kept answers, secrets.
    readers: readers::Readers,
    /// The log's end and leases: nothing else may keep a server from seeing those.
    glances: readers::Readers,
    /// Lookups of sessions and tokens, which strangers may cause.
    credentials: readers::Readers,
    /// `None` when opened for reading.
    writer: Option<writer::Writer>,
    /// `None` when opened for reading.
    bell: Option<bell::Bell>,
    /// How those connect that are neither the writer nor readers.
    others: connect::Route,
    snapshots: SnapshotFiles,
    tables: tables::Tables,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("writes", &self.writer.is_some()).finish_non_exhaustive()
    }
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
pub const KNOWN: i64 = schema::MIGRATIONS.len() as i64;
