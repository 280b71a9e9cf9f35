//! Ends an API token.

use crate::command::Decide;
use charter_events::TokenId;

/// Ends an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeToken {
    /// The token.
    pub token: TokenId,
}

impl Decide for RevokeToken {}
