//! Makes somebody a lasting administrator again, from the host. System only; never refused for lack of an administrator.

use crate::command::Decide;
use charter_events::{SealedProfile, UserId};

/// Makes somebody a lasting administrator again, from the host. System only; never refused for lack of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoverAdministrator {
    /// The account.
    pub user: UserId,
    /// Names of a new account; none for one that exists.
    pub profile: Option<SealedProfile>,
    /// Whether a password is kept beside it with this command.
    pub has_password: bool,
}

impl Decide for RecoverAdministrator {}
