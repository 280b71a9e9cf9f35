//! Batches as statements. The text is static: a statement inserts 64, 8 or 1 rows, because each one costs a hand-over
//! to the connection's thread whatever it holds.

use crate::{credentials, rows};
use charter_events::StoredEvent;
use charter_store::{Answer, Batch, StoreError};
use sqlx::{
    Arguments, AssertSqlSafe, SqlSafeStr, SqlStr, SqliteConnection,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};

/// One statement with its values.
pub(crate) struct Statement {
    pub(crate) sql: SqlStr,
    pub(crate) values: SqliteArguments,
    /// Whether the connection keeps it prepared.
    kept: bool,
}

impl Statement {
    pub(crate) fn new(sql: &'static str) -> Self {
        Self::kept(SqlStr::from_static(sql))
    }

    /// One whose text was made, and comes again.
    pub(crate) fn kept(sql: SqlStr) -> Self {
        Self { sql, values: SqliteArguments::default(), kept: true }
    }

    /// One whose text was made, and comes once.
    pub(crate) fn once(sql: String) -> Self {
        Self { sql: AssertSqlSafe(sql).into_sql_str(), values: SqliteArguments::default(), kept: false }
    }

    /// Runs it and says how many rows it changed.
    pub(crate) async fn execute(self, connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
        let query = sqlx::query_with(self.sql, self.values).persistent(self.kept);
        Ok(query.execute(connection).await?.rows_affected())
    }

    /// Runs it and hands over its rows.
    pub(crate) async fn rows(self, connection: &mut SqliteConnection) -> Result<Vec<SqliteRow>, sqlx::Error> {
        sqlx::query_with(self.sql, self.values).persistent(self.kept).fetch_all(connection).await
    }

    /// With one more value.
    pub(crate) fn with<'t, T>(mut self, value: T) -> Result<Self, StoreError>
    where
        T: sqlx::Encode<'t, Sqlite> + sqlx::Type<Sqlite>,
    {
        self.add(value)?;
        Ok(self)
    }

    fn add<'t, T>(&mut self, value: T) -> Result<(), StoreError>
    where
        T: sqlx::Encode<'t, Sqlite> + sqlx::Type<Sqlite>,
    {
        self.values.add(value).map_err(|e| StoreError::Refused(format!("a value can't be kept: {e}")))
    }
}

macro_rules! columns {
    () => {
        "INSERT INTO events (\"offset\", event_id, command_id, command_index, command_size, type, schema, \
         recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash) VALUES "
    };
}

macro_rules! one_row {
    () => {
        "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    };
}

macro_rules! eight {
    ($rows:ident) => {
        concat!(
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!(),
            ",",
            $rows!()
        )
    };
}

macro_rules! eight_rows {
    () => {
        eight!(one_row)
    };
}

const INSERT_1: &str = concat!(columns!(), one_row!());
const INSERT_8: &str = concat!(columns!(), eight!(one_row));
const INSERT_64: &str = concat!(columns!(), eight!(eight_rows));

const VALUES_A_ROW: usize = 16;

/// The events of a batch as statements, largest first; made as they are taken, so that a large batch is not held
/// twice.
pub(crate) fn events(
    events: &[StoredEvent],
) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    let mut rest = events;
    std::iter::from_fn(move || {
        let (sql, size) = match rest.len() {
            0 => return None,
            1..8 => (INSERT_1, 1),
            8..64 => (INSERT_8, 8),
            _ => (INSERT_64, 64),
        };
        let (rows, later) = rest.split_at(size);
        rest = later;
        let mut statement = Statement::new(sql);
        statement.values.reserve(size * VALUES_A_ROW, 0);
        Some(rows.iter().try_for_each(|event| add_event(&mut statement, event)).map(|()| statement))
    })
}

fn add_event(statement: &mut Statement, event: &StoredEvent) -> Result<(), StoreError> {
    let (actor_kind, actor_id) = rows::actor_columns(&event.command.actor);
    statement.add(integer(event.offset.get())?)?;
    statement.add(event.event_id.as_uuid().as_bytes().as_slice())?;
    statement.add(event.command.command_id.as_uuid().as_bytes().as_slice())?;
    statement.add(i64::from(event.command_index))?;
    statement.add(i64::from(event.command_size))?;
    statement.add(event.type_name.as_str())?;
    statement.add(i64::from(event.schema))?;
    statement.add(event.recorded_at.as_micros())?;
    statement.add(actor_kind)?;
    statement.add(actor_id)?;
    statement.add(rows::via_text(event.command.via))?;
    statement.add(event.command.request_id.as_deref())?;
    statement.add(event.command.reason.as_deref())?;
    statement.add(event.payload.as_slice())?;
    statement.add(event.prev_hash.as_bytes().as_slice())?;
    statement.add(event.hash.as_bytes().as_slice())
}

/// The rest of a batch: answers, then changes of secrets.
pub(crate) fn others(batch: &Batch) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    batch.answers.iter().map(answer).chain(batch.secrets.iter().map(credentials::statement))
}

fn answer(answer: &Answer) -> Result<Statement, StoreError> {
    const SQL: &str = "INSERT INTO answers (caller, key, request_hash, command_id, first, last, created, secret, at) \
                       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    Statement::new(SQL)
        .with(answer.key.caller.as_str())?
        .with(answer.key.key.as_str())?
        .with(answer.request_hash.as_bytes().as_slice())?
        .with(answer.command_id.as_uuid().as_bytes().as_slice())?
        .with(integer(answer.first.get())?)?
        .with(integer(answer.last.get())?)?
        .with(answer.created.as_ref().map(|id| id.as_bytes().as_slice()))?
        .with(answer.secret)?
        .with(answer.at.as_micros())
}

/// An offset as SQLite keeps it.
pub(crate) fn integer(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Refused("an offset beyond the last one there is".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_has_as_many_places_as_its_rows_have_values() {
        for (sql, rows) in [(INSERT_1, 1), (INSERT_8, 8), (INSERT_64, 64)] {
            assert_eq!(sql.matches('?').count(), rows * VALUES_A_ROW);
        }
    }
}
