//! An append as its holder sees it: a turn at the writer, and the checks every store makes. It reads on its own
//! connection too: waiting for another while holding the head's lock would make one slow reader stop every writer.

use crate::{answers, insert, read, statement::Statement, writer::Session};
use async_trait::async_trait;
use charter_events::{Head, Offset, StoredEvent};
use charter_store::{Answer, Append, Batch, IdempotencyKey, Staging, StoreError};
use std::collections::BTreeSet;

/// Statements handed to the writer at once; those of events hold a thousand each.
const STATEMENTS_A_STEP_MAX: usize = 16;

pub(crate) struct PostgresAppend {
    session: Session,
    staging: Staging,
    began: Head,
    /// Keys whose answers this append wrote: they had none when it began.
    answered: BTreeSet<IdempotencyKey>,
}

impl PostgresAppend {
    pub(crate) fn new(session: Session) -> Self {
        let began = session.head;
        Self { session, staging: Staging::new(began), began, answered: BTreeSet::new() }
    }
}

#[async_trait]
impl Append for PostgresAppend {
    fn head(&self) -> Head {
        self.staging.head()
    }

    async fn read_since(&mut self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let Some(statement) = read::page(after, self.began.offset, limit)? else { return Ok(Vec::new()) };
        let rows = self.session.read(read::READING_EVENTS, statement).await;
        read::events(&rows.map_err(|error| read::place(error, after))?)
    }

    async fn answer(&mut self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        if self.answered.contains(key) {
            return Ok(None);
        }
        let rows = self.session.read(answers::READING, answers::find(key)?).await?;
        rows.first().map(answers::answer).transpose()
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
        self.answered.extend(batch.answers.iter().map(|answer| answer.key.clone()));
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
        self.session.commit(moved).await?;
        Ok(head)
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        self.session.rollback().await
    }
}
