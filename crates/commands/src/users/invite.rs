//! Creates an account that waits to be accepted.

use crate::command::Decide;
use charter_events::{SealedProfile, UserId, UserKind};

/// Creates an account that waits to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteUser {
    /// The new account.
    pub user: UserId,
    /// Person or service.
    pub kind: UserKind,
    /// The names known so far, sealed.
    pub profile: SealedProfile,
}

impl Decide for InviteUser {}
