//! Tokens, and sessions that were ended before their time. Facts only: no secret is known here.

use crate::ix::UserIx;
use charter_events::{DisplayName, Pattern, SessionId, Timestamp, TokenId};
use imbl::{OrdMap, OrdSet};
use std::sync::Arc;

/// A standing token.
#[derive(Debug, Clone)]
pub(crate) struct TokenFacts {
    pub(crate) user: UserIx,
    pub(crate) name: DisplayName,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) mask: Option<Arc<[Pattern]>>,
    pub(crate) issued_at: Timestamp,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    pub(crate) tokens: OrdMap<TokenId, Arc<TokenFacts>>,
    pub(crate) tokens_of: OrdSet<(UserIx, TokenId)>,
    /// Sessions ended one by one, until the moment they would have ended anyway.
    pub(crate) ended: OrdMap<SessionId, (UserIx, Timestamp)>,
    forget: OrdSet<(Timestamp, SessionId)>,
}

impl Credentials {
    pub(crate) fn insert_token(&mut self, id: TokenId, facts: TokenFacts) {
        self.tokens_of.insert((facts.user, id));
        self.tokens.insert(id, Arc::new(facts));
    }

    pub(crate) fn remove_token(&mut self, id: TokenId) -> bool {
        let Some(facts) = self.tokens.remove(&id) else { return false };
        self.tokens_of.remove(&(facts.user, id));
        true
    }

    pub(crate) fn tokens_of(&self, user: UserIx) -> impl Iterator<Item = TokenId> {
        let first = (user, TokenId::from_u128(0));
        self.tokens_of.range(first..).take_while(move |(owner, _)| *owner == user).map(|(_, id)| *id)
    }

    pub(crate) fn end_session(&mut self, session: SessionId, user: UserIx, expires_at: Timestamp) {
        self.ended.insert(session, (user, expires_at));
        self.forget.insert((expires_at, session));
    }

    /// Forgets the sessions that would have ended by now anyway, so that what is kept is bounded by what may live.
    pub(crate) fn forget_ended(&mut self, now: Timestamp) {
        while let Some((expires_at, session)) = self.forget.get_min().copied()
            && expires_at <= now
        {
            self.forget.remove(&(expires_at, session));
            self.ended.remove(&session);
        }
    }
}
