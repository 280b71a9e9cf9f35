//! Why a command, a start or a wait failed. No message repeats a secret or personal data.

use crate::load::LoadError;
use charter_commands::Refusal;
use charter_events::Offset;
use charter_store::{StoreError, causes};

/// Why a command was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    /// The command may not be done, or not now; nothing was appended.
    #[error("{}", .0.detail)]
    Refused(Refusal),
    /// The idempotency key came before, with another request.
    #[error("the idempotency key was used with another request")]
    IdempotencyKeyReused,
    /// The request came before, and its answer held a secret that is not kept.
    #[error("the first answer to this request held a secret, which is shown only once")]
    SecretShownOnce,
    /// The log can't be written now. Unless the request carried an idempotency key, whether it was carried out is
    /// unknown.
    #[error("commands can't be taken now: {reason}")]
    Unavailable {
        /// For people: what is wrong.
        reason: &'static str,
    },
    /// The command would write a kind of event that a live server of an older build can't read; nothing was appended.
    #[error("not before every server is upgraded: {reason}")]
    UpgradeInProgress {
        /// For people: which server does not know which kind.
        reason: String,
    },
    /// More commands wait than the writer takes; try again in a moment.
    #[error("too many commands are waiting")]
    QueueFull,
    /// Others are having commands previewed; try again in a moment.
    #[error("too many commands are being previewed")]
    PreviewsBusy,
    /// The request asked for a preview: it would be accepted, what it would do is in its slot, and nothing was written.
    #[error("the command was only previewed")]
    Previewed,
}

impl CommandError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code.as_str(),
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::SecretShownOnce => "secret_shown_once",
            Self::Unavailable { .. } => "unavailable",
            Self::UpgradeInProgress { .. } => "upgrade_in_progress",
            Self::QueueFull => "queue_full",
            Self::PreviewsBusy => "overloaded",
            Self::Previewed => "previewed",
        }
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for CommandError {
    /// What exactly the store reported is nobody's business but the operator's.
    fn from(error: StoreError) -> Self {
        tracing::error!(error = %causes(&error), code = error.code(), "the store did not answer");
        Self::Unavailable { reason: "the store can't be reached" }
    }
}

/// Why a use case around identity was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IdentityError {
    /// As any command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A member of the profile or a password is not acceptable (422).
    #[error("{detail}")]
    Invalid {
        /// The member's name.
        field: &'static str,
        /// A stable code.
        code: &'static str,
        /// What would be acceptable; the value is not repeated.
        detail: &'static str,
    },
    /// The current password, or the setup code, is wrong (403).
    #[error("the {what} is wrong")]
    Wrong {
        /// `password` or `setup code`.
        what: &'static str,
    },
    /// Too many attempts (429).
    #[error("too many attempts")]
    TooManyAttempts {
        /// When to try again.
        retry_after_seconds: u64,
    },
    /// A link is unknown, used, expired, replaced or withdrawn; which of them is not said (401).
    #[error("the link does not work, or no longer")]
    InvalidLink,
    /// The installation sends no mail (409).
    #[error("this installation sends no mail: an administrator can set another password for you")]
    NoMail,
    /// As many letters are under way as may be (503).
    #[error("too many letters are being sent")]
    TooManyLetters,
}

impl IdentityError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Command(error) => error.code(),
            Self::Invalid { code, .. } => code,
            Self::Wrong { .. } => "wrong_secret",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::InvalidLink => "invalid_link",
            Self::NoMail => "no_mail",
            Self::TooManyLetters => "overloaded",
        }
    }
}

impl From<Refusal> for IdentityError {
    fn from(refusal: Refusal) -> Self {
        Self::Command(CommandError::Refused(refusal))
    }
}

impl From<StoreError> for IdentityError {
    fn from(error: StoreError) -> Self {
        Self::Command(error.into())
    }
}

/// Why a server can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log can't be read whole.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The first events could not be appended.
    #[error("the installation could not be prepared: {0}")]
    Prepare(#[from] CommandError),
    /// The installation's name is none.
    #[error(transparent)]
    Name(#[from] charter_events::InvalidName),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// The version asked for was not reached in time (503 `version_not_reached`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("version {wanted} was not reached in time; this is version {at}")]
pub struct VersionNotReached {
    /// The version asked for.
    pub wanted: Offset,
    /// The version there is.
    pub at: Offset,
}
