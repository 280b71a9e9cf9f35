//! Changes a user's names, address or kind.

use crate::command::Decide;
use charter_events::{ProfileField, SealedProfile, UserId, UserKind};

/// Changes a user's names, address or kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditUser {
    /// The user.
    pub user: UserId,
    /// Person or service, from now on.
    pub kind: Option<UserKind>,
    /// All names as they are from now on, sealed.
    pub profile: Option<SealedProfile>,
    /// Which of them change.
    pub changed: Vec<ProfileField>,
}

impl Decide for EditUser {}
