//! Stops an account; it is erased after a while, and can be restored until then.
//!
//! Refused: `forbidden` without `core.user.delete`; `not_found`; `invalid_time` for a moment that has passed;
//! `not_held`, `outlives_holder` for one sooner than the shortest grace unless the caller is an administrator for good;
//! `invalid_state`; `owns_objects`, listed as far as the caller may read them; `not_held` for an administrator's,
//! now or later, unless the caller is one; `last_administrator`.

use super::{invalid_state, known, require_may_touch};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_administrator,
    may::{may_know, require_global},
    refusal::{Code, Refusal},
};
use charter_events::{CredentialSessionsEnded, ObjectId, Timestamp, UserDeletionScheduled, UserId};
use charter_policy::{Policy, Span, UserStatus};

/// Stops an account; it is erased after a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDeletion {
    /// The user.
    pub user: UserId,
    /// When it may be erased.
    pub erase_at: Timestamp,
}

/// The most objects a refusal lists.
const LISTED_OBJECTS_MAX: usize = 20;
/// The most objects looked at to list some.
const LOOKED_AT_OBJECTS_MAX: usize = 1_000;

impl Decide for ScheduleDeletion {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.user.delete")?;
        let user = known(policy, self.user)?;
        require_may_touch(policy, ctx, user.id)?;
        if self.erase_at <= ctx.now {
            return Err(Refusal::of(Code::InvalidTime, "erase_at", "the moment has passed already"));
        }
        // The grace exists so that an error can be undone; without it a deletion is as lasting as anything gets.
        if self.erase_at < ctx.now.saturating_add_micros(ctx.limits.deletion_grace_micros_min) {
            ctx.guard(Guard::GraceToRestore, || require_administrator(policy, ctx, Span::Until(None)))?;
        }
        match user.status {
            UserStatus::Active | UserStatus::Invited | UserStatus::Suspended => {}
            UserStatus::AwaitingDeletion if user.erase_at == Some(self.erase_at) => {
                return Ok(Decided::nothing());
            }
            UserStatus::AwaitingDeletion | UserStatus::Erased => return Err(invalid_state(&user)),
        }
        ctx.guard(Guard::OwnsNothing, || require_owns_nothing(policy, ctx, user.id))?;
        // Whoever is restored signs in again: an old session must not come back with the account.
        Ok(Decided::events(vec![
            UserDeletionScheduled { user: user.id, erase_at: self.erase_at }.into(),
            CredentialSessionsEnded { user: user.id }.into(),
        ]))
    }
}

/// Objects are transferred or deleted first: nobody is surprised by what went with an account.
pub(super) fn require_owns_nothing(policy: &Policy, ctx: &Context<'_>, user: UserId) -> Result<(), Refusal> {
    if policy.owned_objects(user).next().is_none() {
        return Ok(());
    }
    let readable = |id: &ObjectId| policy.object(*id).is_some_and(|object| may_know(policy, ctx, &object));
    let owned = policy.owned_objects(user).take(LOOKED_AT_OBJECTS_MAX).filter(readable);
    let mut objects: Vec<_> = owned.take(LISTED_OBJECTS_MAX + 1).collect();
    let more = objects.len() > LISTED_OBJECTS_MAX;
    objects.truncate(LISTED_OBJECTS_MAX);
    let refusal =
        Refusal::of(Code::OwnsObjects, "user", "the user still owns objects; transfer or delete them first");
    Err(Refusal { objects, more, ..refusal })
}
