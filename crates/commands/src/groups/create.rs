//! Creates a group.

use crate::command::Decide;
use charter_events::{DisplayName, Slug};

/// Creates a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateGroup {
    /// Its unique name for look-ups.
    pub slug: Slug,
    /// How it is shown.
    pub name: DisplayName,
}

impl Decide for CreateGroup {}
