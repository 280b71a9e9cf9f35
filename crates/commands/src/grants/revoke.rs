//! Takes a grant back.
//!
//! Refused: `not_found` for a grant that is not there or may not be known; `forbidden` without `core.grant.manage`
//! over its reach; `owner_grant`; `not_held`, `outlives_holder` for a content the caller does not hold over its
//! reach, now, and of a deny for good; `last_administrator`. Anyone may give up his own allow.

use super::require_manage_over;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_content_held,
    may::{core_key, require, require_within_ceiling},
    refusal::{Class, Code, Refusal},
};
use charter_events::{Effect, GrantId, GrantRevoked, Subject};
use charter_policy::{GrantView, Policy, Span};

/// Takes a grant back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeGrant {
    /// The grant.
    pub grant: GrantId,
}

impl Decide for RevokeGrant {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_within_ceiling(ctx, &core_key("core.grant.manage")?)?;
        let grant = policy.grant(self.grant).ok_or_else(|| Refusal::not_found("grant"))?;
        let gives_up = grant.effect == Effect::Allow && is_his(&grant, ctx);
        // Lifting a deny widens access for good; taking an allow away gives nobody anything.
        let span = match grant.effect {
            Effect::Deny if ctx.stands(Guard::LiftDenyWithoutEnd) => Span::Until(None),
            Effect::Deny | Effect::Allow => Span::Now,
        };
        if !gives_up {
            require_managed(policy, ctx, &grant, span)?;
        }
        ctx.guard(Guard::OwnerGrantStays, || {
            if grant.is_owner_grant {
                let detail = "the owner's grant ends by a transfer, or with the object";
                return Err(Refusal::of(Code::OwnerGrant, "grant", detail));
            }
            Ok(())
        })?;
        if !gives_up {
            ctx.guard(Guard::HoldToRevoke, || require_content_held(policy, ctx, &grant, span))?;
        }
        Ok(Decided::one(GrantRevoked { grant: grant.id }))
    }
}

/// `core.grant.manage` over the grant's reach; where the caller may not even know the grant, as if there were none.
fn require_managed(
    policy: &Policy,
    ctx: &Context<'_>,
    grant: &GrantView<'_>,
    span: Span,
) -> Result<(), Refusal> {
    match require_manage_over(policy, ctx, grant.scope, grant.reach, span) {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.code.class() == Class::NotFound => Err(Refusal::not_found("grant")),
        Err(refusal) if refusal.code == Code::Forbidden && !may_know(policy, ctx, grant) => {
            Err(Refusal::not_found("grant"))
        }
        Err(refusal) => Err(refusal),
    }
}

/// A grant is known to its subject and to whoever may see the grants at its scope.
fn may_know(policy: &Policy, ctx: &Context<'_>, grant: &GrantView<'_>) -> bool {
    let sees = || core_key("core.grant.read").and_then(|key| require(policy, ctx, &key, grant.scope));
    is_his(grant, ctx) || !ctx.stands(Guard::MayKnow) || sees().is_ok()
}

fn is_his(grant: &GrantView<'_>, ctx: &Context<'_>) -> bool {
    ctx.caller.user().map(Subject::User) == Some(grant.subject)
}
