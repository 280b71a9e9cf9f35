//! Erases an account whose time has come; his grants, memberships and tokens end, each as an event of its own.
//!
//! Refused: `system_only`; `not_found`; `invalid_state` unless awaiting deletion; `invalid_time` before the moment
//! named; `owns_objects`; `too_many_consequences`; `last_administrator`.

use super::{invalid_state, known, schedule_deletion::require_owns_nothing};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    decide::require_consequences,
    may::require_system,
    refusal::{Code, Refusal},
};
use charter_events::{
    CredentialTokenRevoked, EndedBy, Event, GrantEnded, GroupMemberRemoved, Subject, UserErased, UserId,
};
use charter_policy::{Policy, UserStatus};

/// Erases an account whose time has come; his grants, memberships and tokens end. System only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EraseUser {
    /// The user.
    pub user: UserId,
}

impl Decide for EraseUser {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_system(ctx)?;
        let user = known(policy, self.user)?;
        if user.status != UserStatus::AwaitingDeletion {
            return Err(invalid_state(&user));
        }
        if user.erase_at.is_some_and(|moment| ctx.now < moment) {
            return Err(Refusal::of(
                Code::InvalidTime,
                "user",
                "the time to restore the account has not passed",
            ));
        }
        ctx.guard(Guard::OwnsNothing, || require_owns_nothing(policy, ctx, user.id))?;
        let subject = Subject::User(user.id);
        let groups = policy.groups_of(user.id).count();
        let tokens = policy.tokens_of(user.id).count();
        let consequences = policy.grant_count_of(subject).saturating_add(groups).saturating_add(tokens);
        require_consequences(ctx, consequences.saturating_add(1))?;
        let by = EndedBy::User(user.id);
        let mut events: Vec<Event> = policy
            .grants_of(subject)
            .map(|grant| GrantEnded { grant: grant.id, by: by.clone() }.into())
            .collect();
        events.extend(
            policy.groups_of(user.id).map(|group| Event::from(GroupMemberRemoved { group, user: user.id })),
        );
        events.extend(
            policy.tokens_of(user.id).map(|token| Event::from(CredentialTokenRevoked { token: token.id })),
        );
        events.push(UserErased { user: user.id }.into());
        Ok(Decided::events(events))
    }
}
