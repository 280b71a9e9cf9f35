//! Gives a group the id it has in somebody else's system, or takes it away.
//!
//! Nothing is looked up by it here: it is kept for whoever gave it. Refused: `forbidden` without `core.group.edit`;
//! `not_found`; `stale`.

use super::known;
use crate::{
    Context, Decided,
    command::Decide,
    may::{require_global, require_unchanged},
    refusal::Refusal,
};
use charter_events::{ExternalId, GroupExternalIdChanged, GroupId};
use charter_policy::Policy;

/// Gives a group the id it has in somebody else's system, or takes it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetGroupExternalId {
    /// The group.
    pub group: GroupId,
    /// Its id there, from now on.
    pub external_id: Option<ExternalId>,
}

impl Decide for SetGroupExternalId {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.group.edit")?;
        let group = known(policy, self.group)?;
        require_unchanged(ctx, group.changed_at)?;
        if group.external_id == self.external_id.as_ref() {
            return Ok(Decided::nothing());
        }
        Ok(Decided::one(GroupExternalIdChanged { group: group.id, external_id: self.external_id.clone() }))
    }
}
