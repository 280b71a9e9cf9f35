//! API tokens. Owner, name, end, mask and revocation are facts of the log; the store keeps the hash of the secret and
//! when it was last used.

use super::{TOKEN_PREFIX, new_secret, users::no_randomness};
use crate::{
    control::Control,
    error::IdentityError,
    request::{Receipt, Request, RequestMeta},
    secret::SecretText,
};
use charter_commands::{IssueToken, RevokeToken};
use charter_events::{DisplayName, Offset, Pattern, Timestamp, TokenId, UserId};
use charter_policy::Caller;
use charter_store::{CredentialKind, CredentialRef, CredentialRow, SecretWrite, StoreError};
use std::collections::HashMap;
use uuid::Uuid;

/// A token to be issued.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Whom it will speak for.
    pub user: UserId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// It works until just before this moment; without end when absent.
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it; none: no ceiling.
    pub mask: Option<Vec<Pattern>>,
}

/// A token that was just issued.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    /// What clients send. Shown once.
    pub secret: SecretText,
    /// The token.
    pub token: TokenId,
    /// The answer to the command.
    pub receipt: Receipt,
}

/// A token as its user sees it.
#[derive(Debug, Clone)]
pub struct TokenInfo {
    /// The token.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: DisplayName,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// It works until just before this moment.
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it.
    pub mask: Option<Vec<Pattern>>,
    /// When it was last used, to about a minute.
    pub last_used: Option<Timestamp>,
}

impl Control {
    /// Issues an API token. A repeat of the request is `secret_shown_once`.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn issue_token(
        &self,
        caller: Caller,
        new: NewToken,
        meta: RequestMeta,
    ) -> Result<IssuedToken, IdentityError> {
        let (secret, hash) = new_secret(TOKEN_PREFIX).ok_or_else(no_randomness)?;
        let token = TokenId::new(Uuid::now_v7());
        let NewToken { user, name, expires_at, mask } = new;
        let row = CredentialRow {
            kind: CredentialKind::Token,
            id: token.as_uuid(),
            user,
            created_at: self.now(),
            expires_at,
            began: Offset::ZERO,
            last_used: None,
        };
        let command = IssueToken { token, user, name, expires_at, mask };
        let secrets = vec![SecretWrite::PutCredential { hash, row }];
        let request = Request { secrets, answers_secret: true, ..Request::new(caller, command.into(), meta) };
        let receipt = self.submit(request).await?;
        Ok(IssuedToken { secret, token, receipt })
    }

    /// Revokes an API token.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn revoke_token(
        &self,
        caller: Caller,
        token: TokenId,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let secrets = vec![SecretWrite::RemoveCredential(CredentialRef::Id(token.as_uuid()))];
        let request = Request { secrets, ..Request::new(caller, RevokeToken { token }.into(), meta) };
        Ok(self.submit(request).await?)
    }

    /// A user's standing tokens, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn tokens(&self, user: UserId) -> Result<Vec<TokenInfo>, StoreError> {
        let rows = self.inner.store.credentials_of(user, CredentialKind::Token).await?;
        let last_used: HashMap<Uuid, Option<Timestamp>> =
            rows.into_iter().map(|row| (row.id, row.last_used)).collect();
        let policy = self.policy();
        let tokens = policy.tokens_of(user).map(|token| TokenInfo {
            id: token.id,
            name: token.name.clone(),
            issued_at: token.issued_at,
            expires_at: token.expires_at,
            mask: token.mask.map(|mask| mask.to_vec()),
            last_used: last_used.get(&token.id.as_uuid()).copied().flatten(),
        });
        Ok(tokens.collect())
    }
}
