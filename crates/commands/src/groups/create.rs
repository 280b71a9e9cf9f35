//! Creates a group.
//!
//! Refused: `forbidden` without `core.group.create`; `name_taken`; `reserved_name`.

use crate::{
    Context, Decided, Guard,
    command::Decide,
    may::require_global,
    refusal::{Code, Refusal},
    reserved::require_not_an_id,
};
use charter_events::{DisplayName, GroupCreated, GroupId, Slug};
use charter_policy::Policy;

/// Creates a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateGroup {
    /// Its unique name for look-ups.
    pub slug: Slug,
    /// How it is shown.
    pub name: DisplayName,
}

impl Decide for CreateGroup {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.group.create")?;
        require_not_an_id(ctx, "slug", self.slug.as_str())?;
        ctx.guard(Guard::NamesUnique, || match policy.group_by_slug(self.slug.as_str()) {
            Some(_) => Err(Refusal::of(Code::NameTaken, "slug", format!("a group `{}` exists", self.slug))),
            None => Ok(()),
        })?;
        let group = GroupId::new(ctx.ids.next());
        let created = GroupCreated { group, slug: self.slug.clone(), name: self.name.clone() };
        Ok(Decided::created(group.as_uuid(), vec![created.into()]))
    }
}
