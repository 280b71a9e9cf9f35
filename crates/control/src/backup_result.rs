//! What a backup that was taken is: for programs as members, for people as a sentence. Must not know how one is taken.

use crate::backup::BACKUP_OPERATION;
use charter_events::{Hash, Offset};
use charter_store::{Operation, OperationState, TABLE_TEXT_BYTES_MAX};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A backup and the file of keys that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupResult {
    /// The path of the backup, on the machine that took it.
    pub file: String,
    /// The offset of the last event in it.
    pub offset: Offset,
    /// Its length, in bytes.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: Hash,
    /// The path of the file of keys that was replaced.
    pub keys_file: String,
    /// How many users' keys are in that.
    pub keys: u64,
}

impl fmt::Display for BackupResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, bytes, sha256, keys_file, keys } = self;
        write!(
            f,
            "`{file}`: events up to {offset}, {bytes} bytes, SHA-256 {sha256}; the keys of {keys} users in `{keys_file}`"
        )
    }
}

impl BackupResult {
    /// What an operation that was a backup came to; none of one that is not done, or was so with paths too long to
    /// keep.
    pub fn of(operation: &Operation) -> Option<Self> {
        if operation.kind != BACKUP_OPERATION || operation.state != OperationState::Done {
            return None;
        }
        serde_json::from_str(&operation.detail).ok()
    }

    /// As an operation keeps it; paths that are too long for that are told to people alone, as far as there is room.
    pub(crate) fn kept(&self) -> String {
        let kept = serde_json::to_string(self).ok().filter(|text| text.len() <= TABLE_TEXT_BYTES_MAX);
        kept.unwrap_or_else(|| self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_events::Timestamp;

    fn result(file: &str) -> BackupResult {
        BackupResult {
            file: file.to_owned(),
            offset: Offset::new(7).unwrap(),
            bytes: 1_000,
            sha256: Hash::new([1; 32]),
            keys_file: "/kept/a.keys".to_owned(),
            keys: 2,
        }
    }

    fn operation(state: OperationState, detail: String) -> Operation {
        let now = Timestamp::from_micros(0).unwrap();
        Operation {
            id: uuid::Uuid::nil(),
            kind: BACKUP_OPERATION.to_owned(),
            target: "log".to_owned(),
            state,
            detail,
            done: 14,
            total: 14,
            asked_by: None,
            started_at: now,
            updated_at: now,
        }
    }

    #[test]
    fn an_operation_that_is_done_tells_which_file_it_made_and_any_other_tells_none() {
        let made = result("/kept/a.backup");
        let done = operation(OperationState::Done, made.kept());
        assert_eq!(BackupResult::of(&done), Some(made.clone()));
        assert_eq!(BackupResult::of(&operation(OperationState::Failed, made.kept())), None);
        assert_eq!(BackupResult::of(&Operation { kind: "projection.rebuild".to_owned(), ..done }), None);
        assert_eq!(BackupResult::of(&operation(OperationState::Done, made.to_string())), None);
        let long = result(&"x".repeat(TABLE_TEXT_BYTES_MAX));
        assert_eq!(long.kept(), long.to_string());
    }
}
