//! Groups and their members. One file a command.

mod add_member;
mod create;
mod delete;
mod remove_member;
mod rename;

pub use add_member::AddMember;
pub use create::CreateGroup;
pub use delete::DeleteGroup;
pub use remove_member::RemoveMember;
pub use rename::RenameGroup;
