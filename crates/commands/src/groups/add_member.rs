//! Adds a user to a group; one who is in already changes nothing.

use crate::command::Decide;
use charter_events::{GroupId, UserId};

/// Adds a user to a group; one who is in already changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddMember {
    /// The group.
    pub group: GroupId,
    /// The user.
    pub user: UserId,
}

impl Decide for AddMember {}
