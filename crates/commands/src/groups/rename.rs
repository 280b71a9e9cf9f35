//! Shows a group under another name.
//!
//! Refused: `forbidden` without `core.group.edit`; `not_found`; `stale`.

use super::known;
use crate::{
    Context, Decided,
    command::Decide,
    may::{require_global, require_unchanged},
    refusal::Refusal,
};
use charter_events::{DisplayName, GroupId, GroupRenamed};
use charter_policy::Policy;

/// Shows a group under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameGroup {
    /// The group.
    pub group: GroupId,
    /// How it is shown from now on.
    pub name: DisplayName,
}

impl Decide for RenameGroup {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.group.edit")?;
        let group = known(policy, self.group)?;
        require_unchanged(ctx, group.changed_at)?;
        if *group.name == self.name {
            return Ok(Decided::nothing());
        }
        Ok(Decided::one(GroupRenamed { group: group.id, name: self.name.clone() }))
    }
}
