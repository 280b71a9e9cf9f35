//! The port by which all that stands beside the log is carried to another store: keys, passwords, sessions, tokens and
//! kept answers. Read here a page at a time; written there through [`Append::write`](crate::Append::write), all or
//! none, after the installation's keys ([`SecretWrite::PutInstallationKeys`](crate::SecretWrite::PutInstallationKeys)).

use crate::{
    error::StoreError,
    log::{Answer, IdempotencyKey},
    secrets::{CredentialRow, PasswordHash, SecretHash, UserKey},
};
use async_trait::async_trait;
use charter_events::UserId;

/// The most rows one page holds, whatever was asked for.
pub const MOVED_ROWS_MAX: usize = 10_000;

/// Reading all that is kept beside the log. Pages are in the order of their keys as the store has it; an empty page,
/// and nothing else, means that there are no more.
///
/// Errors of each: [`StoreError::Unavailable`], [`StoreError::Damaged`]; [`StoreError::Refused`] by a store that
/// can't be moved.
#[async_trait]
pub trait MoveStore: Send + Sync {
    /// Users' keys.
    async fn user_keys_after(
        &self,
        _after: Option<UserId>,
        _limit: usize,
    ) -> Result<Vec<(UserId, UserKey)>, StoreError> {
        Err(not_moved())
    }

    /// Users' password hashes.
    async fn passwords_after(
        &self,
        _after: Option<UserId>,
        _limit: usize,
    ) -> Result<Vec<(UserId, PasswordHash)>, StoreError> {
        Err(not_moved())
    }

    /// Sessions, tokens and links.
    async fn credentials_after(
        &self,
        _after: Option<&SecretHash>,
        _limit: usize,
    ) -> Result<Vec<(SecretHash, CredentialRow)>, StoreError> {
        Err(not_moved())
    }

    /// Kept answers.
    async fn answers_after(
        &self,
        _after: Option<&IdempotencyKey>,
        _limit: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        Err(not_moved())
    }
}

fn not_moved() -> StoreError {
    StoreError::Refused("what this store keeps beside the log can't be moved".into())
}
