//! Creates a role.
//!
//! Refused: `forbidden` without `core.role.create`; `not_held`, `outlives_holder` for content the caller does not
//! hold globally for good; `unknown_permission`; `deprecated_permission`; `limit_exceeded`; `name_taken`;
//! `reserved_name`.

use super::content::valid_items;
use crate::{
    Context, Decided, Guard,
    command::Decide,
    holding::require_held,
    may::require_global,
    refusal::{Code, Refusal},
    reserved::require_not_an_id,
};
use charter_events::{DisplayName, Pattern, Reach, RoleCreated, RoleId, RoleScope, Scope, Slug};
use charter_policy::{Policy, Span};

/// Creates a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateRole {
    /// Its unique name for look-ups.
    pub slug: Slug,
    /// How it is shown.
    pub name: DisplayName,
    /// Where it may be assigned; never changes.
    pub scope: RoleScope,
    /// What it holds, in any order.
    pub permissions: Vec<Pattern>,
}

impl Decide for CreateRole {
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
        require_global(policy, ctx, "core.role.create")?;
        require_not_an_id(ctx, "slug", self.slug.as_str())?;
        let permissions = valid_items(policy, ctx, "permissions", &self.permissions)?;
        ctx.guard(Guard::NamesUnique, || match policy.role_by_slug(self.slug.as_str()) {
            Some(_) => Err(Refusal::of(Code::NameTaken, "slug", format!("a role `{}` exists", self.slug))),
            None => Ok(()),
        })?;
        // A role's content has no end, so a holding that ends does not make one.
        ctx.guard(Guard::HoldRoleGlobally, || {
            require_held(policy, ctx, &permissions, Scope::Global, Reach::ALL, Span::Until(None))
        })?;
        let role = RoleId::new(ctx.ids.next());
        let created = RoleCreated {
            role,
            slug: self.slug.clone(),
            name: self.name.clone(),
            scope: self.scope,
            permissions,
            seeded: None,
        };
        Ok(Decided::created(role.as_uuid(), vec![created.into()]))
    }
}
