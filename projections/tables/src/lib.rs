//! Read models in tables: what each event means for the rows that people list, search, and read with plain SQL.
//!
//! Layer 1, pure and sync. Owns the tables' columns and the rows each event makes. Must not know any database, nor
//! who may see a row: which rows a caller sees is asked of the policy.

mod access_index;
mod audit_history;
mod digest;
mod directory;
mod grant_sets;
mod grants;
mod projection;
pub mod rows;
mod words;

pub use access_index::{ACCESS_INDEX, AccessIndex};
pub use audit_history::{AUDIT_HISTORY, AuditHistory};
pub use digest::RowsDigest;
pub use directory::{DIRECTORY, Directory};
pub use grant_sets::{GRANT_SETS, GrantSets};
pub use projection::{PROJECTIONS, Poison, Projection, Recorded, projection};
pub use rows::{Change, Changes, Column, Kind, Row, Spec, TableSpec, Value};
