//! Takes a user out of a group, or leaves it; one who is not in changes nothing.
//!
//! Refused: `forbidden` without `core.group.manage`, but for leaving a group that carries no deny; `not_found`;
//! `stale`; `not_held`, `outlives_holder` for the content of a grant of the group that the caller does not hold
//! over its reach (a deny: without end); `last_administrator`.

use super::known;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_group_content_held,
    may::{core_key, require_global, require_unchanged, require_within_ceiling},
    refusal::Refusal,
};
use charter_events::{Effect, GroupId, GroupMemberRemoved, Subject, UserId};
use charter_policy::{Policy, Span};

/// Takes a user out of a group, or leaves it; one who is not in changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveMember {
    /// The group.
    pub group: GroupId,
    /// The user.
    pub user: UserId,
}

impl Decide for RemoveMember {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let leaves = self.may_leave(policy, ctx);
        if leaves {
            require_within_ceiling(ctx, &core_key("core.group.manage")?)?;
        } else {
            require_global(policy, ctx, "core.group.manage")?;
        }
        let group = known(policy, self.group)?;
        require_unchanged(ctx, group.changed_at)?;
        if !policy.is_member(group.id, self.user) {
            let reads_users = require_global(policy, ctx, "core.user.read").is_ok();
            return match policy.user(self.user) {
                None if reads_users => Err(Refusal::not_found("user")),
                // To others nobody and one who is not in are the same.
                Some(_) | None => Ok(Decided::nothing()),
            };
        }
        if !leaves {
            ctx.guard(Guard::HoldToRemoveMember, || {
                require_group_content_held(policy, ctx, group.id, Span::Now)
            })?;
        }
        Ok(Decided::one(GroupMemberRemoved { group: group.id, user: self.user }))
    }
}

impl RemoveMember {
    /// Anyone may leave a group that has no deny: a deny would be lifted by leaving.
    fn may_leave(&self, policy: &Policy, ctx: &Context<'_>) -> bool {
        ctx.caller.user() == Some(self.user)
            && policy.is_member(self.group, self.user)
            && !(ctx.stands(Guard::LeaveWithDeny) && self.carries_deny(policy, ctx))
    }

    fn carries_deny(&self, policy: &Policy, ctx: &Context<'_>) -> bool {
        policy
            .grants_of(Subject::Group(self.group))
            .any(|grant| grant.effect == Effect::Deny && !grant.has_ended(ctx.now))
    }
}
