//! Folding to a past version: once for all who ask for it, a few at a time, going on when nobody waits any longer.

use super::{
    AsOfError, folded,
    kept::{Kept, THINGS_MAX},
    state_at,
};
use crate::{
    control::Inner,
    load::{Folding, LoadError},
    published::State,
};
use charter_events::{Head, Offset};
use charter_store::causes;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::{Semaphore, watch};

/// So many states are folded at the same time: each takes a processor, and the memory of a whole state.
const FOLDS_AT_ONCE_MAX: usize = 2;
/// So many wait for their turn.
const FOLDS_WAITING_MAX: usize = 16;
/// A kept state so few events away is gone on from without looking for a snapshot, which has to be read whole.
const NEAR_EVENTS: u64 = 20_000;

type Outcome = Result<Arc<State>, Arc<LoadError>>;

/// The past states at hand and on their way.
pub(crate) struct Pasts {
    shelf: Mutex<Shelf>,
    room: Semaphore,
    #[cfg(test)]
    begun: std::sync::atomic::AtomicUsize,
}

struct Shelf {
    kept: Kept,
    on_their_way: HashMap<Offset, watch::Receiver<Option<Outcome>>>,
}

impl Pasts {
    /// At most so many states are kept, and of large ones fewer.
    pub(crate) fn new(states_max: usize) -> Self {
        let shelf = Shelf { kept: Kept::new(states_max, THINGS_MAX), on_their_way: HashMap::new() };
        Self {
            shelf: Mutex::new(shelf),
            room: Semaphore::new(FOLDS_AT_ONCE_MAX),
            #[cfg(test)]
            begun: std::sync::atomic::AtomicUsize::new(0),
        }
    }

    /// How many states were folded, or begun to be.
    #[cfg(test)]
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Lets go the states nobody asked for lately.
    pub(crate) fn forget_idle(&self) {
        let mut shelf = self.shelf();
        shelf.kept.forget_idle(Instant::now());
        shelf.show();
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        // What a panic leaves behind is whole: each change is one call.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn show(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; a handful of states")]
        metrics::gauge!("charter_past_policies").set(self.kept.len() as f64);
    }
}

/// The state at a head the log once had: kept, on its way, or to be folded. Waits no longer than `Config::past_wait`.
pub(super) async fn state(inner: &Arc<Inner>, head: Head) -> Result<Arc<State>, AsOfError> {
    let mut outcome = match find(inner, head)? {
        Found::Kept(state) => return Ok(state),
        Found::OnItsWay(outcome) => outcome,
    };
    let waiting = outcome.wait_for(Option::is_some);
    let waited = tokio::time::timeout(inner.config.past_wait, waiting).await;
    match waited {
        Err(_) => Err(AsOfError::StillFolding),
        // Whoever folded ended without an outcome: the server is stopping.
        Ok(Err(_)) => Err(AsOfError::Busy),
        Ok(Ok(outcome)) => match outcome.clone() {
            Some(Ok(state)) => Ok(state),
            Some(Err(error)) => Err(error.into()),
            None => Err(AsOfError::StillFolding),
        },
    }
}

enum Found {
    Kept(Arc<State>),
    OnItsWay(watch::Receiver<Option<Outcome>>),
}

/// One look at what there is, so that nothing is folded twice; begins a fold when there is nothing.
fn find(inner: &Arc<Inner>, head: Head) -> Result<Found, AsOfError> {
    let mut shelf = inner.pasts.shelf();
    if let Some(state) = shelf.kept.get(&head, Instant::now()) {
        return Ok(Found::Kept(state));
    }
    if let Some(outcome) = shelf.on_their_way.get(&head.offset) {
        return Ok(Found::OnItsWay(outcome.clone()));
    }
    if shelf.on_their_way.len() >= FOLDS_AT_ONCE_MAX + FOLDS_WAITING_MAX {
        return Err(AsOfError::Busy);
    }
    let (tell, outcome) = watch::channel(None);
    shelf.on_their_way.insert(head.offset, outcome.clone());
    drop(shelf);
    let entry = Entry { inner: Arc::clone(inner), offset: head.offset };
    inner.tasks.spawn(run(entry, head, tell));
    Ok(Found::OnItsWay(outcome))
}

/// A fold's place among those on their way; it goes however the fold ends.
struct Entry {
    inner: Arc<Inner>,
    offset: Offset,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.inner.pasts.shelf().on_their_way.remove(&self.offset);
    }
}

/// Folds when it is its turn. Begun, it goes on when nobody waits: who asks again finds the state.
async fn run(entry: Entry, head: Head, tell: watch::Sender<Option<Outcome>>) {
    let inner = &entry.inner;
    let folding = async {
        let _room = inner.pasts.room.acquire().await.ok()?;
        // One listens for those who are to come.
        let somebody_waits = tell.receiver_count() > 1;
        if !somebody_waits {
            return None;
        }
        Some(fold(inner, head).await.map_err(Arc::new))
    };
    let Some(Some(outcome)) = inner.stop.run_until_cancelled(folding).await else { return };
    match &outcome {
        Ok(state) => {
            let mut shelf = inner.pasts.shelf();
            shelf.kept.put(Arc::clone(state), Instant::now());
            shelf.show();
        }
        Err(error) => {
            let error = causes(error.as_ref());
            tracing::error!(%error, offset = %head.offset, "a past state can't be replayed");
        }
    }
    metrics::counter!("charter_past_replays_total").increment(1);
    // Kept before it is no longer on its way: whoever looks finds one or the other.
    drop(entry);
    tell.send_replace(Some(outcome));
}

async fn fold(inner: &Inner, head: Head) -> Result<Arc<State>, LoadError> {
    #[cfg(test)]
    inner.pasts.begun.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    let store = inner.store.as_ref();
    let near = inner.pasts.shelf().kept.before(head.offset);
    if let Some(near) = near
        && head.offset.get().saturating_sub(near.head.offset.get()) <= NEAR_EVENTS
    {
        return folded(store, Folding::new((*near.policy).clone(), near.head), head).await;
    }
    state_at(store, head).await
}
