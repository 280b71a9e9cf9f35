//! Says whether what stands above an object counts for it.

use crate::command::Decide;
use charter_events::ObjectId;

/// Says whether what stands above an object counts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetInheritance {
    /// The object.
    pub object: ObjectId,
    /// Whether it counts from now on.
    pub inherits: bool,
}

impl Decide for SetInheritance {}
