//! Roles: create, edit, delete. One file a command.

mod change;
mod content;
mod create;
mod delete;

pub use change::ChangeRole;
pub(crate) use content::require_current;
pub use create::CreateRole;
pub use delete::DeleteRole;

use crate::{
    Context, Guard,
    refusal::{Code, Refusal},
};
use charter_events::SeededRole;
use charter_policy::RoleView;

/// Requires a role that may be edited and deleted.
fn require_unprotected(ctx: &Context<'_>, role: &RoleView<'_>) -> Result<(), Refusal> {
    ctx.guard(Guard::ProtectedRole, || {
        if role.seeded.is_some_and(SeededRole::is_protected) {
            let detail = format!("the role `{}` is protected", role.slug);
            return Err(Refusal::of(Code::ProtectedRole, "role", detail));
        }
        Ok(())
    })
}
