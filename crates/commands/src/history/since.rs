//! What was decided again about the same things after a command, read from the events after it.
//!
//! The state now can't tell it: what went another way and came back looks as if nobody had touched it, and whoever
//! brought it back decided so. Undoing must not override that.

use super::inverse::Inverse;
use charter_events::{Event, GroupId, ObjectId, Pattern, RoleId, Scope, Slug, Subject, UserId};
use std::collections::BTreeSet;

/// What an inverse, or an event, is about, as narrowly as undoing asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Role(RoleId),
    RoleNamed(Slug),
    Group(GroupId),
    GroupNamed(Slug),
    Member(GroupId, UserId),
    Given(Subject, Scope),
    Object(ObjectId),
    User(UserId),
}

impl Thing {
    /// What an inverse would restore. None for what a command made: its id never comes back once it is gone, and
    /// what uses it is asked of the state.
    pub(super) fn restored_by(inverse: &Inverse) -> Option<Self> {
        Some(match inverse {
            Inverse::RoleCreated { .. }
            | Inverse::GroupCreated { .. }
            | Inverse::ObjectCreated { .. }
            | Inverse::GrantIssued { .. }
            | Inverse::TokenIssued { .. } => return None,
            Inverse::RoleRenamed { role, .. } | Inverse::RoleContent { role, .. } => Self::Role(*role),
            Inverse::RoleDeleted { create, .. } => Self::RoleNamed(create.slug.clone()),
            Inverse::GroupRenamed { group, .. } | Inverse::GroupExternalId { group, .. } => {
                Self::Group(*group)
            }
            Inverse::GroupDeleted { create, .. } => Self::GroupNamed(create.slug.clone()),
            Inverse::MemberAdded { group, user } | Inverse::MemberRemoved { group, user } => {
                Self::Member(*group, *user)
            }
            Inverse::GrantGone { terms } => Self::Given(terms.subject, terms.scope),
            Inverse::ObjectRenamed { object, .. }
            | Inverse::ObjectMoved { object, .. }
            | Inverse::ObjectTransferred { object, .. }
            | Inverse::Inheritance { object, .. } => Self::Object(*object),
            Inverse::Profile { user, .. }
            | Inverse::Suspended { user }
            | Inverse::Reactivated { user }
            | Inverse::DeletionScheduled { user, .. }
            | Inverse::DeletionCancelled { user, .. } => Self::User(*user),
        })
    }

    /// What an event decides again. None for what only ends a thing: its id does not come back.
    pub(super) fn decided_by(event: &Event) -> Option<Self> {
        Some(match event {
            Event::RoleCreated(e) => Self::RoleNamed(e.slug.clone()),
            Event::RoleRenamed(e) => Self::Role(e.role),
            Event::RolePermissionsChanged(e) => Self::Role(e.role),
            Event::GroupCreated(e) => Self::GroupNamed(e.slug.clone()),
            Event::GroupRenamed(e) => Self::Group(e.group),
            Event::GroupExternalIdChanged(e) => Self::Group(e.group),
            Event::GroupMemberAdded(e) => Self::Member(e.group, e.user),
            Event::GroupMemberRemoved(e) => Self::Member(e.group, e.user),
            Event::GrantIssued(e) => Self::Given(e.subject, e.scope),
            Event::ObjectRenamed(e) => Self::Object(e.object),
            Event::ObjectMoved(e) => Self::Object(e.object),
            Event::ObjectTransferred(e) => Self::Object(e.object),
            Event::ObjectInheritanceChanged(e) => Self::Object(e.object),
            Event::UserProfileChanged(e) => Self::User(e.user),
            Event::UserSuspended(e) => Self::User(e.user),
            Event::UserReactivated(e) => Self::User(e.user),
            Event::UserDeletionScheduled(e) => Self::User(e.user),
            Event::UserDeletionCancelled(e) => Self::User(e.user),
            Event::InstallationCreated(_)
            | Event::PermissionsRegistered(_)
            | Event::PermissionsDeprecated(_)
            | Event::PermissionsRemoved(_)
            | Event::ObjectTypesRegistered(_)
            | Event::ObjectTypesRemoved(_)
            | Event::RoleDeleted(_)
            | Event::GroupDeleted(_)
            | Event::GrantRevoked(_)
            | Event::GrantEnded(_)
            | Event::GrantExpired(_)
            | Event::GrantKeysRemoved(_)
            | Event::ObjectCreated(_)
            | Event::ObjectDeleted(_)
            | Event::UserInvited(_)
            | Event::UserRegistered(_)
            | Event::UserErased(_)
            | Event::CredentialPasswordChanged(_)
            | Event::CredentialTokenIssued(_)
            | Event::CredentialTokenRevoked(_)
            | Event::CredentialSessionEnded(_)
            | Event::CredentialSessionsEnded(_)
            | Event::ProjectionRebuilt(_)
            | Event::ProjectionSkipped(_)
            | Event::BackupTaken(_)
            | Event::BackupRestored(_) => return None,
        })
    }
}

/// What was decided again of one thing since it was left as the undone command left it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Since {
    /// The one value the inverse is about.
    pub(super) value: bool,
    /// The name of an object.
    pub(super) name: bool,
    /// The external id of an object.
    pub(super) external_id: bool,
    /// Items of a role that went or came the other way.
    pub(super) items: BTreeSet<Pattern>,
}

impl Since {
    /// Notes an event about the same thing. Setting it to what the command left decides nothing again.
    pub(super) fn note(&mut self, inverse: &Inverse, event: &Event) {
        let again = match (inverse, event) {
            (Inverse::RoleRenamed { name, .. }, Event::RoleRenamed(e)) => e.name != name.after,
            (Inverse::GroupRenamed { name, .. }, Event::GroupRenamed(e)) => e.name != name.after,
            (Inverse::GroupExternalId { external_id, .. }, Event::GroupExternalIdChanged(e)) => {
                e.external_id != external_id.after
            }
            (Inverse::RoleContent { added, removed, .. }, Event::RolePermissionsChanged(e)) => {
                let back = |theirs: &[Pattern], ours: &[Pattern]| -> Vec<Pattern> {
                    theirs.iter().filter(|item| ours.contains(item)).cloned().collect()
                };
                self.items.extend(back(&e.removed, added));
                self.items.extend(back(&e.added, removed));
                false
            }
            (Inverse::ObjectRenamed { name, external_id, .. }, Event::ObjectRenamed(e)) => {
                self.name |= e.name != name.after;
                self.external_id |= e.external_id != external_id.after;
                false
            }
            (Inverse::GrantGone { terms }, Event::GrantIssued(e)) => {
                // When it begins and ends is part of the later decision.
                e.effect == terms.effect && e.content == terms.content
            }
            (Inverse::ObjectMoved { parent, .. }, Event::ObjectMoved(e)) => e.parent != parent.after,
            (Inverse::ObjectTransferred { owner, .. }, Event::ObjectTransferred(e)) => e.owner != owner.after,
            (Inverse::Inheritance { after, .. }, Event::ObjectInheritanceChanged(e)) => e.inherits != *after,
            (Inverse::Profile { kind, profile, .. }, Event::UserProfileChanged(e)) => {
                // What the command did not change, others may have changed and changed back.
                let kind_again = kind.before != kind.after && e.kind != kind.after;
                kind_again || (profile.before != profile.after && e.profile != profile.after)
            }
            (Inverse::DeletionScheduled { erase_at, .. }, Event::UserDeletionScheduled(e)) => {
                e.erase_at != *erase_at
            }
            (Inverse::RoleDeleted { .. }, Event::RoleCreated(_))
            | (Inverse::GroupDeleted { .. }, Event::GroupCreated(_))
            | (Inverse::MemberAdded { .. }, Event::GroupMemberRemoved(_))
            | (Inverse::MemberRemoved { .. }, Event::GroupMemberAdded(_))
            | (Inverse::Suspended { .. }, Event::UserReactivated(_))
            | (Inverse::Reactivated { .. }, Event::UserSuspended(_))
            | (Inverse::DeletionScheduled { .. }, Event::UserDeletionCancelled(_))
            | (Inverse::DeletionCancelled { .. }, Event::UserDeletionScheduled(_)) => true,
            // Another fact of the same thing.
            _ => false,
        };
        self.value |= again;
    }
}
