//! Reading the log: the head, pages, answers. Each call is one statement, and so sees one state.

use crate::{SqliteStore, append::SqliteAppend, error, insert, insert::Statement, rows, writer::After};
use async_trait::async_trait;
use charter_events::{Hash, Head, LogId, Offset, StoredEvent, Timestamp};
use charter_store::{
    Answer, Append, FORGET_ROWS_MAX, Fault, IdempotencyKey, LogStore, READ_EVENTS_MAX, READ_HASHES_MAX,
    READ_PAYLOAD_BYTES_MAX, StoreError, What, consecutive,
};
use futures_util::StreamExt;
use sqlx::{SqliteExecutor, SqlitePool};
use uuid::Uuid;

#[async_trait]
impl LogStore for SqliteStore {
    async fn head(&self) -> Result<Head, StoreError> {
        head_row(&self.readers).await
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        page(&self.readers, after, limit).await
    }

    async fn hashes(&self, after: Offset, limit: usize) -> Result<Vec<Hash>, StoreError> {
        const SQL: &str =
            "SELECT \"offset\", hash FROM events WHERE \"offset\" > ? ORDER BY \"offset\" LIMIT ?";
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(SQL)
            .bind(insert::integer(after.get())?)
            .bind(i64::try_from(limit.min(READ_HASHES_MAX)).unwrap_or(i64::MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(|error| place(error::map("reading hashes", error), after))?;
        consecutive(after, rows.into_iter().map(hash_row))
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        let session = self.writer()?.append().await?;
        Ok(Box::new(SqliteAppend::new(session, self.readers.clone())))
    }

    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        crate::append::answer(&self.readers, key).await
    }

    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError> {
        const SQL: &str = "DELETE FROM answers WHERE (caller, key) IN \
                           (SELECT caller, key FROM answers WHERE at < ? ORDER BY at LIMIT ?)";
        let limit = i64::try_from(FORGET_ROWS_MAX).unwrap_or(i64::MAX);
        let statement = Statement::new(SQL).with(moment.as_micros())?.with(limit)?;
        let gone = self.writer()?.once(vec![statement], After::Nothing).await?;
        Ok(usize::try_from(gone).unwrap_or(usize::MAX))
    }

    async fn adopt(&self, log_id: LogId) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE log_head SET log_id = ? WHERE one = 1 AND head = 0";
        let statement = Statement::new(SQL).with(log_id.as_uuid().as_bytes().as_slice())?;
        match self.writer()?.once(vec![statement], After::ReadHead).await? {
            1 => Ok(()),
            _ => Err(StoreError::Refused("a log that has events keeps its id".into())),
        }
    }
}

pub(crate) const HEAD_UNREADABLE: &str = "the head row is missing or can't be read";

/// The committed head.
pub(crate) async fn head_row(from: impl SqliteExecutor<'_>) -> Result<Head, StoreError> {
    const SQL: &str = "SELECT log_id, head, head_hash, recorded_at FROM log_head WHERE one = 1";
    let row: Option<(Vec<u8>, i64, Vec<u8>, i64)> =
        sqlx::query_as(SQL).fetch_optional(from).await.map_err(|e| error::map("reading the head", e))?;
    let head = row.and_then(|(log_id, offset, hash, recorded_at)| {
        Some(Head {
            log_id: LogId::new(Uuid::from_slice(&log_id).ok()?),
            offset: Offset::new(u64::try_from(offset).ok()?)?,
            hash: Hash::new(hash.try_into().ok()?),
            recorded_at: Timestamp::from_micros(recorded_at)?,
        })
    });
    head.ok_or_else(|| error::damaged(HEAD_UNREADABLE))
}

fn hash_row((offset, hash): (i64, Vec<u8>)) -> Result<(Offset, Hash), StoreError> {
    let offset = u64::try_from(offset).ok().and_then(Offset::new).unwrap_or(Offset::ZERO);
    match hash.try_into() {
        Ok(hash) => Ok((offset, Hash::new(hash))),
        Err(_) => Err(Fault::new(offset, What::Unreadable("its hash has not 32 bytes".into())).into()),
    }
}

/// A page of events; see [`LogStore::read`].
pub(crate) async fn page(
    from: &SqlitePool,
    after: Offset,
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let limit = limit.min(READ_EVENTS_MAX);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut rows = sqlx::query(rows::SELECT_EVENTS)
        .bind(insert::integer(after.get())?)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch(from);
    let mut events = Vec::with_capacity(limit);
    let mut bytes = 0_usize;
    while let Some(row) = rows.next().await {
        let event = match row {
            Ok(row) => rows::event(&row).map_err(StoreError::from),
            Err(error) => Err(place(error::map("reading events", error), after)),
        };
        match event {
            Ok(event) => {
                bytes = bytes.saturating_add(event.payload.len());
                events.push(event);
            }
            Err(error) if events.is_empty() => return Err(error),
            // The next page begins with it and reports it.
            Err(_) => break,
        }
        if bytes > READ_PAYLOAD_BYTES_MAX {
            break;
        }
    }
    Ok(events)
}

/// Names the offset that could not be reached, when the file itself is damaged.
fn place(error: StoreError, after: Offset) -> StoreError {
    match error {
        StoreError::Damaged(Fault { offset: Offset::ZERO, what: what @ What::File(_) }) => {
            Fault::new(after.plus(1).unwrap_or(Offset::MAX), what).into()
        }
        other => other,
    }
}
