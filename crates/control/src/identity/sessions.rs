//! Sessions: listing them and ending them. A session's start is no event; its early end is.

use super::{Authenticated, Credential};
use crate::{
    control::Control,
    error::IdentityError,
    request::{Receipt, Request, RequestMeta},
};
use charter_commands::{EndSession, EndSessions};
use charter_events::{SessionId, Timestamp, UserId};
use charter_policy::Caller;
use charter_store::{CredentialKind, CredentialRef, CredentialRow, SecretWrite, StoreError};

/// A session as its user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionInfo {
    /// The session.
    pub id: SessionId,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was last used, to about a minute.
    pub last_used: Option<Timestamp>,
}

impl Control {
    /// A user's live sessions, newest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn sessions(&self, user: UserId) -> Result<Vec<SessionInfo>, StoreError> {
        let rows = self.inner.store.sessions_of(user).await?;
        let (policy, now) = (self.policy(), self.now());
        let live = |row: &&CredentialRow| {
            row.expires_at.is_none_or(|end| now < end)
                && !policy.session_is_ended(SessionId::new(row.id), user, row.began)
        };
        Ok(rows
            .iter()
            .filter(live)
            .map(|row| SessionInfo {
                id: SessionId::new(row.id),
                began_at: row.created_at,
                expires_at: row.expires_at.unwrap_or(Timestamp::MAX),
                last_used: row.last_used,
            })
            .collect())
    }

    /// Ends the session somebody authenticated by. With a token there is none to end.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn sign_out(
        &self,
        who: &Authenticated,
        meta: RequestMeta,
    ) -> Result<Option<Receipt>, IdentityError> {
        let Credential::Session(session) = who.credential else { return Ok(None) };
        let expires_at = who.expires_at.unwrap_or(Timestamp::MAX);
        self.end(who.caller.clone(), EndSession { session, user: who.user, expires_at }, meta).await.map(Some)
    }

    /// Ends one session of a user.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn end_session(
        &self,
        caller: Caller,
        user: UserId,
        session: SessionId,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let rows = self.inner.store.sessions_of(user).await?;
        let row = rows.iter().find(|row| row.id == session.as_uuid());
        // A session that is not there ends as any other, if the caller may end sessions of that user: some server may
        // still know it.
        let length = i64::try_from(self.inner.config.session_length.as_micros()).unwrap_or(i64::MAX);
        let latest = || self.now().saturating_add_micros(length);
        let expires_at = row.and_then(|row| row.expires_at).unwrap_or_else(latest);
        self.end(caller, EndSession { session, user, expires_at }, meta).await
    }

    pub(super) async fn end(
        &self,
        caller: Caller,
        command: EndSession,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let secrets = vec![SecretWrite::RemoveCredential(CredentialRef::Id(command.session.as_uuid()))];
        let request = Request { secrets, ..Request::new(caller, command.into(), meta) };
        Ok(self.submit(request).await?)
    }

    /// Ends all sessions of a user.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn end_sessions(
        &self,
        caller: Caller,
        user: UserId,
        meta: RequestMeta,
    ) -> Result<Receipt, IdentityError> {
        let secrets = vec![SecretWrite::RemoveCredentialsOf { user, kind: Some(CredentialKind::Session) }];
        let request = Request { secrets, ..Request::new(caller, EndSessions { user }.into(), meta) };
        Ok(self.submit(request).await?)
    }
}
