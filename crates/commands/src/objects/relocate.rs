//! Moves an object into another folder, or to the top.
//!
//! Refused: `forbidden` without `core.object.move` and `core.grant.manage` on it, or without its create key on the
//! new parent (globally at the top); `not_found`; `stale`; `not_a_folder`; `cycle`; `limit_exceeded`; `not_held`,
//! `outlives_holder` for what begins to reach it, and for the denies that cease to, unless held over everything
//! below.

use super::{
    crossing::{Above, require_crossing_held},
    require_depth, require_may_create_in,
};
use crate::{
    Context, Decided, Guard,
    command::Decide,
    may::{core_key, object_for, require_on_object, require_unchanged, type_keys},
    refusal::{Code, Refusal},
};
use charter_events::{ObjectId, ObjectMoved};
use charter_policy::{ObjectView, Policy};

/// Moves an object into another folder, or to the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveObject {
    /// The object.
    pub object: ObjectId,
    /// The folder it lies in from now on; none at the top.
    pub parent: Option<ObjectId>,
}

impl Decide for MoveObject {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let object = object_for(policy, ctx, "object", self.object, "core.object.move")?;
        require_unchanged(ctx, object.changed_at)?;
        require_may_create_in(policy, ctx, type_keys(policy, &object)?, self.parent)?;
        // Only now: that it lies there already confirms the folder.
        if object.parent == self.parent {
            return Ok(Decided::nothing());
        }
        self.require_no_cycle(policy, ctx)?;
        self.require_nothing_gained(policy, ctx, &object)?;
        require_depth(policy, ctx, self.parent, policy.subtree_height(object.id).saturating_add(1))?;
        Ok(Decided::one(ObjectMoved { object: object.id, parent: self.parent }))
    }
}

impl MoveObject {
    fn require_no_cycle(&self, policy: &Policy, ctx: &Context<'_>) -> Result<(), Refusal> {
        ctx.guard(Guard::NoCycle, || match self.parent {
            Some(parent) if parent == self.object || policy.is_below(parent, self.object) => {
                Err(Refusal::of(Code::Cycle, "parent", "the object would lie in itself"))
            }
            _ => Ok(()),
        })
    }

    /// A move changes who may do what as a grant would, so it takes what a grant would.
    fn require_nothing_gained(
        &self,
        policy: &Policy,
        ctx: &Context<'_>,
        object: &ObjectView<'_>,
    ) -> Result<(), Refusal> {
        ctx.guard(Guard::ManageToMove, || {
            require_on_object(policy, ctx, "object", object, &core_key("core.grant.manage")?)
        })?;
        if !object.inherits {
            return Ok(());
        }
        let before = Above::from_parent(policy, object.parent);
        let after = Above::from_parent(policy, self.parent);
        require_crossing_held(policy, ctx, object, &before, &after)
    }
}
