//! Grants.

use super::{
    common::{RoleRef, ScopeRef, SubjectRef},
    schema::{AffectsSchema, ChildTypesSchema, EffectSchema},
};
use charter_events::{Actor, Affects, ChildTypes, Effect, GrantId, Offset, PermissionKey, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A grant that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Its id.
    #[schema(value_type = Uuid)]
    pub id: GrantId,
    /// To whom.
    pub subject: SubjectRef,
    /// What: a role …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleRef>,
    /// … or these keys. Never both, never neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub permissions: Option<Vec<PermissionKey>>,
    /// Where.
    pub scope: ScopeRef,
    /// Allow or deny.
    #[schema(value_type = EffectSchema)]
    pub effect: Effect,
    /// Live from this moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub not_before: Option<Timestamp>,
    /// Live until just before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// How far below a folder it reaches.
    #[schema(value_type = AffectsSchema)]
    pub affects: Affects,
    /// Which kinds of things below a folder it reaches.
    #[schema(value_type = ChildTypesSchema)]
    pub child_types: ChildTypes,
    /// Whether it counts at this moment.
    pub live: bool,
    /// Whether it is the grant of the object's owner, which only a transfer moves.
    pub owner_grant: bool,
    /// When it was issued.
    #[schema(value_type = String, format = DateTime)]
    pub issued_at: Timestamp,
    /// Who issued it: `{"kind": "user", "id": …}`.
    #[schema(value_type = Object)]
    pub issued_by: Actor,
    /// The offset of the last change, which is the `ETag` too.
    #[schema(value_type = u64)]
    pub changed_at: Offset,
}

/// A grant to be issued. Exactly one of `role` and `permissions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"subject": "user:alice", "role": "server-operator", "scope": "server:s1"}))]
pub struct GrantCreate {
    /// To whom: `user:<id, username or external id>` or `group:<id or slug>`.
    #[schema(example = "user:alice")]
    pub subject: String,
    /// The role: id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Literal keys, at most 100; a deny takes nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, max_items = 100)]
    pub permissions: Option<Vec<PermissionKey>>,
    /// Where: `global`, or `<type>:<id or external id>`.
    #[schema(example = "server:s1")]
    pub scope: String,
    /// Allow (the default) or deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EffectSchema>)]
    pub effect: Option<Effect>,
    /// Live from this moment on; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub not_before: Option<Timestamp>,
    /// Live until just before this moment; without end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// How far below a folder it reaches; on a folder only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AffectsSchema>)]
    pub affects: Option<Affects>,
    /// Which kinds of things below a folder it reaches; on a folder only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ChildTypesSchema>)]
    pub child_types: Option<ChildTypes>,
}
