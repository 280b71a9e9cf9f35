//! The one task that writes: takes what waits, locks the head, lets the batch be decided, commits, publishes, answers.

use super::{Asked, Job, Jobs, batch::Stage, follow};
use crate::{control::Inner, error::CommandError, health::NotReady, load::LoadError, tick::Tick};
use charter_events::Head;
use charter_store::{Append, StoreError, causes};
use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration, time::Instant};
use tokio::{sync::oneshot, time::timeout};
use tracing::Instrument;

/// After this many events the transaction is committed, whatever still waits.
const TRANSACTION_EVENTS_MAX: usize = 10_000;
/// How often whoever waits for the head's lock looks whether the store still answers others.
const LOCK_LOOKED_EVERY: Duration = Duration::from_millis(500);

/// Why a batch came to nothing.
pub(super) enum Failed {
    Store(StoreError),
    Load(LoadError),
    /// Other servers hold the head for too long. The store answers, so this says nothing about it.
    Locked,
    /// The commit reported an error, and it can't be found out whether it took effect.
    Unknown,
    #[cfg(any(test, feature = "failpoints"))]
    Forced,
}

/// Nothing in the product; in a test a place to wait or fail.
macro_rules! step {
    ($inner:expr, $point:ident) => {
        #[cfg(any(test, feature = "failpoints"))]
        if crate::failpoints::at($inner, crate::failpoints::Point::$point).await
            != crate::failpoints::Outcome::Continue
        {
            return Err(Failed::Forced);
        }
    };
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<LoadError> for Failed {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

/// Says so when the writer ends without having been told to: a panic.
struct Ends(Arc<Inner>, bool);

impl Drop for Ends {
    fn drop(&mut self) {
        if !self.1 {
            self.0.health.fail(NotReady::WriterEnded);
        }
    }
}

/// Writes until the server stops, then completes what is queued.
pub(crate) async fn run(inner: Arc<Inner>, jobs: Jobs) {
    let mut ends = Ends(Arc::clone(&inner), false);
    write_all(&inner, jobs).await;
    ends.1 = true;
}

/// What was taken from the queue.
#[derive(Default)]
struct Taken {
    waiting: VecDeque<Job>,
    catching_up: Vec<oneshot::Sender<()>>,
}

impl Taken {
    fn push(&mut self, asked: Asked) {
        match asked {
            Asked::Command(job) => self.waiting.push_back(*job),
            Asked::CatchUp(reply) => self.catching_up.push(reply),
        }
    }

    /// Catches up if somebody asked for it.
    async fn catch_up(&mut self, inner: &Arc<Inner>) {
        if self.catching_up.is_empty() {
            return;
        }
        catch_up(inner).await;
        for reply in self.catching_up.drain(..) {
            let _ = reply.send(());
        }
    }
}

async fn write_all(inner: &Arc<Inner>, mut jobs: Jobs) {
    let mut taken = Taken::default();
    loop {
        if taken.waiting.is_empty() {
            tokio::select! {
                job = jobs.recv() => match job {
                    Some(asked) => taken.push(asked),
                    None => return,
                },
                () = inner.stop.cancelled(), if !jobs.is_closed() => jobs.close(),
                () = inner.following.relock.notified() => catch_up(inner).await,
            }
            taken.catch_up(inner).await;
            if taken.waiting.is_empty() {
                continue;
            }
        }
        while taken.waiting.len() < inner.config.batch_commands_max {
            let Ok(asked) = jobs.try_recv() else { break };
            taken.push(asked);
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; a queue is short")]
        metrics::gauge!("charter_writer_queue_depth").set(jobs.len() as f64);
        write_some(inner, &mut taken.waiting).await;
        taken.catch_up(inner).await;
    }
}

/// Locks the head, reads what is missing and writes nothing. A store that failed is trusted again only then.
async fn catch_up(inner: &Arc<Inner>) {
    if inner.health.forbids_writing().is_some() {
        return;
    }
    let caught_up = async {
        let mut append = locked(inner).await?;
        let as_of = Tick::now();
        follow::catch_up(inner, append.as_mut()).await?;
        append.rollback().await?;
        Ok::<Tick, Failed>(as_of)
    };
    match caught_up.await {
        Ok(as_of) => answered(inner, as_of),
        Err(failed) => drop(note(inner, &failed)),
    }
}

/// The store showed under the head's lock where the log ends.
fn answered(inner: &Inner, as_of: Tick) {
    inner.health.store_answered();
    inner.contact.made(as_of);
    inner.following.unsure(false);
}

/// The head's lock, within a bound: other servers may hold it, or the store may hang.
pub(super) async fn locked(inner: &Inner) -> Result<Box<dyn Append>, Failed> {
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        match lock_once(inner, began).await {
            // The store's own bound, which is shorter: it gave up waiting while it answers the polls.
            Err(Failed::Store(StoreError::Unavailable { .. })) if only_waited(inner, asked) => {
                if began.elapsed() >= inner.config.lock_wait {
                    return Err(Failed::Locked);
                }
            }
            result => return result,
        }
    }
}

async fn lock_once(inner: &Inner, began: Instant) -> Result<Box<dyn Append>, Failed> {
    let mut append = pin!(inner.store.append());
    loop {
        match timeout(LOCK_LOOKED_EVERY, append.as_mut()).await {
            Ok(result) => return Ok(result?),
            Err(_) if inner.contact.is_lost() => {
                let error = StoreError::Unavailable { what: "locking the head", source: None };
                return Err(Failed::Store(error));
            }
            Err(_) if began.elapsed() >= inner.config.lock_wait => return Err(Failed::Locked),
            Err(_) => {}
        }
    }
}

/// Whether a store that did not give the lock is there all the same: it was waited for, and polls are answered.
fn only_waited(inner: &Inner, asked: Instant) -> bool {
    let polls = inner.config.follow_every.is_some() && inner.contact.away().is_none();
    polls && asked.elapsed() >= LOCK_LOOKED_EVERY
}

/// One transaction; answers everyone it took.
async fn write_some(inner: &Arc<Inner>, waiting: &mut VecDeque<Job>) {
    if let Some(reason) = inner.forbids_writing() {
        return answer_all(waiting, reason.reason());
    }
    let mut stage = None;
    match transaction(inner, waiting, &mut stage).await {
        Ok(as_of) => answered(inner, as_of),
        Err(failed) => {
            let reason = note(inner, &failed);
            if let Some(stage) = stage {
                stage.answer_unavailable(reason);
            }
            answer_all(waiting, reason);
        }
    }
}

/// Logged once, here; readiness follows from it.
fn note(inner: &Inner, failed: &Failed) -> &'static str {
    match failed {
        Failed::Store(StoreError::Damaged(fault)) => {
            inner.health.fail(NotReady::Damaged { offset: fault.offset });
            "the log is damaged"
        }
        Failed::Store(error) => {
            tracing::error!(error = %causes(&error), code = error.code(), "the store took no write");
            // A batch that is refused says nothing about whether the store can be reached.
            if !matches!(error, StoreError::Refused(_) | StoreError::HeadMoved { .. }) {
                doubt_the_store(inner);
            }
            "the store did not take the command"
        }
        Failed::Load(error) => {
            let reason = error.not_ready();
            tracing::error!(error = %causes(&error), "what others appended can't be read");
            inner.health.fail(reason);
            reason.reason()
        }
        Failed::Locked => {
            tracing::warn!(waited = ?inner.config.lock_wait, "other servers held the head of the log all the time");
            metrics::counter!("charter_lock_timeouts_total").increment(1);
            "other servers hold the log"
        }
        Failed::Unknown => {
            inner.following.unsure(true);
            doubt_the_store(inner);
            "it is not known whether the command was carried out"
        }
        #[cfg(any(test, feature = "failpoints"))]
        Failed::Forced => "a test wanted it so",
    }
}

/// A server that polls learns from its polls whether it is behind; another has nothing else to go by.
fn doubt_the_store(inner: &Inner) {
    inner.health.fail(NotReady::StoreUnavailable);
    if inner.config.follow_every.is_none() {
        inner.contact.lost();
    }
}

fn answer_all(waiting: &mut VecDeque<Job>, reason: &'static str) {
    for job in waiting.drain(..) {
        metrics::counter!("charter_commands_total", "outcome" => "unavailable").increment(1);
        let _ = job.reply.send(Err(CommandError::Unavailable { reason }));
    }
}

async fn transaction(
    inner: &Arc<Inner>,
    waiting: &mut VecDeque<Job>,
    kept: &mut Option<Stage>,
) -> Result<Tick, Failed> {
    let began = Instant::now();
    // Before the head is locked: whoever holds it asks nobody else, and waits for nobody.
    inner.servers.look_again(inner).await;
    step!(inner, Lock);
    let mut append = locked(inner).await?;
    let as_of = Tick::now();
    let state = follow::catch_up(inner, append.as_mut()).await?;
    step!(inner, Decide);
    let stage = kept.insert(Stage::new(inner, &state));
    while let Some(job) = waiting.pop_front() {
        stage.take(inner, append.as_mut(), job).await?;
        if stage.events() >= TRANSACTION_EVENTS_MAX {
            break;
        }
    }
    step!(inner, Append);
    if stage.writes_nothing() {
        append.rollback().await?;
    } else {
        let span = stage.appending();
        append.write(&stage.batch).instrument(span.clone()).await?;
        let staged = (stage.events() > 0).then(|| stage.head());
        #[cfg(any(test, feature = "failpoints"))]
        stage.err_as_seeded(inner);
        commit(inner, append, staged).instrument(span).await?;
        metrics::histogram!("charter_append_seconds").record(began.elapsed());
    }
    step!(inner, Publish);
    stage.publish(inner);
    step!(inner, Reply);
    if let Some(stage) = kept.take() {
        stage.answer();
    }
    Ok(as_of)
}

/// Makes the batch durable. An error of a commit says nothing about its outcome: the log does, if the batch has events
/// (`staged` is where it ends then). Answers alone leave no trace in the log; a repeat of their requests is harmless.
async fn commit(inner: &Arc<Inner>, append: Box<dyn Append>, staged: Option<Head>) -> Result<(), Failed> {
    #[cfg(any(test, feature = "failpoints"))]
    let result = match crate::failpoints::at(inner, crate::failpoints::Point::Commit).await {
        crate::failpoints::Outcome::Continue => append.commit().await,
        crate::failpoints::Outcome::Fail => {
            append.rollback().await?;
            Err(StoreError::Unavailable { what: "a test wanted it so", source: None })
        }
        crate::failpoints::Outcome::FailAfter => {
            append.commit().await?;
            Err(StoreError::Unavailable { what: "a test wanted it so", source: None })
        }
    };
    #[cfg(not(any(test, feature = "failpoints")))]
    let result = append.commit().await;
    match (result, staged) {
        (Ok(_), _) => Ok(()),
        (Err(error), None) => Err(Failed::Store(error)),
        (Err(error), Some(staged)) => match follow::is_in_log(inner, &staged).await {
            Ok(true) => {
                tracing::warn!(error = %causes(&error), "a commit reported an error and took effect");
                Ok(())
            }
            Ok(false) => Err(Failed::Store(error)),
            Err(_) => Err(Failed::Unknown),
        },
    }
}
