//! Read models in tables, and long work.

use charter_control::{GenerationState, ProjectionState, ProjectionStatus, operation_state};
use charter_events::{Hash, Offset, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A projection: a read model in tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Projection {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// The version of its tables this server makes.
    pub version: u32,
    /// `following`; `stopped` at an event it can't take; `not_built`: there is nothing to read yet; `other_version`:
    /// what is read was made by another build.
    pub status: String,
    /// How many events what is read lacks.
    pub behind: u64,
    /// Its generations, by number.
    pub generations: Vec<ProjectionGeneration>,
    /// The operation that works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Uuid>,
}

/// One generation of a projection's tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectionGeneration {
    /// Its number, from 1.
    pub number: u32,
    /// The version of its tables.
    pub version: u32,
    /// Whether it is the one that is read.
    pub active: bool,
    /// Whether it was never read: it is being built, waits for `/switch`, or was given up. One that is neither read
    /// nor new is kept for `/rollback`.
    #[serde(default, rename = "new")]
    pub is_new: bool,
    /// The last event in it.
    #[schema(value_type = u64)]
    pub offset: Offset,
    /// The event it stopped at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<ProjectionFault>,
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// An event a projection can't take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectionFault {
    /// The event's offset.
    #[schema(value_type = u64)]
    pub offset: Offset,
    /// For people: why not.
    pub why: String,
}

/// How to build a projection anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RebuildRequest {
    /// Whether it is read as soon as it is built and compared; if not it waits for `/switch`.
    #[serde(default = "yes")]
    pub switch: bool,
    /// Whether it is read also where its rows differ from those that are read now, because these are wrong.
    #[serde(default)]
    pub accept_difference: bool,
}

const fn yes() -> bool {
    true
}

/// Which event to leave out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SkipRequest {
    /// The offset the projection stopped at.
    #[schema(minimum = 1)]
    pub offset: u64,
}

/// Long work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// Its id.
    pub id: Uuid,
    /// What kind of work, such as `projection.rebuild`.
    pub kind: String,
    /// On what; of a projection its name and the generation's number, such as `directory/2`.
    pub target: String,
    /// `running`, `cancelled` (it can be resumed), `done`, or `failed`.
    pub state: String,
    /// For people: what it is at, or how it ended.
    pub detail: String,
    /// What a backup that is done came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<BackupResult>,
    /// How much is done …
    pub done: u64,
    /// … of how much; 0 when not known.
    pub total: u64,
    /// The user who asked for it; absent: it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Uuid>,
    /// When it was asked for.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When anything of it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// A backup that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupResult {
    /// Its path, on the machine of the server that took it.
    pub file: String,
    /// The offset of the last event in it.
    #[schema(value_type = u64)]
    pub offset: Offset,
    /// Its length, in bytes.
    pub bytes: u64,
    /// SHA-256 of the file, in hex.
    #[schema(value_type = String)]
    pub sha256: Hash,
    /// The path of the file of users' keys that was replaced, on that machine.
    pub keys_file: String,
    /// How many users' keys are in that.
    pub keys: u64,
}

impl From<charter_control::BackupResult> for BackupResult {
    fn from(made: charter_control::BackupResult) -> Self {
        let charter_control::BackupResult { file, offset, bytes, sha256, keys_file, keys } = made;
        Self { file, offset, bytes, sha256, keys_file, keys }
    }
}

impl From<ProjectionState> for Projection {
    fn from(state: ProjectionState) -> Self {
        let status = match state.status {
            ProjectionStatus::Following => "following",
            ProjectionStatus::Stopped => "stopped",
            ProjectionStatus::NotBuilt => "not_built",
            ProjectionStatus::OtherVersion => "other_version",
        };
        Self {
            name: state.name.to_owned(),
            about: state.about.to_owned(),
            version: state.version,
            status: status.to_owned(),
            behind: state.behind,
            generations: state.generations.into_iter().map(ProjectionGeneration::from).collect(),
            operation: state.operation,
        }
    }
}

impl From<GenerationState> for ProjectionGeneration {
    fn from(state: GenerationState) -> Self {
        Self {
            number: state.number,
            version: state.version,
            active: state.active,
            is_new: state.is_new,
            offset: state.offset,
            fault: state.fault.map(|fault| ProjectionFault { offset: fault.offset, why: fault.why }),
            created_at: state.created_at,
        }
    }
}

impl From<charter_store::Operation> for Operation {
    fn from(operation: charter_store::Operation) -> Self {
        let made = charter_control::BackupResult::of(&operation);
        Self {
            id: operation.id,
            kind: operation.kind,
            target: operation.target,
            state: operation_state(operation.state).to_owned(),
            detail: made.as_ref().map_or(operation.detail, ToString::to_string),
            result: made.map(BackupResult::from),
            done: operation.done,
            total: operation.total,
            asked_by: operation.asked_by,
            started_at: operation.started_at,
            updated_at: operation.updated_at,
        }
    }
}
