//! Says whether what stands above an object counts for it.
//!
//! Refused: `forbidden` without `core.grant.manage` on it; `not_found`; `stale`. Opening: `not_held`,
//! `outlives_holder` for what begins to reach it, unless held over everything below. Sealing: `not_held` without
//! `*` over everything below, for sealing demotes those above.

use super::crossing::{Above, require_crossing_held};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_held,
    may::{object_for, require_unchanged},
    refusal::Refusal,
};
use charter_events::{ObjectId, ObjectInheritanceChanged, Pattern, Reach, Scope};
use charter_policy::{Policy, Span};

/// Says whether what stands above an object counts for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetInheritance {
    /// The object.
    pub object: ObjectId,
    /// Whether it counts from now on.
    pub inherits: bool,
}

impl Decide for SetInheritance {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let object = object_for(policy, ctx, "object", self.object, "core.grant.manage")?;
        require_unchanged(ctx, object.changed_at)?;
        if object.inherits == self.inherits {
            return Ok(Decided::nothing());
        }
        if self.inherits {
            let after = Above::from_parent(policy, object.parent);
            require_crossing_held(policy, ctx, &object, &Above::sealed(), &after)?;
        } else {
            ctx.guard(Guard::HoldToSeal, || {
                let all = [Pattern::all()];
                require_held(policy, ctx, &all, Scope::Object(object.id), Reach::ALL, Span::Now)
            })?;
        }
        Ok(Decided::one(ObjectInheritanceChanged { object: object.id, inherits: self.inherits }))
    }
}
