//! Deletes an object or an empty folder; each grant on it ends.
//!
//! Refused: `forbidden` without the type's manage key; `not_found`; `stale`; `not_empty`; `too_many_consequences`.

use crate::{
    Context, Decided, Guard,
    command::Decide,
    decide::require_consequences,
    may::{object_to_manage, require_unchanged},
    refusal::{Code, Refusal},
};
use charter_events::{EndedBy, Event, GrantEnded, ObjectDeleted, ObjectId, Scope};
use charter_policy::Policy;

/// Deletes an object or an empty folder; each grant on it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteObject {
    /// The object.
    pub object: ObjectId,
}

impl Decide for DeleteObject {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        let object = object_to_manage(policy, ctx, self.object)?;
        require_unchanged(ctx, object.changed_at)?;
        ctx.guard(Guard::FolderEmpty, || {
            if policy.child_count(object.id) > 0 {
                return Err(Refusal::of(Code::NotEmpty, "object", "the folder still contains something"));
            }
            Ok(())
        })?;
        let scope = Scope::Object(object.id);
        require_consequences(ctx, policy.grant_count_at(scope).saturating_add(1))?;
        let by = EndedBy::Object(object.id);
        let mut events: Vec<Event> = policy
            .grants_at(scope)
            .map(|grant| GrantEnded { grant: grant.id, by: by.clone() }.into())
            .collect();
        events.push(ObjectDeleted { object: object.id }.into());
        Ok(Decided::events(events))
    }
}
