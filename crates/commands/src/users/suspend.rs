//! Stops an account at once; nothing is lost.

use crate::command::Decide;
use charter_events::UserId;

/// Stops an account at once; nothing is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspendUser {
    /// The user.
    pub user: UserId,
}

impl Decide for SuspendUser {}
