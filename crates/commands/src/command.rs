//! The registry of commands: one line each. The enum, its name for logs and previews, and the dispatch come from it.

use crate::{
    catalog::*,
    context::{Context, Decided},
    credentials::*,
    grants::*,
    groups::*,
    history::*,
    installation::*,
    objects::*,
    operations::*,
    refusal::Refusal,
    roles::*,
    several::Several,
    users::*,
};
use charter_policy::Policy;

/// A command that can be decided. Its file holds the struct, its refusals and its rules.
pub(crate) trait Decide {
    /// Judges the command against the policy.
    fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal>;
}

macro_rules! commands {
    ($($name:literal $command:ident;)+) => {
        /// Everything that can be asked to happen.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is documented at its struct")]
        pub enum Command { $($command($command)),+ }

        impl Command {
            /// The command's name, such as `grant.issue`.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$command(_) => $name),+ }
            }

            /// The rules of the one command this is.
            pub(crate) fn decide(&self, policy: &Policy, ctx: &mut Context<'_>) -> Result<Decided, Refusal> {
                match self { $(Self::$command(command) => Decide::decide(command, policy, ctx)),+ }
            }
        }

        $(impl From<$command> for Command {
            fn from(command: $command) -> Self {
                Self::$command(command)
            }
        })+
    };
}

commands! {
    "installation.create" CreateInstallation;
    "installation.upsert_core_catalog" UpsertCoreCatalog;
    "installation.setup" Setup;
    "installation.recover_administrator" RecoverAdministrator;
    "catalog.apply" ApplyCatalog;
    "catalog.remove_permissions" RemovePermissions;
    "role.create" CreateRole;
    "role.change" ChangeRole;
    "role.delete" DeleteRole;
    "group.create" CreateGroup;
    "group.rename" RenameGroup;
    "group.set_external_id" SetGroupExternalId;
    "group.delete" DeleteGroup;
    "group.add_member" AddMember;
    "group.remove_member" RemoveMember;
    "object.create" CreateObject;
    "object.rename" RenameObject;
    "object.move" MoveObject;
    "object.transfer" TransferObject;
    "object.set_inheritance" SetInheritance;
    "object.delete" DeleteObject;
    "grant.issue" IssueGrant;
    "grant.revoke" RevokeGrant;
    "grant.expire" ExpireGrants;
    "user.register" RegisterUser;
    "user.invite" InviteUser;
    "user.accept_invitation" AcceptInvitation;
    "user.renew_invitation" RenewInvitation;
    "user.withdraw_invitation" WithdrawInvitation;
    "user.edit" EditUser;
    "user.suspend" SuspendUser;
    "user.reactivate" ReactivateUser;
    "user.schedule_deletion" ScheduleDeletion;
    "user.cancel_deletion" CancelDeletion;
    "user.erase" EraseUser;
    "credential.change_password" ChangePassword;
    "credential.issue_token" IssueToken;
    "credential.revoke_token" RevokeToken;
    "credential.end_session" EndSession;
    "credential.end_sessions" EndSessions;
    "credential.send_reset_link" SendResetLink;
    "operations.record_rebuild" RecordRebuild;
    "operations.record_backup" RecordBackup;
    "operations.record_restore" RecordRestore;
    "operations.skip_event" SkipEvent;
    "history.undo" Undo;
    "several" Several;
}
