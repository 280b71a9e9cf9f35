//! Ends one session before its time.

use crate::command::Decide;
use charter_events::{SessionId, Timestamp, UserId};

/// Ends one session before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndSession {
    /// The session.
    pub session: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// When it would end anyway.
    pub expires_at: Timestamp,
}

impl Decide for EndSession {}
