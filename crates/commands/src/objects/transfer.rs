//! Gives an object to another owner.

use crate::command::Decide;
use charter_events::{ObjectId, UserId};

/// Gives an object to another owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferObject {
    /// The object.
    pub object: ObjectId,
    /// Who owns it from now on.
    pub owner: UserId,
}

impl Decide for TransferObject {}
