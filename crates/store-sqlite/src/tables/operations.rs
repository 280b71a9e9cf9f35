//! Long work, as everybody sees it.

use super::{Tables, file, is_gone};
use crate::insert::Statement;
use charter_events::Timestamp;
use charter_store::{OPERATIONS_KEPT, Operation, OperationState, StoreError};
use sqlx::{Row, sqlite::SqliteRow};
use uuid::Uuid;

const NOTING: &str = "noting an operation";
const READING: &str = "reading the operations";

/// One that runs no longer is not set running.
const PUT: &str = "INSERT INTO operations AS o \
     (id, kind, target, state, detail, done, total, asked_by, started_at, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, \
     target = excluded.target, state = excluded.state, detail = excluded.detail, done = excluded.done, \
     total = excluded.total, asked_by = excluded.asked_by, started_at = excluded.started_at, \
     updated_at = excluded.updated_at WHERE o.state = 'running' OR excluded.state <> 'running'";
const TIDY: &str = "DELETE FROM operations WHERE id IN (SELECT id FROM operations \
                    WHERE state <> 'running' ORDER BY started_at DESC, id DESC LIMIT -1 OFFSET ?)";
const RUNNING: &str = "SELECT id FROM operations WHERE state = 'running'";
const TURN: &str = "UPDATE operations SET state = ?, updated_at = ? WHERE id = ? AND state = ?";
const ALL: &str = "SELECT id, kind, target, state, detail, done, total, asked_by, started_at, updated_at \
                   FROM operations ORDER BY started_at DESC, id DESC";

pub(super) async fn put(tables: &Tables, operation: &Operation) -> Result<(), StoreError> {
    write(tables, putting(operation)?).await.map(drop)
}

pub(super) async fn begin(
    tables: &Tables,
    operation: &Operation,
    running: &[Uuid],
) -> Result<bool, StoreError> {
    let map = |e| tables.failed(NOTING, e);
    let statements = putting(operation)?;
    let mut held = tables.begin(NOTING).await?;
    let connection = &mut held.connection;
    let done = async {
        for row in Statement::new(RUNNING).rows(connection).await.map_err(map)? {
            let runs = row.try_get(0).and_then(file::id).map_err(map)?;
            if !running.contains(&runs) {
                return Ok(false);
            }
        }
        for statement in statements {
            statement.execute(connection).await.map_err(map)?;
        }
        Ok(true)
    };
    let done = done.await;
    held.finish(NOTING, done).await
}

/// What keeps an operation, and only so many that have ended.
fn putting(operation: &Operation) -> Result<[Statement; 2], StoreError> {
    operation.check()?;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let put = Statement::new(PUT)
        .with(operation.id.as_bytes().as_slice())?
        .with(operation.kind.as_str())?
        .with(operation.target.as_str())?
        .with(operation.state.as_str())?
        .with(operation.detail.as_str())?
        .with(number(operation.done))?
        .with(number(operation.total))?
        .with(operation.asked_by.as_ref().map(|id| id.as_bytes().as_slice()))?
        .with(operation.started_at.as_micros())?
        .with(operation.updated_at.as_micros())?;
    let kept = i64::try_from(OPERATIONS_KEPT).unwrap_or(i64::MAX);
    Ok([put, Statement::new(TIDY).with(kept)?])
}

pub(super) async fn turn(
    tables: &Tables,
    id: Uuid,
    from: OperationState,
    to: OperationState,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let statement = Statement::new(TURN)
        .with(to.as_str())?
        .with(now.as_micros())?
        .with(id.as_bytes().as_slice())?
        .with(from.as_str())?;
    Ok(write(tables, [statement]).await? > 0)
}

/// Runs statements in one transaction; how many rows the last one changed.
async fn write(
    tables: &Tables,
    statements: impl IntoIterator<Item = Statement, IntoIter: Send>,
) -> Result<u64, StoreError> {
    let statements = statements.into_iter();
    let mut held = tables.begin(NOTING).await?;
    let mut done = Ok(0);
    for statement in statements {
        done = statement.execute(&mut held.connection).await.map_err(|e| tables.failed(NOTING, e));
        if done.is_err() {
            break;
        }
    }
    held.finish(NOTING, done).await
}

pub(super) async fn all(tables: &Tables) -> Result<Vec<Operation>, StoreError> {
    let map = |e| tables.failed(READING, e);
    let Some(mut connection) = tables.notes(READING).await? else { return Ok(Vec::new()) };
    let rows = match Statement::new(ALL).rows(&mut connection).await {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        rows => rows.map_err(map)?,
    };
    rows.iter().map(operation).collect::<Result<_, _>>().map_err(map)
}

fn operation(row: &SqliteRow) -> Result<Operation, sqlx::Error> {
    let unreadable = |what: &str| sqlx::Error::Decode(format!("an operation's {what} can't be read").into());
    let number = |at| u64::try_from(row.try_get::<i64, _>(at)?).map_err(|_| unreadable("progress"));
    let moment = |at| Timestamp::from_micros(row.try_get(at)?).ok_or_else(|| unreadable("time"));
    Ok(Operation {
        id: file::id(row.try_get(0)?)?,
        kind: row.try_get(1)?,
        target: row.try_get(2)?,
        state: OperationState::named(row.try_get(3)?).ok_or_else(|| unreadable("state"))?,
        detail: row.try_get(4)?,
        done: number(5)?,
        total: number(6)?,
        asked_by: row.try_get::<Option<&[u8]>, _>(7)?.map(file::id).transpose()?,
        started_at: moment(8)?,
        updated_at: moment(9)?,
    })
}
