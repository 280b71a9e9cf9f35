//! An append as its holder sees it: a turn at the writer, and the checks every store makes.

use crate::{
    insert::{self, Statement},
    read,
    writer::{Commit, Session},
};
use async_trait::async_trait;
use charter_events::{CommandId, Hash, Head, Offset, StoredEvent, Timestamp};
use charter_store::{Answer, Append, Batch, IdempotencyKey, SecretWrite, Staging, StoreError};
use sqlx::SqlitePool;
use uuid::Uuid;

/// Statements handed to the writer at once: about a thousand events.
const STATEMENTS_A_STEP_MAX: usize = 16;

pub(crate) struct SqliteAppend {
    session: Session,
    /// The head is locked, so what is committed is what was there when the append began.
    readers: SqlitePool,
    staging: Staging,
    began: Head,
    forgets: bool,
}

impl SqliteAppend {
    pub(crate) fn new(session: Session, readers: SqlitePool) -> Self {
        let began = session.head;
        Self { session, readers, staging: Staging::new(began), began, forgets: false }
    }
}

#[async_trait]
impl Append for SqliteAppend {
    fn head(&self) -> Head {
        self.staging.head()
    }

    async fn read_since(&mut self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        if after >= self.began.offset {
            return Ok(Vec::new());
        }
        read::page(&self.readers, after, limit).await
    }

    async fn answer(&mut self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        answer(&self.readers, key).await
    }

    async fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.staging.accept(batch)?;
        let mut statements = insert::events(&batch.events).chain(insert::others(batch));
        loop {
            let step: Vec<Statement> =
                statements.by_ref().take(STATEMENTS_A_STEP_MAX).collect::<Result<_, _>>()?;
            if step.is_empty() {
                break;
            }
            self.session.run(step).await?;
        }
        self.forgets |= batch.secrets.iter().any(|write| matches!(write, SecretWrite::DestroyUserKey { .. }));
        self.staging.written();
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<Head, StoreError> {
        self.staging.committable()?;
        let head = self.staging.head();
        if !self.staging.wrote() {
            self.session.rollback().await?;
            return Ok(head);
        }
        let moved = (head != self.began).then_some(head);
        self.session.commit(Commit { head: moved, forgets: self.forgets }).await?;
        Ok(head)
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.session.rollback().await
    }
}

pub(crate) async fn answer(from: &SqlitePool, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
    const SQL: &str = "SELECT request_hash, command_id, first, last, created, secret, at FROM answers \
                       WHERE caller = ? AND key = ?";
    let row: Option<AnswerRow> = sqlx::query_as(SQL)
        .bind(&key.caller)
        .bind(&key.key)
        .fetch_optional(from)
        .await
        .map_err(|e| crate::error::map("reading an answer", e))?;
    row.map(|row| kept(key.clone(), row)).transpose()
}

/// An answer's columns but for its key.
pub(crate) type AnswerRow = (Vec<u8>, Vec<u8>, i64, i64, Option<Vec<u8>>, bool, i64);

/// Reads an answer's columns.
pub(crate) fn kept(key: IdempotencyKey, row: AnswerRow) -> Result<Answer, StoreError> {
    let (request_hash, command_id, first, last, created, secret, at) = row;
    let offset = |number| u64::try_from(number).ok().and_then(Offset::new);
    let read = || {
        Some(Answer {
            key,
            request_hash: Hash::new(request_hash.try_into().ok()?),
            command_id: CommandId::new(Uuid::from_slice(&command_id).ok()?),
            first: offset(first)?,
            last: offset(last)?,
            created: created.map(|id| Uuid::from_slice(&id)).transpose().ok()?,
            secret,
            at: Timestamp::from_micros(at)?,
        })
    };
    read().ok_or_else(|| crate::error::damaged("an answer can't be read"))
}
