//! What happened, as people read it.

use super::common::UserRef;
use charter_events::{CommandId, GrantId, Offset, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// The event's place in the log.
    #[schema(value_type = u64)]
    pub offset: Offset,
    /// The command it is part of.
    #[schema(value_type = Uuid)]
    pub command_id: CommandId,
    /// Its place in that command, from 0.
    pub command_index: u32,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub recorded_at: Timestamp,
    /// What happened.
    #[serde(rename = "type")]
    #[schema(example = "grant.issued")]
    pub type_name: String,
    /// Who did it.
    pub actor: AuditActor,
    /// The way it came in: `api`, `cli`, `module`, `import` or `system`.
    pub via: String,
    /// The request it came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Why, in the words of who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The user it is about: himself, a member, a grant's subject, an owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRef>,
    /// The group it is about: itself, or a grant's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<AuditThing>,
    /// The role it is about: itself, or what a grant gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AuditThing>,
    /// The object it is about: itself, or where a grant is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<AuditThing>,
    /// The grant it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Uuid>)]
    pub grant: Option<GrantId>,
    /// Where a grant is: `global`, or on an `object`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What was before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub old: Option<serde_json::Value>,
    /// What is after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub new: Option<serde_json::Value>,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditActor {
    /// `user`, `service`, `module` or `system`.
    pub kind: String,
    /// The user; without a name once he is erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRef>,
    /// The module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// Something an entry is about, whether or not it is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditThing {
    /// Its id.
    pub id: Uuid,
    /// How it is shown now, or was then if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name other requests take, while it is there: a slug, or of an object `<type>:<id or external id>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How it was shown then, if that was otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_then: Option<String>,
}
