//! Calls a scheduled deletion off.

use crate::command::Decide;
use charter_events::UserId;

/// Calls a scheduled deletion off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelDeletion {
    /// The user.
    pub user: UserId,
}

impl Decide for CancelDeletion {}
