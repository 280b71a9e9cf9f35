//! The way to the log: one queue, one task that writes ([`task`]), one transaction for many commands ([`batch`]).
//!
//! Callers only wait. A caller that goes away cancels nothing: from the queue on, the work is the writer's.
//!
//! What the store is asked for each batch of at most 128 commands, from the third on while the head is locked:
//! 1. who is alive, only while a server of an older build is;
//! 2. the lock on the head (waits for other servers' batches, bounded);
//! 3. the events others appended since, a page of 2,000 at a time; nothing when there are none;
//! 4. for each command with an idempotency key, the answer it got before; for one that undoes another, the events since
//!    it read the log;
//! 5. the write of all events, answers and secrets;
//! 6. the commit. An error of it costs one more lock and read, to learn what became of it.
//!
//! Beside it: a refusal asks for the head once before it is given without the writer, and each commit nudges the other
//! servers once, off the way of the answers.

mod batch;
mod follow;
mod task;

use batch::idempotency_key;
pub(crate) use batch::preview;
pub(crate) use follow::behind;
pub(crate) use task::run;

use crate::{
    TRACES,
    control::Inner,
    error::CommandError,
    following::in_time,
    request::{Receipt, Request, RequestMeta},
};
use charter_commands::{Code, Command, Context, Decided, Refusal, decide};
use charter_events::{
    Timestamp,
    envelope::{REASON_BYTES_MAX, REQUEST_ID_BYTES_MAX},
};
use charter_policy::Policy;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tracing::Span;
use uuid::Uuid;

/// The longest idempotency key, in bytes.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// One command that waits for the writer.
pub(crate) struct Job {
    request: Request,
    reply: oneshot::Sender<Result<Receipt, CommandError>>,
    /// Of the command, from the queue to its answer.
    span: Span,
}

/// What the writer is asked for.
pub(crate) enum Asked {
    Command(Box<Job>),
    /// To lock the head and read what is missing; answered when that was tried.
    CatchUp(oneshot::Sender<()>),
}

/// The writer's end of the queue.
pub(crate) type Jobs = mpsc::Receiver<Asked>;

/// The callers' end of the queue.
pub(crate) struct Queue(mpsc::Sender<Asked>);

impl Queue {
    pub(crate) fn new(commands_max: usize) -> (Self, Jobs) {
        let (sender, jobs) = mpsc::channel(commands_max.max(1));
        (Self(sender), jobs)
    }

    /// How many commands wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.0.max_capacity() - self.0.capacity()
    }
}

/// Queues a command and waits for its answer; one that is only previewed goes no further than this.
pub(crate) async fn submit(inner: &Arc<Inner>, request: Request) -> Result<Receipt, CommandError> {
    check_meta(&request.meta)?;
    if inner.stop.is_cancelled() {
        return Err(CommandError::Unavailable { reason: "the server is shutting down" });
    }
    if let Some(reason) = inner.forbids_writing() {
        return Err(CommandError::Unavailable { reason: reason.reason() });
    }
    if let Some(slot) = request.meta.preview.clone() {
        return Err(crate::preview::decide(inner, request, slot).await);
    }
    refuse_early(inner, &request).await?;
    let (reply, answer) = oneshot::channel();
    let span = tracing::info_span!(target: TRACES, "command", charter.command = request.command.name());
    inner.queue.0.try_send(Asked::Command(Box::new(Job { request, reply, span }))).map_err(|error| {
        match error {
            mpsc::error::TrySendError::Full(_) => CommandError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => {
                CommandError::Unavailable { reason: "the server is shutting down" }
            }
        }
    })?;
    answer.await.unwrap_or(Err(CommandError::Unavailable { reason: "the writer has ended" }))
}

/// Has the writer lock the head and read what is missing, and waits until it has tried. A full queue is one that
/// will do so anyway.
pub(crate) async fn catch_up(inner: &Inner) {
    let (reply, done) = oneshot::channel();
    if inner.queue.0.try_send(Asked::CatchUp(reply)).is_ok() {
        let _ = done.await;
    }
}

/// Shows the counters from the start on: one that is absent until it is first used can't be watched.
pub(crate) fn show_counters() {
    for outcome in ["accepted", "repeated", "refused", "unavailable"] {
        metrics::counter!("charter_commands_total", "outcome" => outcome).increment(0);
    }
    metrics::counter!("charter_lock_timeouts_total").increment(0);
}

/// Refuses on the published policy what it refuses anyway, so that an expensive guard holds up no writer. A refusal
/// counts only if the policy stands at the head of the log, and the request can't be a repeat that was accepted before.
pub(crate) async fn refuse_early(inner: &Arc<Inner>, request: &Request) -> Result<(), CommandError> {
    let state = inner.published.load();
    // The writer tells it what it has not seen.
    if matches!(&request.command, Command::Undo(undo) if undo.seen() < state.policy.version()) {
        return Ok(());
    }
    let Err(refusal) = try_on(inner, &state.policy, request) else { return Ok(()) };
    if let Some(key) = idempotency_key(request) {
        // Asked only now: a command that was carried out is refused afterwards (the name is taken), and its repeat has
        // an answer to be given again.
        let kept = inner.store.kept_answer(&key);
        match in_time(inner.config.store_wait, "asking for a kept answer", kept).await {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return Ok(()),
        }
    }
    match in_time(inner.config.store_wait, "asking where the log ends", inner.store.head()).await {
        Ok(head) if head.offset == state.head.offset => {
            metrics::counter!("charter_commands_total", "outcome" => "refused").increment(1);
            Err(CommandError::Refused(refusal))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Decides a request on a policy; nothing is written.
pub(crate) fn try_on(inner: &Inner, policy: &Policy, request: &Request) -> Result<Decided, Refusal> {
    let now = inner.time().max(policy.recorded_at());
    decide_at(inner, policy, request, now)
}

fn decide_at(inner: &Inner, policy: &Policy, request: &Request, now: Timestamp) -> Result<Decided, Refusal> {
    let mut ids = Uuid::now_v7;
    let mut context =
        Context::new(&request.caller, now, &mut ids, &inner.config.limits).if_match(request.meta.if_match);
    #[cfg(test)]
    {
        context.removed = inner.config.removed;
    }
    decide(policy, &request.command, &mut context)
}

fn check_meta(meta: &RequestMeta) -> Result<(), CommandError> {
    let too_long = |field: &str, maximum: usize| {
        Err(CommandError::Refused(Refusal {
            code: Code::LimitExceeded,
            field: Some(field.to_owned()),
            detail: format!("at most {maximum} bytes"),
            missing: Vec::new(),
            more: false,
            objects: Vec::new(),
        }))
    };
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    if length(&meta.reason) > REASON_BYTES_MAX {
        return too_long("reason", REASON_BYTES_MAX);
    }
    if length(&meta.request_id) > REQUEST_ID_BYTES_MAX {
        return too_long("request_id", REQUEST_ID_BYTES_MAX);
    }
    if meta.idempotency.as_ref().is_some_and(|(key, _)| key.len() > IDEMPOTENCY_KEY_BYTES_MAX) {
        return too_long("idempotency_key", IDEMPOTENCY_KEY_BYTES_MAX);
    }
    Ok(())
}
