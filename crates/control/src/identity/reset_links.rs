//! Links with which somebody chooses another password, made by an administrator: sent to the address on record, or
//! shown to whoever asked for one, once. They are taken like those for a forgotten password.

use super::links::{Link, NewLink, Purpose, Way};
use crate::{
    control::Control,
    error::IdentityError,
    letters,
    mail::{self, Letter},
    request::{Receipt, Request, RequestMeta},
};
use charter_commands::SendResetLink;
use charter_events::{Offset, Timestamp, UserId};
use charter_policy::Caller;

/// A link for another password that was sent, or is to be handed over.
#[derive(Debug, Clone)]
pub struct SentReset {
    /// Whose password.
    pub user: UserId,
    /// Until when the link works.
    pub expires_at: Timestamp,
    /// The link, shown once, where it was not sent to the address on record.
    pub link: Option<Link>,
    /// The answer to the command.
    pub receipt: Receipt,
}

impl Control {
    /// Makes a link with which a user chooses another password, and sends it; without mail, or an address, it is shown.
    /// His sessions end, and links that were sent before.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub async fn send_reset_link(
        &self,
        caller: Caller,
        user: UserId,
        meta: RequestMeta,
    ) -> Result<SentReset, IdentityError> {
        let email = self.profile(user).await.and_then(|names| names.email);
        let way = self.way_to(email.as_deref())?;
        let shown = matches!(way, Way::Shown);
        let NewLink { secret, put, row, expires_at } =
            self.new_link(Purpose::Reset, user, (Offset::ZERO, shown))?;
        let request = Request {
            secrets: vec![Purpose::Reset.none_of(user), put],
            answers_secret: shown,
            ..Request::new(caller, SendResetLink { user, shown }.into(), meta)
        };
        let receipt = self.submit(request).await?;
        let link = self.link(Purpose::Reset, &secret);
        let (expires_at, link) = match way {
            Way::Shown => (expires_at, Some(link)),
            // The letter went with the first answer, and with that one's secret.
            Way::Mailed(..) if receipt.repeated => (self.link_ends(user, Purpose::Reset).await?, None),
            Way::Mailed(room, to) => {
                let names = self.profile(user).await;
                let (policy, server) = (self.policy(), self.inner.config.public_url.as_deref());
                let (subject, text) =
                    letters::reset_link(policy.installation(), server, &link, names.as_ref(), expires_at);
                mail::post(&self.inner, room, user, Some(row), Letter { to, subject, text });
                (expires_at, None)
            }
        };
        Ok(SentReset { user, expires_at, link, receipt })
    }
}
