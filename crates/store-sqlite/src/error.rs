//! SQLite's errors in the terms of the ports.

use charter_events::Offset;
use charter_store::{Fault, StoreError, What};

// Primary result codes, the low byte of the extended ones: https://www.sqlite.org/rescode.html
const CONSTRAINT: i32 = 19;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
pub(crate) const NOT_A_DATABASE: i32 = 26;
const READ_ONLY: i32 = 8;
const TOO_BIG: i32 = 18;
/// The read-only codes that mean a failed recovery rather than a store opened for reading.
const READ_ONLY_RECOVERY: [i32; 3] = [264, 520, 1288];

/// What a failed statement means; `what` was being done.
pub(crate) fn map(what: &'static str, error: sqlx::Error) -> StoreError {
    let Some(code) = code(&error) else { return other(what, error) };
    match code & 0xff {
        FULL => StoreError::Full,
        CORRUPT | NOT_A_DATABASE => damaged(format!("{what}: {error}")),
        READ_ONLY if !READ_ONLY_RECOVERY.contains(&code) => StoreError::ReadOnly,
        CONSTRAINT | TOO_BIG => StoreError::Refused(format!("{what}: {error}")),
        _ => StoreError::unavailable(what, error),
    }
}

fn other(what: &'static str, error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => StoreError::Closed,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound => {
            damaged(format!("{what}: {error}"))
        }
        _ => StoreError::unavailable(what, error),
    }
}

/// The database is damaged in a place that is not known to be one event's.
pub(crate) fn damaged(why: impl Into<String>) -> StoreError {
    Fault::new(Offset::ZERO, What::File(why.into())).into()
}

/// SQLite's extended result code.
pub(crate) fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}
