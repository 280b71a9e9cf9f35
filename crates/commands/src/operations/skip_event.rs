//! Lets a projection go on without an event it can't take. What the event says still counts for every decision: only
//! the projection's rows lack it.
//!
//! Refused: `forbidden` without `core.projection.rebuild` platform-wide; `not_found` for an event that is not there.

use crate::{Context, Decided, command::Decide, may::require_global, refusal::Refusal};
use charter_events::{Offset, ProjectionSkipped, Slug};
use charter_policy::Policy;

/// Lets a projection go on without an event. Why is the request's reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkipEvent {
    /// The projection.
    pub projection: Slug,
    /// The event.
    pub offset: Offset,
}

impl Decide for SkipEvent {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.projection.rebuild")?;
        if self.offset == Offset::ZERO || self.offset > policy.version() {
            return Err(Refusal::not_found("offset"));
        }
        if policy.is_skipped(self.projection.as_str(), self.offset) {
            return Ok(Decided::nothing());
        }
        Ok(Decided::one(ProjectionSkipped { projection: self.projection.clone(), skipped: self.offset }))
    }
}
