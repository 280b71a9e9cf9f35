//! The file of tables: how it is opened, how it is known, and what is done with one that can't be used. It holds
//! nothing that the log does not, so it never keeps a server from starting.

use super::failed;
use crate::{error, place::Place};
use charter_events::LogId;
use charter_store::StoreError;
use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool, raw_sql,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{fs, io, path::Path, time::Duration};
use uuid::Uuid;

const OPENING: &str = "opening the file of tables";

/// `CHTB`: by which a file is known to be one of ours.
const APPLICATION_ID: i64 = 0x4348_5442;
/// The version of what is in it besides the tables themselves.
const KNOWN: i64 = 1;

const CORRUPT: i32 = 11;

const BUSY_SECONDS_MAX: u64 = 5;
pub(super) const READERS_MAX: u32 = 4;
/// For generations and operations.
pub(super) const NOTES_MAX: u32 = 2;
const ROWS_BUFFERED_MAX: usize = 1024;
const WAL_BYTES_KEPT: &str = "67108864";
/// In KiB, as SQLite counts it when negative.
const CACHE: &str = "-65536";
/// Each table has a few statements of each size, in each generation.
const STATEMENTS_KEPT: usize = 500;

/// One row of `projections` says which generation is read. `names` are those of a generation's tables, for whoever
/// drops one of a version it does not know.
const LAYOUT: &str = "
CREATE TABLE projections (
    projection TEXT PRIMARY KEY, last_number INTEGER NOT NULL, active INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE generations (
    projection TEXT NOT NULL, number INTEGER NOT NULL, version INTEGER NOT NULL, names TEXT NOT NULL,
    log_id BLOB NOT NULL, at_offset INTEGER NOT NULL, hash BLOB NOT NULL, indexed INTEGER NOT NULL,
    fault_offset INTEGER, fault_why TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (projection, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE operations (
    id BLOB PRIMARY KEY NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL,
    done INTEGER NOT NULL, total INTEGER NOT NULL, asked_by BLOB, started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 1128813634;
PRAGMA user_version = 1";

fn base(place: &Place) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(place.tables())
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(BUSY_SECONDS_MAX))
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .row_buffer_size(ROWS_BUFFERED_MAX)
        .disable_statement_logging()
}

/// A power failure may lose the last changes, never half of one: `NORMAL` waits for the disk only now and then.
pub(super) fn writing(place: &Place) -> SqliteConnectOptions {
    base(place)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(STATEMENTS_KEPT)
        .pragma("secure_delete", "ON")
        .pragma("cache_size", CACHE)
        .pragma("journal_size_limit", WAL_BYTES_KEPT)
}

fn reading(place: &Place) -> SqliteConnectOptions {
    base(place).read_only(true)
}

pub(super) fn pool(place: &Place, connections_max: u32) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(connections_max)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(reading(place))
}

/// Whether a tool can read it.
pub(super) async fn is_usable(place: &Place) -> bool {
    let Ok(mut connection) = reading(place).connect().await else { return false };
    matches!(found(&mut connection).await, Ok(Found::Ours))
}

/// The connection that writes. A file that is damaged, another log's, or of another build is set aside by name.
pub(super) async fn open(
    place: &Place,
    options: &SqliteConnectOptions,
    log: LogId,
) -> Result<SqliteConnection, StoreError> {
    if place.tables_damaged().is_file() {
        set_aside(place, "it was found damaged")?;
    }
    match try_open(place, options, log).await {
        Ok(Ok(connection)) => return Ok(connection),
        Ok(Err(why)) => set_aside(place, why)?,
        Err(error) if is_damaged(&error) => set_aside(place, "it is damaged, or no database")?,
        Err(error) => return Err(failed(OPENING, error)),
    }
    match try_open(place, options, log).await.map_err(|e| failed(OPENING, e))? {
        Ok(connection) => Ok(connection),
        Err(why) => Err(StoreError::Refused(format!("the new file of tables can't be used: {why}"))),
    }
}

enum Found {
    Nothing,
    Ours,
    Strange(&'static str),
}

/// The connection, or why this file is not to be used.
async fn try_open(
    place: &Place,
    options: &SqliteConnectOptions,
    log: LogId,
) -> Result<Result<SqliteConnection, &'static str>, sqlx::Error> {
    place.make_tables().map_err(sqlx::Error::Io)?;
    let mut connection = options.connect().await?;
    match found(&mut connection).await? {
        Found::Nothing => {
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            raw_sql(LAYOUT).execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        Found::Ours => {
            let others = "SELECT count(*) FROM generations WHERE log_id <> ?";
            let log = log.as_uuid();
            let asked = sqlx::query_scalar(others).bind(log.as_bytes().as_slice());
            let others: i64 = asked.fetch_one(&mut connection).await?;
            if others > 0 {
                connection.close().await?;
                return Ok(Err("it was made from another log"));
            }
        }
        Found::Strange(why) => {
            connection.close().await?;
            return Ok(Err(why));
        }
    }
    Ok(Ok(connection))
}

async fn found(connection: &mut SqliteConnection) -> Result<Found, sqlx::Error> {
    let mut numbers = [0_i64; 3];
    let questions = ["PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"];
    for (number, question) in numbers.iter_mut().zip(questions) {
        *number = sqlx::query_scalar(question).fetch_one(&mut *connection).await?;
    }
    Ok(match numbers {
        [0, 0, 0] => Found::Nothing,
        [APPLICATION_ID, KNOWN, _] => Found::Ours,
        [APPLICATION_ID, ..] => Found::Strange("it was made by another build"),
        _ => Found::Strange("it is another program's database"),
    })
}

/// Keeps the file under another name, the latest such only.
fn set_aside(place: &Place, why: &str) -> Result<(), StoreError> {
    let (from, to) = (place.tables(), place.tables_aside());
    tracing::warn!(why, file = %from.display(), kept_as = %to.display(), "the file of tables is made anew");
    let trouble = |e: io::Error| StoreError::unavailable("setting the file of tables aside", e);
    for ending in ["-wal", "-shm", ""] {
        let with = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            std::path::PathBuf::from(name)
        };
        ignore_missing(fs::remove_file(with(&to))).map_err(trouble)?;
        ignore_missing(fs::rename(with(&from), with(&to))).map_err(trouble)?;
    }
    ignore_missing(fs::remove_file(place.tables_damaged())).map_err(trouble)
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Whether the file itself is no longer what was written.
pub(super) fn is_damaged(error: &sqlx::Error) -> bool {
    matches!(error::code(error).map(|code| code & 0xff), Some(CORRUPT | error::NOT_A_DATABASE))
}

/// An id as it is kept.
pub(super) fn id(bytes: &[u8]) -> Result<Uuid, sqlx::Error> {
    Uuid::from_slice(bytes).map_err(|e| sqlx::Error::Decode(e.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_marks_the_file_as_ours() {
        assert!(LAYOUT.contains(&format!("application_id = {APPLICATION_ID};")));
        assert!(LAYOUT.ends_with(&format!("user_version = {KNOWN}")));
    }
}
