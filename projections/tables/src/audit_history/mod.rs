//! `audit_history`: one row an event: who did what, on whom, where, when, how, why, and what was before and after.
//!
//! Names of roles, groups and objects stand here as they were. A person's names never do: whoever reads an entry looks
//! them up, and an erased person has none.

mod access;
mod entry;
mod objects;
mod operations;
mod people;
mod tables;

use crate::{
    projection::{Poison, Projection, Recorded},
    rows::{Changes, Spec},
};
use charter_events::Event;
use charter_policy::Policy;
use entry::Entry;

/// What happened, one row an event.
#[derive(Debug, Clone, Copy)]
pub struct AuditHistory;

/// The tables of [`AuditHistory`].
pub static AUDIT_HISTORY: Spec = Spec {
    name: "audit_history",
    about: "What happened: who did what, on whom, where, when, how and why.",
    version: 2,
    tables: tables::TABLES,
};

impl Projection for AuditHistory {
    fn spec(&self) -> &'static Spec {
        &AUDIT_HISTORY
    }

    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        out.put(0, 1, told(Entry::new(before), recorded.event)?.row(recorded.stored));
        Ok(())
    }
}

fn told<'a>(entry: Entry<'a>, event: &Event) -> Result<Entry<'a>, Poison> {
    Ok(match event {
        Event::InstallationCreated(e) => entry.is("name", e.name.as_str()).word(e.name.as_str()),
        Event::PermissionsRegistered(e) => entry.permissions_registered(e),
        Event::PermissionsDeprecated(e) => {
            entry.namespace(&e.namespace).listed_now("deprecated", e.keys.iter().map(|key| key.as_str()))
        }
        Event::PermissionsRemoved(e) => {
            entry.namespace(&e.namespace).listed_before("permissions", e.keys.iter().map(|key| key.as_str()))
        }
        Event::ObjectTypesRegistered(e) => {
            let names = e.types.iter().map(|definition| definition.name.as_str());
            entry.namespace(&e.namespace).listed_now("object_types", names)
        }
        Event::ObjectTypesRemoved(e) => entry
            .namespace(&e.namespace)
            .listed_before("object_types", e.types.iter().map(|name| name.as_str())),
        Event::RoleCreated(e) => entry.role_created(e),
        Event::RoleRenamed(e) => entry.role_renamed(e)?,
        Event::RolePermissionsChanged(e) => entry.role_permissions_changed(e)?,
        Event::RoleDeleted(e) => entry.role_deleted(e.role)?,
        Event::GroupCreated(e) => entry.group_created(e),
        Event::GroupRenamed(e) => entry.group_renamed(e)?,
        Event::GroupExternalIdChanged(e) => entry.group_external_id(e)?,
        Event::GroupMemberAdded(e) => entry.group(e.group).user(e.user),
        Event::GroupMemberRemoved(e) => entry.group(e.group).user(e.user),
        Event::GroupDeleted(e) => entry.group_deleted(e.group)?,
        Event::GrantIssued(e) => entry.grant_issued(e),
        Event::GrantRevoked(e) => entry.grant_gone(e.grant)?,
        Event::GrantEnded(e) => entry.grant_gone(e.grant)?.ended_by(&e.by),
        Event::GrantExpired(e) => entry.grant_gone(e.grant)?,
        Event::GrantKeysRemoved(e) => entry.grant_keys_removed(e)?,
        Event::ObjectCreated(e) => entry.object_created(e),
        Event::ObjectRenamed(e) => entry.object_renamed(e)?,
        Event::ObjectMoved(e) => entry.object_moved(e)?,
        Event::ObjectTransferred(e) => entry.object_transferred(e)?,
        Event::ObjectInheritanceChanged(e) => entry.object_inheritance_changed(e)?,
        Event::ObjectDeleted(e) => entry.object_deleted(e.object)?,
        Event::UserInvited(e) => entry.user_invited(e),
        Event::UserRegistered(e) => entry.user_registered(e),
        Event::UserProfileChanged(e) => entry.user_profile_changed(e)?,
        Event::UserSuspended(e) => entry.status_changed(e.user, "suspended")?,
        Event::UserReactivated(e) => entry.status_changed(e.user, "active")?,
        Event::UserDeletionScheduled(e) => entry.deletion_scheduled(e)?,
        Event::UserDeletionCancelled(e) => entry.deletion_cancelled(e.user)?,
        Event::UserErased(e) => entry.status_changed(e.user, "erased")?,
        Event::CredentialPasswordChanged(e) => entry.password_changed(e)?,
        Event::CredentialTokenIssued(e) => entry.token_issued(e),
        Event::CredentialTokenRevoked(e) => entry.token_revoked(e)?,
        Event::CredentialSessionEnded(e) => entry
            .user(e.user)
            .was("session", e.session.to_string())
            .was("expires_at", e.expires_at.to_string()),
        Event::CredentialSessionsEnded(e) => entry.user(e.user),
        Event::ProjectionRebuilt(e) => entry.projection_rebuilt(e),
        Event::ProjectionSkipped(e) => entry.projection_skipped(e),
        Event::BackupTaken(e) => entry.backup_taken(e),
        Event::BackupRestored(e) => entry.backup_restored(e),
    })
}
