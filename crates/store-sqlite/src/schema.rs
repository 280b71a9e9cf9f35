//! The schema: which version a file has, and bringing it up to date.

use crate::{error, place::Place};
use charter_store::StoreError;
use sqlx::{Connection, SqliteConnection, raw_sql};

/// `CHRT`: by which a file is known to be one of ours.
const APPLICATION_ID: i64 = 0x4348_5254;

/// Every migration, in order; the position (from 1) is its number and the schema's version after it.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_log.sql"),
    include_str!("../../../migrations/sqlite/0002_signing_key.sql"),
    include_str!("../../../migrations/sqlite/0003_links.sql"),
];

/// The schema this build works with.
pub const KNOWN: i64 = MIGRATIONS.len() as i64;

/// The oldest schema a tool that only reads can do without bringing up to date: what came since stands beside the log.
pub(crate) const READABLE: i64 = 1;

/// Sets the version in the transaction of the migration. SQLite takes no parameter here.
const SET_VERSION: &[&str] =
    &["PRAGMA user_version = 1", "PRAGMA user_version = 2", "PRAGMA user_version = 3"];

/// Refuses a file that is somebody else's or newer than this build, and says which schema it has; 0 for an empty one.
pub(crate) async fn check(connection: &mut SqliteConnection, place: &Place) -> Result<i64, StoreError> {
    let map = |e| match error::code(&e) {
        Some(error::NOT_A_DATABASE) => place.not_ours("`charter.db` is no SQLite database"),
        _ => error::map("reading the schema's version", e),
    };
    let application: i64 = number(connection, "PRAGMA application_id").await.map_err(map)?;
    let found: i64 = number(connection, "PRAGMA user_version").await.map_err(map)?;
    let tables: i64 = number(connection, "SELECT count(*) FROM sqlite_schema").await.map_err(map)?;
    if application != APPLICATION_ID && (application != 0 || found != 0 || tables != 0) {
        return Err(place.not_ours("`charter.db` is another program's database"));
    }
    if found > KNOWN {
        return Err(StoreError::TooNew { found, known: KNOWN });
    }
    Ok(found)
}

/// Applies what is missing, each migration in a transaction of its own.
pub(crate) async fn migrate(connection: &mut SqliteConnection, found: i64) -> Result<(), StoreError> {
    let done = usize::try_from(found).unwrap_or(0);
    for (migration, set_version) in MIGRATIONS.iter().zip(SET_VERSION).skip(done) {
        let map = |e| error::map("bringing the schema up to date", e);
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(map)?;
        raw_sql(*migration).execute(&mut *transaction).await.map_err(map)?;
        raw_sql("PRAGMA application_id = 1128813140").execute(&mut *transaction).await.map_err(map)?;
        raw_sql(*set_version).execute(&mut *transaction).await.map_err(map)?;
        transaction.commit().await.map_err(map)?;
    }
    Ok(())
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(sql).fetch_one(connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_sets_its_own_version() {
        assert_eq!(MIGRATIONS.len(), SET_VERSION.len());
        for (index, sql) in SET_VERSION.iter().enumerate() {
            assert_eq!(*sql, format!("PRAGMA user_version = {}", index + 1));
        }
        assert_eq!(APPLICATION_ID, 1_128_813_140);
    }
}
