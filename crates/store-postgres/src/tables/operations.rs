//! Long work, as all servers see it.

use super::{STEP, Tables, commit, failed, is_gone};
use crate::{
    error::within,
    readers::{Held, READ},
    statement::{self, Statement},
};
use charter_events::Timestamp;
use charter_store::{OPERATIONS_KEPT, Operation, OperationState, StoreError};
use sqlx::{Row, postgres::PgRow, raw_sql};
use uuid::Uuid;

const NOTING: &str = "noting an operation";
const READING: &str = "reading the operations";

/// One that runs no longer is not set running.
const PUT: &str = "INSERT INTO tables.operations AS o \
     (id, kind, target, state, detail, done, total, asked_by, started_at, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, \
     target = excluded.target, state = excluded.state, detail = excluded.detail, done = excluded.done, \
     total = excluded.total, asked_by = excluded.asked_by, started_at = excluded.started_at, \
     updated_at = excluded.updated_at WHERE o.state = 'running' OR excluded.state <> 'running'";
const TIDY: &str = "DELETE FROM tables.operations WHERE id IN (SELECT id FROM tables.operations \
                    WHERE state <> 'running' ORDER BY started_at DESC, id DESC OFFSET $1)";
/// Nothing else changes them before this has ended: of two that begin at once one sees the other.
const ONE_BEGINS: &str = "LOCK TABLE tables.operations IN SHARE ROW EXCLUSIVE MODE";
const RUNNING: &str = "SELECT id FROM tables.operations WHERE state = 'running'";
const TURN: &str = "UPDATE tables.operations SET state = $1, updated_at = $2 WHERE id = $3 AND state = $4";
const ALL: &str = "SELECT id, kind, target, state, detail, done, total, asked_by, started_at, updated_at \
                   FROM tables.operations ORDER BY started_at DESC, id DESC";

pub(super) async fn put(tables: &Tables, operation: &Operation) -> Result<(), StoreError> {
    let statements = putting(operation)?;
    let held = tables.begin(NOTING).await?;
    keep(tables, held, statements).await
}

pub(super) async fn begin(
    tables: &Tables,
    operation: &Operation,
    running: &[Uuid],
) -> Result<bool, StoreError> {
    let map = |e| tables.failed(NOTING, e);
    let statements = putting(operation)?;
    let mut held = tables.begin(NOTING).await?;
    within(STEP, raw_sql(ONE_BEGINS).execute(&mut held.connection)).await.map_err(map)?;
    let rows = within(STEP, Statement::new(RUNNING).rows(&mut held.connection)).await.map_err(map)?;
    for row in rows {
        if !running.contains(&row.try_get(0).map_err(map)?) {
            commit(held, NOTING).await?;
            return Ok(false);
        }
    }
    keep(tables, held, statements).await?;
    Ok(true)
}

async fn keep(tables: &Tables, mut held: Held<'_>, statements: [Statement; 2]) -> Result<(), StoreError> {
    for statement in statements {
        let done = within(STEP, statement.execute(&mut held.connection)).await;
        done.map_err(|e| tables.failed(NOTING, e))?;
    }
    commit(held, NOTING).await
}

/// What keeps an operation, and only so many that have ended.
fn putting(operation: &Operation) -> Result<[Statement; 2], StoreError> {
    operation.check()?;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let put = Statement::new(PUT)
        .with(operation.id)?
        .with(operation.kind.as_str())?
        .with(operation.target.as_str())?
        .with(operation.state.as_str())?
        .with(operation.detail.as_str())?
        .with(number(operation.done))?
        .with(number(operation.total))?
        .with(operation.asked_by)?
        .with(operation.started_at.as_micros())?
        .with(operation.updated_at.as_micros())?;
    Ok([put, Statement::new(TIDY).with(statement::limit(OPERATIONS_KEPT))?])
}

pub(super) async fn turn(
    tables: &Tables,
    id: Uuid,
    from: OperationState,
    to: OperationState,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let statement =
        Statement::new(TURN).with(to.as_str())?.with(now.as_micros())?.with(id)?.with(from.as_str())?;
    let mut held = tables.begin(NOTING).await?;
    let done = within(STEP, statement.execute(&mut held.connection)).await;
    let turned = done.map_err(|e| tables.failed(NOTING, e))? > 0;
    commit(held, NOTING).await?;
    Ok(turned)
}

pub(super) async fn all(tables: &Tables) -> Result<Vec<Operation>, StoreError> {
    let rows = match tables.notes.try_rows(Statement::new(ALL), READ).await {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        rows => rows.map_err(|e| failed(READING, e))?,
    };
    rows.iter().map(operation).collect::<Result<_, _>>().map_err(|e| failed(READING, e))
}

fn operation(row: &PgRow) -> Result<Operation, sqlx::Error> {
    let unreadable = |what: &str| sqlx::Error::Decode(format!("an operation's {what} can't be read").into());
    let number = |at| u64::try_from(row.try_get::<i64, _>(at)?).map_err(|_| unreadable("progress"));
    let moment = |at| Timestamp::from_micros(row.try_get(at)?).ok_or_else(|| unreadable("time"));
    Ok(Operation {
        id: row.try_get(0)?,
        kind: row.try_get(1)?,
        target: row.try_get(2)?,
        state: OperationState::named(row.try_get(3)?).ok_or_else(|| unreadable("state"))?,
        detail: row.try_get(4)?,
        done: number(5)?,
        total: number(6)?,
        asked_by: row.try_get(7)?,
        started_at: moment(8)?,
        updated_at: moment(9)?,
    })
}
