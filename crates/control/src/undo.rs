//! Undoing a command: what it did is read from the log, what was so before from the state before it, and the writer
//! decides what leads back.
//!
//! Must not judge: whether it may be undone is the commands' to say, at the head of the log like everything else.

use crate::{
    control::Control,
    error::CommandError,
    past::AsOfError,
    request::{Receipt, Request, RequestMeta},
};
use charter_commands::{Code, NotUndoable, Refusal, UNDO_EVENTS_MAX, Undo};
use charter_events::{
    DecodeError, Event, Offset, PermissionKey, Scope, StoredEvent, envelope::REASON_BYTES_MAX,
};
use charter_policy::{AccessControl, AccessError, Caller, Policy};
use charter_store::{CredentialRef, READ_EVENTS_MAX, SecretWrite, StoreError, past::AsOf};

/// What who undoes a command must be allowed platform-wide, for he must know what it did.
const NEEDED: &str = "core.audit.read";

/// So many events may have followed a command that is undone: all are read, for what was decided again since.
const SINCE_EVENTS_MAX: u64 = 1_000_000;
/// So often an undo is tried again when the log went on between the reading of it and a decision without the writer.
const ATTEMPTS_MAX: usize = 5;

/// A command was undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoneCommand {
    /// The first event of the command that was undone.
    pub first: Offset,
    /// Its last.
    pub last: Offset,
    /// The command that undid it.
    pub receipt: Receipt,
}

/// Why a command was not undone. Nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The caller may not know what happened.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// There is no such event, or the state before it can't be had.
    #[error(transparent)]
    Past(#[from] AsOfError),
    /// The command became more events than are undone at once.
    #[error("the command became {events} events, and at most {UNDO_EVENTS_MAX} are undone at once")]
    TooLarge {
        /// So many.
        events: u32,
    },
    /// It happened too long ago.
    #[error("{events} events followed the command, and at most {SINCE_EVENTS_MAX} are looked through")]
    TooLongAgo {
        /// So many.
        events: u64,
    },
    /// One of its events can't be undone, or nothing is left of it.
    #[error(transparent)]
    NotUndoable(#[from] NotUndoable),
    /// A command that leads back was refused, or no command can be taken now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// This build can't read an event of it.
    #[error("the event at offset {offset} can't be read")]
    Unreadable {
        /// The event's offset.
        offset: Offset,
        /// Why not.
        #[source]
        source: DecodeError,
    },
    /// The log can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Control {
    /// Undoes the command an event is part of, by the commands that lead back: each with every guard, all or none. What
    /// is recorded as the reason says which command it undoes, and then what the caller gave.
    ///
    /// # Errors
    /// [`UndoError`].
    pub async fn undo(
        &self,
        caller: Caller,
        offset: Offset,
        meta: RequestMeta,
    ) -> Result<UndoneCommand, UndoError> {
        self.require_to_undo(&caller)?;
        let (first, events) = self.command_at(offset).await?;
        let meta = RequestMeta { reason: Some(reason(first, meta.reason.as_deref())?), ..meta };
        let mut undo = Undo::of(&self.before(first).await?, first, &events)?;
        let mut attempts = 1;
        loop {
            self.tell(&mut undo).await?;
            match self.undo_once(&caller, &undo, meta.clone()).await {
                Err(UndoError::Command(CommandError::Refused(refusal)))
                    if refusal.code == Code::Stale && attempts < ATTEMPTS_MAX =>
                {
                    attempts = attempts.saturating_add(1);
                }
                result => return result,
            }
        }
    }

    async fn undo_once(
        &self,
        caller: &Caller,
        undo: &Undo,
        meta: RequestMeta,
    ) -> Result<UndoneCommand, UndoError> {
        // What is kept of a token beside the log goes with it.
        let tokens = undo.tokens().map(|token| CredentialRef::Id(token.as_uuid()));
        let secrets = tokens.map(SecretWrite::RemoveCredential).collect();
        let request = Request { secrets, ..Request::new(caller.clone(), undo.clone().into(), meta) };
        match self.submit(request).await {
            Ok(receipt) => Ok(UndoneCommand { first: undo.first(), last: undo.last(), receipt }),
            Err(CommandError::Refused(refusal)) if refusal.code == Code::NotUndoable => {
                // Asked again for what a refusal has no room for: which events stand in the way.
                let mut undo = undo.clone();
                self.tell(&mut undo).await?;
                match undo.commands(&self.policy(), self.now()) {
                    Err(not) => Err(not.into()),
                    Ok(_) => Err(CommandError::Refused(refusal).into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells an undo what happened since it was last told, up to the end of the log as it is read. What comes after
    /// that, the writer tells it.
    async fn tell(&self, undo: &mut Undo) -> Result<(), UndoError> {
        let events = self.head().offset.get().saturating_sub(undo.last().get());
        if events > SINCE_EVENTS_MAX {
            return Err(UndoError::TooLongAgo { events });
        }
        loop {
            let page = self.inner.store.read(undo.seen(), READ_EVENTS_MAX).await?;
            let seen = undo.seen();
            told(undo, &page).map_err(|(offset, source)| UndoError::Unreadable { offset, source })?;
            if undo.seen() == seen {
                return Ok(());
            }
        }
    }

    /// Asked before the log is read, so that nobody learns from the answer what is in it.
    fn require_to_undo(&self, caller: &Caller) -> Result<(), UndoError> {
        let key: PermissionKey =
            NEEDED.parse().map_err(|_| AccessError::Unavailable(format!("`{NEEDED}` is no key")))?;
        Ok(self.policy().at(self.now()).require(caller, &key, Scope::Global)?)
    }

    /// All events of the command that the event is part of, and the offset of its first.
    async fn command_at(&self, offset: Offset) -> Result<(Offset, Vec<Event>), UndoError> {
        let asked = AsOf::Offset(offset);
        if offset > self.head().offset {
            let _ = self.follow_others().await;
        }
        let head = self.head().offset;
        if offset > head {
            return Err(AsOfError::BeyondHead { asked, head }.into());
        }
        let Some(before) = offset.get().checked_sub(1).and_then(Offset::new) else {
            return Err(AsOfError::BeforeFirstEvent { asked }.into());
        };
        let missing = || AsOfError::BeyondHead { asked, head };
        let event = self.inner.store.read(before, 1).await?.into_iter().next().ok_or_else(missing)?;
        let size = usize::try_from(event.command_size).unwrap_or(usize::MAX);
        if size > UNDO_EVENTS_MAX {
            return Err(UndoError::TooLarge { events: event.command_size });
        }
        let start = before.get().saturating_sub(u64::from(event.command_index));
        let mut after = Offset::new(start).unwrap_or(Offset::ZERO);
        let first = after.plus(1).unwrap_or(Offset::MAX);
        let mut events = Vec::with_capacity(size);
        while events.len() < size {
            let rest = size.saturating_sub(events.len()).min(READ_EVENTS_MAX);
            let page = self.inner.store.read(after, rest).await?;
            after = page.last().ok_or_else(missing)?.offset;
            for stored in &page {
                events.push(read(stored)?);
            }
        }
        Ok((first, events))
    }

    /// The state just before a command.
    async fn before(&self, first: Offset) -> Result<Policy, UndoError> {
        match first.get().checked_sub(1).and_then(Offset::new) {
            None | Some(Offset::ZERO) => Ok(Policy::new()),
            Some(before) => Ok((*self.as_of(AsOf::Offset(before)).await?.policy).clone()),
        }
    }
}

fn read(stored: &StoredEvent) -> Result<Event, UndoError> {
    stored.decode().map_err(|source| UndoError::Unreadable { offset: stored.offset, source })
}

/// Tells an undo of events; those it knows, and those that do not follow, change nothing.
///
/// # Errors
/// The event this build can't read.
pub(crate) fn told(undo: &mut Undo, events: &[StoredEvent]) -> Result<(), (Offset, DecodeError)> {
    for stored in events {
        if stored.offset <= undo.seen() {
            continue;
        }
        undo.saw(stored.offset, &stored.decode().map_err(|error| (stored.offset, error))?);
    }
    Ok(())
}

/// The log has no other place that says what a command undoes.
///
/// # Errors
/// [`Code::LimitExceeded`] when there is no room for all that was given: nothing is cut off.
fn reason(first: Offset, given: Option<&str>) -> Result<String, CommandError> {
    let Some(why) = given else { return Ok(format!("undoes {first}")) };
    let begin = format!("undoes {first}: ");
    let room = REASON_BYTES_MAX.saturating_sub(begin.len());
    if why.len() > room {
        let detail =
            format!("at most {room} bytes: `{begin}` goes before it, and {REASON_BYTES_MAX} are recorded");
        return Err(CommandError::Refused(Refusal {
            code: Code::LimitExceeded,
            field: Some("reason".to_owned()),
            detail,
            missing: Vec::new(),
            more: false,
            objects: Vec::new(),
        }));
    }
    Ok(begin + why)
}
