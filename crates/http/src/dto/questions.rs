//! Questions and their answers. Every answer comes from the one walk and says why.

use super::{
    common::{GroupRef, ObjectRef, ScopeRef, UserRef},
    grants::Grant,
};
use charter_events::{GrantId, Offset, PermissionKey, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// May this user do this here?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"user": "alice", "permission": "minecraft.server.restart", "object": "server:s1"}))]
pub struct CheckRequest {
    /// Who: id, username or external id; the caller himself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Where: `<type>:<id or external id>`; platform-wide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// Many questions about one user, answered at one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckBatchRequest {
    /// Who: id, username or external id; the caller himself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The questions, at most 1,000.
    #[schema(max_items = 1000)]
    pub checks: Vec<CheckItem>,
}

/// One question of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckItem {
    /// What.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Where: `<type>:<id or external id>`; platform-wide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// Why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// A wildcard of a global role matched.
    Administrator,
    /// Entries at the nearest scope that says anything.
    Grant,
    /// Nothing spoke.
    NotSet,
    /// The user is not active, or not known.
    InactiveSubject,
    /// The key is not in the catalog.
    UnknownPermission,
    /// The caller asks about himself, with a token that does not reach the key: he may, it may not.
    TokenTooNarrow,
}

/// To whom the deciding entries are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// To the user himself.
    User,
    /// To groups of his.
    Group,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// Whether he may.
    pub allowed: bool,
    /// The same in words.
    pub verdict: Verdict,
    /// Why.
    pub because: Because,
    /// Where the deciding entries stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeRef>,
    /// To whom they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<SubjectKind>,
    /// All grants that decided.
    #[schema(value_type = Vec<Uuid>)]
    pub grants: Vec<GrantId>,
    /// The version it was made at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
    /// The moment it was made at.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// The answers to a batch, in the order of the questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckBatchAnswer {
    /// The answers.
    pub results: Vec<Decision>,
    /// The one version all were made at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
}

/// An answer with the question and the grants behind it spelled out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// Who was asked about; absent for a user the caller may not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserRef>,
    /// The key.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// The object; platform-wide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The answer.
    pub decision: Decision,
    /// The deciding grants, whole: those the caller may see. The decision names all.
    pub grants: Vec<Grant>,
    /// The answer as a sentence.
    pub summary: String,
    /// Whether the caller's token reaches the key, when he asks about himself with a narrowed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub token_reaches: Option<bool>,
    /// What the answer is without the token, where only the token is what keeps him out. The grants are then those
    /// behind this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub without_token: Option<Decision>,
}

/// Who may do this here?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoCanRequest {
    /// What.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Where: `<type>:<id or external id>`; platform-wide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// At most so many users a page: 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 500)]
    pub limit: Option<u16>,
    /// From the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// Who.
    pub user: UserRef,
    /// Why he may.
    pub because: Because,
    /// To whom the deciding entries are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<SubjectKind>,
    /// Through which groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<GroupRef>,
    /// All grants that decided.
    #[schema(value_type = Vec<Uuid>)]
    pub grants: Vec<GrantId>,
    /// `false` beside the caller himself when the token he asks with does not reach the key: he may, it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub token_reaches: Option<bool>,
}

/// One page of those who may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhoCanAnswer {
    /// They.
    pub users: Vec<Holder>,
    /// Hand this back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The version this page was answered at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
}

/// On which objects of a type may this user do this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowedObjectsRequest {
    /// Who: id, username or external id; the caller himself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Objects of this type.
    #[serde(rename = "type")]
    #[schema(example = "server")]
    pub object_type: String,
    /// At most so many objects a page: 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 500)]
    pub limit: Option<u16>,
    /// From the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AllowedObjectsAnswer {
    /// Whether every object of the type is one of them, present and future: an administrator asks.
    pub all: bool,
    /// Those where the caller may ask about the user. Of himself, none when his token does not reach the key.
    pub objects: Vec<ObjectRef>,
    /// Hand this back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The version this page was answered at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
}

/// What may this user do here?
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectiveRequest {
    /// Who: id, username or external id; the caller himself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where: `<type>:<id or external id>`; platform-wide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// The three states of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// He may.
    Allowed,
    /// A deny won.
    Denied,
    /// Nothing spoke, or his token does not reach the key: he may not.
    NotSet,
}

/// One key, its state and what is behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectivePermission {
    /// The key.
    #[schema(value_type = String)]
    pub permission: PermissionKey,
    /// Its state.
    pub state: PermissionState,
    /// Why.
    pub because: Because,
    /// Where the deciding entries stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeRef>,
    /// To whom they are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<SubjectKind>,
    /// All grants that decided.
    #[schema(value_type = Vec<Uuid>)]
    pub grants: Vec<GrantId>,
}

/// All keys of the catalog, for one user at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveAnswer {
    /// Who was asked about.
    #[schema(value_type = Option<Uuid>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// One row a key, in byte order.
    pub permissions: Vec<EffectivePermission>,
    /// The version it was answered at.
    #[schema(value_type = u64)]
    pub policy_version: Offset,
    /// The moment it was answered at.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// The log: which it is and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogInfo {
    /// The log's id.
    #[schema(value_type = Uuid)]
    pub log_id: charter_events::LogId,
    /// The last event's offset.
    #[schema(value_type = u64)]
    pub head: Offset,
    /// The last event's hash: keep it elsewhere, and a rewritten log is found out.
    #[schema(value_type = String)]
    pub head_hash: charter_events::Hash,
    /// When the last event was recorded.
    #[schema(value_type = String, format = DateTime)]
    pub recorded_at: Timestamp,
    /// By which the log's checkpoints are checked: `<name>+<id>+<base64>`. Keep it elsewhere, with a checkpoint.
    #[serde(default)]
    pub verifier_key: String,
    /// When it was asked for: a digest of the state at the version that the header `Policy-Version` names. Servers and
    /// followers at one version have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub state_digest: Option<charter_events::Hash>,
}
