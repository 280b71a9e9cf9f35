//! Takes a user out of a group, or leaves it; one who is not in changes nothing.

use crate::command::Decide;
use charter_events::{GroupId, UserId};

/// Takes a user out of a group, or leaves it; one who is not in changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveMember {
    /// The group.
    pub group: GroupId,
    /// The user.
    pub user: UserId,
}

impl Decide for RemoveMember {}
