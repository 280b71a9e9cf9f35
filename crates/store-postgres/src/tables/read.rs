//! Reading rows: a page of those that are read, in one statement together with their checkpoint; pages of all; digests
//! of several generations in one snapshot.

use super::{LONG_STEP, STEP, Tables, commit, failed, is_gone, moved, values};
use crate::{
    error::within,
    readers::{Held, READ},
    statement::Statement,
};
use charter_store::{
    Checkpoint, Listed, Query, StoreError, Target,
    table_checks::table_at,
    tables_sql::{self, Dialect},
};
use charter_tables::{Row, RowsDigest, TableSpec};
use futures_util::StreamExt;
use sqlx::{AssertSqlSafe, Row as _};

const LISTING: &str = "reading a page of a table";
const COMPARING: &str = "reading tables to compare them";

const ACTIVE: &str = "SELECT g.number FROM tables.projections AS p JOIN tables.generations AS g \
     ON g.projection = p.projection AND g.number = p.active WHERE p.projection = $1 AND g.version = $2";

/// How often a list begins anew when another generation is read meanwhile.
const TRIES_MAX: usize = 5;

/// The snapshot is that of the next statement.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; \
                     SET LOCAL enable_seqscan = on";
const CHECKPOINTS: &str = "SELECT log_id, at_offset, hash, asked.place FROM \
     unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS asked (projection, number, place) \
     JOIN tables.generations AS g ON g.projection = asked.projection AND g.number = asked.number ORDER BY asked.place";

pub(super) async fn list(tables: &Tables, query: &Query) -> Result<Option<Listed>, StoreError> {
    let table = query.check()?;
    for _ in 0..TRIES_MAX {
        let Some(number) = active(tables, query).await? else { return Ok(None) };
        let statement = values::once(tables_sql::list_rows(Dialect::Postgres, query, number)?)?;
        let rows = match tables.searches.try_rows(statement, READ).await {
            // Removed since we asked which is read.
            Err(error) if is_gone(&error) => continue,
            rows => rows.map_err(|e| failed(LISTING, e))?,
        };
        let Some(first) = rows.first() else { continue };
        let map = |e| failed(LISTING, e);
        let checkpoint = values::checkpoint(first, 0).map_err(map)?;
        let is_empty = table.columns.first().is_none_or(|_| is_null(first, table));
        let rows = match is_empty {
            true => Vec::new(),
            false => rows
                .iter()
                .map(|row| values::row(table.columns, row, 3))
                .collect::<Result<_, _>>()
                .map_err(map)?,
        };
        return Ok(Some(Listed { rows, checkpoint, generation: number }));
    }
    Err(StoreError::Unavailable { what: "which tables are read changes again and again", source: None })
}

/// Whether there is no row beside the generation: a key is never empty.
fn is_null(row: &sqlx::postgres::PgRow, table: &TableSpec) -> bool {
    use sqlx::ValueRef;
    table.key == 0 || row.try_get_raw(3).is_ok_and(|value| value.is_null())
}

async fn active(tables: &Tables, query: &Query) -> Result<Option<u32>, StoreError> {
    let statement = Statement::new(ACTIVE).with(query.spec.name)?.with(i64::from(query.spec.version))?;
    let rows = match tables.searches.try_rows(statement, READ).await {
        Err(error) if is_gone(&error) => return Ok(None),
        rows => rows.map_err(|e| failed(LISTING, e))?,
    };
    let Some(row) = rows.first() else { return Ok(None) };
    let number: i64 = row.try_get(0).map_err(|e| failed(LISTING, e))?;
    Ok(u32::try_from(number).ok())
}

pub(super) async fn scan(
    tables: &Tables,
    target: Target,
    table: usize,
    after: Option<&Row>,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let table = table_at(target.spec, table)?;
    let sql = tables_sql::scan_rows(Dialect::Postgres, table, target.number, after, limit)?;
    let rows = match tables.searches.try_rows(values::once(sql)?, READ).await {
        Err(error) if is_gone(&error) => return Err(moved(target.spec.name)),
        rows => rows.map_err(|e| failed(COMPARING, e))?,
    };
    let rows = rows.iter().map(|row| values::row(table.columns, row, 0)).collect::<Result<_, _>>();
    rows.map_err(|e| failed(COMPARING, e))
}

pub(super) async fn digests(
    tables: &Tables,
    targets: &[Target],
) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
    let mut held = tables.work.begin(COMPARING, BEGIN).await?;
    let checkpoints = checkpoints(&mut held, targets).await?;
    let mut all = Vec::with_capacity(targets.len());
    for (target, checkpoint) in targets.iter().zip(checkpoints) {
        let mut digest = RowsDigest::default();
        for table in target.spec.tables {
            let done = within(LONG_STEP, digest_table(&mut held, *target, table, &mut digest)).await;
            done.map_err(|error| match is_gone(&error) {
                true => moved(target.spec.name),
                false => failed(COMPARING, error),
            })?;
        }
        all.push((checkpoint, digest));
    }
    commit(held, COMPARING).await?;
    Ok(all)
}

async fn checkpoints(held: &mut Held<'_>, targets: &[Target]) -> Result<Vec<Checkpoint>, StoreError> {
    let (names, numbers): (Vec<_>, Vec<_>) =
        targets.iter().map(|target| (target.spec.name, i64::from(target.number))).unzip();
    let statement = Statement::new(CHECKPOINTS).with(names)?.with(numbers)?;
    let gone = || moved(targets.first().map_or("", |target| target.spec.name));
    let rows = match within(STEP, statement.rows(&mut held.connection)).await {
        Err(error) if is_gone(&error) => return Err(gone()),
        rows => rows.map_err(|e| failed(COMPARING, e))?,
    };
    if rows.len() != targets.len() {
        return Err(gone());
    }
    let read = rows.iter().map(|row| values::checkpoint(row, 0)).collect::<Result<_, _>>();
    read.map_err(|e| failed(COMPARING, e))
}

async fn digest_table(
    held: &mut Held<'_>,
    target: Target,
    table: &TableSpec,
    digest: &mut RowsDigest,
) -> Result<(), sqlx::Error> {
    let text = tables_sql::all_rows(Dialect::Postgres, table, target.number);
    let mut rows = sqlx::query(AssertSqlSafe(text)).persistent(false).fetch(&mut held.connection);
    while let Some(row) = rows.next().await {
        digest.add(table.name, &values::row(table.columns, &row?, 0)?);
    }
    Ok(())
}
