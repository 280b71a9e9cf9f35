//! Grants: issue, revoke, record their end. One file a command.

mod expire;
mod issue;
mod revoke;

pub use expire::ExpireGrants;
pub use issue::IssueGrant;
pub use revoke::RevokeGrant;
