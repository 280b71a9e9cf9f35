//! Users, groups, and who is in which.

use super::{
    Noted, Rows,
    tables::{GROUP_MEMBERS, GROUPS, USERS},
};
use crate::{
    projection::Poison,
    rows::{Row, Value},
    words::{self, folded, missing, searched},
};
use charter_events::{
    GroupCreated, GroupId, GroupMemberAdded, GroupMemberRemoved, GroupRenamed, Offset, SealedProfile,
    Timestamp, UserDeletionScheduled, UserId, UserInvited, UserKind, UserRegistered,
};
use charter_policy::UserStatus;

/// A row of `users`.
pub(super) struct User {
    id: UserId,
    kind: UserKind,
    status: UserStatus,
    pub(super) has_password: bool,
    has_identity: bool,
    created_at: Timestamp,
    erase_at: Option<Timestamp>,
    changed_at: Offset,
    position: u64,
}

impl User {
    /// What of a profile is no secret.
    pub(super) const fn is_now(&mut self, kind: UserKind, profile: &SealedProfile) {
        (self.kind, self.has_identity) = (kind, profile.identity.is_some());
    }

    fn row(&self) -> Row {
        vec![
            Value::Uuid(self.id.as_uuid()),
            Value::text(words::user_kind(self.kind)),
            Value::text(self.status.as_str()),
            Value::Bool(self.has_password),
            Value::Bool(self.has_identity),
            words::moment(self.created_at),
            Value::maybe(self.erase_at, words::moment),
            words::offset(self.changed_at),
            words::count(self.position),
        ]
    }
}

/// A row of `groups`.
struct Group<'a> {
    id: GroupId,
    slug: &'a str,
    name: &'a str,
    member_count: usize,
    changed_at: Offset,
    position: u64,
}

impl Group<'_> {
    fn row(&self) -> Row {
        vec![
            Value::Uuid(self.id.as_uuid()),
            Value::text(self.slug),
            Value::text(self.name),
            Value::text(folded(self.name)),
            searched([self.slug, self.name]),
            words::count(self.member_count),
            words::offset(self.changed_at),
            words::count(self.position),
        ]
    }
}

impl Rows<'_> {
    fn user(&self, id: UserId) -> Result<User, Poison> {
        let view = self.before.user(id).ok_or_else(|| missing("user", id))?;
        Ok(User {
            id,
            kind: view.kind,
            status: view.status,
            has_password: view.has_password,
            has_identity: view.profile.is_some_and(|profile| profile.identity.is_some()),
            created_at: view.created_at,
            erase_at: view.erase_at,
            changed_at: self.recorded.stored.offset,
            position: view.position.get(),
        })
    }

    pub(super) fn user_changed(&mut self, id: UserId, change: impl FnOnce(&mut User)) -> Noted {
        let mut user = self.user(id)?;
        change(&mut user);
        self.put(USERS, user.row());
        Ok(())
    }

    pub(super) fn user_invited(&mut self, e: &UserInvited) -> Noted {
        self.new_user(e.user, (e.kind, &e.profile), UserStatus::Invited)
    }

    pub(super) fn user_registered(&mut self, e: &UserRegistered) -> Noted {
        if self.before.user(e.user).is_none() {
            return self.new_user(e.user, (e.kind, &e.profile), UserStatus::Active);
        }
        self.user_changed(e.user, |user| {
            user.is_now(e.kind, &e.profile);
            user.status = UserStatus::Active;
        })
    }

    fn new_user(
        &mut self,
        id: UserId,
        (kind, profile): (UserKind, &SealedProfile),
        status: UserStatus,
    ) -> Noted {
        let stored = self.recorded.stored;
        let user = User {
            id,
            kind,
            status,
            has_password: false,
            has_identity: profile.identity.is_some(),
            created_at: stored.recorded_at,
            erase_at: None,
            changed_at: stored.offset,
            position: self.before.user_count() as u64,
        };
        self.put(USERS, user.row());
        Ok(())
    }

    pub(super) fn user_suspended(&mut self, id: UserId) -> Noted {
        self.user_changed(id, |user| user.status = UserStatus::Suspended)
    }

    pub(super) fn user_reactivated(&mut self, id: UserId) -> Noted {
        self.user_changed(id, |user| user.status = UserStatus::Active)
    }

    pub(super) fn user_deletion_scheduled(&mut self, e: &UserDeletionScheduled) -> Noted {
        self.user_changed(e.user, |user| {
            (user.status, user.erase_at) = (UserStatus::AwaitingDeletion, Some(e.erase_at));
        })
    }

    pub(super) fn user_deletion_cancelled(&mut self, id: UserId) -> Noted {
        let back_to = self.before.status_before_deletion(id).unwrap_or(UserStatus::Active);
        self.user_changed(id, |user| (user.status, user.erase_at) = (back_to, None))
    }

    pub(super) fn user_erased(&mut self, id: UserId) -> Noted {
        self.user_changed(id, |user| {
            (user.status, user.erase_at) = (UserStatus::Erased, None);
            (user.has_password, user.has_identity) = (false, false);
        })
    }

    pub(super) fn group_created(&mut self, e: &GroupCreated) -> Noted {
        let group = Group {
            id: e.group,
            slug: e.slug.as_str(),
            name: e.name.as_str(),
            member_count: 0,
            changed_at: self.recorded.stored.offset,
            position: self.before.group_count() as u64,
        };
        self.put(GROUPS, group.row());
        Ok(())
    }

    /// The row as it was, under this name or its own, with so many members.
    pub(super) fn group_touched(
        &mut self,
        id: GroupId,
        name: Option<&str>,
        count: impl FnOnce(usize) -> usize,
    ) -> Noted {
        let view = self.before.group(id).ok_or_else(|| missing("group", id))?;
        let group = Group {
            id,
            slug: view.slug.as_str(),
            name: name.unwrap_or(view.name.as_str()),
            member_count: count(view.member_count),
            changed_at: self.recorded.stored.offset,
            position: view.position.get(),
        };
        let row = group.row();
        self.put(GROUPS, row);
        Ok(())
    }

    pub(super) fn group_renamed(&mut self, e: &GroupRenamed) -> Noted {
        self.group_touched(e.group, Some(e.name.as_str()), |count| count)
    }

    pub(super) fn member_added(&mut self, e: &GroupMemberAdded) -> Noted {
        let stored = self.recorded.stored;
        let row = vec![
            Value::Uuid(e.group.as_uuid()),
            Value::Uuid(e.user.as_uuid()),
            words::moment(stored.recorded_at),
            words::offset(stored.offset),
        ];
        self.put(GROUP_MEMBERS, row);
        self.group_touched(e.group, None, |count| count.saturating_add(1))
    }

    pub(super) fn member_removed(&mut self, e: &GroupMemberRemoved) -> Noted {
        self.delete(GROUP_MEMBERS, [Value::Uuid(e.group.as_uuid()), Value::Uuid(e.user.as_uuid())]);
        self.group_touched(e.group, None, |count| count.saturating_sub(1))
    }

    pub(super) fn group_deleted(&mut self, id: GroupId) -> Noted {
        self.delete(GROUPS, [Value::Uuid(id.as_uuid())]);
        Ok(())
    }
}
