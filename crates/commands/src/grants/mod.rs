//! Grants: issue, revoke, record their end. One file a command.

mod expire;
mod fitting;
mod issue;
mod revoke;

pub use expire::ExpireGrants;
pub use issue::IssueGrant;
pub use revoke::RevokeGrant;

use crate::{
    Context, Guard,
    may::{core_key, may_know, require_within_ceiling, token_too_narrow},
    refusal::{Code, Refusal},
};
use charter_events::{Pattern, Reach, Scope};
use charter_policy::{ObjectView, Policy, Span};

/// Requires `core.grant.manage` over a reach and a span; gives the object, when the scope is one.
///
/// An object the caller may not know is `not_found`. The token's mask is asked first: that answer is the same for
/// every scope, there or not.
fn require_manage_over<'p>(
    policy: &'p Policy,
    ctx: &Context<'_>,
    scope: Scope,
    reach: Reach,
    span: Span,
) -> Result<Option<ObjectView<'p>>, Refusal> {
    let key = core_key("core.grant.manage")?;
    require_within_ceiling(ctx, &key).map_err(|_| token_too_narrow(key.as_str()))?;
    let object = match scope {
        Scope::Global => None,
        Scope::Object(id) => Some(policy.object(id).ok_or_else(|| Refusal::not_found("scope"))?),
    };
    ctx.guard(Guard::CommandKey, || {
        let asked = [Pattern::from(key.clone())];
        let lacking = match policy.require_held(ctx.caller, &asked, scope, reach, span, ctx.now) {
            Ok(()) => return Ok(()),
            Err(lacking) => lacking,
        };
        if let Some(object) = &object
            && ctx.stands(Guard::MayKnow)
            && !lacking.outlives
            && !may_know(policy, ctx, object)
        {
            return Err(Refusal::not_found("scope"));
        }
        let refusal = if lacking.outlives {
            Refusal::new(
                Code::OutlivesHolder,
                format!("you hold `{key}`, but not for as long as it would last"),
            )
        } else {
            Refusal::new(Code::Forbidden, format!("you need `{key}` for this"))
        };
        Err(refusal.missing(key.as_str()))
    })?;
    Ok(object)
}
