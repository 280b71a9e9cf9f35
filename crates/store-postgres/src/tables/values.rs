//! Rows as PostgreSQL takes and gives them: an array for each column, a value of each column's type.

use crate::statement::Statement;
use charter_events::{Hash, LogId, Offset};
use charter_store::{
    Checkpoint, StoreError,
    tables_sql::{Param, Sql},
};
use charter_tables::{Column, Kind, Row, Value};
use sqlx::{Row as _, postgres::PgRow};
use uuid::Uuid;

/// A statement that was made, with its values; planned for them.
pub(super) fn once(sql: Sql) -> Result<Statement, StoreError> {
    let statement = Statement::made(sql.text, false);
    sql.values.into_iter().try_fold(statement, |statement, param| match param {
        Param::Ids(ids) => statement.with(ids),
        Param::Value(Value::Uuid(id)) => statement.with(id),
        Param::Value(Value::Text(text)) => statement.with(text),
        Param::Value(Value::Int(number)) => statement.with(number),
        Param::Value(Value::Bool(truth)) => statement.with(truth),
        Param::Value(Value::Bytes(bytes)) => statement.with(bytes),
        Param::Value(Value::Null) => Err(StoreError::Refused("a comparison with nothing".into())),
    })
}

/// Adds the columns of rows, an array each. What is of another kind was refused before; here it would become empty.
pub(super) fn with_columns(
    mut statement: Statement,
    columns: &[Column],
    rows: &[&Row],
) -> Result<Statement, StoreError> {
    fn column<'a, T>(rows: &[&'a Row], at: usize, of: impl Fn(&'a Value) -> Option<T>) -> Vec<Option<T>> {
        rows.iter().map(|row| row.get(at).and_then(&of)).collect()
    }
    for (at, of) in columns.iter().enumerate() {
        statement = match of.kind {
            Kind::Uuid => statement.with(column(rows, at, |value| match value {
                Value::Uuid(id) => Some(*id),
                _ => None,
            }))?,
            Kind::Text => statement.with(column(rows, at, |value| match value {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            }))?,
            Kind::Int => statement.with(column(rows, at, |value| match value {
                Value::Int(number) => Some(*number),
                _ => None,
            }))?,
            Kind::Bool => statement.with(column(rows, at, |value| match value {
                Value::Bool(truth) => Some(*truth),
                _ => None,
            }))?,
            Kind::Bytes => statement.with(column(rows, at, |value| match value {
                Value::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            }))?,
        };
    }
    Ok(statement)
}

/// How many bytes a row takes on its way, about.
pub(super) fn size(row: &Row) -> usize {
    let of = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 16,
    };
    row.iter().map(of).sum()
}

/// The values of the columns, the first of which stands at `from`.
pub(super) fn row(columns: &[Column], found: &PgRow, from: usize) -> Result<Row, sqlx::Error> {
    let value = |(column, at): (&Column, usize)| {
        Ok(match column.kind {
            Kind::Uuid => Value::maybe(found.try_get(at)?, Value::Uuid),
            Kind::Text => Value::maybe(found.try_get(at)?, Value::Text),
            Kind::Int => Value::maybe(found.try_get(at)?, Value::Int),
            Kind::Bool => Value::maybe(found.try_get(at)?, Value::Bool),
            Kind::Bytes => Value::maybe(found.try_get(at)?, Value::Bytes),
        })
    };
    columns.iter().zip(from..).map(value).collect()
}

/// A checkpoint from `log_id`, `at_offset` and `hash`, the first of which stands at `from`.
pub(super) fn checkpoint(found: &PgRow, from: usize) -> Result<Checkpoint, sqlx::Error> {
    let unreadable = |what: &str| sqlx::Error::Decode(format!("a checkpoint's {what} can't be read").into());
    let log_id: Uuid = found.try_get(from)?;
    let offset = u64::try_from(found.try_get::<i64, _>(from + 1)?).ok().and_then(Offset::new);
    let hash: Vec<u8> = found.try_get(from + 2)?;
    Ok(Checkpoint {
        log_id: LogId::new(log_id),
        offset: offset.ok_or_else(|| unreadable("offset"))?,
        hash: Hash::new(hash.try_into().map_err(|_| unreadable("hash"))?),
    })
}
