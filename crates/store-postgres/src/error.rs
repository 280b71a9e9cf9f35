//! PostgreSQL's errors in the terms of the ports, and which of them a connection survives.

use charter_events::Offset;
use charter_store::{Fault, StoreError, What};
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use std::{io, time::Duration};

// SQLSTATE codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
const DISK_FULL: &str = "53100";
pub(crate) const NO_RIGHT: &str = "42501";
pub(crate) const TOO_MANY_CONNECTIONS: &str = "53300";
/// A trigger of ours refused.
const RAISED: &str = "P0001";
/// A prepared statement that no longer fits its tables, or is not there: a new connection prepares it anew.
const STALE_STATEMENTS: [&str; 2] = ["0A000", "26000"];
/// The server we had was the primary and no longer is: a new connection may find the one that is.
const READ_ONLY: &str = "25006";

/// What a failed statement means; `what` was being done.
pub(crate) fn map(what: &'static str, error: sqlx::Error) -> StoreError {
    match &error {
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::RowNotFound => {
            damaged(format!("{what}: {error}"))
        }
        _ => match code(&error).map(|code| (code, code.get(..2).unwrap_or_default())) {
            Some((DISK_FULL, _)) => StoreError::Full,
            // Data exceptions, broken constraints, limits of the program.
            Some((RAISED, _) | (_, "22" | "23" | "54")) => {
                StoreError::Refused(format!("{what}: {}", first_line(&error)))
            }
            Some(("XX001" | "XX002", _)) => damaged(format!("{what}: {}", first_line(&error))),
            Some(_) => StoreError::unavailable(what, first_line(&error)),
            None => StoreError::unavailable(what, error),
        },
    }
}

/// What the database said: not what it adds on further lines, nor the line of its own source.
pub(crate) fn first_line(error: &sqlx::Error) -> String {
    let said = match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    };
    said.lines().next().unwrap_or_default().to_owned()
}

/// The same with the first line of its detail, which names what stands in the way.
pub(crate) fn with_detail(error: &sqlx::Error) -> String {
    let said = first_line(error);
    match postgres(error).and_then(PgDatabaseError::detail).and_then(|detail| detail.lines().next()) {
        Some(detail) => format!("{said}: {detail}"),
        None => said,
    }
}

/// The database is damaged in a place that is not known to be one event's.
pub(crate) fn damaged(why: impl Into<String>) -> StoreError {
    Fault::new(Offset::ZERO, What::File(why.into())).into()
}

/// PostgreSQL's code, when the error is one of its own.
pub(crate) fn code(error: &sqlx::Error) -> Option<&str> {
    Some(postgres(error)?.code())
}

/// Whether the connection must be given up after this error.
pub(crate) fn breaks_connection(error: &sqlx::Error) -> bool {
    let Some(error) = postgres(error) else {
        return !matches!(
            error,
            sqlx::Error::RowNotFound
                | sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::Encode(_)
        );
    };
    let code = error.code();
    let fatal = matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic);
    // Class 57P: the server is going away.
    fatal || code.starts_with("57P") || code == READ_ONLY || STALE_STATEMENTS.contains(&code)
}

fn postgres(error: &sqlx::Error) -> Option<&PgDatabaseError> {
    error.as_database_error()?.try_downcast_ref()
}

/// Gives a future so long, then gives it up; its connection is then unusable.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        let why = format!("no answer from the database within {} s", limit.as_secs());
        Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, why)))
    })
}
