//! The port of the log: reading it, and appending to it under a lock on its head.
//!
//! Must not know what the events mean. The offset is dense and gap-free because every append holds the head's lock
//! from before its first decision until it is committed or rolled back.

use crate::{
    chain::Verifier,
    error::{Fault, StoreError, What},
    limits::{BATCH_ANSWERS_MAX, BATCH_EVENTS_MAX, IDEMPOTENCY_KEY_BYTES_MAX, READ_EVENTS_MAX},
    secrets::SecretWrite,
};
use async_trait::async_trait;
use charter_events::{CommandId, Hash, Head, LogId, Offset, StoredEvent, Timestamp};
use uuid::Uuid;

/// A log of events.
///
/// What a reader sees: everything committed before its call began, in offset order, without holes, and each commit
/// whole or not at all. A reader that polls `read(after = last)` never misses an event.
#[async_trait]
pub trait LogStore: Send + Sync {
    /// The end of the log as of the last commit.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`] when the head can't be read.
    async fn head(&self) -> Result<Head, StoreError>;

    /// The events after an offset, ascending: at most `limit`, at most [`READ_EVENTS_MAX`](crate::READ_EVENTS_MAX)
    /// and about [`READ_PAYLOAD_BYTES_MAX`](crate::READ_PAYLOAD_BYTES_MAX). An empty page, and nothing else, means
    /// that the log ends here (`limit` 0 is answered with an empty page).
    ///
    /// The chain is not verified here. A row that is no event ends the page before it; the page that would begin
    /// with it is an error.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the offset of the first row that can't be read; [`StoreError::Unavailable`].
    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// The hashes of the events after an offset, as [`LogStore::read`] would give them with the events: at most
    /// `limit`, at most [`READ_HASHES_MAX`](crate::READ_HASHES_MAX); the first is that of the next offset. They are as
    /// they stand: neither chain nor records are verified here.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] with the first offset that is missing or can't be read; [`StoreError::Unavailable`].
    async fn hashes(&self, after: Offset, limit: usize) -> Result<Vec<Hash>, StoreError> {
        let page = self.read(after, limit.min(READ_EVENTS_MAX)).await?;
        consecutive(after, page.into_iter().map(|event| Ok((event.offset, event.hash))))
    }

    /// Locks the head and begins an append; waits while another append holds it. Dropping what it returns, or this
    /// future, rolls back and frees the lock.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], [`StoreError::Unavailable`], [`StoreError::Damaged`], [`StoreError::Closed`].
    async fn append(&self) -> Result<Box<dyn Append>, StoreError>;

    /// The answer an idempotency key got, if it was kept and is not forgotten.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn kept_answer(&self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError>;

    /// Forgets answers given before a moment, at most [`FORGET_ROWS_MAX`](crate::FORGET_ROWS_MAX) a call, and says
    /// how many went. An answer is kept at least 24 hours: that is the caller's to observe.
    ///
    /// # Errors
    /// As [`LogStore::append`].
    async fn forget_answers_before(&self, moment: Timestamp) -> Result<usize, StoreError>;

    /// Gives an empty log the id of another, whose events are then imported.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when the log has events, or the store can't; otherwise as [`LogStore::append`].
    async fn adopt(&self, _log_id: LogId) -> Result<(), StoreError> {
        Err(refused("this store's log keeps its id"))
    }
}

/// The hashes of rows that should stand at the offsets after one, without a hole. What can't be read, or is not there,
/// ends the page, or is the error when the page begins with it.
///
/// # Errors
/// [`StoreError::Damaged`].
pub fn consecutive(
    after: Offset,
    rows: impl Iterator<Item = Result<(Offset, Hash), StoreError>>,
) -> Result<Vec<Hash>, StoreError> {
    let (mut at, mut hashes) = (after, Vec::new());
    for row in rows {
        let next = at.plus(1).unwrap_or(Offset::MAX);
        match row {
            Ok((offset, hash)) if offset == next => hashes.push(hash),
            _ if !hashes.is_empty() => break,
            Ok(_) => return Err(Fault::new(next, What::Missing).into()),
            Err(error) => return Err(error),
        }
        at = next;
    }
    Ok(hashes)
}

/// One append: a transaction that holds the head's lock.
///
/// Nothing is visible to anyone else, and nothing is durable, before [`Append::commit`] returns. Dropping an append,
/// or cancelling any of its futures and then dropping it, rolls everything back; no hole remains. After an error of
/// [`Append::write`] it can only be rolled back.
#[async_trait]
pub trait Append: Send {
    /// The end of the log, with what this append has written so far.
    fn head(&self) -> Head;

    /// Events after an offset, as [`LogStore::read`], up to where the log ended when this append began.
    ///
    /// # Errors
    /// As [`LogStore::read`].
    async fn read_since(&mut self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// The answer an idempotency key got before this append began.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn answer(&mut self, key: &IdempotencyKey) -> Result<Option<Answer>, StoreError>;

    /// Stages events, answers and changes of secrets. May be called again: the next batch continues this one.
    /// Events are checked to continue the head: offset, link, hash, time and place in their command.
    ///
    /// # Errors
    /// [`StoreError::HeadMoved`] when the batch continues another offset; [`StoreError::Refused`] for what could
    /// never be kept (a batch over its limits, a broken chain, an answer twice, a user key replaced);
    /// [`StoreError::Full`], [`StoreError::Unavailable`], [`StoreError::Damaged`].
    async fn write(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Makes everything durable, then visible, and returns the new head. An append that wrote nothing is rolled
    /// back. A command whose last event was not written is refused.
    ///
    /// # Errors
    /// Any error means that it is **not known** whether the append is durable: whoever gets it drops what it staged
    /// and learns the truth from the head of the next append. A repeat with the same idempotency key is safe.
    async fn commit(self: Box<Self>) -> Result<Head, StoreError>;

    /// Undoes everything and frees the lock before it returns.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; the append is undone all the same.
    async fn rollback(self: Box<Self>) -> Result<(), StoreError>;
}

/// What one append writes at once.
#[derive(Debug, Default, Clone)]
pub struct Batch {
    /// Events that continue the head.
    pub events: Vec<StoredEvent>,
    /// Answers to remember.
    pub answers: Vec<Answer>,
    /// Changes of secrets, in order.
    pub secrets: Vec<SecretWrite>,
}

/// By which a repeated request is recognised: a caller, and the key the caller chose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey {
    /// Whose key it is, so that one caller can't read another's answers. At most 255 bytes.
    pub caller: String,
    /// The key as the caller sent it. At most 255 bytes.
    pub key: String,
}

/// What a command answered, to be given again to whoever repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// By which it is found again.
    pub key: IdempotencyKey,
    /// Hash of the request: another request with the same key is refused.
    pub request_hash: Hash,
    /// The command.
    pub command_id: CommandId,
    /// The first event's offset, or the policy version when the command changed nothing.
    pub first: Offset,
    /// The last event's offset, or the policy version when the command changed nothing.
    pub last: Offset,
    /// The id of the main thing made.
    pub created: Option<Uuid>,
    /// Whether the answer held a secret, which is shown once only.
    pub secret: bool,
    /// When it was given.
    pub at: Timestamp,
}

/// What an adapter keeps of an append that is under way: it follows the batches, so that every store refuses the
/// same ones. Pure; the adapter does the writing.
#[derive(Debug)]
pub struct Staging {
    verifier: Verifier,
    state: State,
    wrote: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Everything accepted was written.
    Sound,
    /// Accepted, and not known to be written: also where a cancelled or failed write leaves it.
    Writing,
}

impl Staging {
    /// An append that begins at a head. Commands are committed whole, so the next event begins one.
    pub const fn new(head: Head) -> Self {
        Self { verifier: Verifier::between_commands(head), state: State::Sound, wrote: false }
    }

    /// The head with what was accepted so far.
    pub const fn head(&self) -> Head {
        self.verifier.head()
    }

    /// Whether anything was accepted.
    pub const fn wrote(&self) -> bool {
        self.wrote
    }

    /// Checks a batch against the head and its limits, and moves the head. Until [`Staging::written`] is called the
    /// append can only be rolled back, so a write that fails or is cancelled half-way is never committed.
    ///
    /// # Errors
    /// See [`Append::write`].
    pub fn accept(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.usable()?;
        self.state = State::Writing;
        self.check(batch)
    }

    /// The batch that was accepted last is written.
    pub const fn written(&mut self) {
        self.state = State::Sound;
        self.wrote = true;
    }

    /// Whether the append may be committed.
    ///
    /// # Errors
    /// [`StoreError::Refused`] after a failed write, or within a command.
    pub fn committable(&self) -> Result<(), StoreError> {
        self.usable()?;
        if self.verifier.within_command() {
            return Err(refused("the last command is not complete"));
        }
        Ok(())
    }

    fn usable(&self) -> Result<(), StoreError> {
        match self.state {
            State::Sound => Ok(()),
            State::Writing => Err(refused("an earlier write of this append failed")),
        }
    }

    fn check(&mut self, batch: &Batch) -> Result<(), StoreError> {
        for (count, limit, what) in [
            (batch.events.len(), BATCH_EVENTS_MAX, "events"),
            (batch.answers.len(), BATCH_ANSWERS_MAX, "answers"),
        ] {
            if count > limit {
                return Err(refused(format!("a batch of {count} {what}, at most {limit} are taken")));
            }
        }
        let head = self.verifier.head();
        if let Some(first) = batch.events.first()
            && (head.offset.plus(1) != Some(first.offset) || first.prev_hash != head.hash)
        {
            let continues = Offset::new(first.offset.get().saturating_sub(1)).unwrap_or(Offset::ZERO);
            return Err(StoreError::HeadMoved { head: head.offset, continues });
        }
        for event in &batch.events {
            crate::chain::check_limits(event).map_err(|e| refused(e.to_string()))?;
            self.verifier
                .next(event)
                .map_err(|Fault { offset, what }| refused(format!("offset {offset}: {what}")))?;
        }
        crate::secrets::check_writes(&batch.secrets)?;
        batch.answers.iter().try_for_each(|answer| check_answer(answer, self.verifier.head().offset))
    }
}

fn check_answer(answer: &Answer, last: Offset) -> Result<(), StoreError> {
    let key = &answer.key;
    if key.caller.len() > IDEMPOTENCY_KEY_BYTES_MAX || key.key.len() > IDEMPOTENCY_KEY_BYTES_MAX {
        return Err(refused(format!("a part of an idempotency key over {IDEMPOTENCY_KEY_BYTES_MAX} bytes")));
    }
    if answer.first > answer.last || answer.last > last {
        return Err(refused("an answer that names events which are not there"));
    }
    Ok(())
}

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}
