//! What changed between two versions, and what a command would change.

use super::{
    common::{ObjectRef, UserRef},
    questions::Decision,
};
use charter_events::{Hash, Offset, PermissionKey, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Which way an answer changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// From no to yes.
    Gained,
    /// From yes to no.
    Lost,
}

/// Where somebody gained or lost something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ChangePlace {
    /// Everywhere: on one side he is an administrator for the key, on the other each place decides by itself. The
    /// decisions are those platform-wide.
    Everywhere,
    /// Platform-wide.
    Global,
    /// On one object.
    Object {
        /// Which.
        object: ObjectRef,
    },
}

/// One answer that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccessChange {
    /// Whose.
    pub user: UserRef,
    /// Of which key.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Where.
    pub place: ChangePlace,
    /// Which way.
    pub change: Change,
    /// The decision before.
    pub before: Decision,
    /// The decision after.
    pub after: Decision,
}

/// One of the two versions that were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffEnd {
    /// The version.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
    /// The moment its answers were judged at.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The hash of the version's last event.
    #[schema(value_type = String)]
    pub hash: Hash,
}

/// Who gained and lost what between two versions: all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffAnswer {
    /// The one version.
    pub from: DiffEnd,
    /// The other.
    pub to: DiffEnd,
    /// In order of the users' creation, then of place, then of key.
    pub changes: Vec<AccessChange>,
}

/// A change as it would be sent, to be told what it would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"method": "POST", "path": "/api/v1/grants",
    "body": {"subject": "group:ops", "role": "operator", "scope": "folder:eu"}}))]
pub struct PreviewRequest {
    /// The method: `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// The path, from `/api/v1` on.
    pub path: String,
    /// The body, when the change has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<serde_json::Value>,
    /// What would be sent as `If-Match`; `*` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_match: Option<String>,
}

/// An event as it would be appended. Ids of new things are made up and others when it happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PreviewEvent {
    /// The event's type, such as `grant.issued`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The version of its schema.
    pub schema: u16,
    /// What it says; instead of a user's names, `profile` is `[sealed]`.
    pub payload: serde_json::Value,
}

/// What a change would do. Nothing was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PreviewAnswer {
    /// The version it was decided at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
    /// The moment it was decided at.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The made-up id of the main thing it would create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Uuid>,
    /// What would be appended, as far as the caller may see it; none when everything is so already. At most 1,000.
    pub events: Vec<PreviewEvent>,
    /// How many events the caller may see would be appended, told or not.
    pub event_count: u64,
    /// Who would gain and lose what, as far as the caller may read it. At most 1,000.
    pub changes: Vec<AccessChange>,
    /// Whether these are all events and changes the caller may read. Else there are more than an answer takes, or more
    /// had to be compared than a preview does, whoever may read it.
    pub complete: bool,
}
