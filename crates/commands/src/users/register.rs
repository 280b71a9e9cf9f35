//! Creates an active account.

use crate::command::Decide;
use charter_events::{SealedProfile, UserId, UserKind};

/// Creates an active account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterUser {
    /// The new account.
    pub user: UserId,
    /// Person or service.
    pub kind: UserKind,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it.
    pub has_password: bool,
}

impl Decide for RegisterUser {}
