//! Forgotten passwords: whoever asks is answered at once and always alike. Whether there is such an account is looked
//! up afterwards, and told to nobody but its own address.

use super::links::{NewLink, Purpose, died};
use crate::{
    control::Control,
    error::IdentityError,
    letters,
    mail::{self, Letter, Room},
    request::{Receipt, Request, RequestMeta},
    secret::SecretText,
};
use charter_commands::ChangePassword;
use charter_events::UserId;
use charter_policy::{Caller, Policy, UserView};
use charter_store::causes;

impl Control {
    /// Has a link sent to whoever goes by a name, if there is an account with a password and an address. What comes of
    /// it is not told, and takes no part of the time of the answer.
    ///
    /// # Errors
    /// For every name alike: [`IdentityError::NoMail`], [`IdentityError::TooManyAttempts`],
    /// [`IdentityError::TooManyLetters`].
    pub fn forgot_password(&self, name: &str) -> Result<(), IdentityError> {
        let inner = &self.inner;
        if !self.sends_mail() {
            return Err(IdentityError::NoMail);
        }
        let tag = inner.sealing.attempts_tag("forgotten", &name.to_lowercase());
        let attempt = inner.identity.letters.attempt(tag.as_bytes(), inner.time());
        attempt.map_err(|retry_after_seconds| IdentityError::TooManyAttempts { retry_after_seconds })?;
        let room = inner.mail.reserve().map_err(|_| IdentityError::TooManyLetters)?;
        let (control, name) = (self.clone(), name.to_owned());
        inner.tasks.spawn(async move {
            if let Err(error) = control.answer_by_letter(&name, room).await {
                tracing::error!(error = %causes(&error), "a forgotten password could not be answered");
            }
        });
        Ok(())
    }

    async fn answer_by_letter(&self, name: &str, room: Room) -> Result<(), IdentityError> {
        if !self.follow_others().await {
            return Err(crate::CommandError::Unavailable { reason: "the store can't be reached" }.into());
        }
        let policy = self.policy();
        let Some(user) = self.user_by_login(&policy, name) else { return Ok(()) };
        let names = self.profile(user).await;
        let Some(to) = names.as_ref().and_then(|names| names.email.clone()) else { return Ok(()) };
        let server = self.inner.config.public_url.as_deref();
        let (row, (subject, text)) = if policy.is_or_will_be_administrator(user, self.now()) {
            // Whoever reads an administrator's mail is not yet one.
            (None, letters::no_reset(policy.installation()))
        } else {
            let NewLink { secret, put, row, expires_at } =
                self.new_link(Purpose::Reset, user, (policy.version(), false))?;
            self.inner.store.write_secrets(&[Purpose::Reset.none_of(user), put]).await?;
            let link = self.link(Purpose::Reset, &secret);
            (Some(row), letters::reset(policy.installation(), server, &link, names.as_ref(), expires_at))
        };
        mail::post(&self.inner, room, user, row, Letter { to, subject, text });
        Ok(())
    }

    /// Sets another password, or a first one, for whoever has the link that was sent for it. The link works once, and
    /// all sessions of its user end.
    ///
    /// # Errors
    /// [`IdentityError::InvalidLink`] for a link that is unknown, used, expired or replaced, and any other.
    pub async fn reset_forgotten_password(
        &self,
        secret: &SecretText,
        new: &SecretText,
        meta: RequestMeta,
    ) -> Result<(UserId, Receipt), IdentityError> {
        let now = self.now();
        let good = |policy: &Policy, user: &UserView<'_>| {
            user.is_active() && !policy.is_or_will_be_administrator(user.id, now)
        };
        let found = self.find_link(secret, Purpose::Reset, good).await?;
        let user = found.user;
        let names = self.profile(user).await;
        let request = Request {
            secrets: vec![Purpose::Reset.none_of(user)],
            unchanged: Some(found.while_it_works()),
            ..Request::new(Caller::of(user), ChangePassword { user, has_password: true }.into(), meta)
        };
        let receipt = self.submit_with_password(request, user, new, names.as_ref()).await.map_err(died)?;
        Ok((user, receipt))
    }
}
