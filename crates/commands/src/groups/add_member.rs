//! Adds a user to a group; one who is in already changes nothing.
//!
//! Refused: `forbidden` without `core.group.manage`; `not_found`; `stale`; `invalid_state` for an erased user;
//! `limit_exceeded`; `not_held`, `outlives_holder` for the content of a grant of the group, allow or deny, begun or
//! not, that the caller does not hold over its reach for good.

use super::known;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_group_content_held,
    may::{require_global, require_unchanged},
    refusal::{Code, Refusal},
};
use charter_events::{GroupId, GroupMemberAdded, UserId};
use charter_policy::{Policy, Span, UserStatus};

/// Adds a user to a group; one who is in already changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddMember {
    /// The group.
    pub group: GroupId,
    /// The user.
    pub user: UserId,
}

impl Decide for AddMember {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.group.manage")?;
        let group = known(policy, self.group)?;
        require_unchanged(ctx, group.changed_at)?;
        if policy.is_member(group.id, self.user) {
            return Ok(Decided::nothing());
        }
        if group.member_count >= ctx.limits.group_members {
            return Err(Refusal::limit("group", "members in a group", ctx.limits.group_members));
        }
        // A membership has no end, so it takes a holding without end.
        ctx.guard(Guard::HoldToAddMember, || {
            require_group_content_held(policy, ctx, group.id, Span::Until(None))
        })?;
        // Asked last: who may add nobody here learns nothing about users.
        let user = policy.user(self.user).ok_or_else(|| Refusal::not_found("user"))?;
        if user.status == UserStatus::Erased {
            return Err(Refusal::of(Code::InvalidState, "user", "the account is erased"));
        }
        Ok(Decided::one(GroupMemberAdded { group: group.id, user: user.id }))
    }
}
