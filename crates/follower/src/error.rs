//! Why a follower can't start, why it stopped or decides nothing, why a version was not reached. No message repeats a
//! secret.

use charter_events::{LogId, Offset};
use std::time::Duration;

/// Why a follower can't start, or the server can't be followed at the moment.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FollowerError {
    /// The address is none.
    #[error("the server's address is not one: {why}; it looks like `http://127.0.0.1:7400`")]
    Address {
        /// What is wrong with it.
        why: String,
    },
    /// The token can't be one.
    #[error("the token has characters that no token has")]
    Token,
    /// Nobody answers there.
    #[error("`{server}` can't be reached: {why}")]
    Unreachable {
        /// The address.
        server: String,
        /// The innermost cause.
        why: String,
    },
    /// The server does not know the token, or no longer (401).
    #[error(
        "`{server}` does not take the token: it is unknown, expired, revoked, or of a user who is not active"
    )]
    Unauthenticated {
        /// The address.
        server: String,
    },
    /// The token's user may not read the log (403).
    #[error("the token may not follow the log: permission `core.audit.read` is needed globally{narrow}")]
    Forbidden {
        /// Empty, or that it is the token's own mask that does not reach the permission.
        narrow: &'static str,
    },
    /// Something else answers there.
    #[error("`{server}` does not answer as a Charter server: {why}")]
    NotAServer {
        /// The address.
        server: String,
        /// What it answers.
        why: String,
    },
    /// The server can't answer now.
    #[error("`{server}` answers {status} `{code}`")]
    Refused {
        /// The address.
        server: String,
        /// The HTTP status.
        status: u16,
        /// The problem's code; `none` when it has none.
        code: String,
    },
    /// The log can't be followed any further.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Why a follower has stopped for good. It stays at its version and decides nothing any more; nothing is skipped,
/// because what is skipped could be a revocation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The log has gone on differently than this follower saw it: a database was restored or rewritten.
    #[error("the log forked at offset {offset}: it is not the history that was followed so far")]
    Fork {
        /// An offset at which it differs.
        offset: Offset,
    },
    /// The address leads to another log now.
    #[error(
        "the server has log {found} now, not {known}: give this follower another folder, or the old server"
    )]
    OtherLog {
        /// The log that was followed.
        known: LogId,
        /// The log that is there.
        found: LogId,
    },
    /// An event is not what was written.
    #[error("the event at offset {offset} is damaged: {what}")]
    Damaged {
        /// Its offset.
        offset: Offset,
        /// What is wrong with it.
        what: String,
    },
    /// This build can't read an event: a newer server wrote it.
    #[error("the event at offset {offset} can't be read by this build: {what}; use a newer one")]
    UnknownEvent {
        /// Its offset.
        offset: Offset,
        /// Why not.
        what: String,
    },
    /// An event contradicts those before it.
    #[error("the event at offset {offset} contradicts those before it: {what}")]
    Inconsistent {
        /// Its offset.
        offset: Offset,
        /// How.
        what: String,
    },
}

impl Stopped {
    /// A stable word for logs and metrics.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Fork { .. } => "log_forked",
            Self::OtherLog { .. } => "other_log",
            Self::Damaged { .. } => "log_damaged",
            Self::UnknownEvent { .. } => "event_unknown",
            Self::Inconsistent { .. } => "log_inconsistent",
        }
    }
}

/// Why nothing is decided: a permission that was taken away could still be there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFresh {
    /// The server has not confirmed the state for too long.
    #[error("the server has not confirmed the state for {}; {} is the most", seconds(.age), seconds(.max))]
    Stale {
        /// For how long.
        age: Duration,
        /// How long it may be: [`FollowerConfig::stale_max`](crate::FollowerConfig::stale_max).
        max: Duration,
    },
    /// The log is followed no further.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn seconds(duration: &Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Why a version was not reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReached {
    /// The bound on waiting has passed.
    #[error("version {wanted} was not reached in time; this is version {at}{}", shown(.why))]
    InTime {
        /// The version asked for.
        wanted: Offset,
        /// The version there is.
        at: Offset,
        /// Why the server could not be asked, when it could not.
        why: Option<String>,
    },
    /// The follower stopped before it.
    #[error("version {wanted} will not be reached; this is version {at}: {stopped}")]
    Stopped {
        /// The version asked for.
        wanted: Offset,
        /// The version there is.
        at: Offset,
        /// Why it stopped.
        stopped: Stopped,
    },
}

fn shown(why: &Option<String>) -> String {
    why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
}
