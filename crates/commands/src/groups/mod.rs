//! Groups and their members. One file a command.

mod add_member;
mod create;
mod delete;
mod remove_member;
mod rename;
mod set_external_id;

pub use add_member::AddMember;
pub use create::CreateGroup;
pub use delete::DeleteGroup;
pub use remove_member::RemoveMember;
pub use rename::RenameGroup;
pub use set_external_id::SetGroupExternalId;

use crate::refusal::Refusal;
use charter_events::GroupId;
use charter_policy::{GroupView, Policy};

fn known(policy: &Policy, group: GroupId) -> Result<GroupView<'_>, Refusal> {
    policy.group(group).ok_or_else(|| Refusal::not_found("group"))
}
