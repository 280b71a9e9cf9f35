//! Ends all sessions of a user.

use crate::command::Decide;
use charter_events::UserId;

/// Ends all sessions of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSessions {
    /// Whose.
    pub user: UserId,
}

impl Decide for EndSessions {}
