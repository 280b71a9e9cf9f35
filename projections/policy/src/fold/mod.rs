//! The one fold: what each event means for the state. Total over the registry: a new event type stops this file from
//! compiling until it is handled.
//!
//! An event that does not fit the state is an error, never skipped: a skipped revocation grants access.

mod catalog;
mod credential;
mod grant;
mod group;
pub(crate) mod links;
mod object;
mod role;
mod user;

use crate::{
    FoldError, Policy,
    ix::{GroupIx, KeyIx, ObjectIx, RoleIx, UserIx},
};
use charter_events::{
    Event, EventMeta, GroupId, InstallationCreated, ObjectId, PermissionKey, ProjectionSkipped, RoleId,
    UserId,
};
use std::sync::Arc;

type Folded = Result<(), FoldError>;

/// One event being folded.
pub(crate) struct Fold<'a> {
    policy: &'a mut Policy,
    meta: &'a EventMeta,
    event: &'static str,
}

impl Policy {
    /// Folds the next event in.
    ///
    /// # Errors
    /// [`FoldError`] when the event does not continue the log or does not fit the state. The state is then unspecified:
    /// drop this clone.
    pub fn apply(&mut self, meta: &EventMeta, event: &Event) -> Result<(), FoldError> {
        if self.version.plus(1) != Some(meta.offset) {
            return Err(FoldError::Gap { after: self.version, got: meta.offset });
        }
        Fold { policy: self, meta, event: event.type_name() }.fold(event)?;
        self.version = meta.offset;
        self.recorded_at = meta.recorded_at;
        Ok(())
    }
}

impl Fold<'_> {
    fn fold(mut self, event: &Event) -> Folded {
        match event {
            Event::InstallationCreated(e) => self.installation_created(e),
            Event::PermissionsRegistered(e) => self.permissions_registered(e),
            Event::PermissionsDeprecated(e) => self.permissions_deprecated(e),
            Event::PermissionsRemoved(e) => self.permissions_removed(e),
            Event::ObjectTypesRegistered(e) => self.object_types_registered(e),
            Event::ObjectTypesRemoved(e) => self.object_types_removed(e),
            Event::RoleCreated(e) => self.role_created(e),
            Event::RoleRenamed(e) => self.role_renamed(e),
            Event::RolePermissionsChanged(e) => self.role_permissions_changed(e),
            Event::RoleDeleted(e) => self.role_deleted(e),
            Event::GroupCreated(e) => self.group_created(e),
            Event::GroupRenamed(e) => self.group_renamed(e),
            Event::GroupExternalIdChanged(e) => self.group_external_id_changed(e),
            Event::GroupMemberAdded(e) => self.group_member_added(e),
            Event::GroupMemberRemoved(e) => self.group_member_removed(e),
            Event::GroupDeleted(e) => self.group_deleted(e),
            Event::GrantIssued(e) => self.grant_issued(e),
            Event::GrantRevoked(e) => self.grant_gone(e.grant),
            Event::GrantEnded(e) => self.grant_gone(e.grant),
            Event::GrantExpired(e) => self.grant_expired(e.grant),
            Event::GrantKeysRemoved(e) => self.grant_keys_removed(e),
            Event::ObjectCreated(e) => self.object_created(e),
            Event::ObjectRenamed(e) => self.object_renamed(e),
            Event::ObjectMoved(e) => self.object_moved(e),
            Event::ObjectTransferred(e) => self.object_transferred(e),
            Event::ObjectInheritanceChanged(e) => self.object_inheritance_changed(e),
            Event::ObjectDeleted(e) => self.object_deleted(e),
            Event::UserInvited(e) => self.user_invited(e),
            Event::UserRegistered(e) => self.user_registered(e),
            Event::UserProfileChanged(e) => self.user_profile_changed(e),
            Event::UserSuspended(e) => self.user_suspended(e.user),
            Event::UserReactivated(e) => self.user_reactivated(e.user),
            Event::UserDeletionScheduled(e) => self.user_deletion_scheduled(e),
            Event::UserDeletionCancelled(e) => self.user_deletion_cancelled(e.user),
            Event::UserErased(e) => self.user_erased(e.user),
            Event::CredentialPasswordChanged(e) => self.password_changed(e),
            Event::CredentialTokenIssued(e) => self.token_issued(e),
            Event::CredentialTokenRevoked(e) => self.token_revoked(e),
            Event::CredentialSessionEnded(e) => self.session_ended(e),
            Event::CredentialSessionsEnded(e) => self.sessions_ended(e),
            Event::ProjectionSkipped(e) => self.projection_skipped(e),
            Event::ProjectionRebuilt(_) | Event::BackupTaken(_) | Event::BackupRestored(_) => Ok(()),
        }
    }

    fn installation_created(&mut self, e: &InstallationCreated) -> Folded {
        if self.policy.installation.is_some() {
            return Err(self.taken("installation", &e.name));
        }
        self.policy.installation = Some(e.name.clone());
        Ok(())
    }

    fn projection_skipped(&mut self, e: &ProjectionSkipped) -> Folded {
        Arc::make_mut(&mut self.policy.skipped).insert((e.projection.clone(), e.skipped));
        Ok(())
    }

    fn missing(&self, kind: &'static str, id: &dyn std::fmt::Display) -> FoldError {
        FoldError::Missing { event: self.event, kind, id: id.to_string() }
    }

    fn taken(&self, kind: &'static str, id: &dyn std::fmt::Display) -> FoldError {
        FoldError::Taken { event: self.event, kind, id: id.to_string() }
    }

    fn contradiction(&self, id: &dyn std::fmt::Display, why: &'static str) -> FoldError {
        FoldError::Contradiction { event: self.event, id: id.to_string(), why }
    }

    /// A user that was ever known.
    fn user(&self, id: UserId) -> Result<UserIx, FoldError> {
        self.policy.users.ids.get(id.as_uuid()).map(UserIx).ok_or_else(|| self.missing("user", &id))
    }

    fn group(&self, id: GroupId) -> Result<GroupIx, FoldError> {
        let ix = self.policy.groups.ids.get(id.as_uuid()).map(GroupIx);
        ix.filter(|ix| self.policy.groups.get(*ix).is_some()).ok_or_else(|| self.missing("group", &id))
    }

    fn role(&self, id: RoleId) -> Result<RoleIx, FoldError> {
        let ix = self.policy.roles.ids.get(id.as_uuid()).map(RoleIx);
        ix.filter(|ix| self.policy.roles.get(*ix).is_some()).ok_or_else(|| self.missing("role", &id))
    }

    fn object(&self, id: ObjectId) -> Result<ObjectIx, FoldError> {
        self.policy.objects.find(id).ok_or_else(|| self.missing("object", &id))
    }

    fn registered_key(&self, key: &PermissionKey) -> Result<KeyIx, FoldError> {
        self.policy.catalog.registered_key(key.as_str()).ok_or_else(|| self.missing("permission", key))
    }
}
