//! Reading rows: a page of those that are read, in one statement together with their checkpoint; pages of all; digests
//! of several generations in one read transaction.

use super::{READ_SECONDS_MAX, Tables, is_gone, moved, values};
use crate::insert::Statement;
use charter_store::{
    Checkpoint, Listed, Query, StoreError, Target,
    table_checks::table_at,
    tables_sql::{self, Dialect},
};
use charter_tables::{Row, RowsDigest, TableSpec};
use futures_util::StreamExt;
use sqlx::{AssertSqlSafe, Connection, Row as _, SqliteConnection, ValueRef, sqlite::SqliteRow};
use std::time::Duration;

const LISTING: &str = "reading a page of a table";
const COMPARING: &str = "reading tables to compare them";

const ACTIVE: &str = "SELECT g.number FROM projections AS p JOIN generations AS g \
     ON g.projection = p.projection AND g.number = p.active WHERE p.projection = ? AND g.version = ?";
const CHECKPOINT: &str =
    "SELECT log_id, at_offset, hash FROM generations WHERE projection = ? AND number = ?";

/// How often a list begins anew when another generation is read meanwhile.
const TRIES_MAX: usize = 5;

const LIMIT: Duration = Duration::from_secs(READ_SECONDS_MAX);

pub(super) async fn list(tables: &Tables, query: &Query) -> Result<Option<Listed>, StoreError> {
    let table = query.check()?;
    let map = |e| tables.failed(LISTING, e);
    let Some(mut connection) = tables.reader(LISTING, Some(LIMIT)).await? else { return Ok(None) };
    for _ in 0..TRIES_MAX {
        let asked = Statement::new(ACTIVE).with(query.spec.name)?.with(i64::from(query.spec.version))?;
        let Some(row) = asked.rows(&mut connection).await.map_err(map)?.pop() else { return Ok(None) };
        let Ok(number) = u32::try_from(row.try_get::<i64, _>(0).map_err(map)?) else { return Ok(None) };
        let statement = values::once(tables_sql::list_rows(Dialect::Sqlite, query, number)?)?;
        let rows = match statement.rows(&mut connection).await {
            // Removed since we asked which is read.
            Err(error) if is_gone(&error) => continue,
            rows => rows.map_err(map)?,
        };
        if rows.is_empty() {
            continue;
        }
        return listed(table, &rows, number).map(Some).map_err(map);
    }
    Err(StoreError::Unavailable { what: "which tables are read changes again and again", source: None })
}

fn listed(table: &TableSpec, rows: &[SqliteRow], generation: u32) -> Result<Listed, sqlx::Error> {
    let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let checkpoint = values::checkpoint(first, 0)?;
    // A key is never empty: there is no row beside the generation.
    let none = first.try_get_raw(3)?.is_null();
    let rows = if none { &[] } else { rows };
    let rows = rows.iter().map(|row| values::row(table.columns, row, 3)).collect::<Result<_, _>>()?;
    Ok(Listed { rows, checkpoint, generation })
}

pub(super) async fn scan(
    tables: &Tables,
    target: Target,
    table: usize,
    after: Option<&Row>,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let map = |e| tables.failed(COMPARING, e);
    let table = table_at(target.spec, table)?;
    let sql = tables_sql::scan_rows(Dialect::Sqlite, table, target.number, after, limit)?;
    let gone = || moved(target.spec.name);
    let mut connection = tables.reader(COMPARING, Some(LIMIT)).await?.ok_or_else(gone)?;
    let rows = match values::once(sql)?.rows(&mut connection).await {
        Err(error) if is_gone(&error) => return Err(gone()),
        rows => rows.map_err(map)?,
    };
    rows.iter().map(|row| values::row(table.columns, row, 0)).collect::<Result<_, _>>().map_err(map)
}

pub(super) async fn digests(
    tables: &Tables,
    targets: &[Target],
) -> Result<Vec<(Checkpoint, RowsDigest)>, StoreError> {
    let Some(first) = targets.first() else { return Ok(Vec::new()) };
    let gone = || moved(first.spec.name);
    let map = |e| tables.failed(COMPARING, e);
    let mut connection = tables.reader(COMPARING, None).await?.ok_or_else(gone)?;
    // It sees the state of its first statement until it ends.
    let mut transaction = connection.begin().await.map_err(map)?;
    let mut all = Vec::with_capacity(targets.len());
    for target in targets {
        let asked = Statement::new(CHECKPOINT).with(target.spec.name)?.with(i64::from(target.number))?;
        let row = asked.rows(&mut transaction).await.map_err(map)?.pop();
        let row = row.ok_or_else(|| moved(target.spec.name))?;
        all.push((values::checkpoint(&row, 0).map_err(map)?, RowsDigest::default()));
    }
    for (target, (_, digest)) in targets.iter().zip(&mut all) {
        for table in target.spec.tables {
            digest_table(&mut transaction, *target, table, digest).await.map_err(map)?;
        }
    }
    transaction.rollback().await.map_err(map)?;
    Ok(all)
}

async fn digest_table(
    connection: &mut SqliteConnection,
    target: Target,
    table: &TableSpec,
    digest: &mut RowsDigest,
) -> Result<(), sqlx::Error> {
    let text = tables_sql::all_rows(Dialect::Sqlite, table, target.number);
    let mut rows = sqlx::query(AssertSqlSafe(text)).persistent(false).fetch(connection);
    while let Some(row) = rows.next().await {
        digest.add(table.name, &values::row(table.columns, &row?, 0)?);
    }
    Ok(())
}
