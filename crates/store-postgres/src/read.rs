//! Reading the log: the head, pages. Each call is one statement, and so sees one state. The statements are made here
//! and decoded here; which connection runs them is the caller's choice.

use crate::{
    PostgresStore, answers,
    append::PostgresAppend,
    error, readers, rows,
    statement::{self, Statement, integer},
};
use async_trait::async_trait;
use charter_events::{Hash, Head, LogId, Offset, StoredEvent, Timestamp};
use charter_store::{
    Answer, Append, FORGET_ROWS_MAX, Fault, IdempotencyKey, LogStore, READ_EVENTS_MAX, READ_HASHES_MAX,
    READ_PAYLOAD_BYTES_MAX, StoreError, What, consecutive,
};
use sqlx::{Row, postgres::PgRow};

pub(crate) const READING_HEAD: &str = "reading the head";
pub(crate) const READING_EVENTS: &str = "reading events";
pub(crate) const HEAD_UNREADABLE: &str = "the head row is missing or can't be read";

#[async_trait]
impl LogStore for PostgresStore {
    async fn head(&self) -> Result<Head, StoreError> {
        const SQL: &str = "SELECT log_id, head, head_hash, recorded_at FROM log.log_head WHERE one";
        head(self.glances.row(READING_HEAD, Statement::new(SQL), readers::GLANCE).await?.as_ref())
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let Some(statement) = page(after, Offset::MAX, limit)? else { return Ok(Vec::new()) };
        let rows = self.readers.rows(READING_EVENTS, statement, readers::READ).await;
        events(&rows.map_err(|error| place(error, after))?)
    }

    async fn hashes(&self, after: Offset, limit: usize) -> Result<Vec<Hash>, StoreError> {
        const SQL: &str =
            "SELECT \"offset\", hash FROM log.events WHERE \"offset\" > $1 ORDER BY \"offset\" LIMIT $2";
        let limit = statement::limit(limit.min(READ_HASHES_MAX));
        let statement = Statement::new(SQL).with(integer(after.get())?)?.with(limit)?;
        let rows = self.readers.rows("reading hashes", statement, readers::READ).await;
        consecutive(after, rows.map_err(|error| place(error, after))?.iter().map(hash_row))
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        Ok(Box::new(PostgresAppend::new(self.writer()?.append().await?)))
    }

    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        let row = self.readers.row(answers::READING, answers::find(key)?, readers::READ).await?;
        row.as_ref().map(answers::answer).transpose()
    }

    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        const SQL: &str = "DELETE FROM log.answers WHERE (caller, key) IN \
                           (SELECT caller, key FROM log.answers WHERE at < $1 ORDER BY at LIMIT $2)";
        let limit = statement::limit(FORGET_ROWS_MAX);
        let statement = Statement::new(SQL).with(moment.as_micros())?.with(limit)?;
        let gone = self.writer()?.once(vec![statement]).await?;
        Ok(usize::try_from(gone).unwrap_or(usize::MAX))
    }

    async fn adopt(&self, log_id: LogId) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE log.log_head SET log_id = $1 WHERE one AND head = 0";
        match self.writer()?.once(vec![Statement::new(SQL).with(log_id.as_uuid())?]).await? {
            1 => Ok(()),
            _ => Err(StoreError::Refused("a log that has events keeps its id".into())),
        }
    }
}

/// The head from a row of log id, head, its hash and time, in this order. It may come as text.
pub(crate) fn head(row: Option<&PgRow>) -> Result<Head, StoreError> {
    let read = |row: &PgRow| {
        Some(Head {
            log_id: LogId::new(row.try_get(0).ok()?),
            offset: Offset::new(u64::try_from(row.try_get::<i64, _>(1).ok()?).ok()?)?,
            hash: Hash::new(row.try_get::<Vec<u8>, _>(2).ok()?.try_into().ok()?),
            recorded_at: Timestamp::from_micros(row.try_get(3).ok()?)?,
        })
    };
    row.and_then(read).ok_or_else(|| error::damaged(HEAD_UNREADABLE))
}

fn hash_row(row: &PgRow) -> Result<(Offset, Hash), StoreError> {
    let offset = row.try_get::<i64, _>(0).ok().and_then(|offset| u64::try_from(offset).ok());
    let offset = offset.and_then(Offset::new).unwrap_or(Offset::ZERO);
    match row.try_get::<&[u8], _>(1).ok().and_then(|hash| hash.try_into().ok()) {
        Some(hash) => Ok((offset, Hash::new(hash))),
        None => Err(Fault::new(offset, What::Unreadable("its hash has not 32 bytes".into())).into()),
    }
}

/// Asks for a page of events, see [`LogStore::read`], not beyond an offset; `None` when none are wanted.
pub(crate) fn page(after: Offset, up_to: Offset, limit: usize) -> Result<Option<Statement>, StoreError> {
    if limit == 0 || after >= up_to {
        return Ok(None);
    }
    let statement = Statement::new(rows::SELECT_EVENTS)
        .with(integer(after.get())?)?
        .with(integer(up_to.get())?)?
        .with(statement::limit(limit.min(READ_EVENTS_MAX)))?
        .with(statement::limit(READ_PAYLOAD_BYTES_MAX))?;
    Ok(Some(statement))
}

/// The events of a page. A row that is none ends it, or is the error when the page begins with it.
pub(crate) fn events(rows: &[PgRow]) -> Result<Vec<StoredEvent>, StoreError> {
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        match rows::event(row) {
            Ok(event) => events.push(event),
            Err(fault) if events.is_empty() => return Err(fault.into()),
            // The next page begins with it and reports it.
            Err(_) => break,
        }
    }
    Ok(events)
}

/// Names the offset that could not be reached, when the table itself is damaged.
pub(crate) fn place(error: StoreError, after: Offset) -> StoreError {
    match error {
        StoreError::Damaged(Fault { offset: Offset::ZERO, what: what @ What::File(_) }) => {
            Fault::new(after.plus(1).unwrap_or(Offset::MAX), what).into()
        }
        other => other,
    }
}
