//! Undoing a command.

use charter_commands::{NotUndoable, Reason};
use charter_control::UndoneCommand;
use charter_events::{CommandId, Offset};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which command to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoAsk {
    /// The offset of any of its events.
    #[schema(value_type = u64, minimum = 1)]
    pub offset: Offset,
}

/// A command that was undone, and the one that undid it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Undone {
    /// The first event of the command that was undone.
    #[schema(value_type = u64)]
    pub undone_first: Offset,
    /// Its last event.
    #[schema(value_type = u64)]
    pub undone_last: Offset,
    /// The command that undid it.
    #[schema(value_type = Uuid)]
    pub command_id: CommandId,
    /// That command's first event: any of its offsets undoes the undo.
    #[schema(value_type = u64)]
    pub first: Offset,
    /// Its last event.
    #[schema(value_type = u64)]
    pub last: Offset,
}

impl From<UndoneCommand> for Undone {
    fn from(undone: UndoneCommand) -> Self {
        Self {
            undone_first: undone.first,
            undone_last: undone.last,
            command_id: undone.receipt.command_id,
            first: undone.receipt.first,
            last: undone.receipt.last,
        }
    }
}

/// An event that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventReason {
    /// Its offset.
    #[schema(value_type = u64)]
    pub offset: Offset,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Why, stable, for programs.
    pub reason: String,
    /// Why, for people.
    pub detail: String,
}

impl From<&Reason> for EventReason {
    fn from(reason: &Reason) -> Self {
        Self {
            offset: reason.offset,
            type_name: reason.type_name.to_owned(),
            reason: reason.why.code().to_owned(),
            detail: reason.why.to_string(),
        }
    }
}

impl EventReason {
    /// Those that are listed of a command that can't be undone.
    pub(crate) fn of(not: &NotUndoable) -> Vec<Self> {
        not.reasons.iter().map(Self::from).collect()
    }
}
