//! From what was so before to the commands that lead there from now.
//!
//! What was changed again since is left alone, also when it came back to what the command had left: undoing is no way
//! past somebody else's later decision. What went since
//! with something it stood on would have gone with it anyway, and is passed over.

use super::{
    inverse::{Inverse, Was, Whole},
    since::Since,
    why::Why,
};
use crate::{
    AddMember, CancelDeletion, ChangeRole, Command, CreateGroup, DeleteGroup, DeleteObject, DeleteRole,
    EditUser, IssueGrant, MADE_GROUP, MoveObject, ReactivateUser, RemoveMember, RenameGroup, RenameObject,
    RevokeGrant, RevokeToken, ScheduleDeletion, SetGroupExternalId, SetInheritance, Several, SuspendUser,
    TransferObject,
};
use charter_events::{
    Content, ExternalId, GroupId, ObjectId, Offset, Pattern, RoleId, Scope, Subject, Timestamp, UserId,
    UserKind,
};
use charter_policy::{GrantView, Policy, UserStatus};
use std::collections::BTreeMap;
use uuid::Uuid;

/// One command of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// The command.
    pub(super) command: Command,
    /// What it makes stands in for this thing, which the undone command deleted.
    pub(super) in_place_of: Option<Uuid>,
}

/// What an inverse comes to, now.
pub(super) enum Now {
    /// A command leads back.
    Do(Box<Step>),
    /// Nothing is left to do.
    Moot(Why),
    /// It can't be undone any more.
    Never(Why),
}

impl From<Command> for Now {
    fn from(command: Command) -> Self {
        Self::Do(Box::new(Step { command, in_place_of: None }))
    }
}

fn run(command: impl Into<Command>) -> Now {
    Now::from(command.into())
}

/// The state now, and the command that is undone.
pub(super) struct Present<'a> {
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
    pub(super) whole: &'a Whole,
    /// The undone command's first and last event.
    pub(super) first: Offset,
    pub(super) last: Offset,
}

impl<T: PartialEq> Was<T> {
    /// What it is set back to: `Err` when it is so already, or was changed again.
    fn back(&self, now: &T) -> Result<&T, Now> {
        if *now == self.after {
            Ok(&self.before)
        } else if *now == self.before {
            Err(Now::Moot(Why::Already))
        } else {
            Err(Now::Never(Why::Superseded))
        }
    }
}

impl Present<'_> {
    /// What an inverse comes to.
    pub(super) fn step(&self, inverse: &Inverse, since: &Since) -> Now {
        match self.asked(inverse, since).unwrap_or_else(|now| now) {
            Now::Do(_) if since.value => Now::Never(Why::Superseded),
            now => now,
        }
    }

    /// The early ends are answers too.
    fn asked(&self, inverse: &Inverse, since: &Since) -> Result<Now, Now> {
        match inverse {
            Inverse::RoleCreated { role } => self.unmake_role(*role),
            Inverse::RoleRenamed { role, name } => {
                let now = self.policy.role(*role).ok_or(Now::Moot(Why::Gone))?.name;
                let name = Some(name.back(now)?.clone());
                Ok(run(ChangeRole { role: *role, name, add: Vec::new(), remove: Vec::new() }))
            }
            Inverse::RoleContent { role, added, removed } => self.role_content(*role, added, removed, since),
            Inverse::RoleDeleted { role, create } => {
                let taken = self.policy.role_by_slug(create.slug.as_str()).is_some();
                remake(create.clone().into(), role.as_uuid(), taken)
            }
            Inverse::GroupCreated { group } => self.unmake_group(*group),
            Inverse::GroupRenamed { group, name } => {
                let now = self.policy.group(*group).ok_or(Now::Moot(Why::Gone))?.name;
                Ok(run(RenameGroup { group: *group, name: name.back(now)?.clone() }))
            }
            Inverse::GroupExternalId { group, external_id } => {
                let now = self.policy.group(*group).ok_or(Now::Moot(Why::Gone))?.external_id.cloned();
                Ok(run(SetGroupExternalId { group: *group, external_id: external_id.back(&now)?.clone() }))
            }
            Inverse::GroupDeleted { group, create, external_id } => {
                let taken = self.policy.group_by_slug(create.slug.as_str()).is_some();
                remake(with_external_id(create, external_id.as_ref()), group.as_uuid(), taken)
            }
            Inverse::MemberAdded { group, user } if !self.policy.is_member(*group, *user) => {
                Err(Now::Moot(Why::Already))
            }
            Inverse::MemberAdded { group, user } => Ok(run(RemoveMember { group: *group, user: *user })),
            Inverse::MemberRemoved { group, user } => self.rejoin(*group, *user),
            Inverse::GrantIssued { grant } => match self.policy.grant(*grant) {
                Some(_) => Ok(run(RevokeGrant { grant: *grant })),
                None => Err(Now::Moot(Why::Already)),
            },
            Inverse::GrantGone { terms } => self.reissue(terms),
            Inverse::TokenIssued { token } => match self.policy.token(*token) {
                Some(_) => Ok(run(RevokeToken { token: *token })),
                None => Err(Now::Moot(Why::Already)),
            },
            Inverse::ObjectCreated { .. }
            | Inverse::ObjectRenamed { .. }
            | Inverse::ObjectMoved { .. }
            | Inverse::ObjectTransferred { .. }
            | Inverse::Inheritance { .. } => self.of_object(inverse, since),
            Inverse::Profile { .. }
            | Inverse::Suspended { .. }
            | Inverse::Reactivated { .. }
            | Inverse::DeletionScheduled { .. }
            | Inverse::DeletionCancelled { .. } => self.of_user(inverse),
        }
    }

    /// Whether something was last changed by the command that made it, and only this command's grants stand on it.
    fn is_untouched<'g>(&self, changed_at: Offset, mut grants: impl Iterator<Item = GrantView<'g>>) -> bool {
        (self.first..=self.last).contains(&changed_at)
            && grants.all(|grant| self.whole.issued.contains(&grant.id))
    }

    fn unmake_role(&self, role: RoleId) -> Result<Now, Now> {
        let known = self.policy.role(role).ok_or(Now::Moot(Why::Already))?;
        if !self.is_untouched(known.changed_at, self.policy.grants_of_role(role)) {
            return Err(Now::Never(Why::InUse));
        }
        Ok(run(DeleteRole { role }))
    }

    fn unmake_group(&self, group: GroupId) -> Result<Now, Now> {
        let known = self.policy.group(group).ok_or(Now::Moot(Why::Already))?;
        if !self.is_untouched(known.changed_at, self.policy.grants_of(Subject::Group(group))) {
            return Err(Now::Never(Why::InUse));
        }
        Ok(run(DeleteGroup { group }))
    }

    /// Each item stands for itself: what is so again already, or was decided again, is left out.
    fn role_content(
        &self,
        role: RoleId,
        added: &[Pattern],
        removed: &[Pattern],
        since: &Since,
    ) -> Result<Now, Now> {
        let held = self.policy.role(role).ok_or(Now::Moot(Why::Gone))?.permissions;
        let holds = |item: &&Pattern| held.binary_search(item).is_ok();
        let mut remove: Vec<_> = added.iter().filter(holds).cloned().collect();
        let mut add: Vec<_> = removed.iter().filter(|item| !holds(item)).cloned().collect();
        if add.is_empty() && remove.is_empty() {
            return Err(Now::Moot(Why::Already));
        }
        let stands = |item: &Pattern| !since.items.contains(item);
        remove.retain(stands);
        add.retain(stands);
        if add.is_empty() && remove.is_empty() {
            return Err(Now::Never(Why::Superseded));
        }
        Ok(run(ChangeRole { role, name: None, add, remove }))
    }

    fn rejoin(&self, group: GroupId, user: UserId) -> Result<Now, Now> {
        if !self.stands(user) {
            return Err(Now::Moot(Why::Gone));
        }
        if !self.whole.deleted.contains(&group.as_uuid()) {
            self.policy.group(group).ok_or(Now::Moot(Why::Gone))?;
            if self.policy.is_member(group, user) {
                return Err(Now::Moot(Why::Already));
            }
        }
        Ok(run(AddMember { group, user }))
    }

    fn stands(&self, user: UserId) -> bool {
        self.policy.user(user).is_some_and(|user| user.status != UserStatus::Erased)
    }

    /// Issues a grant again, unless it would have ended by now, by its own time or with what it stood on.
    fn reissue(&self, terms: &IssueGrant) -> Result<Now, Now> {
        if terms.expires_at.is_some_and(|end| end <= self.now) {
            return Err(Now::Moot(Why::Passed));
        }
        let comes_back = |id: Uuid| self.whole.deleted.contains(&id);
        let subject = match terms.subject {
            Subject::User(user) => self.stands(user),
            Subject::Group(group) => comes_back(group.as_uuid()) || self.policy.group(group).is_some(),
        };
        let content = match &terms.content {
            Content::Role(role) => comes_back(role.as_uuid()) || self.policy.role(*role).is_some(),
            Content::Keys(_) => true,
        };
        let scope = match terms.scope {
            Scope::Global => true,
            Scope::Object(object) => self.policy.object(object).is_some(),
        };
        if !(subject && content && scope) {
            return Err(Now::Moot(Why::Gone));
        }
        let mut standing = self.policy.grants_at_for(terms.scope, terms.subject);
        if standing.any(|grant| terms.says_the_same(&grant, &terms.content)) {
            return Err(Now::Moot(Why::Already));
        }
        Ok(run(terms.clone()))
    }

    fn of_object(&self, inverse: &Inverse, since: &Since) -> Result<Now, Now> {
        let known = |id: &ObjectId| self.policy.object(*id).ok_or(Now::Moot(Why::Gone));
        match inverse {
            Inverse::ObjectCreated { object } => {
                let view = known(object)?;
                let scope = Scope::Object(*object);
                let alone = self.policy.child_count(*object) == 0;
                if !alone || !self.is_untouched(view.changed_at, self.policy.grants_at(scope)) {
                    return Err(Now::Never(Why::InUse));
                }
                Ok(run(DeleteObject { object: *object }))
            }
            Inverse::ObjectRenamed { object, name, external_id } => {
                let view = known(object)?;
                let name = (name.before != name.after).then(|| name.back(view.name).cloned());
                let external = view.external_id.cloned();
                let external_id =
                    (external_id.before != external_id.after).then(|| external_id.back(&external).cloned());
                let (name, external_id) =
                    (changed(name, since.name)?, changed(external_id, since.external_id)?);
                if name.is_none() && external_id.is_none() {
                    return Err(Now::Moot(Why::Already));
                }
                Ok(run(RenameObject { object: *object, name, external_id }))
            }
            Inverse::ObjectMoved { object, parent } => {
                let parent = *parent.back(&known(object)?.parent)?;
                if parent.is_some_and(|folder| self.policy.object(folder).is_none()) {
                    return Err(Now::Never(Why::Gone));
                }
                Ok(run(MoveObject { object: *object, parent }))
            }
            Inverse::ObjectTransferred { object, owner } => {
                let now = known(object)?.owner.ok_or(Now::Never(Why::Superseded))?;
                let owner = *owner.back(&now)?;
                if !self.stands(owner) {
                    return Err(Now::Never(Why::Erased));
                }
                Ok(run(TransferObject { object: *object, owner }))
            }
            Inverse::Inheritance { object, after } if known(object)?.inherits == *after => {
                Ok(run(SetInheritance { object: *object, inherits: !after }))
            }
            _ => Err(Now::Moot(Why::Already)),
        }
    }

    fn of_user(&self, inverse: &Inverse) -> Result<Now, Now> {
        let view = |user: &UserId| match self.policy.user(*user) {
            Some(view) if view.status != UserStatus::Erased => Ok(view),
            _ => Err(Now::Never(Why::Erased)),
        };
        match inverse {
            Inverse::Profile { user, kind, profile, changed } => {
                let known = view(user)?;
                let now = known.profile.cloned().ok_or(Now::Never(Why::Erased))?;
                if (known.kind, &now) != (kind.after, &profile.after) {
                    let back = (known.kind, &now) == (kind.before, &profile.before);
                    return Err(if back { Now::Moot(Why::Already) } else { Now::Never(Why::Superseded) });
                }
                // A password that was set since would be lost.
                if kind.before == UserKind::Service && known.has_password {
                    return Err(Now::Never(Why::Superseded));
                }
                let (kind, profile) = (Some(kind.before), Some(profile.before.clone()));
                Ok(run(EditUser { user: *user, kind, profile, changed: changed.clone() }))
            }
            Inverse::Suspended { user } => match view(user)?.status {
                UserStatus::Suspended => Ok(run(ReactivateUser { user: *user })),
                status => Err(otherwise(status, UserStatus::Active)),
            },
            Inverse::Reactivated { user } => match view(user)?.status {
                UserStatus::Active => Ok(run(SuspendUser { user: *user })),
                status => Err(otherwise(status, UserStatus::Suspended)),
            },
            Inverse::DeletionScheduled { user, erase_at } => {
                let known = view(user)?;
                match known.status {
                    UserStatus::AwaitingDeletion if known.erase_at == Some(*erase_at) => {
                        Ok(run(CancelDeletion { user: *user }))
                    }
                    UserStatus::AwaitingDeletion => Err(Now::Never(Why::Superseded)),
                    _ => Err(Now::Moot(Why::Already)),
                }
            }
            Inverse::DeletionCancelled { user, erase_at } => match view(user)?.status {
                UserStatus::AwaitingDeletion => Err(Now::Moot(Why::Already)),
                _ if *erase_at <= self.now => Err(Now::Never(Why::Passed)),
                _ => Ok(run(ScheduleDeletion { user: *user, erase_at: *erase_at })),
            },
            _ => Err(Now::Moot(Why::Already)),
        }
    }
}

/// A group, and with it the id it has in somebody else's system.
fn with_external_id(create: &CreateGroup, external_id: Option<&ExternalId>) -> Command {
    let create = Command::from(create.clone());
    let Some(external_id) = external_id.cloned() else { return create };
    let named = SetGroupExternalId { group: MADE_GROUP, external_id: Some(external_id) };
    Several { commands: vec![create, named.into()] }.into()
}

/// A deleted thing comes back under its name, with another id.
fn remake(command: Command, id: Uuid, taken: bool) -> Result<Now, Now> {
    if taken {
        return Err(Now::Never(Why::SlugTaken));
    }
    Ok(Now::Do(Box::new(Step { command, in_place_of: Some(id) })))
}

/// A member that did not change, or is so again, is left out; one that was changed again stops.
fn changed<T>(member: Option<Result<T, Now>>, again: bool) -> Result<Option<T>, Now> {
    match member {
        None | Some(Err(Now::Moot(_))) => Ok(None),
        Some(Ok(_)) if again => Err(Now::Never(Why::Superseded)),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(now)) => Err(now),
    }
}

fn otherwise(status: UserStatus, before: UserStatus) -> Now {
    if status == before { Now::Moot(Why::Already) } else { Now::Never(Why::Superseded) }
}

/// New ids in place of the deleted ones.
#[derive(Debug, Default)]
pub(super) struct Renewed(BTreeMap<Uuid, Uuid>);

impl Renewed {
    /// Notes what came back as what.
    pub(super) fn note(&mut self, step: &Step, made: Option<Uuid>) {
        if let (Some(old), Some(new)) = (step.in_place_of, made) {
            self.0.insert(old, new);
        }
    }

    /// The command, about the new things. Only a group joined, a subject and a role can be one that came back.
    pub(super) fn in_command(&self, command: &Command) -> Command {
        let new = |id: Uuid| self.0.get(&id).copied().unwrap_or(id);
        match command {
            Command::AddMember(add) => {
                AddMember { group: GroupId::new(new(add.group.as_uuid())), ..add.clone() }.into()
            }
            Command::IssueGrant(issue) => {
                let mut issue = issue.clone();
                if let Subject::Group(group) = &mut issue.subject {
                    *group = GroupId::new(new(group.as_uuid()));
                }
                if let Content::Role(role) = &mut issue.content {
                    *role = RoleId::new(new(role.as_uuid()));
                }
                issue.into()
            }
            other => other.clone(),
        }
    }
}
