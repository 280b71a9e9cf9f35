//! Deletes a group; each of its memberships and grants ends.

use crate::command::Decide;
use charter_events::GroupId;

/// Deletes a group; each of its memberships and grants ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteGroup {
    /// The group.
    pub group: GroupId,
}

impl Decide for DeleteGroup {}
