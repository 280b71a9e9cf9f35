//! Takes a grant back.

use crate::command::Decide;
use charter_events::GrantId;

/// Takes a grant back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeGrant {
    /// The grant.
    pub grant: GrantId,
}

impl Decide for RevokeGrant {}
