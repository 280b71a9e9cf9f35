//! Objects, folders among them.

use super::common::{ObjectRef, UserRef, clearable, required};
use charter_events::{DisplayName, ExternalId, ObjectId, ObjectType, Offset};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An object, with what the caller may do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectRow {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: ObjectId,
    /// Its type.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "server")]
    pub object_type: ObjectType,
    /// Its id in somebody else's system: the id itself unless it was given another.
    pub external_id: String,
    /// How it is shown.
    pub name: String,
    /// The folder it lies in; null at the top, and where the caller may not know it.
    pub parent: Option<ObjectRef>,
    /// Who owns it.
    pub owner: Option<UserRef>,
    /// Whether what stands above counts for it.
    pub inherits: bool,
    /// The keys the caller is allowed on it, in byte order. For showing and hiding only: the server asks again.
    pub permissions: Vec<String>,
    /// The offset of the last change, which is the `ETag` too.
    #[schema(value_type = u64)]
    pub changed_at: Offset,
}

/// An object to be created; the caller becomes its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectCreate {
    /// Its type.
    #[serde(rename = "type")]
    #[schema(value_type = String, example = "server")]
    pub object_type: ObjectType,
    /// How it is shown.
    #[schema(value_type = String, max_length = 128, example = "Survival")]
    pub name: DisplayName,
    /// Its id in somebody else's system; the id itself when absent. It takes the type's create key held globally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256, example = "s1")]
    pub external_id: Option<ExternalId>,
    /// The folder to put it in: `folder:<id or external id>`. None: the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "folder:eu")]
    pub parent: Option<String>,
}

/// A merge patch of an object: absent members stay, null clears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectPatch {
    /// How it is shown.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub name: Option<DisplayName>,
    /// Its id in somebody else's system; null makes it the id itself again.
    #[serde(default, deserialize_with = "clearable", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 256)]
    pub external_id: Option<Option<ExternalId>>,
}

/// Who shall own an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferRequest {
    /// The new owner: id, username or external id.
    #[schema(example = "bob")]
    pub owner: String,
}

/// Where an object shall lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// The folder: `folder:<id or external id>`; null: the top. It must be said which.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true, example = "folder:eu")]
    pub parent: Option<String>,
}

/// Whether what stands above an object shall count for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InheritanceRequest {
    /// Whether it counts.
    pub inherits: bool,
}
