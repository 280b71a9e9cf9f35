//! Deletes a role; each of its grants ends.

use crate::command::Decide;
use charter_events::RoleId;

/// Deletes a role; each of its grants ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRole {
    /// The role.
    pub role: RoleId,
}

impl Decide for DeleteRole {}
