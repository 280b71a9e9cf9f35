//! Roles.

use super::{
    common::required,
    schema::{RoleScopeSchema, SeededRoleSchema},
};
use charter_events::{DisplayName, Offset, Pattern, RoleId, RoleScope, SeededRole, Slug};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: RoleId,
    /// Its unique name; it never changes.
    pub slug: String,
    /// How it is shown.
    pub name: String,
    /// Where it may be assigned; it never changes.
    #[schema(value_type = RoleScopeSchema)]
    pub scope: RoleScope,
    /// What it holds, in byte order.
    #[schema(value_type = Vec<String>, example = json!(["minecraft.server.*"]))]
    pub permissions: Vec<Pattern>,
    /// Which of the roles every installation begins with it is, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SeededRoleSchema>)]
    pub seeded: Option<SeededRole>,
    /// Whether it can neither be edited nor deleted.
    pub protected: bool,
    /// The offset of the last change, which is the `ETag` too.
    #[schema(value_type = u64)]
    pub changed_at: Offset,
}

/// A role to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleCreate {
    /// Its unique name.
    #[schema(value_type = String, pattern = "^[a-z0-9][a-z0-9_.-]{0,127}$", example = "server-operator")]
    pub slug: Slug,
    /// How it is shown; the slug when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub name: Option<DisplayName>,
    /// Where it may be assigned.
    #[schema(value_type = RoleScopeSchema)]
    pub scope: RoleScope,
    /// What it holds: keys and wildcards, at most 1,000.
    #[serde(default)]
    #[schema(value_type = Vec<String>, max_items = 1000, example = json!(["minecraft.server.*"]))]
    pub permissions: Vec<Pattern>,
}

/// A merge patch of a role: absent members stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RolePatch {
    /// How it is shown.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub name: Option<DisplayName>,
    /// What it holds from now on, whole.
    #[serde(default, deserialize_with = "required", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, max_items = 1000)]
    pub permissions: Option<Vec<Pattern>>,
}
