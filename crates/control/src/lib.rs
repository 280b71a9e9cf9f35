//! Use cases: the writer, the readers, sign-in, clocks.
//!
//! Layer 3. The only place that ties decide → append → publish, and the only one that sees personal data in the clear
//! or a secret. Must not know HTTP, a command line, or a particular database.

mod access;
mod backup;
mod backup_result;
mod cache;
mod clock;
mod config;
mod contact;
mod control;
mod diff;
mod error;
#[cfg(any(test, feature = "failpoints"))]
pub mod failpoints;
mod following;
mod health;
mod identity;
mod leases;
mod letters;
mod load;
mod mail;
mod name_index;
mod operations;
mod past;
mod preview;
mod profiles;
mod published;
mod reading;
mod request;
mod resolve;
mod runner;
mod seal;
mod secret;
mod snapshots;
mod start;
mod tables;
#[cfg(test)]
mod tests;
mod tick;
mod tree;
mod turns;
mod undo;
mod verify;
mod writer;

pub use access::AccessControl;
pub use backup::{BACKUP_OPERATION, BackupError, BackupFailed, BackupMade, BackupWatch, Backups, KeysKept};
pub use backup_result::BackupResult;
pub use clock::{Clock, SystemClock};
pub use config::{Config, Progress, ProgressFn, ServerInfo, SignInLimits};
pub use contact::Freshness;
pub use control::{Control, Started};
pub use diff::{DIFF_STEPS_MAX, DiffError, Judged};
pub use error::{CommandError, IdentityError, StartError, VersionNotReached};
pub use health::{NotReady, Readiness, StreamFault};
pub use identity::{
    Acceptance, AccountChange, AuthError, Authenticated, Credential, GroupChange, INVITATION_PREFIX, Invited,
    IssuedToken, Link, Liveness, MemberChange, NewAccount, NewGroup, NewToken, NewUser, PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN, ProfilePatch, RESET_PREFIX, Recovered, RecoveryOf, SESSION_PREFIX, SentReset,
    SessionInfo, SignInError, SignedIn, TOKEN_PREFIX, TokenInfo, WaitingLink, is_in_directory,
};
pub use load::{Folded, LoadError, fold_log};
pub use mail::{Letter, LetterState, MailError, Mailer};
pub use name_index::{NAMED_USERS_MAX, NamesError, UserOrder, UserQuery};
pub use operations::{Halted, Ongoing, OperationError, operation_state};
pub use past::{AsOfError, Past};
pub use preview::{PreviewSlot, Previewed};
pub use reading::TablesError;
pub use request::{KeptSession, Receipt, Request, RequestMeta, Unchanged};
pub use resolve::is_id;
pub use seal::{EMAIL_BYTES_MAX, LOGIN_NAME_CHARS_MAX, name_tag};
pub use secret::SecretText;
pub use snapshots::CODE_VERSION;
pub use tables::{AfterBuild, GenerationState, ProjectionError, ProjectionState, ProjectionStatus};
pub use tree::{SignedCheckpoint, TreeError};
pub use undo::{UndoError, UndoneCommand};

/// The target of the spans that traces are made of. Logs have none of it, traces nothing else.
pub const TRACES: &str = "charter::trace";
