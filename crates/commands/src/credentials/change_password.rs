//! Sets, changes or removes a password: one's own, or another's (a reset).

use crate::command::Decide;
use charter_events::UserId;

/// Sets, changes or removes a password: one's own, or another's (a reset).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePassword {
    /// Whose.
    pub user: UserId,
    /// Whether there is a password from now on.
    pub has_password: bool,
}

impl Decide for ChangePassword {}
