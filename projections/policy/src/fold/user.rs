//! What user events mean.

use super::{Fold, Folded};
use crate::{UserStatus, ix::UserIx, state::users::UserFacts};
use charter_events::{
    SealedProfile, UserDeletionScheduled, UserId, UserInvited, UserKind, UserProfileChanged, UserRegistered,
};

impl Fold<'_> {
    pub(super) fn user_invited(&mut self, e: &UserInvited) -> Folded {
        self.new_user(e.user, e.kind, &e.profile, UserStatus::Invited)
    }

    pub(super) fn user_registered(&mut self, e: &UserRegistered) -> Folded {
        if self.policy.users.ids.get(e.user.as_uuid()).is_none() {
            return self.new_user(e.user, e.kind, &e.profile, UserStatus::Active);
        }
        let ix = self.change_status(e.user, |status| status == UserStatus::Invited, UserStatus::Active)?;
        self.set_profile(ix, e.user, e.kind, &e.profile)
    }

    pub(super) fn user_profile_changed(&mut self, e: &UserProfileChanged) -> Folded {
        let ix = self.living(e.user)?;
        self.set_profile(ix, e.user, e.kind, &e.profile)
    }

    pub(super) fn user_suspended(&mut self, user: UserId) -> Folded {
        self.change_status(user, |status| status == UserStatus::Active, UserStatus::Suspended).map(|_| ())
    }

    pub(super) fn user_reactivated(&mut self, user: UserId) -> Folded {
        self.change_status(user, |status| status == UserStatus::Suspended, UserStatus::Active).map(|_| ())
    }

    pub(super) fn user_deletion_scheduled(&mut self, e: &UserDeletionScheduled) -> Folded {
        let can = |status| matches!(status, UserStatus::Active | UserStatus::Invited | UserStatus::Suspended);
        let before =
            self.user(e.user).ok().and_then(|ix| self.policy.users.get(ix)).map(|facts| facts.status);
        let ix = self.change_status(e.user, can, UserStatus::AwaitingDeletion)?;
        self.facts(ix, |facts| {
            facts.erase_at = Some(e.erase_at);
            facts.before_deletion = before;
        });
        Ok(())
    }

    pub(super) fn user_deletion_cancelled(&mut self, user: UserId) -> Folded {
        // Calling a deletion off lifts no suspension and accepts no invitation.
        let before = self.user(user).ok().and_then(|ix| self.policy.users.get(ix)?.before_deletion);
        let to = before.unwrap_or(UserStatus::Active);
        let ix = self.change_status(user, |status| status == UserStatus::AwaitingDeletion, to)?;
        self.facts(ix, |facts| {
            facts.erase_at = None;
            facts.before_deletion = None;
        });
        Ok(())
    }

    pub(super) fn user_erased(&mut self, user: UserId) -> Folded {
        let ix = self.change_status(user, |status| status != UserStatus::Erased, UserStatus::Erased)?;
        let policy = &*self.policy;
        if policy.users.grants(ix).is_some_and(|grants| !grants.is_empty()) {
            return Err(self.contradiction(&user, "there are grants to him"));
        }
        if policy.users.node(ix).is_some_and(|node| !node.groups.is_empty()) {
            return Err(self.contradiction(&user, "he is in a group"));
        }
        if policy.users.owned.get(ix.at()).is_some_and(|owned| !owned.is_empty()) {
            return Err(self.contradiction(&user, "he owns objects"));
        }
        if policy.credentials.tokens_of(ix).next().is_some() {
            return Err(self.contradiction(&user, "he has tokens"));
        }
        self.policy.users.free_tags(ix);
        self.facts(ix, |facts| {
            facts.profile = None;
            facts.has_password = false;
            facts.erase_at = None;
            facts.before_deletion = None;
        });
        Ok(())
    }

    /// A user who is not erased.
    pub(super) fn living(&self, user: UserId) -> Result<UserIx, crate::FoldError> {
        let ix = self.user(user)?;
        if self.policy.users.get(ix).is_some_and(|facts| facts.status == UserStatus::Erased) {
            return Err(self.contradiction(&user, "he is erased"));
        }
        Ok(ix)
    }

    /// Changes a user's cold facts and notes when.
    pub(super) fn facts(&mut self, ix: UserIx, change: impl FnOnce(&mut UserFacts)) {
        if let Some(Some(facts)) = self.policy.users.facts.get_mut(ix.at()) {
            change(facts);
            facts.changed_at = self.meta.offset;
        }
    }

    fn new_user(
        &mut self,
        user: UserId,
        kind: UserKind,
        profile: &SealedProfile,
        status: UserStatus,
    ) -> Folded {
        let users = &mut self.policy.users;
        let Some(ix) = users.ids.insert(user.as_uuid()) else { return Err(self.taken("user", &user)) };
        users.push(UserFacts {
            kind,
            status,
            profile: None,
            has_password: false,
            erase_at: None,
            before_deletion: None,
            changed_at: self.meta.offset,
            created_at: self.meta.recorded_at,
            sessions_ended: None,
        });
        self.set_profile(UserIx(ix), user, kind, profile)
    }

    fn set_profile(&mut self, ix: UserIx, user: UserId, kind: UserKind, profile: &SealedProfile) -> Folded {
        self.policy.users.free_tags(ix);
        if self.policy.users.claim_tags(ix, profile).is_err() {
            return Err(self.contradiction(&user, "one of his names is somebody else's"));
        }
        self.facts(ix, |facts| {
            facts.kind = kind;
            facts.profile = Some(profile.clone());
        });
        Ok(())
    }

    fn change_status(
        &mut self,
        user: UserId,
        can: impl Fn(UserStatus) -> bool,
        to: UserStatus,
    ) -> Result<UserIx, crate::FoldError> {
        let ix = self.user(user)?;
        if !self.policy.users.get(ix).is_some_and(|facts| can(facts.status)) {
            return Err(self.contradiction(&user, "the account is in another state"));
        }
        self.facts(ix, |facts| facts.status = to);
        if let Some(node) = self.policy.users.nodes.get_mut(ix.at()) {
            node.active = to == UserStatus::Active;
        }
        Ok(ix)
    }
}
