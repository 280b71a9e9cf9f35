//! Creates a role.

use crate::command::Decide;
use charter_events::{DisplayName, Pattern, RoleScope, Slug};

/// Creates a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateRole {
    /// Its unique name for look-ups.
    pub slug: Slug,
    /// How it is shown.
    pub name: DisplayName,
    /// Where it may be assigned; never changes.
    pub scope: RoleScope,
    /// What it holds, in any order.
    pub permissions: Vec<Pattern>,
}

impl Decide for CreateRole {}
