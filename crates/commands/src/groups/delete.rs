//! Deletes a group; each of its memberships and grants ends.
//!
//! Refused: `forbidden` without `core.group.delete`; `not_found`; `stale`; `not_held`, `outlives_holder` for the
//! content of a grant the caller does not hold over its reach (a deny: without end); `too_many_consequences`;
//! `last_administrator`.

use super::known;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    decide::require_consequences,
    holding::require_group_content_held,
    may::{require_global, require_unchanged},
    refusal::Refusal,
};
use charter_events::{EndedBy, Event, GrantEnded, GroupDeleted, GroupId, GroupMemberRemoved, Subject};
use charter_policy::{Policy, Span};

/// Deletes a group; each of its memberships and grants ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteGroup {
    /// The group.
    pub group: GroupId,
}

impl Decide for DeleteGroup {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.group.delete")?;
        let group = known(policy, self.group)?;
        require_unchanged(ctx, group.changed_at)?;
        ctx.guard(Guard::HoldToDeleteGroup, || require_group_content_held(policy, ctx, group.id, Span::Now))?;
        let subject = Subject::Group(group.id);
        let consequences = policy.grant_count_of(subject).saturating_add(group.member_count);
        require_consequences(ctx, consequences.saturating_add(1))?;
        let by = EndedBy::Group(group.id);
        let grants =
            policy.grants_of(subject).map(|grant| GrantEnded { grant: grant.id, by: by.clone() }.into());
        let members =
            policy.members(group.id).map(|user| GroupMemberRemoved { group: group.id, user }.into());
        let mut events: Vec<Event> = grants.chain(members).collect();
        events.push(GroupDeleted { group: group.id }.into());
        Ok(Decided::events(events))
    }
}
