//! Stops an account; it is erased after a while.

use crate::command::Decide;
use charter_events::{Timestamp, UserId};

/// Stops an account; it is erased after a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDeletion {
    /// The user.
    pub user: UserId,
    /// When it may be erased.
    pub erase_at: Timestamp,
}

impl Decide for ScheduleDeletion {}
