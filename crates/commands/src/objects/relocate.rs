//! Moves an object into another folder, or to the top.

use crate::command::Decide;
use charter_events::ObjectId;

/// Moves an object into another folder, or to the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveObject {
    /// The object.
    pub object: ObjectId,
    /// The folder it lies in from now on; none at the top.
    pub parent: Option<ObjectId>,
}

impl Decide for MoveObject {}
