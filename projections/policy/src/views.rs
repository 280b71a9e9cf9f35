//! What is shown of the facts: small structs borrowed from a policy.

use crate::Position;
use charter_events::{
    Actor, DisplayName, Effect, ExternalId, GrantId, GroupId, Namespace, ObjectId, ObjectType,
    ObjectTypeDefinition, Offset, Pattern, PermissionKey, Reach, RoleId, RoleScope, Scope, SealedProfile,
    SeededRole, Slug, Subject, Timestamp, TokenId, UserId, UserKind,
};
use std::sync::Arc;

/// Where an account stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum UserStatus {
    /// Works.
    Active,
    /// Not yet accepted; grants may wait on it.
    Invited,
    /// Stopped; nothing is lost.
    Suspended,
    /// Stopped, and will be erased.
    AwaitingDeletion,
    /// Gone for good; only the id stays known.
    Erased,
}

impl UserStatus {
    /// The name clients see.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Invited => "invited",
            Self::Suspended => "suspended",
            Self::AwaitingDeletion => "awaiting_deletion",
            Self::Erased => "erased",
        }
    }
}

/// A user.
#[derive(Debug, Clone, Copy)]
pub struct UserView<'a> {
    /// The id.
    pub id: UserId,
    /// Person or service.
    pub kind: UserKind,
    /// Where the account stands.
    pub status: UserStatus,
    /// The names, sealed; none once erased.
    pub profile: Option<&'a SealedProfile>,
    /// Whether there is a password to sign in with.
    pub has_password: bool,
    /// When the account may be erased, while awaiting deletion.
    pub erase_at: Option<Timestamp>,
    /// The last event that changed the account.
    pub changed_at: Offset,
    /// When it was invited or registered.
    pub created_at: Timestamp,
    /// Sessions that began before this event are ended.
    pub sessions_ended_at: Option<Offset>,
    /// Its place in [`crate::Policy::users`].
    pub position: Position,
}

impl UserView<'_> {
    /// Whether the account works.
    pub fn is_active(&self) -> bool {
        self.status == UserStatus::Active
    }
}

/// A group.
#[derive(Debug, Clone, Copy)]
pub struct GroupView<'a> {
    /// The id.
    pub id: GroupId,
    /// The name it is looked up by.
    pub slug: &'a Slug,
    /// The name it is shown by.
    pub name: &'a DisplayName,
    /// Its id in somebody else's system, if it was given one.
    pub external_id: Option<&'a ExternalId>,
    /// The last event that changed it or its membership.
    pub changed_at: Offset,
    /// How many users are in it.
    pub member_count: usize,
    /// Its place in [`crate::Policy::groups`].
    pub position: Position,
}

/// A role.
#[derive(Debug, Clone, Copy)]
pub struct RoleView<'a> {
    /// The id.
    pub id: RoleId,
    /// The name it is looked up by.
    pub slug: &'a Slug,
    /// The name it is shown by.
    pub name: &'a DisplayName,
    /// Where it may be assigned.
    pub scope: RoleScope,
    /// What it holds, in byte order.
    pub permissions: &'a [Pattern],
    /// Which seeded role it is, if any.
    pub seeded: Option<SeededRole>,
    /// The last event that changed it.
    pub changed_at: Offset,
    /// Its place in [`crate::Policy::roles`].
    pub position: Position,
}

/// An object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectView<'a> {
    /// The id.
    pub id: ObjectId,
    /// Its type.
    pub object_type: &'a ObjectType,
    /// Its id in somebody else's system; the id itself when absent.
    pub external_id: Option<&'a ExternalId>,
    /// The name it is shown by.
    pub name: &'a DisplayName,
    /// The folder it lies in.
    pub parent: Option<ObjectId>,
    /// Who owns it.
    pub owner: Option<UserId>,
    /// Whether what stands above counts for it.
    pub inherits: bool,
    /// Whether it contains others.
    pub is_folder: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// The last event that changed it.
    pub changed_at: Offset,
    /// The owner's grant on it.
    pub owner_grant: Option<GrantId>,
    /// Its place in [`crate::Policy::objects`].
    pub position: Position,
}

/// What a grant gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentView<'a> {
    /// A role's content.
    Role(RoleId),
    /// These keys, in byte order.
    Keys(Vec<&'a PermissionKey>),
}

/// A standing grant: neither revoked nor ended nor recorded as expired.
#[derive(Debug, Clone)]
pub struct GrantView<'a> {
    /// The id.
    pub id: GrantId,
    /// To whom.
    pub subject: Subject,
    /// What.
    pub content: ContentView<'a>,
    /// Where.
    pub scope: Scope,
    /// Allow or deny.
    pub effect: Effect,
    /// Live from this moment on.
    pub not_before: Option<Timestamp>,
    /// Live until just before this moment.
    pub expires_at: Option<Timestamp>,
    /// How far it reaches below a folder.
    pub reach: Reach,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// By whom.
    pub issued_by: &'a Actor,
    /// The last event that changed it.
    pub changed_at: Offset,
    /// Whether it is the owner's grant on its object.
    pub is_owner_grant: bool,
    /// Its place among all grants, in order of issuing.
    pub position: Position,
}

impl GrantView<'_> {
    /// Whether it counts at a moment: `not_before <= now < expires_at`.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|begin| begin <= now) && !self.has_ended(now)
    }

    /// Whether its end has passed.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A key of the catalog.
#[derive(Debug, Clone, Copy)]
pub struct PermissionView<'a> {
    /// The key.
    pub key: &'a PermissionKey,
    /// What it lets one do.
    pub description: &'a DisplayName,
    /// The types it can be scoped to, sorted; `any`: all; none: platform-wide only.
    pub object_types: &'a [ObjectType],
    /// Whether it is no longer newly granted.
    pub deprecated: bool,
    /// Who registered it.
    pub namespace: &'a str,
}

/// A registered object type.
#[derive(Debug, Clone, Copy)]
pub struct ObjectTypeView<'a> {
    /// As registered.
    pub definition: &'a ObjectTypeDefinition,
    /// By whom.
    pub namespace: &'a Namespace,
}

/// A standing API token (not its secret).
#[derive(Debug, Clone, Copy)]
pub struct TokenView<'a> {
    /// The id.
    pub id: TokenId,
    /// Whom it speaks for.
    pub user: UserId,
    /// What its owner calls it.
    pub name: &'a DisplayName,
    /// It works until just before this moment.
    pub expires_at: Option<Timestamp>,
    /// A ceiling on what may be asked with it.
    pub mask: Option<&'a Arc<[Pattern]>>,
    /// When it was issued.
    pub issued_at: Timestamp,
}
