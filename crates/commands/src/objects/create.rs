//! Creates an object or a folder; the caller becomes its owner.

use crate::command::Decide;
use charter_events::{DisplayName, ExternalId, ObjectId, ObjectType};

/// Creates an object or a folder; the caller becomes its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateObject {
    /// Its type.
    pub object_type: ObjectType,
    /// Its id in somebody else's system; its own id when absent.
    pub external_id: Option<ExternalId>,
    /// How it is shown.
    pub name: DisplayName,
    /// The folder it lies in; none at the top.
    pub parent: Option<ObjectId>,
}

impl Decide for CreateObject {}
