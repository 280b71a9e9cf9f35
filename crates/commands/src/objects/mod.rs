//! Objects and folders. One file a command.

mod create;
mod delete;
mod relocate;
mod rename;
mod set_inheritance;
mod transfer;

pub use create::CreateObject;
pub use delete::DeleteObject;
pub use relocate::MoveObject;
pub use rename::RenameObject;
pub use set_inheritance::SetInheritance;
pub use transfer::TransferObject;
