//! What one transaction is becoming: commands decided in order, each on the policy its predecessors left.
//!
//! Nothing here is visible to anyone before it is durable. A refused command leaves no trace and costs its neighbours
//! nothing.

use super::{Job, decide_at};
use crate::{
    TRACES,
    control::Inner,
    error::CommandError,
    following::show_head,
    preview::{PreviewSlot, Previewed},
    published::State,
    request::{KeptSession, Receipt, Request},
    undo::told,
};
use charter_commands::{Code, Command, Decided, Refusal};
use charter_events::{CommandId, CommandMeta, Hash, Head, Offset, StoredEvent, Timestamp};
use charter_policy::{Caller, Policy};
use charter_store::{
    Answer, Append, Batch, Chain, ChainError, CredentialRef, CredentialRow, IdempotencyKey, READ_EVENTS_MAX,
    SecretWrite, StoreError,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio::sync::oneshot;
use tracing::Span;
use uuid::Uuid;

/// An undo that waited while more events than this were appended is refused (`stale`): it is told of them while the
/// head is locked.
const TOLD_EVENTS_MAX: u64 = 20_000;

type Reply = oneshot::Sender<Result<Receipt, CommandError>>;

/// A transaction under way.
pub(super) struct Stage {
    policy: Policy,
    /// Where the log ends, without what is staged.
    began: Offset,
    chain: Chain,
    now: Timestamp,
    pub(super) batch: Batch,
    replies: Vec<(Reply, Result<Receipt, CommandError>)>,
    /// Of the commands, until they are answered.
    spans: Vec<Span>,
}

impl Stage {
    /// Begins at the state at the head, which is locked.
    pub(super) fn new(inner: &Inner, state: &State) -> Self {
        Self {
            policy: (*state.policy).clone(),
            began: state.head.offset,
            chain: Chain::new(state.head),
            now: inner.time().max(state.head.recorded_at),
            batch: Batch::default(),
            replies: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// The span of what is done for all commands together: it is part of the first one's, and the others lead to it.
    pub(super) fn appending(&self) -> Span {
        let Some((first, others)) = self.spans.split_first() else { return Span::none() };
        let events = i64::try_from(self.batch.events.len()).unwrap_or(i64::MAX);
        let span = tracing::info_span!(target: TRACES, parent: first, "append", charter.events = events);
        for other in others {
            span.follows_from(other);
        }
        span
    }

    pub(super) const fn head(&self) -> Head {
        self.chain.head()
    }

    pub(super) fn events(&self) -> usize {
        self.batch.events.len()
    }

    pub(super) fn writes_nothing(&self) -> bool {
        self.batch.events.is_empty() && self.batch.answers.is_empty()
    }

    /// Decides one command. An error is the store's, and fails the whole transaction.
    pub(super) async fn take(
        &mut self,
        inner: &Inner,
        append: &mut dyn Append,
        job: Job,
    ) -> Result<(), StoreError> {
        let Job { mut request, reply, span } = job;
        let first_answer = match idempotency_key(&request) {
            None => None,
            Some(key) => match self.batch.answers.iter().find(|answer| answer.key == key) {
                Some(answer) => Some(answer.clone()),
                None => match append.answer(&key).await {
                    Ok(answer) => answer,
                    Err(error) => {
                        self.replies.push((reply, Err(CommandError::Unavailable { reason: "" })));
                        return Err(error);
                    }
                },
            },
        };
        let result = match first_answer {
            Some(answer) => repeat(&request, &answer),
            None => match self.tell(append, &mut request).await {
                Ok(()) => span.in_scope(|| self.decide(inner, request)),
                Err(error) => {
                    self.replies.push((reply, Err(CommandError::Unavailable { reason: "" })));
                    return Err(error);
                }
            },
        };
        self.replies.push((reply, result));
        self.spans.push(span);
        Ok(())
    }

    /// Tells an undo what happened while it waited. One that is not told of everything is refused when it is decided.
    async fn tell(&self, append: &mut dyn Append, request: &mut Request) -> Result<(), StoreError> {
        let Command::Undo(undo) = &mut request.command else { return Ok(()) };
        if self.began.get().saturating_sub(undo.seen().get()) > TOLD_EVENTS_MAX {
            return Ok(());
        }
        while undo.seen() < self.began {
            let page = append.read_since(undo.seen(), READ_EVENTS_MAX).await?;
            let seen = undo.seen();
            if told(undo, &page).is_err() || undo.seen() == seen {
                return Ok(());
            }
        }
        // What was staged here can be read.
        let _ = told(undo, &self.batch.events);
        Ok(())
    }

    fn decide(&mut self, inner: &Inner, request: Request) -> Result<Receipt, CommandError> {
        let _deciding = tracing::info_span!(target: TRACES, "decide").entered();
        let before = self.policy.clone();
        // A rule that panics is a mistake in the program; it must cost this command only, not the writer.
        let decided = catch_unwind(AssertUnwindSafe(|| {
            if request.meta.credential.as_ref().is_some_and(|with| !with.is_good(&self.policy, self.now)) {
                return Err(credential_ended());
            }
            if request.unchanged.as_ref().is_some_and(|seen| !seen.holds(&self.policy)) {
                return Err(changed_meanwhile());
            }
            let decided = decide_at(inner, &self.policy, &request, self.now)?;
            inner.servers.may_write(&decided.events)?;
            let command_id = CommandId::new(Uuid::now_v7());
            let events = self.stage(&request, command_id, &decided)?;
            Ok((command_id, decided.created, events))
        }))
        .unwrap_or_else(|_| {
            tracing::error!(command = request.command.name(), "deciding a command panicked");
            Err(CommandError::Unavailable { reason: "the command could not be decided" })
        });
        match decided {
            Ok((command_id, created, events)) => Ok(self.accept(request, command_id, created, events)),
            Err(error) => {
                self.policy = before;
                Err(error)
            }
        }
    }

    /// Makes the events and applies them to the staged policy; on an error the policy is the caller's to restore.
    fn stage(
        &mut self,
        request: &Request,
        command_id: CommandId,
        decided: &Decided,
    ) -> Result<Vec<StoredEvent>, CommandError> {
        if decided.events.is_empty() {
            return Ok(Vec::new());
        }
        let meta = CommandMeta {
            command_id,
            actor: request.caller.attribution(&self.policy),
            via: request.meta.via,
            request_id: request.meta.request_id.clone(),
            reason: request.meta.reason.clone(),
        };
        let mut chain = self.chain.clone();
        let events = chain.extend(&meta, &decided.events, self.now, &mut Uuid::now_v7).map_err(too_large)?;
        for (stored, event) in events.iter().zip(&decided.events) {
            self.policy.apply(&stored.meta(), event).map_err(|error| {
                tracing::error!(command = request.command.name(), %error, "a decided event does not fold");
                CommandError::Unavailable { reason: "the command contradicts the log" }
            })?;
        }
        self.chain = chain;
        Ok(events)
    }

    fn accept(
        &mut self,
        request: Request,
        command_id: CommandId,
        created: Option<Uuid>,
        events: Vec<StoredEvent>,
    ) -> Receipt {
        let last = self.chain.head().offset;
        let first = events.first().map_or(last, |event| event.offset);
        if !events.is_empty() {
            self.batch.events.extend(events);
            self.batch.secrets.extend(request.secrets.into_iter().map(|write| beginning_at(write, last)));
            self.batch.secrets.extend(request.keeps_session.into_iter().flat_map(|kept| kept.begun_at(last)));
        }
        if let Some((key, request_hash)) = request.meta.idempotency {
            self.batch.answers.push(Answer {
                key: IdempotencyKey { caller: caller_text(&request.caller), key },
                request_hash,
                command_id,
                first,
                last,
                created,
                secret: request.answers_secret,
                at: self.now,
            });
        }
        Receipt { command_id, first, last, created, repeated: false }
    }

    /// Shows everyone the new policy. Everything in it is durable.
    pub(super) fn publish(&mut self, inner: &Inner) {
        if !self.batch.events.is_empty() {
            let head = self.chain.head();
            inner.published.publish(std::mem::take(&mut self.policy), head);
            show_head(head.offset, 0);
            inner.following.committed(head.offset);
        }
        #[expect(clippy::cast_precision_loss, reason = "a histogram takes floats; a batch is short")]
        metrics::histogram!("charter_writer_batch_commands").record(self.replies.len() as f64);
    }

    /// Does before the commit what has to come after it, when a test wants that mistake.
    #[cfg(any(test, feature = "failpoints"))]
    pub(super) fn err_as_seeded(&mut self, inner: &Inner) {
        use crate::failpoints::Bug;
        match inner.config.seeded {
            None => {}
            Some(Bug::PublishEarly) => drop(inner.published.publish(self.policy.clone(), self.head())),
            Some(Bug::AnswerEarly) => {
                for (reply, result) in self.replies.drain(..) {
                    let _ = reply.send(result);
                }
            }
        }
    }

    pub(super) fn answer(self) {
        for (reply, result) in self.replies {
            let outcome = match &result {
                Ok(receipt) if receipt.repeated => "repeated",
                Ok(_) => "accepted",
                Err(CommandError::Unavailable { .. }) => "unavailable",
                Err(_) => "refused",
            };
            metrics::counter!("charter_commands_total", "outcome" => outcome).increment(1);
            // Whoever went away gets no answer; what was decided stands.
            let _ = reply.send(result);
        }
    }

    /// Nothing was written, as far as is known: also a refusal may rest on a neighbour that is gone now.
    pub(super) fn answer_unavailable(self, reason: &'static str) {
        for (reply, _) in self.replies {
            metrics::counter!("charter_commands_total", "outcome" => "unavailable").increment(1);
            let _ = reply.send(Err(CommandError::Unavailable { reason }));
        }
    }
}

/// Decides a command as the writer would, on a clone of the published policy, and puts what it would become into the
/// slot. Nothing that was staged outlives this.
pub(crate) fn preview(inner: &Inner, request: Request, slot: &PreviewSlot) -> CommandError {
    let state = inner.published.load();
    let mut stage = Stage::new(inner, &state);
    match stage.decide(inner, request) {
        Err(error) => error,
        Ok(Receipt { created, .. }) => {
            slot.fill(Previewed {
                before: Arc::clone(&state.policy),
                after: Arc::new(stage.policy),
                now: stage.now,
                events: stage.batch.events,
                created,
            });
            CommandError::Previewed
        }
    }
}

/// The first answer again, if the request is the same.
fn repeat(request: &Request, answer: &Answer) -> Result<Receipt, CommandError> {
    let hash: Option<Hash> = request.meta.idempotency.as_ref().map(|(_, hash)| *hash);
    if hash != Some(answer.request_hash) {
        return Err(CommandError::IdempotencyKeyReused);
    }
    if answer.secret {
        return Err(CommandError::SecretShownOnce);
    }
    let Answer { command_id, first, last, created, .. } = *answer;
    Ok(Receipt { command_id, first, last, created, repeated: true })
}

pub(super) fn idempotency_key(request: &Request) -> Option<IdempotencyKey> {
    let (key, _) = request.meta.idempotency.as_ref()?;
    Some(IdempotencyKey { caller: caller_text(&request.caller), key: key.clone() })
}

/// Whose keys these are: one caller never gets another's answer.
fn caller_text(caller: &Caller) -> String {
    match caller {
        Caller::User { id, .. } => format!("user:{id}"),
        Caller::Module(namespace) => format!("module:{namespace}"),
        Caller::System => "system".to_owned(),
    }
}

/// The credential was good when the request came, and ended while it waited.
fn credential_ended() -> CommandError {
    CommandError::Refused(Refusal {
        code: Code::InactiveCaller,
        field: None,
        detail: "the credential works no longer".to_owned(),
        missing: Vec::new(),
        more: false,
        objects: Vec::new(),
    })
}

/// What the command was made up from was read before it was decided, and is not so any more.
fn changed_meanwhile() -> CommandError {
    CommandError::Refused(Refusal {
        code: Code::Stale,
        field: None,
        detail: "what this was made up from was changed meanwhile".to_owned(),
        missing: Vec::new(),
        more: false,
        objects: Vec::new(),
    })
}

/// A credential made by a command begins with the command's last event: a server that has not come so far does not
/// know it yet.
fn beginning_at(write: SecretWrite, began: Offset) -> SecretWrite {
    match write {
        SecretWrite::PutCredential { hash, row } if row.began == Offset::ZERO => {
            SecretWrite::PutCredential { hash, row: CredentialRow { began, ..row } }
        }
        other => other,
    }
}

impl KeptSession {
    fn begun_at(self, began: Offset) -> [SecretWrite; 2] {
        let Self { hash, row } = self;
        [
            SecretWrite::RemoveCredential(CredentialRef::Id(row.id)),
            SecretWrite::PutCredential { hash, row: CredentialRow { began, ..row } },
        ]
    }
}

fn too_large(error: ChainError) -> CommandError {
    let code = match error {
        ChainError::CommandSize(_) => Code::TooManyConsequences,
        ChainError::OffsetsExhausted | ChainError::TooLong { .. } | ChainError::Encode { .. } => {
            Code::LimitExceeded
        }
    };
    CommandError::Refused(Refusal {
        code,
        field: None,
        detail: error.to_string(),
        missing: Vec::new(),
        more: false,
        objects: Vec::new(),
    })
}
