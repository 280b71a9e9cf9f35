//! Users, groups, tokens and ended sessions.

use crate::{
    GroupView, Policy, Position, TokenView, UserStatus, UserView,
    ix::{GroupIx, UserIx},
    sorted::Sorted,
    who_can::first_after,
};
use charter_events::{GroupId, NameTag, Offset, SessionId, TokenId, UserId};

impl Policy {
    /// A user that was ever known: an erased one stays known, without a profile.
    pub fn user(&self, id: UserId) -> Option<UserView<'_>> {
        self.user_view(self.user_ix(id)?)
    }

    /// The user one of whose names has this tag.
    pub fn user_by_tag(&self, tag: &NameTag) -> Option<UserId> {
        self.users.tags.get(tag).map(|ix| self.user_id(*ix))
    }

    /// All users, erased ones included, in order of creation.
    pub fn users(&self) -> impl Iterator<Item = UserView<'_>> {
        self.users_after(None)
    }

    /// The users after a position.
    pub fn users_after(&self, after: Option<Position>) -> impl Iterator<Item = UserView<'_>> {
        (first_after(after)..self.users.ids.len() as u32).filter_map(|ix| self.user_view(UserIx(ix)))
    }

    /// Where the account of a user who awaits deletion stood before, and will stand again if that is called off.
    pub fn status_before_deletion(&self, id: UserId) -> Option<UserStatus> {
        self.users.get(self.user_ix(id)?)?.before_deletion
    }

    /// How many users were ever created.
    pub fn user_count(&self) -> usize {
        self.users.ids.len()
    }

    fn user_view(&self, ix: UserIx) -> Option<UserView<'_>> {
        let facts = self.users.get(ix)?;
        Some(UserView {
            id: self.user_id(ix),
            kind: facts.kind,
            status: facts.status,
            profile: facts.profile.as_ref(),
            has_password: facts.has_password,
            erase_at: facts.erase_at,
            changed_at: facts.changed_at,
            created_at: facts.created_at,
            sessions_ended_at: facts.sessions_ended,
            position: Position(u64::from(ix.0)),
        })
    }

    pub(crate) fn group_ix(&self, id: GroupId) -> Option<GroupIx> {
        self.groups.ids.get(id.as_uuid()).map(GroupIx).filter(|ix| self.groups.get(*ix).is_some())
    }

    pub(crate) fn group_id(&self, ix: GroupIx) -> GroupId {
        GroupId::new(self.groups.ids.id(ix.0))
    }

    /// A standing group.
    pub fn group(&self, id: GroupId) -> Option<GroupView<'_>> {
        self.group_view(self.group_ix(id)?)
    }

    /// The group of this name.
    pub fn group_by_slug(&self, slug: &str) -> Option<GroupId> {
        self.groups.slugs.get(slug).map(|ix| self.group_id(*ix))
    }

    /// How many groups were ever created.
    pub fn group_count(&self) -> usize {
        self.groups.ids.len()
    }

    /// All groups in order of creation.
    pub fn groups(&self) -> impl Iterator<Item = GroupView<'_>> {
        self.groups_after(None)
    }

    /// The groups after a position.
    pub fn groups_after(&self, after: Option<Position>) -> impl Iterator<Item = GroupView<'_>> {
        (first_after(after)..self.groups.ids.len() as u32).filter_map(|ix| self.group_view(GroupIx(ix)))
    }

    fn group_view(&self, ix: GroupIx) -> Option<GroupView<'_>> {
        let facts = self.groups.get(ix)?;
        Some(GroupView {
            id: self.group_id(ix),
            slug: &facts.slug,
            name: &facts.name,
            external_id: facts.external_id.as_ref(),
            changed_at: facts.changed_at,
            member_count: self.groups.members(ix).map_or(0, Sorted::len),
            position: Position(u64::from(ix.0)),
        })
    }

    /// The members of a group, in order of the users' creation.
    pub fn members(&self, group: GroupId) -> impl Iterator<Item = UserId> {
        self.members_after(group, None)
    }

    /// The members of a group after the position of a user.
    pub fn members_after(&self, group: GroupId, after: Option<Position>) -> impl Iterator<Item = UserId> {
        let members = self.group_ix(group).and_then(|ix| self.groups.members(ix));
        let from = UserIx(first_after(after));
        members.into_iter().flat_map(move |members| members.from(&from)).map(|user| self.user_id(user))
    }

    /// The groups a user is in, in order of the groups' creation.
    pub fn groups_of(&self, user: UserId) -> impl Iterator<Item = GroupId> {
        let asker = self.asker_or_not(user);
        asker.into_iter().flat_map(|asker| asker.groups).map(|group| self.group_id(*group))
    }

    /// Whether a user is in a group.
    pub fn is_member(&self, group: GroupId, user: UserId) -> bool {
        let both = self.group_ix(group).and_then(|group| self.groups.members(group)).zip(self.user_ix(user));
        both.is_some_and(|(members, user)| members.contains(&user))
    }

    /// A token that was not revoked.
    pub fn token(&self, id: TokenId) -> Option<TokenView<'_>> {
        let facts = self.credentials.tokens.get(&id)?;
        Some(TokenView {
            id,
            user: self.user_id(facts.user),
            name: &facts.name,
            expires_at: facts.expires_at,
            mask: facts.mask.as_ref(),
            issued_at: facts.issued_at,
        })
    }

    /// The tokens of a user, in order of their ids.
    pub fn tokens_of(&self, user: UserId) -> impl Iterator<Item = TokenView<'_>> {
        let user = self.user_ix(user);
        user.into_iter().flat_map(|user| self.credentials.tokens_of(user)).filter_map(|id| self.token(id))
    }

    /// Whether a session that began when the log ended at `began` was ended before its time, by itself or with all of
    /// the user's.
    pub fn session_is_ended(&self, session: SessionId, user: UserId, began: Offset) -> bool {
        let all_ended = self.user(user).and_then(|view| view.sessions_ended_at);
        self.credentials.ended.contains_key(&session) || all_ended.is_some_and(|ended| began < ended)
    }
}
