//! Issues an API token.

use crate::command::Decide;
use charter_events::{DisplayName, Pattern, Timestamp, TokenId, UserId};

/// Issues an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueToken {
    /// The token.
    pub token: TokenId,
    /// Whom it speaks for.
    pub user: UserId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// It works until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it; none: no ceiling.
    pub mask: Option<Vec<Pattern>>,
}

impl Decide for IssueToken {}
