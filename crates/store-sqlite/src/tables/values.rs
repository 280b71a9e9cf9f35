//! Rows as SQLite takes and gives them.

use super::file;
use crate::insert::Statement;
use charter_events::{Hash, LogId, Offset};
use charter_store::{
    Checkpoint, StoreError,
    tables_sql::{Param, Sql},
};
use charter_tables::{Column, Kind, Row, Value};
use sqlx::{Row as _, sqlite::SqliteRow};

/// A statement that was made, with its values.
pub(super) fn once(sql: Sql) -> Result<Statement, StoreError> {
    let statement = Statement::once(sql.text);
    sql.values.into_iter().try_fold(statement, |statement, param| match param {
        Param::Ids(ids) => statement.with(ids.iter().flat_map(|id| *id.as_bytes()).collect::<Vec<u8>>()),
        Param::Value(value) => with(statement, &value),
    })
}

/// With one more value.
pub(super) fn with(statement: Statement, value: &Value) -> Result<Statement, StoreError> {
    match value {
        Value::Null => statement.with(None::<i64>),
        Value::Uuid(id) => statement.with(id.as_bytes().as_slice()),
        Value::Text(text) => statement.with(text.as_str()),
        Value::Int(number) => statement.with(*number),
        Value::Bool(truth) => statement.with(i64::from(*truth)),
        Value::Bytes(bytes) => statement.with(bytes.as_slice()),
    }
}

/// The values of the columns, the first of which stands at `from`.
pub(super) fn row(columns: &[Column], found: &SqliteRow, from: usize) -> Result<Row, sqlx::Error> {
    let value = |(column, at): (&Column, usize)| {
        Ok(match column.kind {
            Kind::Uuid => match found.try_get::<Option<&[u8]>, _>(at)? {
                Some(bytes) => Value::Uuid(file::id(bytes)?),
                None => Value::Null,
            },
            Kind::Text => Value::maybe(found.try_get(at)?, Value::Text),
            Kind::Int => Value::maybe(found.try_get(at)?, Value::Int),
            Kind::Bool => Value::maybe(found.try_get(at)?, |truth: i64| Value::Bool(truth != 0)),
            Kind::Bytes => Value::maybe(found.try_get(at)?, Value::Bytes),
        })
    };
    columns.iter().zip(from..).map(value).collect()
}

/// A checkpoint from `log_id`, `at_offset` and `hash`, the first of which stands at `from`.
pub(super) fn checkpoint(found: &SqliteRow, from: usize) -> Result<Checkpoint, sqlx::Error> {
    let unreadable = |what: &str| sqlx::Error::Decode(format!("a checkpoint's {what} can't be read").into());
    let log_id = file::id(found.try_get(from)?)?;
    let offset = u64::try_from(found.try_get::<i64, _>(from + 1)?).ok().and_then(Offset::new);
    let hash: Vec<u8> = found.try_get(from + 2)?;
    Ok(Checkpoint {
        log_id: LogId::new(log_id),
        offset: offset.ok_or_else(|| unreadable("offset"))?,
        hash: Hash::new(hash.try_into().map_err(|_| unreadable("hash"))?),
    })
}
