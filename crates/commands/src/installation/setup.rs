//! Creates the first administrator. Only while there has never been one; system only, behind the setup code.

use crate::command::Decide;
use charter_events::{SealedProfile, UserId};

/// Creates the first administrator. Only while there has never been one; system only, behind the setup code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The new account.
    pub user: UserId,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it; it must be.
    pub has_password: bool,
}

impl Decide for Setup {}
