//! A log as lines of JSON: a first line that says which log and where it ends, then one line for each event. The
//! payload stands in its line byte for byte as it was hashed, so the chain can be checked from the file alone. Secrets
//! are not in it: users' names in it are sealed, and open only with the keys of the installation it came from.

use charter_events::{Hash, LogId, Offset, json::EVENT_JSON_BYTES_MAX};
use serde::{Deserialize, Serialize};

/// The longest line, in bytes.
pub const LINE_BYTES_MAX: usize = EVENT_JSON_BYTES_MAX;

/// What the first line says the file is.
pub const FORMAT: &str = "charter-log.v1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLine {
    /// [`FORMAT`].
    pub format: String,
    /// Which log.
    pub log_id: LogId,
    /// The last event in the file: a file that ends before it was cut.
    pub head: Offset,
    /// That event's hash.
    pub head_hash: Hash,
}
