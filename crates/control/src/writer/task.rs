//! The one task that writes: takes what waits, locks the head, lets the batch be decided, commits, publishes, answers.

use super::{Asked, Job, Jobs, batch::Stage, follow};
use crate::{control::Inner, error::CommandError, health::NotReady, load::LoadError};
use charter_events::Head;
use charter_store::{Append, StoreError};
use std::{collections::VecDeque, sync::Arc, time::Duration, time::Instant};
use tokio::sync::oneshot;

/// After this many events the transaction is committed, whatever still waits.
const TRANSACTION_EVENTS_MAX: usize = 10_000;
/// How soon the log is read again when the outcome of a commit is not known.
const UNSURE_PAUSE: Duration = Duration::from_secs(1);

/// Why a batch came to nothing.
pub(super) enum Failed {
    Store(StoreError),
    Load(LoadError),
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

    /// Catches up if somebody asked for it; tells whether the log has to be read again.
    async fn catch_up(&mut self, inner: &Arc<Inner>, unsure: bool) -> bool {
        if self.catching_up.is_empty() {
            return unsure;
        }
        let failed = catch_up(inner).await.is_err();
        for reply in self.catching_up.drain(..) {
            let _ = reply.send(());
        }
        failed && unsure
    }
}

async fn write_all(inner: &Arc<Inner>, mut jobs: Jobs) {
    let mut taken = Taken::default();
    // Whether the log may hold a batch that is not published; until it was read again, it may.
    let mut unsure = false;
    loop {
        if taken.waiting.is_empty() {
            let pause = if unsure { Some(UNSURE_PAUSE) } else { inner.config.follow_every };
            tokio::select! {
                job = jobs.recv() => match job {
                    Some(asked) => taken.push(asked),
                    None => return,
                },
                () = inner.stop.cancelled(), if !jobs.is_closed() => jobs.close(),
                () = sleep(pause) => unsure = follow(inner).await.is_err() && unsure,
            }
            unsure = taken.catch_up(inner, unsure).await;
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
        unsure = write_some(inner, &mut taken.waiting, unsure).await;
        unsure = taken.catch_up(inner, unsure).await;
    }
}

/// Reads what others appended. A store that failed is trusted again only when its head could be locked.
async fn follow(inner: &Arc<Inner>) -> Result<(), ()> {
    match inner.health.get() {
        Some(NotReady::StoreUnavailable) => catch_up(inner).await,
        _ => follow::follow(inner).await,
    }
}

/// Locks the head, reads what is missing and writes nothing.
async fn catch_up(inner: &Arc<Inner>) -> Result<(), ()> {
    if inner.health.forbids_writing().is_some() {
        return Err(());
    }
    let caught_up = async {
        let mut append = inner.store.append().await?;
        follow::catch_up(inner, append.as_mut()).await?;
        append.rollback().await?;
        Ok::<(), Failed>(())
    };
    match caught_up.await {
        Ok(()) => {
            inner.health.store_answered();
            Ok(())
        }
        Err(failed) => {
            note(inner, &failed);
            Err(())
        }
    }
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

/// One transaction; answers everyone it took. Tells whether the log has to be read again: a batch that failed for
/// another reason tells nothing about an earlier one.
async fn write_some(inner: &Arc<Inner>, waiting: &mut VecDeque<Job>, unsure: bool) -> bool {
    if let Some(reason) = inner.health.forbids_writing() {
        answer_all(waiting, reason.reason());
        return false;
    }
    let mut stage = None;
    match transaction(inner, waiting, &mut stage).await {
        Ok(()) => {
            inner.health.store_answered();
            false
        }
        Err(failed) => {
            let reason = note(inner, &failed);
            if let Some(stage) = stage {
                stage.answer_unavailable(reason);
            }
            answer_all(waiting, reason);
            unsure || matches!(failed, Failed::Unknown)
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
            tracing::error!(%error, code = error.code(), "a batch of commands was not written");
            // A batch that is refused says nothing about whether the store can be reached.
            if !matches!(error, StoreError::Refused(_) | StoreError::HeadMoved { .. }) {
                inner.health.fail(NotReady::StoreUnavailable);
            }
            "the store did not take the command"
        }
        Failed::Load(error) => {
            let reason = error.not_ready();
            tracing::error!(%error, "what others appended can't be read");
            inner.health.fail(reason);
            reason.reason()
        }
        Failed::Unknown => {
            inner.health.fail(NotReady::StoreUnavailable);
            "it is not known whether the command was carried out"
        }
        #[cfg(any(test, feature = "failpoints"))]
        Failed::Forced => "a test wanted it so",
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
) -> Result<(), Failed> {
    let began = Instant::now();
    step!(inner, Lock);
    let mut append = inner.store.append().await?;
    follow::catch_up(inner, append.as_mut()).await?;
    step!(inner, Decide);
    let stage = kept.insert(Stage::new(inner));
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
        append.write(&stage.batch).await?;
        let staged = (stage.events() > 0).then(|| stage.head());
        commit(inner, append, staged).await?;
        metrics::histogram!("charter_append_seconds").record(began.elapsed());
    }
    step!(inner, Publish);
    stage.publish(inner);
    step!(inner, Reply);
    if let Some(stage) = kept.take() {
        stage.answer();
    }
    Ok(())
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
                tracing::warn!(%error, "a commit reported an error and took effect");
                Ok(())
            }
            Ok(false) => Err(Failed::Store(error)),
            Err(_) => Err(Failed::Unknown),
        },
    }
}
