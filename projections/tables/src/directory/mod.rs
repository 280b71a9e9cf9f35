//! `directory`: who and what there is, for lists, search and order. A person's names are not here: they are sealed, and
//! only whoever holds the person's key reads them.

mod objects;
mod people;
mod roles;
mod tables;

use crate::{
    projection::{Poison, Projection, Recorded},
    rows::{Changes, Row, Spec, Value},
};
use charter_events::Event;
use charter_policy::Policy;

/// Who and what there is.
#[derive(Debug, Clone, Copy)]
pub struct Directory;

/// The tables of [`Directory`].
pub static DIRECTORY: Spec = Spec {
    name: "directory",
    about: "Who and what there is: users, groups, roles, objects.",
    version: 2,
    tables: tables::TABLES,
};

impl Projection for Directory {
    fn spec(&self) -> &'static Spec {
        &DIRECTORY
    }

    fn on(&self, before: &Policy, recorded: Recorded<'_>, out: &mut Changes) -> Result<(), Poison> {
        let mut rows = Rows { before, recorded, out };
        match recorded.event {
            Event::RoleCreated(e) => rows.role_created(e),
            Event::RoleRenamed(e) => rows.role_renamed(e),
            Event::RolePermissionsChanged(e) => rows.role_permissions_changed(e),
            Event::RoleDeleted(e) => rows.role_deleted(e.role),
            Event::GroupCreated(e) => rows.group_created(e),
            Event::GroupRenamed(e) => rows.group_renamed(e),
            Event::GroupExternalIdChanged(e) => rows.group_touched(e.group, None, |count| count),
            Event::GroupMemberAdded(e) => rows.member_added(e),
            Event::GroupMemberRemoved(e) => rows.member_removed(e),
            Event::GroupDeleted(e) => rows.group_deleted(e.group),
            Event::ObjectCreated(e) => rows.object_created(e),
            Event::ObjectRenamed(e) => rows.object_renamed(e),
            Event::ObjectMoved(e) => rows.object_moved(e),
            Event::ObjectTransferred(e) => rows.object_transferred(e),
            Event::ObjectInheritanceChanged(e) => rows.object_inheritance_changed(e),
            Event::ObjectDeleted(e) => rows.object_deleted(e.object),
            Event::UserInvited(e) => rows.user_invited(e),
            Event::UserRegistered(e) => rows.user_registered(e),
            Event::UserProfileChanged(e) => rows.user_changed(e.user, |row| row.is_now(e.kind, &e.profile)),
            Event::UserSuspended(e) => rows.user_suspended(e.user),
            Event::UserReactivated(e) => rows.user_reactivated(e.user),
            Event::UserDeletionScheduled(e) => rows.user_deletion_scheduled(e),
            Event::UserDeletionCancelled(e) => rows.user_deletion_cancelled(e.user),
            Event::UserErased(e) => rows.user_erased(e.user),
            Event::CredentialPasswordChanged(e) => {
                rows.user_changed(e.user, |row| row.has_password = e.has_password)
            }
            // What may be done, by whom, and what operators do: other tables.
            Event::InstallationCreated(_)
            | Event::PermissionsRegistered(_)
            | Event::PermissionsDeprecated(_)
            | Event::PermissionsRemoved(_)
            | Event::ObjectTypesRegistered(_)
            | Event::ObjectTypesRemoved(_)
            | Event::GrantIssued(_)
            | Event::GrantRevoked(_)
            | Event::GrantEnded(_)
            | Event::GrantExpired(_)
            | Event::GrantKeysRemoved(_)
            | Event::CredentialTokenIssued(_)
            | Event::CredentialTokenRevoked(_)
            | Event::CredentialSessionEnded(_)
            | Event::CredentialSessionsEnded(_)
            | Event::ProjectionRebuilt(_)
            | Event::ProjectionSkipped(_)
            | Event::BackupTaken(_)
            | Event::BackupRestored(_) => Ok(()),
        }
    }
}

type Noted = Result<(), Poison>;

/// The rows of one event.
struct Rows<'a> {
    before: &'a Policy,
    recorded: Recorded<'a>,
    out: &'a mut Changes,
}

impl Rows<'_> {
    fn put(&mut self, table: usize, row: Row) {
        let key = tables::TABLES.get(table).map_or(1, |table| table.key);
        self.out.put(table, key, row);
    }

    fn delete(&mut self, table: usize, key: impl IntoIterator<Item = Value>) {
        self.out.delete(table, key.into_iter().collect());
    }
}
