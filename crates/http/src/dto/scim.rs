//! SCIM messages as the document describes them. They are read and written more leniently than the rest of the API, by
//! `scim`, for their members' names are in any case: these types are the description only.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A user (RFC 7643, 4.1), as far as anything of one is kept here. What else the standard's user has is taken and not
/// kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimUser {
    /// `urn:ietf:params:scim:schemas:core:2.0:User`.
    pub schemas: Vec<String>,
    /// The id; given by this side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(read_only, nullable = false)]
    pub id: Option<String>,
    /// By which the person signs in; unique ignoring case.
    #[schema(max_length = 128)]
    pub user_name: String,
    /// How the person is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub display_name: Option<String>,
    /// The person's id in the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub external_id: Option<String>,
    /// Whether the account works: `true` when absent from a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub active: Option<bool>,
    /// Where mail reaches the person: one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emails: Option<Vec<ScimEmail>>,
    /// Of it, how the person is shown is taken when `displayName` is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only)]
    pub name: Option<ScimName>,
    /// The person's groups, where the caller may read groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(read_only, nullable = false)]
    pub groups: Option<Vec<ScimRef>>,
    /// About the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(read_only, nullable = false)]
    pub meta: Option<ScimMeta>,
}

/// A group (RFC 7643, 4.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimGroup {
    /// `urn:ietf:params:scim:schemas:core:2.0:Group`.
    pub schemas: Vec<String>,
    /// The id; given by this side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(read_only, nullable = false)]
    pub id: Option<String>,
    /// How it is shown.
    #[schema(max_length = 128)]
    pub display_name: String,
    /// Its id in the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 256)]
    pub external_id: Option<String>,
    /// Who is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<ScimRef>>,
    /// About the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(read_only, nullable = false)]
    pub meta: Option<ScimMeta>,
}

/// An address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScimEmail {
    /// The address.
    #[schema(max_length = 254)]
    pub value: String,
    /// What it is for; `work` in answers.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it is the one to be kept of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only)]
    pub primary: Option<bool>,
}

/// A person's name in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimName {
    /// The whole name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formatted: Option<String>,
    /// The given name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// The family name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
}

/// Somebody in a group, or a group somebody is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScimRef {
    /// The id.
    pub value: String,
    /// Where it is.
    #[serde(default, rename = "$ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// `User` of a member, `direct` of a group somebody is in.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// About a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimMeta {
    /// `User` or `Group`.
    pub resource_type: String,
    /// When the account came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub created: Option<String>,
    /// Where it is.
    pub location: String,
    /// The `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub version: Option<String>,
}

/// Any other resource: it says by its schema what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScimResource {
    /// The URNs of its schemas.
    pub schemas: Vec<String>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimList {
    /// `urn:ietf:params:scim:api:messages:2.0:ListResponse`.
    pub schemas: Vec<String>,
    /// How many there are on all pages.
    pub total_results: u64,
    /// The place of the first one of this page, from 1 on.
    pub start_index: u64,
    /// How many are on this page.
    pub items_per_page: u64,
    /// They.
    #[serde(default, rename = "Resources")]
    #[schema(value_type = Vec<ScimResource>)]
    pub resources: Vec<Value>,
}

/// A search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimSearch {
    /// `urn:ietf:params:scim:api:messages:2.0:SearchRequest`.
    pub schemas: Vec<String>,
    /// What they must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "userName eq \"alice@example.com\"")]
    pub filter: Option<String>,
    /// By what they are sorted; in the order they came when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<String>,
    /// `ascending` or `descending`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_order: Option<String>,
    /// The place of the first one, from 1 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_index: Option<i64>,
    /// At most so many; 100 when absent, and never more than 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Only these attributes are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Vec<String>>,
    /// These are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded_attributes: Option<Vec<String>>,
}

/// A patch (RFC 7644, 3.5.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScimPatch {
    /// `urn:ietf:params:scim:api:messages:2.0:PatchOp`.
    pub schemas: Vec<String>,
    /// What is done, in order.
    #[serde(rename = "Operations")]
    #[schema(min_items = 1, max_items = 1000)]
    pub operations: Vec<ScimOperation>,
}

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScimOperation {
    /// `add`, `remove` or `replace`, in any case.
    pub op: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "members[value eq \"01935f3a-7c00-7000-8020-a11ce0000020\"]")]
    pub path: Option<String>,
    /// What is added or put in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Why a request was not answered (RFC 7644, 3.12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimError {
    /// `urn:ietf:params:scim:api:messages:2.0:Error`.
    pub schemas: Vec<String>,
    /// The HTTP status, as a text.
    pub status: String,
    /// What is wrong, where the standard has a word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scim_type: Option<String>,
    /// What is wrong, for people.
    pub detail: String,
}
