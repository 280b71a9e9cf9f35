//! As-of, diff, verify, rebuild, export, import.
//!
//! Layer 4. Owns what is done with a whole log through the ports: [`verify`] it, [`export`](export::export) it as
//! lines of JSON, [`import`](import::import) such lines, carry what stands beside it ([`secrets`]). Must not know any
//! database, nor how the answers are shown.

mod against;
pub mod as_of;
pub mod backup;
pub mod diff;
pub mod export;
mod export_cloudevents;
pub mod export_ocsf;
pub mod import;
pub mod inventory;
pub mod lines;
pub mod prove;
pub mod rebuild;
pub mod secrets;
pub mod simulate;
pub mod verify;
pub mod verify_file;

pub use against::EvidenceError;
use charter_events::Offset;
pub use charter_store::verify::Progress;
use charter_store::{Fault, StoreError};

/// Why a tool could not finish.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The store said so; a damaged log names the first bad offset.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log never had such a version.
    #[error(transparent)]
    Version(#[from] charter_store::past::NoVersion),
    /// An event can't be folded by this build.
    #[error("the event at offset {offset} can't be replayed: {why}")]
    Fold {
        /// Its offset.
        offset: Offset,
        /// What is wrong.
        why: String,
    },
    /// The file of lines can't be read or written.
    #[error("the file can't be read or written")]
    File(#[from] std::io::Error),
    /// A line is not what was expected.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The chain of the events in the file is broken.
    #[error("line {line}: {fault}")]
    Chain {
        /// The line, from 1.
        line: u64,
        /// The first bad offset, and what is wrong there.
        fault: Fault,
    },
    /// The file is of another log than the store, or of another history.
    #[error("{0}")]
    OtherLog(String),
}
