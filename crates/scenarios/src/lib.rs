//! Policy test files: read, build, ask, compare.
//!
//! A file states facts (who, what, where, which grants) and expects answers. The facts become the events an importer
//! would write, go through the same fold as the server's, and the questions are the server's own. Guards on *who may
//! grant* do not apply here; every other rule of the model does, and a file that breaks one is refused with its place.
//!
//! Pure: bytes in, reports out. Must not know where files come from or how a report is shown.

mod accounts;
mod build;
mod facts;
mod file;
mod locate;
mod parse;
mod questions;
mod refused;
mod report;
mod run;
mod types;
mod words;

pub use build::{Built, Names};
pub use file::Scenario;
pub use parse::{FILE_BYTES_MAX, FILE_SCENARIOS_MAX, Format, LIST_ITEMS_MAX, parse};
pub use refused::Refused;
pub use report::{Difference, Outcome, Report};
pub use run::run;
pub use words::{GrantName, ObjectRef, ScopeRef, Status, SubjectRef};
