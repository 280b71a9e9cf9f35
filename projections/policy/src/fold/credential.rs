//! What credential events mean.

use super::{Fold, Folded};
use crate::state::credentials::TokenFacts;
use charter_events::{
    CredentialPasswordChanged, CredentialSessionEnded, CredentialSessionsEnded, CredentialTokenIssued,
    CredentialTokenRevoked,
};

impl Fold<'_> {
    pub(super) fn password_changed(&mut self, e: &CredentialPasswordChanged) -> Folded {
        let ix = self.living(e.user)?;
        self.facts(ix, |facts| facts.has_password = e.has_password);
        Ok(())
    }

    pub(super) fn token_issued(&mut self, e: &CredentialTokenIssued) -> Folded {
        let user = self.living(e.user)?;
        let credentials = &mut self.policy.credentials;
        if credentials.tokens.contains_key(&e.token) {
            return Err(self.taken("token", &e.token));
        }
        let facts = TokenFacts {
            user,
            name: e.name.clone(),
            expires_at: e.expires_at,
            mask: e.mask.as_deref().map(Into::into),
            issued_at: self.meta.recorded_at,
        };
        credentials.insert_token(e.token, facts);
        Ok(())
    }

    pub(super) fn token_revoked(&mut self, e: &CredentialTokenRevoked) -> Folded {
        if !self.policy.credentials.remove_token(e.token) {
            return Err(self.missing("token", &e.token));
        }
        Ok(())
    }

    pub(super) fn session_ended(&mut self, e: &CredentialSessionEnded) -> Folded {
        let user = self.user(e.user)?;
        let credentials = &mut self.policy.credentials;
        credentials.forget_ended(self.meta.recorded_at);
        if e.expires_at > self.meta.recorded_at {
            credentials.end_session(e.session, user, e.expires_at);
        }
        Ok(())
    }

    pub(super) fn sessions_ended(&mut self, e: &CredentialSessionsEnded) -> Folded {
        let user = self.user(e.user)?;
        let offset = self.meta.offset;
        if let Some(Some(facts)) = self.policy.users.facts.get_mut(user.at()) {
            facts.sessions_ended = Some(offset);
        }
        Ok(())
    }
}
