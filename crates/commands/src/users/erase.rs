//! Erases an account whose time has come; his grants, memberships and tokens end. System only.

use crate::command::Decide;
use charter_events::UserId;

/// Erases an account whose time has come; his grants, memberships and tokens end. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EraseUser {
    /// The user.
    pub user: UserId,
}

impl Decide for EraseUser {}
