//! Gives an object to another owner: the old owner's grant ends, the new one's begins, and denies on the object
//! that are addressed to the new owner end, all in one command.
//!
//! Refused: `forbidden` without `core.object.transfer` on it; `not_found`; `stale`; `not_held`, `outlives_holder`
//! without `*` over everything below, for good; `invalid_state` unless the new owner is active; `limit_exceeded`.

use super::owner_grant;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_held,
    may::{object_for, require_unchanged},
    refusal::{Code, Refusal},
};
use charter_events::{
    Effect, EndedBy, Event, GrantEnded, ObjectId, ObjectTransferred, Pattern, Reach, Scope, Subject, UserId,
};
use charter_policy::{GrantView, Policy, Span};

/// Gives an object to another owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferObject {
    /// The object.
    pub object: ObjectId,
    /// Who owns it from now on.
    pub owner: UserId,
}

impl Decide for TransferObject {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let object = object_for(policy, ctx, "object", self.object, "core.object.transfer")?;
        require_unchanged(ctx, object.changed_at)?;
        if object.owner == Some(self.owner) {
            return Ok(Decided::nothing());
        }
        let scope = Scope::Object(object.id);
        ctx.guard(Guard::HoldToTransfer, || {
            require_held(policy, ctx, &[Pattern::all()], scope, Reach::ALL, Span::Until(None))
        })?;
        self.require_new_owner(policy, ctx)?;
        let by = EndedBy::Transfer(object.id);
        let denies = policy
            .grants_at_for(scope, Subject::User(self.owner))
            .filter(|grant| grant.effect == Effect::Deny && ctx.stands(Guard::DeniesOnNewOwnerEnd));
        let ended: Vec<GrantView<'_>> =
            object.owner_grant.and_then(|id| policy.grant(id)).into_iter().chain(denies).collect();
        self.require_room(policy, ctx, &ended)?;
        let mut events: Vec<Event> =
            ended.iter().map(|grant| GrantEnded { grant: grant.id, by: by.clone() }.into()).collect();
        events.push(ObjectTransferred { object: object.id, owner: self.owner }.into());
        events.push(owner_grant(policy, ctx, object.id, self.owner)?.into());
        Ok(Decided::events(events))
    }
}

impl TransferObject {
    /// Asked only of somebody who holds everything there: others learn nothing about users here.
    fn require_new_owner(&self, policy: &Policy, ctx: &Context<'_>) -> Result<(), Refusal> {
        let owner = policy.user(self.owner).ok_or_else(|| Refusal::not_found("owner"))?;
        ctx.guard(Guard::NewOwnerActive, || {
            if owner.is_active() {
                return Ok(());
            }
            // In which way it is not is for those who may read users.
            Err(Refusal::of(Code::InvalidState, "owner", "the new owner's account is not active"))
        })
    }

    fn require_room(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        ended: &[GrantView<'_>],
    ) -> Result<(), Refusal> {
        let subject = Subject::User(self.owner);
        let stand = policy.grants_at_for(Scope::Object(self.object), subject).count();
        let end = ended.iter().filter(|grant| grant.subject == subject).count();
        let maximum = ctx.limits.subject_scope_grants;
        if stand.saturating_sub(end) >= maximum {
            return Err(Refusal::limit("owner", "grants of one subject on one object", maximum));
        }
        Ok(())
    }
}
