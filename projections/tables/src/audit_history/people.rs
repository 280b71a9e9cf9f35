//! Entries of users, groups and credentials. Of a profile it is told which of its members changed, never what they say.

use super::entry::Entry;
use crate::{
    projection::Poison,
    words::{self, missing},
};
use charter_events::{
    CredentialPasswordChanged, CredentialTokenIssued, CredentialTokenRevoked, ExternalId, GroupCreated,
    GroupExternalIdChanged, GroupId, GroupRenamed, Pattern, ProfileField, UserDeletionScheduled, UserId,
    UserInvited, UserProfileChanged, UserRegistered,
};
use charter_policy::{UserStatus, UserView};

impl<'a> Entry<'a> {
    fn known(&self, id: UserId) -> Result<UserView<'a>, Poison> {
        self.before.user(id).ok_or_else(|| missing("user", id))
    }

    pub(super) fn user_invited(self, e: &UserInvited) -> Self {
        self.user(e.user).is("kind", words::user_kind(e.kind)).is("status", UserStatus::Invited.as_str())
    }

    pub(super) fn user_registered(self, e: &UserRegistered) -> Self {
        let before = self.before.user(e.user).map(|view| view.status.as_str());
        self.user(e.user)
            .maybe_was("status", before)
            .is("kind", words::user_kind(e.kind))
            .is("status", UserStatus::Active.as_str())
    }

    pub(super) fn user_profile_changed(self, e: &UserProfileChanged) -> Result<Self, Poison> {
        let kind = self.known(e.user)?.kind;
        let entry = self.user(e.user).listed_now("changed", e.changed.iter().copied().map(field));
        Ok(if kind == e.kind {
            entry
        } else {
            entry.was("kind", words::user_kind(kind)).is("kind", words::user_kind(e.kind))
        })
    }

    pub(super) fn status_changed(self, id: UserId, to: &str) -> Result<Self, Poison> {
        let status = self.known(id)?.status;
        Ok(self.user(id).was("status", status.as_str()).is("status", to))
    }

    pub(super) fn deletion_scheduled(self, e: &UserDeletionScheduled) -> Result<Self, Poison> {
        let entry = self.status_changed(e.user, UserStatus::AwaitingDeletion.as_str())?;
        Ok(entry.is("erase_at", e.erase_at.to_string()))
    }

    pub(super) fn deletion_cancelled(self, id: UserId) -> Result<Self, Poison> {
        let erase_at = self.known(id)?.erase_at;
        let to = self.before.status_before_deletion(id).unwrap_or(UserStatus::Active);
        let entry = self.status_changed(id, to.as_str())?;
        Ok(entry.maybe_was("erase_at", erase_at.map(|moment| moment.to_string())))
    }

    pub(super) fn password_changed(self, e: &CredentialPasswordChanged) -> Result<Self, Poison> {
        let had = self.known(e.user)?.has_password;
        Ok(self.user(e.user).was("has_password", had).is("has_password", e.has_password))
    }

    pub(super) fn token_issued(self, e: &CredentialTokenIssued) -> Self {
        let name = e.name.as_str();
        let entry = self
            .user(e.user)
            .is("token", e.token.to_string())
            .called("token", name)
            .maybe_is("expires_at", e.expires_at.map(|moment| moment.to_string()));
        match &e.mask {
            Some(mask) => entry.listed_now("mask", mask.iter().map(Pattern::as_str)),
            None => entry,
        }
    }

    pub(super) fn token_revoked(self, e: &CredentialTokenRevoked) -> Result<Self, Poison> {
        let view = self.before.token(e.token).ok_or_else(|| missing("token", e.token))?;
        Ok(self.user(view.user).was("token", e.token.to_string()).called("token", view.name.as_str()))
    }

    pub(super) fn group_created(self, e: &GroupCreated) -> Self {
        let (slug, name) = (e.slug.as_str(), e.name.as_str());
        self.group_called(e.group, slug, name).is("slug", slug).is("name", name)
    }

    pub(super) fn group_renamed(self, e: &GroupRenamed) -> Result<Self, Poison> {
        let view = self.before.group(e.group).ok_or_else(|| missing("group", e.group))?;
        let name = e.name.as_str();
        Ok(self.group(e.group).was("name", view.name.as_str()).is("name", name).word(name))
    }

    pub(super) fn group_external_id(self, e: &GroupExternalIdChanged) -> Result<Self, Poison> {
        let view = self.before.group(e.group).ok_or_else(|| missing("group", e.group))?;
        let (old, new) = (view.external_id, e.external_id.as_ref());
        let entry = self.group(e.group).maybe_was("external_id", old.map(ExternalId::as_str));
        let entry = entry.maybe_is("external_id", new.map(ExternalId::as_str));
        Ok(new.into_iter().fold(entry, |entry, id| entry.word(id.as_str())))
    }

    pub(super) fn group_deleted(self, id: GroupId) -> Result<Self, Poison> {
        let view = self.before.group(id).ok_or_else(|| missing("group", id))?;
        Ok(self.group(id).was("slug", view.slug.as_str()).was("name", view.name.as_str()))
    }
}

const fn field(field: ProfileField) -> &'static str {
    match field {
        ProfileField::Username => "username",
        ProfileField::DisplayName => "display_name",
        ProfileField::Email => "email",
        ProfileField::LoginName => "login_name",
        ProfileField::ExternalId => "external_id",
        ProfileField::Identity => "identity",
    }
}
