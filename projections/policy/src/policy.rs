//! Stub.
#![allow(missing_docs, unused_variables, clippy::todo, clippy::allow_attributes_without_reason, clippy::allow_attributes)]
use crate::*;
use charter_events::*;
use std::iter::empty;

#[derive(Debug, Clone, Default)]
pub struct Policy;

impl Policy {
    pub const SNAPSHOT_FORMAT: u16 = 1;
    pub fn new() -> Self { Self::default() }
    pub fn version(&self) -> Offset { todo!() }
    pub fn recorded_at(&self) -> Timestamp { todo!() }
    pub fn apply(&mut self, meta: &EventMeta, event: &Event) -> Result<(), FoldError> { todo!() }
    pub fn digest(&self) -> [u8; 32] { todo!() }
    pub fn to_snapshot(&self) -> Result<Vec<u8>, SnapshotError> { todo!() }
    pub fn from_snapshot(bytes: &[u8]) -> Result<Self, SnapshotError> { todo!() }

    pub fn installation(&self) -> Option<&DisplayName> { todo!() }
    pub fn user(&self, id: UserId) -> Option<UserView<'_>> { todo!() }
    pub fn user_by_tag(&self, tag: &NameTag) -> Option<UserId> { todo!() }
    pub fn users(&self) -> impl Iterator<Item = UserView<'_>> { empty() }
    pub fn users_after(&self, after: Option<Position>) -> impl Iterator<Item = UserView<'_>> { empty() }
    pub fn user_count(&self) -> usize { todo!() }
    pub fn group(&self, id: GroupId) -> Option<GroupView<'_>> { todo!() }
    pub fn group_by_slug(&self, slug: &str) -> Option<GroupId> { todo!() }
    pub fn groups(&self) -> impl Iterator<Item = GroupView<'_>> { empty() }
    pub fn groups_after(&self, after: Option<Position>) -> impl Iterator<Item = GroupView<'_>> { empty() }
    pub fn members(&self, group: GroupId) -> impl Iterator<Item = UserId> { empty() }
    pub fn groups_of(&self, user: UserId) -> impl Iterator<Item = GroupId> { empty() }
    pub fn is_member(&self, group: GroupId, user: UserId) -> bool { todo!() }
    pub fn role(&self, id: RoleId) -> Option<RoleView<'_>> { todo!() }
    pub fn role_by_slug(&self, slug: &str) -> Option<RoleId> { todo!() }
    pub fn roles(&self) -> impl Iterator<Item = RoleView<'_>> { empty() }
    pub fn seeded_role(&self, seeded: SeededRole) -> Option<RoleId> { todo!() }
    pub fn object(&self, id: ObjectId) -> Option<ObjectView<'_>> { todo!() }
    pub fn object_by_external_id(&self, object_type: &str, external_id: &str) -> Option<ObjectId> { todo!() }
    pub fn objects(&self) -> impl Iterator<Item = ObjectView<'_>> { empty() }
    pub fn objects_after(&self, after: Option<Position>) -> impl Iterator<Item = ObjectView<'_>> { empty() }
    pub fn objects_of_type(&self, object_type: &str, after: Option<Position>) -> impl Iterator<Item = ObjectView<'_>> { empty() }
    pub fn object_count_of_type(&self, object_type: &str) -> usize { todo!() }
    pub fn children(&self, folder: ObjectId) -> impl Iterator<Item = ObjectId> { empty() }
    pub fn children_after(&self, folder: Option<ObjectId>, after: Option<Position>) -> impl Iterator<Item = ObjectView<'_>> { empty() }
    pub fn roots(&self) -> impl Iterator<Item = ObjectId> { empty() }
    pub fn child_count(&self, folder: ObjectId) -> usize { todo!() }
    pub fn depth(&self, object: ObjectId) -> usize { todo!() }
    pub fn subtree_height(&self, object: ObjectId) -> usize { todo!() }
    pub fn is_below(&self, object: ObjectId, ancestor: ObjectId) -> bool { todo!() }
    pub fn ancestors(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> { empty() }
    pub fn subtree(&self, object: ObjectId) -> impl Iterator<Item = ObjectId> { empty() }
    pub fn owned_objects(&self, user: UserId) -> impl Iterator<Item = ObjectId> { empty() }
    pub fn grant(&self, id: GrantId) -> Option<GrantView<'_>> { todo!() }
    pub fn grants_of(&self, subject: Subject) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_at(&self, scope: Scope) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_of_role(&self, role: RoleId) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_at_for(&self, scope: Scope, subject: Subject) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_of_after(&self, subject: Subject, after: Option<Position>) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_of_role_after(&self, role: RoleId, after: Option<Position>) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants(&self) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grants_after(&self, after: Option<Position>) -> impl Iterator<Item = GrantView<'_>> { empty() }
    pub fn grant_count_of(&self, subject: Subject) -> usize { todo!() }
    pub fn grant_count_at(&self, scope: Scope) -> usize { todo!() }
    pub fn grant_count_of_role(&self, role: RoleId) -> usize { todo!() }
    pub fn permission(&self, key: &str) -> Option<PermissionView<'_>> { todo!() }
    pub fn permissions(&self) -> impl Iterator<Item = PermissionView<'_>> { empty() }
    pub fn object_type(&self, name: &str) -> Option<ObjectTypeView<'_>> { todo!() }
    pub fn object_types(&self) -> impl Iterator<Item = ObjectTypeView<'_>> { empty() }
    pub fn catalog_revision(&self, namespace: &Namespace) -> Option<u32> { todo!() }
    pub fn token(&self, id: TokenId) -> Option<TokenView<'_>> { todo!() }
    pub fn tokens_of(&self, user: UserId) -> impl Iterator<Item = TokenView<'_>> { empty() }
    pub fn session_is_ended(&self, session: SessionId, user: UserId, began: Offset) -> bool { todo!() }
    pub fn grants_ending_by(&self, now: Timestamp, limit: usize) -> Vec<GrantId> { todo!() }

    pub fn check(&self, user: UserId, key: &PermissionKey, scope: Scope, now: Timestamp) -> Decision { todo!() }
    pub fn check_counted(&self, user: UserId, key: &PermissionKey, scope: Scope, now: Timestamp) -> (Decision, u64) { todo!() }
    pub fn check_batch(&self, user: UserId, questions: &[(PermissionKey, Scope)], now: Timestamp) -> Vec<Decision> { todo!() }
    pub fn effective(&self, user: UserId, scope: Scope, now: Timestamp) -> Vec<EffectiveEntry> { todo!() }
    pub(crate) fn effective_as(&self, now: Timestamp, decision: impl Fn() -> Decision) -> Vec<EffectiveEntry> { todo!() }
    pub fn who_can(&self, key: &PermissionKey, scope: Scope, now: Timestamp, page: Page) -> WhoCan { todo!() }
    pub fn who_can_counted(&self, key: &PermissionKey, scope: Scope, now: Timestamp, page: Page) -> (WhoCan, u64) { todo!() }
    pub fn allowed_objects(&self, user: UserId, key: &PermissionKey, object_type: &str, now: Timestamp, page: Page) -> AllowedObjects { todo!() }
    pub fn allowed_objects_counted(&self, user: UserId, key: &PermissionKey, object_type: &str, now: Timestamp, page: Page) -> (AllowedObjects, u64) { todo!() }
    pub(crate) fn all_objects(&self, object_type: &str, page: Page) -> AllowedObjects { todo!() }
    pub fn allows_anywhere(&self, user: UserId, key: &PermissionKey, now: Timestamp) -> bool { todo!() }
    pub fn is_administrator(&self, user: UserId, now: Timestamp) -> bool { todo!() }
    pub fn administrators(&self, now: Timestamp) -> Vec<UserId> { todo!() }
    pub fn lasting_administrators(&self, now: Timestamp) -> Vec<UserId> { todo!() }
    pub fn valid_until(&self, user: UserId, now: Timestamp) -> Option<Timestamp> { todo!() }
    /// What a caller lacks of `content` over a reach and a span.
    pub fn require_held(&self, caller: &Caller, content: &[Pattern], scope: Scope, reach: Reach, span: Span, now: Timestamp) -> Result<(), Lacking> { todo!() }
    /// Every item of `content` a user does not hold over a reach at one moment, in byte order.
    pub fn missing(&self, user: UserId, content: &[Pattern], scope: Scope, reach: Reach, now: Timestamp) -> Vec<Pattern> { todo!() }
}
