//! Deletes an object or an empty folder; each grant on it ends.

use crate::command::Decide;
use charter_events::ObjectId;

/// Deletes an object or an empty folder; each grant on it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteObject {
    /// The object.
    pub object: ObjectId,
}

impl Decide for DeleteObject {}
