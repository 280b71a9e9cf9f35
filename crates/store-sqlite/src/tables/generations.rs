//! Generations: made, noted, indexed, read in place of another, removed. One connection writes, so each is later than
//! another and sees what that did.

use super::{Tables, is_gone, moved, values};
use crate::insert::{Statement, integer};
use charter_events::{Hash, Offset, Timestamp};
use charter_store::{
    Generation, StoreError, TableFault, Target,
    tables_sql::{self, Dialect},
};
use charter_tables::Spec;
use sqlx::{AssertSqlSafe, Row, SqliteConnection, raw_sql, sqlite::SqliteRow};

const READING: &str = "reading the generations of the tables";
const CREATING: &str = "making a generation of tables";
const NOTING: &str = "noting a fault of tables";
const INDEXING: &str = "indexing tables";
const ACTIVATING: &str = "having other tables read";
const REMOVING: &str = "removing tables";
const RETIRING: &str = "retiring tables";

const ALL: &str = "SELECT g.log_id, g.at_offset, g.hash, g.projection, g.number, g.version, \
     coalesce(p.active = g.number, 0), g.indexed, g.fault_offset, g.fault_why, g.created_at \
     FROM generations AS g JOIN projections AS p ON p.projection = g.projection ORDER BY g.projection, g.number";
const NUMBER: &str = "INSERT INTO projections AS p (projection, last_number) VALUES (?, 1) \
     ON CONFLICT (projection) DO UPDATE SET last_number = p.last_number + 1 RETURNING last_number";
const CREATE: &str = "INSERT INTO generations \
     (projection, number, version, names, log_id, at_offset, hash, indexed, created_at) \
     VALUES (?, ?, ?, ?, ?, 0, ?, 0, ?)";
const NOTE: &str =
    "UPDATE generations SET fault_offset = ?, fault_why = ? WHERE projection = ? AND number = ?";
const IS_INDEXED: &str = "SELECT indexed FROM generations WHERE projection = ? AND number = ?";
const INDEXED: &str = "UPDATE generations SET indexed = 1 WHERE projection = ? AND number = ?";
const READ: &str = "SELECT active FROM projections WHERE projection = ?";
const ONE: &str = "SELECT at_offset, names FROM generations WHERE projection = ? AND number = ?";
const ACTIVATE: &str = "UPDATE projections SET active = ? WHERE projection = ?";
const READ_NOTHING: &str = "UPDATE projections SET active = NULL WHERE projection = ?";
const REMOVE: &str = "DELETE FROM generations WHERE projection = ? AND number = ?";

pub(super) async fn all(tables: &Tables) -> Result<Vec<Generation>, StoreError> {
    let map = |e| tables.failed(READING, e);
    let Some(mut connection) = tables.notes(READING).await? else { return Ok(Vec::new()) };
    let rows = match Statement::new(ALL).rows(&mut connection).await {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        rows => rows.map_err(map)?,
    };
    rows.iter().map(generation).collect::<Result<_, _>>().map_err(map)
}

fn generation(row: &SqliteRow) -> Result<Generation, sqlx::Error> {
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
        active: row.try_get::<i64, _>(6)? != 0,
        indexed: row.try_get::<i64, _>(7)? != 0,
        fault,
        created_at: Timestamp::from_micros(row.try_get(10)?).ok_or_else(|| unreadable("time"))?,
    })
}

pub(super) async fn create(tables: &Tables, spec: &'static Spec, now: Timestamp) -> Result<u32, StoreError> {
    let log = crate::read::head_row(&tables.log).await?.log_id;
    let mut held = tables.begin(CREATING).await?;
    let connection = &mut held.connection;
    let done = async {
        let map = |e| tables.failed(CREATING, e);
        let row = one(connection, Statement::new(NUMBER).with(spec.name)?).await.map_err(map)?;
        let found: i64 = row.ok_or_else(|| moved(spec.name))?.try_get(0).map_err(map)?;
        let number = u32::try_from(found).map_err(|_| StoreError::Refused("too many generations".into()))?;
        let statement = Statement::new(CREATE)
            .with(spec.name)?
            .with(found)?
            .with(i64::from(spec.version))?
            .with(tables_sql::names(spec))?
            .with(log.as_uuid().as_bytes().as_slice())?
            .with(Hash::ZERO.as_bytes().as_slice())?
            .with(now.as_micros())?;
        statement.execute(connection).await.map_err(map)?;
        for table in spec.tables {
            run(connection, tables_sql::create_table(Dialect::Sqlite, table, number)).await.map_err(map)?;
        }
        Ok(number)
    };
    let done = done.await;
    held.finish(CREATING, done).await
}

pub(super) async fn note_fault(
    tables: &Tables,
    target: Target,
    fault: Option<TableFault>,
) -> Result<(), StoreError> {
    fault.as_ref().map_or(Ok(()), TableFault::check)?;
    let (offset, why) = match fault {
        Some(fault) => (Some(integer(fault.offset.get())?), Some(fault.why)),
        None => (None, None),
    };
    change_one(tables, NOTING, target, Statement::new(NOTE).with(offset)?.with(why)?).await
}

/// Each index is a transaction of its own: others may write between two of them.
pub(super) async fn index(tables: &Tables, target: Target) -> Result<(), StoreError> {
    for table in target.spec.tables {
        for text in tables_sql::create_indexes(Dialect::Sqlite, table, target.number) {
            let mut held = tables.begin(INDEXING).await?;
            let connection = &mut held.connection;
            let done = async {
                let map = |e| tables.failed(INDEXING, e);
                let asked = of(Statement::new(IS_INDEXED), target)?;
                let row = one(connection, asked).await.map_err(map)?;
                let indexed: i64 = row.ok_or_else(|| moved(target.spec.name))?.try_get(0).map_err(map)?;
                if indexed == 0 {
                    run(connection, text).await.map_err(map)?;
                }
                Ok(())
            };
            let done = done.await;
            held.finish(INDEXING, done).await?;
        }
    }
    change_one(tables, INDEXING, target, Statement::new(INDEXED)).await
}

pub(super) async fn activate(
    tables: &Tables,
    target: Target,
    instead_of: Option<u32>,
) -> Result<(), StoreError> {
    let mut held = tables.begin(ACTIVATING).await?;
    let done = activate_in(tables, &mut held.connection, target, instead_of).await;
    held.finish(ACTIVATING, done).await
}

async fn activate_in(
    tables: &Tables,
    connection: &mut SqliteConnection,
    target: Target,
    instead_of: Option<u32>,
) -> Result<(), StoreError> {
    let map = |e| tables.failed(ACTIVATING, e);
    let name = target.spec.name;
    let row = one(connection, Statement::new(READ).with(name)?).await.map_err(map)?;
    let read: Option<i64> = row.ok_or_else(|| moved(name))?.try_get(0).map_err(map)?;
    if read != instead_of.map(i64::from) {
        return Err(moved(name));
    }
    let (reached, names) = find(tables, connection, name, target.number).await?.ok_or_else(|| moved(name))?;
    let mut views = names;
    if let Some(old) = instead_of
        && let Some((behind, names)) = find(tables, connection, name, old).await?
    {
        if reached < behind {
            return Err(moved(name));
        }
        views = format!("{names},{views}");
    }
    let statement = Statement::new(ACTIVATE).with(i64::from(target.number))?.with(name)?;
    statement.execute(connection).await.map_err(map)?;
    for view in tables_sql::noted_names(&views) {
        run(connection, tables_sql::drop_view(Dialect::Sqlite, view)).await.map_err(map)?;
    }
    for table in target.spec.tables {
        run(connection, tables_sql::create_view(Dialect::Sqlite, table, target.number)).await.map_err(map)?;
    }
    Ok(())
}

pub(super) async fn remove(tables: &Tables, projection: &str, number: u32) -> Result<(), StoreError> {
    let mut held = tables.begin(REMOVING).await?;
    let connection = &mut held.connection;
    let done = async {
        let map = |e| tables.failed(REMOVING, e);
        if active(connection, projection).await.map_err(map)? == Some(i64::from(number)) {
            return Err(StoreError::Refused("tables that are read are not removed".into()));
        }
        let Some((_, names)) = find(tables, connection, projection, number).await? else { return Ok(()) };
        erase(connection, projection, number, &names).await.map_err(map)
    };
    let done = done.await;
    held.finish(REMOVING, done).await
}

/// In one transaction it is not read, and gone.
pub(super) async fn retire(tables: &Tables, projection: &str, number: u32) -> Result<(), StoreError> {
    let mut held = tables.begin(RETIRING).await?;
    let connection = &mut held.connection;
    let done = async {
        let map = |e| tables.failed(RETIRING, e);
        let Some((_, names)) = find(tables, connection, projection, number).await? else { return Ok(()) };
        if active(connection, projection).await.map_err(map)? == Some(i64::from(number)) {
            let statement = Statement::new(READ_NOTHING).with(projection)?;
            statement.execute(connection).await.map_err(map)?;
            for view in tables_sql::noted_names(&names) {
                run(connection, tables_sql::drop_view(Dialect::Sqlite, view)).await.map_err(map)?;
            }
        }
        erase(connection, projection, number, &names).await.map_err(map)
    };
    let done = done.await;
    held.finish(RETIRING, done).await
}

/// The generation that is read.
async fn active(connection: &mut SqliteConnection, projection: &str) -> Result<Option<i64>, sqlx::Error> {
    let asked = Statement::new(READ).with(projection).map_err(|e| sqlx::Error::Encode(e.into()))?;
    one(connection, asked).await?.map_or(Ok(None), |row| row.try_get(0))
}

/// Removes a generation's row and tables.
async fn erase(
    connection: &mut SqliteConnection,
    projection: &str,
    number: u32,
    names: &str,
) -> Result<(), sqlx::Error> {
    let removed = Statement::new(REMOVE).with(projection).and_then(|s| s.with(i64::from(number)));
    removed.map_err(|e| sqlx::Error::Encode(e.into()))?.execute(connection).await?;
    for table in tables_sql::noted_names(names) {
        run(connection, tables_sql::drop_table(Dialect::Sqlite, table, number)).await?;
    }
    Ok(())
}

/// How far a generation has come, and the names of its tables.
async fn find(
    tables: &Tables,
    connection: &mut SqliteConnection,
    projection: &str,
    number: u32,
) -> Result<Option<(i64, String)>, StoreError> {
    let map = |e| tables.failed(READING, e);
    let asked = Statement::new(ONE).with(projection)?.with(i64::from(number))?;
    let Some(row) = one(connection, asked).await.map_err(map)? else { return Ok(None) };
    Ok(Some((row.try_get(0).map_err(map)?, row.try_get(1).map_err(map)?)))
}

/// Changes the row of a generation, which is gone when none changes.
async fn change_one(
    tables: &Tables,
    what: &'static str,
    target: Target,
    statement: Statement,
) -> Result<(), StoreError> {
    let statement = of(statement, target)?;
    let mut held = tables.begin(what).await?;
    let done = match statement.execute(&mut held.connection).await {
        Ok(0) => Err(moved(target.spec.name)),
        Ok(_) => Ok(()),
        Err(error) => Err(tables.failed(what, error)),
    };
    held.finish(what, done).await
}

/// With a generation's projection and number as the next values.
fn of(statement: Statement, target: Target) -> Result<Statement, StoreError> {
    statement.with(target.spec.name)?.with(i64::from(target.number))
}

async fn one(
    connection: &mut SqliteConnection,
    statement: Statement,
) -> Result<Option<SqliteRow>, sqlx::Error> {
    Ok(statement.rows(connection).await?.pop())
}

async fn run(connection: &mut SqliteConnection, text: String) -> Result<(), sqlx::Error> {
    raw_sql(AssertSqlSafe(text)).execute(connection).await.map(drop)
}
