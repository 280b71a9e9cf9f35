//! Users.

use super::{
    common::{GroupRef, Secret, clearable, required},
    schema::UserKindSchema,
};
use charter_events::{
    DisplayName, ExternalId, IssuedSubject, Issuer, Offset, Slug, Timestamp, UserId, UserKind,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where an account stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UserStatus {
    /// It works.
    Active,
    /// Invited, not accepted yet.
    Invited,
    /// Stopped; nothing is lost.
    Suspended,
    /// Stopped, and will be erased.
    AwaitingDeletion,
    /// Gone, and its names with it.
    Erased,
}

/// A user. Who may not read users is shown id, kind, status and version alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// His id.
    #[schema(value_type = Uuid)]
    pub id: UserId,
    /// Person or service.
    #[schema(value_type = UserKindSchema)]
    pub kind: UserKind,
    /// Where the account stands.
    pub status: UserStatus,
    /// By which people name him; absent once erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// How he is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Where mail reaches him.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Another name accepted at sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// His id in somebody else's system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Who he is at an identity provider, if he is linked to anybody there: whoever is that signs in as him.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub identity: Option<Identity>,
    /// Whether he can sign in with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub has_password: Option<bool>,
    /// Whether he holds `*` globally now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub administrator: Option<bool>,
    /// When the account came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub created_at: Option<Timestamp>,
    /// When it may be erased, if that is scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub erase_at: Option<Timestamp>,
    /// His groups; in the answer about one user only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupRef>>,
    /// The offset of the last change, which is the `ETag` too.
    #[schema(value_type = u64)]
    pub changed_at: Offset,
}

/// A user to be created, with an account that works at once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserCreate {
    /// By which people name him.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_.-]{0,127}$", example = "alice")]
    pub username: Slug,
    /// Person (the default) or service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserKindSchema>)]
    pub kind: Option<UserKind>,
    /// How he is shown; the username when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<DisplayName>,
    /// Where mail reaches him. A service has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Another name accepted at sign-in, unique ignoring case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_name: Option<String>,
    /// His id in somebody else's system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256)]
    pub external_id: Option<ExternalId>,
    /// His first password. A service has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Secret>,
}

/// A merge patch of a user: absent members stay, null clears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    /// By which people name him.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub username: Option<Slug>,
    /// Person or service.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserKindSchema>)]
    pub kind: Option<UserKind>,
    /// How he is shown.
    #[serde(default, deserialize_with = "clearable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub display_name: Option<Option<DisplayName>>,
    /// Where mail reaches him.
    #[serde(default, deserialize_with = "clearable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub email: Option<Option<String>>,
    /// Another name accepted at sign-in.
    #[serde(default, deserialize_with = "clearable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub login_name: Option<Option<String>>,
    /// His id in somebody else's system.
    #[serde(default, deserialize_with = "clearable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256)]
    pub external_id: Option<Option<ExternalId>>,
}

/// When a user's account may be erased.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleDeletionRequest {
    /// Not before this moment; after the installation's grace period when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub erase_at: Option<Timestamp>,
}

/// Somebody at an identity provider. Both members are compared byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Which provider: the URL it calls itself, `https`, or `http` on loopback.
    #[schema(value_type = String, min_length = 1, max_length = 512, example = "https://id.example.org")]
    pub issuer: Issuer,
    /// What it calls him: the `sub` of its ID tokens, printable ASCII. Never his address.
    #[schema(value_type = String, min_length = 1, max_length = 255, pattern = "^[\\x20-\\x7e]+$", example = "248289761001")]
    pub subject: IssuedSubject,
}

impl From<Identity> for charter_events::Identity {
    fn from(Identity { issuer, subject }: Identity) -> Self {
        Self { issuer, subject }
    }
}

impl From<charter_events::Identity> for Identity {
    fn from(charter_events::Identity { issuer, subject }: charter_events::Identity) -> Self {
        Self { issuer, subject }
    }
}

/// A new password for somebody else.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CredentialResetRequest {
    /// The password from now on. All his sessions end.
    pub password: Secret,
}
