//! Shows a group under another name.

use crate::command::Decide;
use charter_events::{DisplayName, GroupId};

/// Shows a group under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameGroup {
    /// The group.
    pub group: GroupId,
    /// How it is shown from now on.
    pub name: DisplayName,
}

impl Decide for RenameGroup {}
