//! Renames a role, or changes what it holds.

use crate::command::Decide;
use charter_events::{DisplayName, Pattern, RoleId};

/// Renames a role, or changes what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRole {
    /// The role.
    pub role: RoleId,
    /// How it is shown from now on.
    pub name: Option<DisplayName>,
    /// What it gains; what it holds already counts for nothing.
    pub add: Vec<Pattern>,
    /// What it loses; what it lacks counts for nothing.
    pub remove: Vec<Pattern>,
}

impl Decide for ChangeRole {}
