//! Ports of all that is kept, in memory, with the hash chain and one conformance suite.
//!
//! Layer 2. Owns what a database must offer to hold a log of events and the secrets beside it ([`LogStore`],
//! [`SecretStore`], [`SnapshotStore`], [`ServerStore`], [`MoveStore`], [`TableStore`]), the chain that ties the events
//! together ([`chain`]), the tree over them and its proofs ([`merkle`]), the check of a whole log ([`verify`]), and the
//! suite every database must pass ([`conformance`]). Must not know any database, what events mean, or who asks: nothing
//! here reads a clock or makes up an id.

pub mod chain;
pub mod conformance;
mod error;
mod limits;
mod log;
pub mod memory;
pub mod merkle;
mod moving;
mod pages;
pub mod past;
mod secrets;
mod servers;
mod snapshot;
pub mod snapshot_files;
pub mod table_checks;
mod tables;
pub mod tables_sql;
pub mod verify;

pub use chain::{Chain, ChainError};
pub use error::{BoxError, Fault, StoreError, What, causes};
pub use limits::*;
pub use log::{Answer, Append, Batch, IdempotencyKey, LogStore, Staging, consecutive};
pub use memory::{CommitFault, Hooks, MemoryStore, Paused, Point};
pub use moving::{MOVED_ROWS_MAX, MoveStore};
pub use pages::Pages;
pub use past::AsOf;
pub use secrets::{
    CredentialKind, CredentialRef, CredentialRow, InstallationSecrets, Key32, PasswordHash, SecretHash,
    SecretStore, SecretWrite, UserKey, check_writes,
};
pub use servers::{
    BUILD_BYTES_MAX, KNOWS_BYTES_MAX, Leadership, Lease, Polled, SERVERS_MAX, ServerStore, Task, Wakes,
};
pub use snapshot::{Ignored, Loaded, Snapshot, SnapshotHeader, SnapshotStore, Wanted};

pub use tables::{
    Checkpoint, Filter, Generation, Listed, OPERATIONS_KEPT, Operation, OperationState, Query,
    TABLE_CHANGES_MAX, TABLE_ROWS_MAX, TABLE_TEXT_BYTES_MAX, TableFault, TableStore, Target,
};

/// All that is kept, as one object: `Arc<dyn Store>`.
pub trait Store: LogStore + SecretStore + SnapshotStore + ServerStore + MoveStore + TableStore {}

impl<T: LogStore + SecretStore + SnapshotStore + ServerStore + MoveStore + TableStore> Store for T {}
