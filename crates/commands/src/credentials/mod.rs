//! Credentials: the facts about passwords, tokens and sessions. One file a command.

mod change_password;
mod end_session;
mod end_sessions;
mod issue_token;
mod revoke_token;
mod send_reset_link;

pub use change_password::ChangePassword;
pub use end_session::EndSession;
pub use end_sessions::EndSessions;
pub use issue_token::IssueToken;
pub use revoke_token::RevokeToken;
pub use send_reset_link::SendResetLink;

use crate::{
    Context, Guard,
    may::{require_global, token_too_narrow},
    refusal::Refusal,
    users::require_may_touch,
};
use charter_events::{Pattern, UserId};
use charter_policy::Policy;

/// One's own credentials need no key, but a token without a mask: a masked one must not become more than it is.
pub(crate) fn require_unmasked(ctx: &Context<'_>) -> Result<(), Refusal> {
    ctx.guard(Guard::CredentialWithinCeiling, || match ctx.caller.ceiling() {
        Some(ceiling) if !ceiling.contains(&Pattern::all()) => Err(token_too_narrow("*")),
        _ => Ok(()),
    })
}

/// Requires that the caller may end a user's sessions: his own, or as an editor of users, and of an administrator's
/// as one.
fn require_may_end(policy: &Policy, ctx: &Context<'_>, user: UserId) -> Result<(), Refusal> {
    if ctx.caller.user() == Some(user) {
        return require_unmasked(ctx);
    }
    require_global(policy, ctx, "core.user.edit")?;
    crate::users::existing(policy, user)?;
    require_may_touch(policy, ctx, user)
}
