//! Groups and their members.

use super::common::required;
use charter_events::{DisplayName, GroupId, Offset, Slug};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: GroupId,
    /// Its unique name; it never changes.
    pub slug: String,
    /// How it is shown.
    pub name: String,
    /// Its id in somebody else's system, if a provider gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub external_id: Option<String>,
    /// How many users are in it.
    pub members: u64,
    /// The offset of the last change, which is the `ETag` too.
    #[schema(value_type = u64)]
    pub changed_at: Offset,
}

/// A group to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupCreate {
    /// Its unique name.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_.-]{0,127}$", example = "ops")]
    pub slug: Slug,
    /// How it is shown; the slug when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub name: Option<DisplayName>,
}

/// A merge patch of a group: absent members stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupPatch {
    /// How it is shown.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub name: Option<DisplayName>,
}
