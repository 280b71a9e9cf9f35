//! Following what other servers append: a task beside the writer's, so that a writer that waits for the head's lock, or
//! decides something large, keeps nobody from seeing a revocation.
//!
//! It polls every so often, at once when it is asked to (somebody wants a version that is not here yet) and when
//! another server nudges. It never locks the head; reading and publishing may overlap with the writer's, because a
//! published version is only ever replaced by a later one of the same log. After a commit of this server the others
//! are nudged, off the way of the answers.

use crate::{
    control::Inner,
    health::NotReady,
    load::{LoadError, page_limit},
    tick::Tick,
    writer,
};
use charter_events::Offset;
use charter_store::{StoreError, Wakes, causes};
use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::{Notify, watch},
    time::{sleep, timeout},
};

/// Nudges that come thicker than this are one.
const WAKES_APART_MIN: Duration = Duration::from_millis(5);
/// How soon a store that did not answer is asked again.
const FAILED_PAUSE: Duration = Duration::from_millis(200);
/// How soon the log is read again when the outcome of a commit is not known.
const UNSURE_PAUSE: Duration = Duration::from_secs(1);
/// How soon a store that is doubted is asked for the head's lock again.
const RELOCK_PAUSE: Duration = Duration::from_millis(500);
/// How long one page of events may take.
const PAGE_WAIT: Duration = Duration::from_secs(10);
/// How soon nudges are listened for again after a failure: at first, and at most.
const LISTEN_PAUSE_MIN: Duration = Duration::from_millis(100);
const LISTEN_PAUSE_MAX: Duration = Duration::from_secs(10);

/// How far rounds have ended.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    /// The last that ended.
    round: u64,
    /// The last that ended well.
    well: u64,
}

/// Says so when following ends without having been told to: a panic.
struct Ends(Arc<Inner>, bool);

impl Drop for Ends {
    fn drop(&mut self) {
        if !self.1 {
            self.0.health.fail(NotReady::FollowerEnded);
        }
    }
}

/// By which the task is asked and heard.
pub(crate) struct Following {
    /// Somebody needs what is in the log now.
    asked: Notify,
    /// Another server says that the log has moved.
    woken: Notify,
    /// The number of the last round that began …
    begun: AtomicU64,
    /// … and how far they have ended.
    ended: watch::Sender<Ended>,
    /// The log may hold a batch of this server that is not published.
    unsure: AtomicBool,
    /// The store answers, and the writer doubts it: it should lock the head to find out.
    pub(crate) relock: Notify,
    relocked: Mutex<Option<Instant>>,
    /// Where this server's last commit ended.
    committed: watch::Sender<Offset>,
}

impl Following {
    pub(crate) fn new() -> Self {
        Self {
            asked: Notify::new(),
            woken: Notify::new(),
            begun: AtomicU64::new(0),
            ended: watch::Sender::new(Ended::default()),
            unsure: AtomicBool::new(false),
            relock: Notify::new(),
            relocked: Mutex::new(None),
            committed: watch::Sender::new(Offset::ZERO),
        }
    }

    /// Has the log asked at once.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// This server's commit is durable: the others are to hear of it.
    pub(crate) fn committed(&self, head: Offset) {
        self.committed.send_replace(head);
    }

    /// Whether it is time to find out again whether the head can be locked.
    fn may_relock(&self) -> bool {
        let mut last = self.relocked.lock().unwrap_or_else(PoisonError::into_inner);
        let may = last.is_none_or(|last| last.elapsed() >= RELOCK_PAUSE);
        if may {
            *last = Some(Instant::now());
        }
        may
    }

    /// Whether the outcome of a commit is not known.
    pub(crate) fn unsure(&self, unsure: bool) {
        self.unsure.store(unsure, Ordering::Relaxed);
    }
}

/// Follows until the server stops.
pub(crate) async fn run(inner: Arc<Inner>) {
    let mut ends = Ends(Arc::clone(&inner), false);
    let again = async {
        loop {
            tokio::select! {
                () = inner.following.asked.notified() => {}
                () = woken_or_due(&inner) => {}
            }
            round(&inner).await;
        }
    };
    inner.stop.run_until_cancelled(again).await;
    ends.1 = true;
}

async fn woken_or_due(inner: &Inner) {
    sleep(WAKES_APART_MIN).await;
    tokio::select! {
        () = inner.following.woken.notified() => {}
        () = due(inner) => {}
    }
}

async fn due(inner: &Inner) {
    let unsure = inner.following.unsure.load(Ordering::Relaxed);
    match inner.config.follow_every {
        Some(every) if inner.contact.is_lost() => sleep(every.max(FAILED_PAUSE)).await,
        Some(every) => sleep(every).await,
        None if unsure => sleep(UNSURE_PAUSE).await,
        None => std::future::pending().await,
    }
}

/// Follows once more, and waits for it; for whoever must not decide on less than what was in the log when he came.
/// Tells whether it went well. Bounded: a store that hangs makes nobody wait for it.
pub(crate) async fn once(inner: &Inner) -> bool {
    let following = &inner.following;
    let before = following.begun.load(Ordering::SeqCst);
    let mut ended = following.ended.subscribe();
    following.ask();
    let done = timeout(inner.config.store_wait * 2, ended.wait_for(|ended| ended.round > before));
    match inner.stop.run_until_cancelled(done).await {
        Some(Ok(Ok(ended))) => ended.well > before,
        _ => false,
    }
}

async fn round(inner: &Arc<Inner>) {
    let number = inner.following.begun.fetch_add(1, Ordering::SeqCst).saturating_add(1);
    let result = follow(inner).await;
    if let Err(error) = &result {
        failed(inner, error);
    }
    if inner.health.doubts_the_store() && answered(&result) && inner.following.may_relock() {
        inner.following.relock.notify_one();
    }
    measure_absence(inner);
    let well = result.is_ok();
    inner.following.ended.send_modify(|ended| {
        ended.round = number;
        ended.well = if well { number } else { ended.well };
    });
}

/// Damage is not reported from here: what answered may be a copy that is behind. Locking the head tells.
fn failed(inner: &Inner, error: &LoadError) {
    let reason = match error.not_ready() {
        NotReady::Damaged { .. } => NotReady::StoreUnavailable,
        reason => reason,
    };
    // A log that can't be read on is a log whose newest events are not known here, for whatever reason.
    if reason == NotReady::StoreUnavailable || inner.config.follow_every.is_some() {
        inner.contact.lost();
    }
    if inner.health.fail(reason) {
        tracing::error!(error = %causes(&error), "the log can't be followed");
    }
}

/// Whether locking the head is worth trying: the store answered, if only with something that can't be.
fn answered(result: &Result<(), LoadError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => matches!(error.not_ready(), NotReady::Damaged { .. }),
    }
}

pub(crate) fn measure_absence(inner: &Inner) {
    let away = inner.contact.away().unwrap_or_default();
    metrics::gauge!("charter_store_unavailable_seconds").set(away.as_secs_f64());
}

async fn follow(inner: &Inner) -> Result<(), LoadError> {
    // Taken before the log is asked: the writer's own commits may overtake the answer.
    let state = inner.published.load();
    let asked = Tick::now();
    let polled = in_time(inner.config.store_wait, "asking where the log ends", inner.store.poll()).await?;
    if let Some(moment) = polled.now {
        inner.store_clock.measured(asked, Tick::now(), moment, inner.config.clock.now());
    }
    let head = polled.head;
    inner.store_clock.compare(inner.config.clock.now(), inner.time(), head.recorded_at);
    // What the writer has published meanwhile need not be folded again.
    let newest = inner.published.load();
    let state = if newest.head.offset <= head.offset { newest } else { state };
    let folding = writer::behind(&state, &head)?.filter(|_| inner.published.version() < head.offset);
    show_head(head.offset, head.offset.get().saturating_sub(inner.published.version().get()));
    if let Some(mut folding) = folding {
        while folding.head().offset < head.offset {
            let at = folding.head().offset;
            let page = inner.store.read(at, page_limit(at, &head));
            let page = in_time(PAGE_WAIT, "reading what others appended", page).await?;
            if page.is_empty() {
                break;
            }
            folding.fold(&page)?;
            tokio::task::yield_now().await;
        }
        folding.ends_at(&head)?;
        inner.publish(folding, head);
        show_head(head.offset, 0);
    }
    inner.contact.made(asked);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float; offsets stay far below 2^53")]
pub(crate) fn show_head(head: Offset, lag_events: u64) {
    metrics::gauge!("charter_log_head").set(head.get() as f64);
    metrics::gauge!("charter_follow_lag_events").set(lag_events as f64);
}

/// An answer of the store, or none in time.
pub(crate) async fn in_time<T>(
    wait: Duration,
    what: &'static str,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(wait, answer).await.unwrap_or(Err(StoreError::Unavailable { what, source: None }))
}

/// Passes on other servers' nudges. Best effort: without it the log is polled all the same.
pub(crate) async fn listen(inner: Arc<Inner>) {
    if inner.config.follow_every.is_none() {
        return;
    }
    let again = async {
        let mut pause = LISTEN_PAUSE_MIN;
        loop {
            let wakes = in_time(PAGE_WAIT, "listening for other servers", inner.store.wakes()).await;
            let heard = match wakes {
                Ok(wakes) => pass_on(&inner.following, wakes).await,
                Err(error) => {
                    tracing::debug!(error = %causes(&error), "other servers can't be heard");
                    false
                }
            };
            pause = if heard { LISTEN_PAUSE_MIN } else { (pause * 2).min(LISTEN_PAUSE_MAX) };
            sleep(pause).await;
        }
    };
    inner.stop.run_until_cancelled(again).await;
}

/// Until nothing is heard any more; tells whether anything was.
async fn pass_on(following: &Following, mut wakes: Box<dyn Wakes>) -> bool {
    let mut heard = false;
    while wakes.next().await.is_ok() {
        heard = true;
        following.woken.notify_one();
    }
    heard
}

/// Nudges the other servers after this one's commits; several commits may be one nudge.
pub(crate) async fn announce(inner: Arc<Inner>) {
    let mut committed = inner.following.committed.subscribe();
    let again = async {
        while committed.changed().await.is_ok() {
            let head = *committed.borrow_and_update();
            let _ = timeout(inner.config.store_wait, inner.store.announce(head)).await;
        }
    };
    inner.stop.run_until_cancelled(again).await;
}
