//! What was so before an event, read from the state before its command.

use super::why::Why;
use crate::{CreateGroup, CreateRole, IssueGrant};
use charter_events::{
    Content, DisplayName, EndedBy, Event, ExternalId, GrantId, GrantIssued, GroupId, ObjectId, Pattern,
    ProfileField, RoleId, Scope, SealedProfile, SeededRole, Subject, Timestamp, TokenId, UserId, UserKind,
};
use charter_policy::{ContentView, GrantView, Policy};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Two values of one thing: as a command found it, and as it left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Was<T> {
    pub(super) before: T,
    pub(super) after: T,
}

/// What undoing one event would restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inverse {
    RoleCreated {
        role: RoleId,
    },
    RoleRenamed {
        role: RoleId,
        name: Was<DisplayName>,
    },
    RoleContent {
        role: RoleId,
        added: Vec<Pattern>,
        removed: Vec<Pattern>,
    },
    RoleDeleted {
        role: RoleId,
        create: CreateRole,
    },
    GroupCreated {
        group: GroupId,
    },
    GroupRenamed {
        group: GroupId,
        name: Was<DisplayName>,
    },
    GroupExternalId {
        group: GroupId,
        external_id: Was<Option<ExternalId>>,
    },
    MemberAdded {
        group: GroupId,
        user: UserId,
    },
    MemberRemoved {
        group: GroupId,
        user: UserId,
    },
    GroupDeleted {
        group: GroupId,
        create: CreateGroup,
        external_id: Option<ExternalId>,
    },
    GrantIssued {
        grant: GrantId,
    },
    GrantGone {
        terms: IssueGrant,
    },
    ObjectCreated {
        object: ObjectId,
    },
    ObjectRenamed {
        object: ObjectId,
        name: Was<DisplayName>,
        external_id: Was<Option<ExternalId>>,
    },
    ObjectMoved {
        object: ObjectId,
        parent: Was<Option<ObjectId>>,
    },
    ObjectTransferred {
        object: ObjectId,
        owner: Was<UserId>,
    },
    Inheritance {
        object: ObjectId,
        after: bool,
    },
    Profile {
        user: UserId,
        kind: Was<UserKind>,
        profile: Box<Was<SealedProfile>>,
        changed: Vec<ProfileField>,
    },
    Suspended {
        user: UserId,
    },
    Reactivated {
        user: UserId,
    },
    DeletionScheduled {
        user: UserId,
        erase_at: Timestamp,
    },
    DeletionCancelled {
        user: UserId,
        erase_at: Timestamp,
    },
    TokenIssued {
        token: TokenId,
    },
}

/// What becomes of one event when its command is undone.
pub(super) enum Fate {
    /// It is undone by itself.
    Undo(Inverse),
    /// It goes, or comes, with another event of the command.
    Beside,
    /// It is not undone. That stands in the way if the command did nothing else.
    Stays(Why),
    /// It can't be undone, and neither can its command.
    Never(Why),
}

/// What a command made and what it ended, as far as other events of it hang thereby.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Whole {
    /// Roles, groups and objects it made.
    made: BTreeSet<Uuid>,
    /// Roles and groups it deleted.
    pub(super) deleted: BTreeSet<Uuid>,
    /// Objects that got another owner.
    transferred: BTreeSet<ObjectId>,
    /// Grants it issued.
    pub(super) issued: BTreeSet<GrantId>,
}

impl Whole {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut whole = Self::default();
        for event in events {
            match event {
                Event::RoleCreated(created) => drop(whole.made.insert(created.role.as_uuid())),
                Event::GroupCreated(created) => drop(whole.made.insert(created.group.as_uuid())),
                Event::ObjectCreated(created) => drop(whole.made.insert(created.object.as_uuid())),
                Event::RoleDeleted(deleted) => drop(whole.deleted.insert(deleted.role.as_uuid())),
                Event::GroupDeleted(deleted) => drop(whole.deleted.insert(deleted.group.as_uuid())),
                Event::ObjectTransferred(moved) => drop(whole.transferred.insert(moved.object)),
                Event::GrantIssued(issued) => drop(whole.issued.insert(issued.grant)),
                _ => {}
            }
        }
        whole
    }

    fn made(&self, id: Uuid) -> bool {
        self.made.contains(&id)
    }

    /// Whether a grant goes with something the command made, or with a transfer of it.
    fn covers(&self, before: &Policy, issued: &GrantIssued) -> bool {
        let by_subject = matches!(issued.subject, Subject::Group(group) if self.made(group.as_uuid()));
        let by_role = matches!(issued.content, Content::Role(role) if self.made(role.as_uuid()));
        let by_object = match issued.scope {
            Scope::Global => false,
            Scope::Object(object) => {
                let gives = matches!(issued.content, Content::Role(role) if is_owner_role(before, role));
                self.made(object.as_uuid()) || (gives && self.transferred.contains(&object))
            }
        };
        by_subject || by_role || by_object
    }

    /// What undoing one event of the command would restore.
    pub(super) fn fate(&self, before: &Policy, event: &Event) -> Fate {
        fate(self, before, event).unwrap_or(Fate::Never(Why::Gone))
    }
}

fn is_owner_role(policy: &Policy, role: RoleId) -> bool {
    policy.seeded_role(SeededRole::Owner) == Some(role)
}

/// `None` when the state before does not know what the event is about: the log would have refused it.
fn fate(whole: &Whole, before: &Policy, event: &Event) -> Option<Fate> {
    Some(match event {
        Event::InstallationCreated(_) => Fate::Never(Why::Beginning),
        Event::PermissionsRegistered(_)
        | Event::PermissionsDeprecated(_)
        | Event::PermissionsRemoved(_)
        | Event::ObjectTypesRegistered(_)
        | Event::ObjectTypesRemoved(_)
        | Event::GrantKeysRemoved(_) => Fate::Never(Why::Catalog),
        Event::RoleCreated(_)
        | Event::RoleRenamed(_)
        | Event::RolePermissionsChanged(_)
        | Event::RoleDeleted(_) => Fate::Undo(of_role(before, event)?),
        Event::GroupCreated(_)
        | Event::GroupRenamed(_)
        | Event::GroupExternalIdChanged(_)
        | Event::GroupMemberAdded(_)
        | Event::GroupMemberRemoved(_)
        | Event::GroupDeleted(_) => of_group(whole, before, event)?,
        Event::GrantIssued(issued) if whole.covers(before, issued) => Fate::Beside,
        Event::GrantIssued(issued) => Fate::Undo(Inverse::GrantIssued { grant: issued.grant }),
        Event::GrantRevoked(revoked) => gone(before, revoked.grant)?,
        Event::GrantEnded(ended) => of_ended(before, ended.grant, &ended.by)?,
        Event::GrantExpired(_) => Fate::Never(Why::Passed),
        Event::ObjectCreated(_)
        | Event::ObjectRenamed(_)
        | Event::ObjectMoved(_)
        | Event::ObjectTransferred(_)
        | Event::ObjectInheritanceChanged(_)
        | Event::ObjectDeleted(_) => of_object(before, event)?,
        Event::UserInvited(_) | Event::UserRegistered(_) => Fate::Never(Why::Account),
        Event::UserErased(_) => Fate::Never(Why::Erased),
        Event::UserProfileChanged(_)
        | Event::UserSuspended(_)
        | Event::UserReactivated(_)
        | Event::UserDeletionScheduled(_)
        | Event::UserDeletionCancelled(_) => Fate::Undo(of_user(before, event)?),
        Event::CredentialPasswordChanged(_) | Event::CredentialTokenRevoked(_) => Fate::Never(Why::Secret),
        Event::CredentialTokenIssued(issued) => Fate::Undo(Inverse::TokenIssued { token: issued.token }),
        Event::CredentialSessionEnded(_) | Event::CredentialSessionsEnded(_) => Fate::Stays(Why::Session),
        Event::ProjectionRebuilt(_)
        | Event::ProjectionSkipped(_)
        | Event::BackupTaken(_)
        | Event::BackupRestored(_) => Fate::Never(Why::Record),
    })
}

fn of_role(before: &Policy, event: &Event) -> Option<Inverse> {
    match event {
        Event::RoleCreated(created) => Some(Inverse::RoleCreated { role: created.role }),
        Event::RoleRenamed(renamed) => {
            let name = before.role(renamed.role)?.name.clone();
            Some(Inverse::RoleRenamed {
                role: renamed.role,
                name: Was { before: name, after: renamed.name.clone() },
            })
        }
        Event::RolePermissionsChanged(changed) => Some(Inverse::RoleContent {
            role: changed.role,
            added: changed.added.clone(),
            removed: changed.removed.clone(),
        }),
        Event::RoleDeleted(deleted) => {
            let role = before.role(deleted.role)?;
            let create = CreateRole {
                slug: role.slug.clone(),
                name: role.name.clone(),
                scope: role.scope,
                permissions: role.permissions.to_vec(),
            };
            Some(Inverse::RoleDeleted { role: role.id, create })
        }
        _ => None,
    }
}

fn of_group(whole: &Whole, before: &Policy, event: &Event) -> Option<Fate> {
    Some(match event {
        Event::GroupCreated(created) => Fate::Undo(Inverse::GroupCreated { group: created.group }),
        Event::GroupRenamed(renamed) => {
            let name = before.group(renamed.group)?.name.clone();
            let name = Was { before: name, after: renamed.name.clone() };
            Fate::Undo(Inverse::GroupRenamed { group: renamed.group, name })
        }
        Event::GroupExternalIdChanged(changed) if whole.made(changed.group.as_uuid()) => Fate::Beside,
        Event::GroupExternalIdChanged(changed) => {
            let before = before.group(changed.group)?.external_id.cloned();
            let external_id = Was { before, after: changed.external_id.clone() };
            Fate::Undo(Inverse::GroupExternalId { group: changed.group, external_id })
        }
        Event::GroupMemberAdded(added) if whole.made(added.group.as_uuid()) => Fate::Beside,
        Event::GroupMemberAdded(added) => {
            Fate::Undo(Inverse::MemberAdded { group: added.group, user: added.user })
        }
        Event::GroupMemberRemoved(removed) => {
            Fate::Undo(Inverse::MemberRemoved { group: removed.group, user: removed.user })
        }
        Event::GroupDeleted(deleted) => {
            let group = before.group(deleted.group)?;
            let create = CreateGroup { slug: group.slug.clone(), name: group.name.clone() };
            let external_id = group.external_id.cloned();
            Fate::Undo(Inverse::GroupDeleted { group: group.id, create, external_id })
        }
        _ => return None,
    })
}

fn gone(before: &Policy, grant: GrantId) -> Option<Fate> {
    Some(Fate::Undo(Inverse::GrantGone { terms: terms(&before.grant(grant)?) }))
}

fn of_ended(before: &Policy, grant: GrantId, by: &EndedBy) -> Option<Fate> {
    match by {
        EndedBy::Role(_) | EndedBy::Group(_) => gone(before, grant),
        // The old owner's grant comes with the transfer back.
        EndedBy::Transfer(_) if before.grant(grant)?.is_owner_grant => Some(Fate::Beside),
        EndedBy::Transfer(_) => gone(before, grant),
        EndedBy::Object(_) => Some(Fate::Never(Why::Deleted)),
        EndedBy::User(_) => Some(Fate::Never(Why::Erased)),
        EndedBy::Namespace(_) => Some(Fate::Never(Why::Catalog)),
    }
}

/// The command that would issue a grant like this one.
fn terms(grant: &GrantView<'_>) -> IssueGrant {
    IssueGrant {
        subject: grant.subject,
        content: match &grant.content {
            ContentView::Role(role) => Content::Role(*role),
            ContentView::Keys(keys) => Content::Keys(keys.iter().map(|key| (*key).clone()).collect()),
        },
        scope: grant.scope,
        effect: grant.effect,
        not_before: grant.not_before,
        expires_at: grant.expires_at,
        affects: grant.reach.affects,
        child_types: grant.reach.child_types,
    }
}

fn of_object(before: &Policy, event: &Event) -> Option<Fate> {
    Some(match event {
        Event::ObjectCreated(created) => Fate::Undo(Inverse::ObjectCreated { object: created.object }),
        Event::ObjectRenamed(renamed) => {
            let object = before.object(renamed.object)?;
            Fate::Undo(Inverse::ObjectRenamed {
                object: object.id,
                name: Was { before: object.name.clone(), after: renamed.name.clone() },
                external_id: Was { before: object.external_id.cloned(), after: renamed.external_id.clone() },
            })
        }
        Event::ObjectMoved(moved) => {
            let parent = Was { before: before.object(moved.object)?.parent, after: moved.parent };
            Fate::Undo(Inverse::ObjectMoved { object: moved.object, parent })
        }
        Event::ObjectTransferred(moved) => match before.object(moved.object)?.owner {
            None => Fate::Never(Why::NoOwner),
            Some(owner) => {
                let owner = Was { before: owner, after: moved.owner };
                Fate::Undo(Inverse::ObjectTransferred { object: moved.object, owner })
            }
        },
        Event::ObjectInheritanceChanged(changed) => {
            Fate::Undo(Inverse::Inheritance { object: changed.object, after: changed.inherits })
        }
        Event::ObjectDeleted(_) => Fate::Never(Why::Deleted),
        _ => return None,
    })
}

fn of_user(before: &Policy, event: &Event) -> Option<Inverse> {
    Some(match event {
        Event::UserProfileChanged(changed) => {
            let user = before.user(changed.user)?;
            Inverse::Profile {
                user: user.id,
                kind: Was { before: user.kind, after: changed.kind },
                profile: Box::new(Was { before: user.profile?.clone(), after: changed.profile.clone() }),
                changed: changed.changed.clone(),
            }
        }
        Event::UserSuspended(suspended) => Inverse::Suspended { user: suspended.user },
        Event::UserReactivated(reactivated) => Inverse::Reactivated { user: reactivated.user },
        Event::UserDeletionScheduled(scheduled) => {
            Inverse::DeletionScheduled { user: scheduled.user, erase_at: scheduled.erase_at }
        }
        Event::UserDeletionCancelled(cancelled) => {
            let erase_at = before.user(cancelled.user)?.erase_at?;
            Inverse::DeletionCancelled { user: cancelled.user, erase_at }
        }
        _ => return None,
    })
}
