//! Changing rows: the checkpoint by compare-and-set first, then all rows, many a statement.

use super::{Tables, moved, values};
use crate::insert::{Statement, integer};
use charter_store::{
    Checkpoint, StoreError, Target,
    table_checks::check_changes,
    tables_sql::{self, Dialect},
};
use charter_tables::{Changes, Row, TableSpec};
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr, SqliteConnection};

const WHAT: &str = "changing rows";

/// Rows a statement takes: each size is a text of its own, which stays prepared.
const SIZES: [usize; 3] = [64, 8, 1];

const MOVE: &str = "UPDATE generations SET at_offset = ?, hash = ? WHERE projection = ? AND number = ? \
                    AND log_id = ? AND at_offset = ? AND hash = ?";

pub(super) async fn change(
    tables: &Tables,
    target: Target,
    from: Checkpoint,
    to: Checkpoint,
    changes: &Changes,
) -> Result<(), StoreError> {
    check_changes(target.spec, changes)?;
    if to.log_id != from.log_id || to.offset < from.offset {
        return Err(StoreError::Refused("a checkpoint only goes on".into()));
    }
    let mut held = tables.begin(WHAT).await?;
    let done = change_in(tables, &mut held.connection, target, (from, to), changes).await;
    held.finish(WHAT, done).await
}

async fn change_in(
    tables: &Tables,
    connection: &mut SqliteConnection,
    target: Target,
    (from, to): (Checkpoint, Checkpoint),
    changes: &Changes,
) -> Result<(), StoreError> {
    let statement = Statement::new(MOVE)
        .with(integer(to.offset.get())?)?
        .with(to.hash.as_bytes().as_slice())?
        .with(target.spec.name)?
        .with(i64::from(target.number))?
        .with(from.log_id.as_uuid().as_bytes().as_slice())?
        .with(integer(from.offset.get())?)?
        .with(from.hash.as_bytes().as_slice())?;
    if statement.execute(connection).await.map_err(|e| tables.failed(WHAT, e))? != 1 {
        return Err(moved(target.spec.name));
    }
    for (at, table) in target.spec.tables.iter().enumerate() {
        let delete = |rows| tables_sql::delete_rows(Dialect::Sqlite, table, target.number, rows);
        let gone: Vec<&Row> = changes.deletes(at).collect();
        run(tables, connection, table, texts(delete), &gone).await?;
        let put = |rows| tables_sql::put_rows(Dialect::Sqlite, table, target.number, rows);
        let rows: Vec<&Row> = changes.puts(at).collect();
        run(tables, connection, table, texts(put), &rows).await?;
    }
    Ok(())
}

fn texts(make: impl Fn(usize) -> String) -> [(usize, SqlStr); 3] {
    SIZES.map(|size| (size, AssertSqlSafe(make(size)).into_sql_str()))
}

/// Runs statements over all rows, the largest first.
async fn run(
    tables: &Tables,
    connection: &mut SqliteConnection,
    table: &TableSpec,
    texts: [(usize, SqlStr); 3],
    rows: &[&Row],
) -> Result<(), StoreError> {
    let mut rest = rows;
    for (size, text) in texts {
        while rest.len() >= size {
            let (chunk, later) = rest.split_at(size);
            rest = later;
            let values = chunk.iter().flat_map(|row| row.iter());
            let statement = values.into_iter().try_fold(Statement::kept(text.clone()), values::with)?;
            let done = statement.execute(connection).await.map_err(|e| tables.failed(WHAT, e));
            done.map_err(|error| match error {
                // Whatever the database says of the values it says for ever.
                StoreError::Refused(why) => StoreError::Row { table: table.name.to_owned(), why },
                other => other,
            })?;
        }
    }
    Ok(())
}
