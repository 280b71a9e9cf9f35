//! Credentials: the facts about them, never a secret nor its hash.

use super::payload;
use crate::{
    ids::{SessionId, TokenId, UserId},
    key::Pattern,
    names::DisplayName,
    time::Timestamp,
};

payload! {
    /// A user's password was set, changed or removed.
    CredentialPasswordChanged {
        /// The user.
        user: UserId,
        /// Whether the user has a password now.
        has_password: bool,
    }
}

payload! {
    /// An API token was issued to a user.
    CredentialTokenIssued {
        /// The token.
        token: TokenId,
        /// Whom it speaks for.
        user: UserId,
        /// What its owner calls it.
        name: DisplayName,
        /// It works until just before this moment; without end when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        /// A ceiling on what may be asked with it, sorted; none: no ceiling.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mask: Option<Vec<Pattern>>,
    }
}

payload! {
    /// An API token works no longer.
    CredentialTokenRevoked {
        /// The token.
        token: TokenId,
    }
}

payload! {
    /// One session was ended before its time.
    CredentialSessionEnded {
        /// The session.
        session: SessionId,
        /// Whose it was.
        user: UserId,
        /// When it would have ended anyway; nothing needs to remember it afterwards.
        expires_at: Timestamp,
    }
}

payload! {
    /// All of a user's sessions that began before this event were ended, and the links he was sent before it.
    CredentialSessionsEnded {
        /// The user.
        user: UserId,
    }
}
