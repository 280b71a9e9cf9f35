//! Generations: made, noted, indexed, read in place of another, removed. Each change locks its projection's row first,
//! so that of two servers one is later and sees what the other did.

use super::{LONG_STEP, STEP, Tables, commit, failed, is_gone, moved, values};
use crate::{
    error::within,
    readers::{Held, READ},
    statement::{Statement, integer},
};
use charter_events::{Offset, Timestamp};
use charter_store::{
    Generation, StoreError, TableFault, Target, causes,
    tables_sql::{self, Dialect},
};
use charter_tables::Spec;
use sqlx::{AssertSqlSafe, Row, postgres::PgRow, raw_sql};

const READING: &str = "reading the generations of the tables";
const CREATING: &str = "making a generation of tables";
const NOTING: &str = "noting a fault of tables";
const INDEXING: &str = "indexing tables";
const ACTIVATING: &str = "having other tables read";
const REMOVING: &str = "removing tables";
const RETIRING: &str = "retiring tables";

const ALL: &str = "SELECT g.log_id, g.at_offset, g.hash, g.projection, g.number, g.version, \
     coalesce(p.active = g.number, false), g.indexed, g.fault_offset, g.fault_why, g.created_at \
     FROM tables.generations AS g JOIN tables.projections AS p ON p.projection = g.projection \
     ORDER BY g.projection, g.number";
const NUMBER: &str = "INSERT INTO tables.projections AS p (projection, last_number) VALUES ($1, 1) \
     ON CONFLICT (projection) DO UPDATE SET last_number = p.last_number + 1 RETURNING last_number";
const CREATE: &str = "INSERT INTO tables.generations \
     (projection, number, version, names, log_id, at_offset, hash, indexed, created_at) \
     SELECT $1, $2, $3, $4, log_id, 0, $5, false, $6 FROM log.log_head WHERE one";
const NOTE: &str = "UPDATE tables.generations SET fault_offset = $1, fault_why = $2 \
                    WHERE projection = $3 AND number = $4";
const IS_INDEXED: &str = "SELECT indexed FROM tables.generations WHERE projection = $1 AND number = $2";
const INDEXED: &str = "UPDATE tables.generations SET indexed = true WHERE projection = $1 AND number = $2";
const LOCK: &str = "SELECT active FROM tables.projections WHERE projection = $1 FOR UPDATE";
const LOCK_ONE: &str = "SELECT at_offset, version, names FROM tables.generations \
                        WHERE projection = $1 AND number = $2 FOR UPDATE";
const ACTIVATE: &str = "UPDATE tables.projections SET active = $1 WHERE projection = $2";
const READ_NOTHING: &str = "UPDATE tables.projections SET active = NULL WHERE projection = $1";
const REMOVE: &str = "DELETE FROM tables.generations WHERE projection = $1 AND number = $2 RETURNING names";

pub(super) async fn all(tables: &Tables) -> Result<Vec<Generation>, StoreError> {
    let rows = match tables.notes.try_rows(Statement::new(ALL), READ).await {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        rows => rows.map_err(|e| failed(READING, e))?,
    };
    rows.iter().map(generation).collect::<Result<_, _>>().map_err(|e| failed(READING, e))
}

fn generation(row: &PgRow) -> Result<Generation, sqlx::Error> {
    let unreadable = |what: &str| sqlx::Error::Decode(format!("a generation's {what} can't be read").into());
    let number = |at| u32::try_from(row.try_get::<i64, _>(at)?).map_err(|_| unreadable("number"));
    let fault = match row.try_get::<Option<i64>, _>(8)? {
        None => None,
        Some(offset) => {
            let offset = u64::try_from(offset).ok().and_then(Offset::new);
            let why = row.try_get::<Option<String>, _>(9)?.unwrap_or_default();
            Some(TableFault { offset: offset.ok_or_else(|| unreadable("fault"))?, why })
        }
    };
    Ok(Generation {
        projection: row.try_get(3)?,
        number: number(4)?,
        version: number(5)?,
        checkpoint: values::checkpoint(row, 0)?,
        active: row.try_get(6)?,
        indexed: row.try_get(7)?,
        fault,
        created_at: Timestamp::from_micros(row.try_get(10)?).ok_or_else(|| unreadable("time"))?,
    })
}

pub(super) async fn create(tables: &Tables, spec: &'static Spec, now: Timestamp) -> Result<u32, StoreError> {
    let map = |e| tables.failed(CREATING, e);
    let mut held = tables.begin(CREATING).await?;
    let row = one(&mut held, Statement::new(NUMBER).with(spec.name)?).await.map_err(map)?;
    let found: i64 = row.ok_or_else(|| moved(spec.name))?.try_get(0).map_err(map)?;
    let number = u32::try_from(found).map_err(|_| StoreError::Refused("too many generations".into()))?;
    let statement = Statement::new(CREATE)
        .with(spec.name)?
        .with(found)?
        .with(i64::from(spec.version))?
        .with(tables_sql::names(spec))?
        .with(charter_events::Hash::ZERO.as_bytes().as_slice())?
        .with(now.as_micros())?;
    within(STEP, statement.execute(&mut held.connection)).await.map_err(map)?;
    for table in spec.tables {
        run(&mut held, tables_sql::create_table(Dialect::Postgres, table, number)).await.map_err(map)?;
    }
    commit(held, CREATING).await?;
    Ok(number)
}

pub(super) async fn note_fault(
    tables: &Tables,
    target: Target,
    fault: Option<TableFault>,
) -> Result<(), StoreError> {
    fault.as_ref().map_or(Ok(()), TableFault::check)?;
    let mut held = tables.begin(NOTING).await?;
    let (offset, why) = match fault {
        Some(fault) => (Some(integer(fault.offset.get())?), Some(fault.why)),
        None => (None, None),
    };
    let statement = of(Statement::new(NOTE).with(offset)?.with(why)?, target)?;
    let done = within(STEP, statement.execute(&mut held.connection)).await;
    match done.map_err(|e| tables.failed(NOTING, e))? {
        0 => Err(moved(target.spec.name)),
        _ => commit(held, NOTING).await,
    }
}

pub(super) async fn index(tables: &Tables, target: Target) -> Result<(), StoreError> {
    let map = |e| tables.failed(INDEXING, e);
    let mut held = tables.begin(INDEXING).await?;
    let row = one(&mut held, of(Statement::new(IS_INDEXED), target)?).await.map_err(map)?;
    let indexed: bool = row.ok_or_else(|| moved(target.spec.name))?.try_get(0).map_err(map)?;
    if indexed {
        return commit(held, INDEXING).await;
    }
    run(&mut held, "SET LOCAL statement_timeout = 0".to_owned()).await.map_err(map)?;
    for table in target.spec.tables {
        let analyze = tables_sql::analyze(table, target.number);
        let indexes = tables_sql::create_indexes(Dialect::Postgres, table, target.number);
        for text in indexes.into_iter().chain([analyze]) {
            let done = raw_sql(AssertSqlSafe(text)).execute(&mut held.connection);
            within(LONG_STEP, done).await.map_err(map)?;
        }
    }
    let statement = of(Statement::new(INDEXED), target)?;
    match within(STEP, statement.execute(&mut held.connection)).await.map_err(map)? {
        0 => Err(moved(target.spec.name)),
        _ => commit(held, INDEXING).await,
    }
}

pub(super) async fn activate(
    tables: &Tables,
    target: Target,
    instead_of: Option<u32>,
) -> Result<(), StoreError> {
    let map = |e| tables.failed(ACTIVATING, e);
    let name = target.spec.name;
    let mut held = tables.begin(ACTIVATING).await?;
    let row = one(&mut held, Statement::new(LOCK).with(name)?).await.map_err(map)?;
    let read: Option<i64> = row.ok_or_else(|| moved(name))?.try_get(0).map_err(map)?;
    if read != instead_of.map(i64::from) {
        return Err(moved(name));
    }
    let new = find(&mut held, name, target.number).await.map_err(map)?.ok_or_else(|| moved(name))?;
    let old = match instead_of {
        Some(old) => find(&mut held, name, old).await.map_err(map)?,
        None => None,
    };
    if old.as_ref().is_some_and(|old| new.offset < old.offset) {
        return Err(moved(name));
    }
    let statement = Statement::new(ACTIVATE).with(i64::from(target.number))?.with(name)?;
    within(STEP, statement.execute(&mut held.connection)).await.map_err(map)?;
    // Views of other columns can't be replaced; those of the same keep the rights that were granted on them.
    let replaced = old.filter(|old| old.version != new.version);
    for view in replaced.iter().flat_map(|old| tables_sql::noted_names(&old.names)) {
        run(&mut held, tables_sql::drop_view(Dialect::Postgres, view)).await.map_err(map)?;
    }
    for table in target.spec.tables {
        run(&mut held, tables_sql::create_view(Dialect::Postgres, table, target.number))
            .await
            .map_err(map)?;
        run(&mut held, tables_sql::comments(table).join("; ")).await.map_err(map)?;
    }
    commit(held, ACTIVATING).await
}

pub(super) async fn remove(tables: &Tables, projection: &str, number: u32) -> Result<(), StoreError> {
    let map = |e| tables.failed(REMOVING, e);
    let mut held = tables.begin(REMOVING).await?;
    let Some(row) = one(&mut held, Statement::new(LOCK).with(projection)?).await.map_err(map)? else {
        return commit(held, REMOVING).await;
    };
    if row.try_get::<Option<i64>, _>(0).map_err(map)? == Some(i64::from(number)) {
        return Err(StoreError::Refused("tables that are read are not removed".into()));
    }
    erase(&mut held, projection, number, false).await.map_err(map)?;
    commit(held, REMOVING).await
}

/// In one transaction it is not read, and gone. What somebody else needs of it stays: that it is not read counts more.
pub(super) async fn retire(tables: &Tables, projection: &str, number: u32) -> Result<(), StoreError> {
    let map = |e| tables.failed(RETIRING, e);
    let mut held = tables.begin(RETIRING).await?;
    let row = one(&mut held, Statement::new(LOCK).with(projection)?).await.map_err(map)?;
    let read: Option<i64> = match row {
        Some(row) => row.try_get(0).map_err(map)?,
        None => return commit(held, RETIRING).await,
    };
    let is_read = read == Some(i64::from(number));
    if is_read {
        let statement = Statement::new(READ_NOTHING).with(projection)?;
        within(STEP, statement.execute(&mut held.connection)).await.map_err(map)?;
    }
    run(&mut held, "SAVEPOINT retired".to_owned()).await.map_err(map)?;
    if let Err(error) = erase(&mut held, projection, number, is_read).await {
        let error = failed(RETIRING, error);
        tracing::warn!(projection, number, error = %causes(&error), "tables that are not read are left over");
        run(&mut held, "ROLLBACK TO SAVEPOINT retired".to_owned()).await.map_err(map)?;
    }
    commit(held, RETIRING).await
}

/// Removes a generation's row and tables, and the views, if they show it.
async fn erase(held: &mut Held<'_>, projection: &str, number: u32, is_read: bool) -> Result<(), sqlx::Error> {
    let statement = Statement::new(REMOVE).with(projection).and_then(|s| s.with(i64::from(number)));
    let statement = statement.map_err(|e| sqlx::Error::Encode(e.into()))?;
    let Some(row) = one(held, statement).await? else { return Ok(()) };
    let names: String = row.try_get(0)?;
    for name in tables_sql::noted_names(&names) {
        if is_read {
            run(held, tables_sql::drop_view(Dialect::Postgres, name)).await?;
        }
        run(held, tables_sql::drop_table(Dialect::Postgres, name, number)).await?;
    }
    Ok(())
}

struct Found {
    offset: i64,
    version: i64,
    names: String,
}

async fn find(held: &mut Held<'_>, projection: &str, number: u32) -> Result<Option<Found>, sqlx::Error> {
    let statement = Statement::new(LOCK_ONE).with(projection).and_then(|s| s.with(i64::from(number)));
    let statement = statement.map_err(|e| sqlx::Error::Encode(e.into()))?;
    let Some(row) = one(held, statement).await? else { return Ok(None) };
    Ok(Some(Found { offset: row.try_get(0)?, version: row.try_get(1)?, names: row.try_get(2)? }))
}

/// With a generation's projection and number as the next values.
fn of(statement: Statement, target: Target) -> Result<Statement, StoreError> {
    statement.with(target.spec.name)?.with(i64::from(target.number))
}

async fn one(held: &mut Held<'_>, statement: Statement) -> Result<Option<PgRow>, sqlx::Error> {
    Ok(within(STEP, statement.rows(&mut held.connection)).await?.pop())
}

async fn run(held: &mut Held<'_>, text: String) -> Result<(), sqlx::Error> {
    within(STEP, raw_sql(AssertSqlSafe(text)).execute(&mut held.connection)).await.map(drop)
}
