//! The sharing screen of one object.

use super::{
    common::{ObjectRef, SubjectRef},
    grants::Grant,
    questions::PermissionState,
};
use charter_events::PermissionKey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who has what on an object, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObjectAccess {
    /// The object.
    pub object: ObjectRef,
    /// Whether what stands above counts for it.
    pub inherits: bool,
    /// The grants on the object itself, in the order they were issued: one page.
    pub own: Vec<Grant>,
    /// Those above it, nearest first, that reach it and whose scope the caller may see grants at: one page.
    pub inherited: Vec<Grant>,
    /// Each subject these grants name, and what it may do on the object.
    pub subjects: Vec<SubjectAccess>,
    /// Hand this back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What one subject may do on an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubjectAccess {
    /// Who.
    pub subject: SubjectRef,
    /// Each key the object's type can carry. Of a group: what it gives a member who has nothing else.
    pub permissions: Vec<KeyState>,
}

/// One key and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyState {
    /// The key.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Allowed, denied, or not set.
    pub state: PermissionState,
}
