//! What is handed to the writer, and what comes back.

use crate::{
    identity::{Authenticated, Liveness},
    preview::PreviewSlot,
};
use charter_commands::Command;
use charter_events::{CommandId, GroupId, Hash, Offset, Sealed, UserId, Via};
use charter_policy::{Caller, Policy};
use charter_store::{CredentialRow, SecretHash, SecretWrite};
use uuid::Uuid;

/// What comes with a command besides what it asks for.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    /// The way it came in.
    pub via: Via,
    /// The request it came with; at most 128 bytes.
    pub request_id: Option<String>,
    /// Why, in the caller's words; at most 1,024 bytes.
    pub reason: Option<String>,
    /// The caller's idempotency key (at most 255 bytes) and the hash of the whole request.
    pub idempotency: Option<(String, Hash)>,
    /// The version of the thing the caller has seen; the command is refused when the thing changed since.
    pub if_match: Option<Offset>,
    /// By what the caller authenticated, if it is to be good still at the moment the command is decided.
    pub credential: Option<Liveness>,
    /// The command is only previewed: nothing is written, and what it would do is put here.
    pub preview: Option<PreviewSlot>,
}

impl RequestMeta {
    /// Nothing but the way it came in.
    pub const fn new(via: Via) -> Self {
        Self {
            via,
            request_id: None,
            reason: None,
            idempotency: None,
            if_match: None,
            credential: None,
            preview: None,
        }
    }

    /// Has the writer refuse the command (`inactive_caller`) if the credential has ended by the time it is decided.
    #[must_use]
    pub fn while_good(self, who: &Authenticated) -> Self {
        Self { credential: Some(who.liveness()), ..self }
    }
}

/// A session to be begun anew; of what is its, only the beginning changes.
#[derive(Debug, Clone)]
pub struct KeptSession {
    pub(crate) hash: SecretHash,
    pub(crate) row: CredentialRow,
}

/// What a command was made up from, and must still be so when it is decided. Two servers may make one up at once.
#[derive(Debug, Clone)]
pub enum Unchanged {
    /// A user's names.
    Names {
        /// The user.
        user: UserId,
        /// His names as they were read.
        sealed: Sealed,
    },
    /// A user's password: whenever it changes, his sessions end.
    Password {
        /// The user.
        user: UserId,
        /// When his sessions had last ended.
        sessions_ended_at: Option<Offset>,
    },
    /// A user's account.
    Account {
        /// The user.
        user: UserId,
        /// The last event that had changed it.
        changed_at: Offset,
    },
    /// A group and its members.
    Group {
        /// The group.
        group: GroupId,
        /// The last event that had changed it.
        changed_at: Offset,
    },
    /// A link that was sent to a user: it is dead once his sessions have ended since, and says nothing of names that
    /// are not his any more.
    Link {
        /// The user.
        user: UserId,
        /// When his sessions had last ended.
        sessions_ended_at: Option<Offset>,
        /// His names as they were read; not asked for when absent.
        sealed: Option<Sealed>,
    },
}

impl Unchanged {
    pub(crate) fn holds(&self, policy: &Policy) -> bool {
        match self {
            Self::Names { user, sealed } => policy
                .user(*user)
                .and_then(|user| user.profile)
                .is_some_and(|profile| profile.sealed == *sealed),
            Self::Password { user, sessions_ended_at } => {
                policy.user(*user).is_some_and(|user| user.sessions_ended_at == *sessions_ended_at)
            }
            Self::Account { user, changed_at } => {
                policy.user(*user).is_some_and(|user| user.changed_at == *changed_at)
            }
            Self::Group { group, changed_at } => {
                policy.group(*group).is_some_and(|group| group.changed_at == *changed_at)
            }
            Self::Link { user, sessions_ended_at, sealed } => policy.user(*user).is_some_and(|user| {
                user.sessions_ended_at == *sessions_ended_at
                    && sealed.as_ref().is_none_or(|seen| user.profile.is_some_and(|now| now.sealed == *seen))
            }),
        }
    }
}

/// One command on its way to the writer.
#[derive(Debug, Clone)]
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// What for. References are resolved and personal data is sealed.
    pub command: Command,
    /// Written in the same transaction as the command's events, and only if it became events.
    pub secrets: Vec<SecretWrite>,
    /// Whether the answer shows a secret once: a repeat of the request is then refused instead of answered.
    pub answers_secret: bool,
    /// A session that outlasts the command though it ends all: it begins anew at the command's last event, in the
    /// same transaction.
    pub keeps_session: Option<KeptSession>,
    /// What it was made up from: it is refused (`stale`) if that is not so any more by the time it is decided.
    pub unchanged: Option<Unchanged>,
    /// What comes with it.
    pub meta: RequestMeta,
}

impl Request {
    /// A command without secrets.
    pub const fn new(caller: Caller, command: Command, meta: RequestMeta) -> Self {
        Self {
            caller,
            command,
            secrets: Vec::new(),
            answers_secret: false,
            keeps_session: None,
            unchanged: None,
            meta,
        }
    }
}

/// The answer to an accepted command. Its events are durable and published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The command's id.
    pub command_id: CommandId,
    /// Its first event; the version it was decided at when nothing had to change.
    pub first: Offset,
    /// Its last event: the policy version to wait for; the version it was decided at when nothing had to change.
    pub last: Offset,
    /// The main thing it created.
    pub created: Option<Uuid>,
    /// Whether this is the first answer to an earlier, equal request.
    pub repeated: bool,
}
