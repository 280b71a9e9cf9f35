//! Makes an invited account active. By the control plane, which has seen the invitation's secret.

use crate::command::Decide;
use charter_events::{SealedProfile, UserId};

/// Makes an invited account active. By the control plane, which has seen the invitation's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptInvitation {
    /// The account.
    pub user: UserId,
    /// All names, sealed.
    pub profile: SealedProfile,
    /// Whether a password is kept beside it.
    pub has_password: bool,
}

impl Decide for AcceptInvitation {}
