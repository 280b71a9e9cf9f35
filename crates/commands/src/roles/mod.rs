//! Roles: create, edit, delete. One file a command.

mod change;
mod create;
mod delete;

pub use change::ChangeRole;
pub use create::CreateRole;
pub use delete::DeleteRole;
