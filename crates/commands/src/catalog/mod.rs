//! The catalog: namespaces register their keys and object types, and remove keys. One file a command.

mod apply;
mod remove;

pub use apply::ApplyCatalog;
pub use remove::RemovePermissions;
