//! Changing rows: the checkpoint by compare-and-set first, which keeps others off this generation, then all rows, an
//! array a column.

use super::{STEP, Tables, commit, moved, values};
use crate::{
    error::within,
    readers::Held,
    statement::{Statement, integer},
};
use charter_store::{
    Checkpoint, StoreError, Target,
    table_checks::check_changes,
    tables_sql::{self, Dialect},
};
use charter_tables::{Changes, Row, TableSpec};

const WHAT: &str = "changing rows";

/// Rows a statement takes.
const ROWS_MAX: usize = 5_000;
/// A statement ends after the row that takes it past this many bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

const MOVE: &str = "UPDATE tables.generations SET at_offset = $1, hash = $2 WHERE projection = $3 AND number = $4 \
                    AND log_id = $5 AND at_offset = $6 AND hash = $7";

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
    let statement = Statement::new(MOVE)
        .with(integer(to.offset.get())?)?
        .with(to.hash.as_bytes().as_slice())?
        .with(target.spec.name)?
        .with(i64::from(target.number))?
        .with(from.log_id.as_uuid())?
        .with(integer(from.offset.get())?)?
        .with(from.hash.as_bytes().as_slice())?;
    let done = within(STEP, statement.execute(&mut held.connection)).await;
    if done.map_err(|e| tables.failed(WHAT, e))? != 1 {
        return Err(moved(target.spec.name));
    }
    for (at, table) in target.spec.tables.iter().enumerate() {
        let gone: Vec<&Row> = changes.deletes(at).collect();
        for rows in chunks(&gone) {
            let text = tables_sql::delete_rows(Dialect::Postgres, table, target.number, rows.len());
            let statement = values::with_columns(Statement::made(text, true), table.key_columns(), rows)?;
            run(tables, &mut held, table, statement).await?;
        }
        let put: Vec<&Row> = changes.puts(at).collect();
        for rows in chunks(&put) {
            let text = tables_sql::put_rows(Dialect::Postgres, table, target.number, rows.len());
            let statement = values::with_columns(Statement::made(text, true), table.columns, rows)?;
            run(tables, &mut held, table, statement).await?;
        }
    }
    commit(held, WHAT).await
}

async fn run(
    tables: &Tables,
    held: &mut Held<'_>,
    table: &TableSpec,
    statement: Statement,
) -> Result<(), StoreError> {
    let done = within(STEP, statement.execute(&mut held.connection)).await;
    done.map(drop).map_err(|error| match tables.failed(WHAT, error) {
        // Whatever the database says of the values it says for ever.
        StoreError::Refused(why) => StoreError::Row { table: table.name.to_owned(), why },
        other => other,
    })
}

/// The rows in statements' sizes.
fn chunks<'a>(rows: &'a [&'a Row]) -> impl Iterator<Item = &'a [&'a Row]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0_usize;
        let fits = |row: &&&Row| {
            let room = bytes <= BYTES_MAX;
            bytes = bytes.saturating_add(values::size(row));
            room
        };
        let size = rest.iter().take(ROWS_MAX).take_while(fits).count();
        let (chunk, later) = rest.split_at(size);
        rest = later;
        (size > 0).then_some(chunk)
    })
}
