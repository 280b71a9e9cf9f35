//! Lets a suspended account work again.

use crate::command::Decide;
use charter_events::UserId;

/// Lets a suspended account work again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReactivateUser {
    /// The user.
    pub user: UserId,
}

impl Decide for ReactivateUser {}
