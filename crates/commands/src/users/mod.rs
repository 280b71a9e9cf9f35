//! Users and their lifecycle. One file a command.

mod accept_invitation;
mod cancel_deletion;
mod edit;
mod erase;
mod invite;
mod reactivate;
mod register;
mod schedule_deletion;
mod suspend;

pub use accept_invitation::AcceptInvitation;
pub use cancel_deletion::CancelDeletion;
pub use edit::EditUser;
pub use erase::EraseUser;
pub use invite::InviteUser;
pub use reactivate::ReactivateUser;
pub use register::RegisterUser;
pub use schedule_deletion::ScheduleDeletion;
pub use suspend::SuspendUser;
