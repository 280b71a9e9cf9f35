//! Failing and stopping on demand: for tests that force an order of events or a fault at a point.

use crate::error::StoreError;
use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::oneshot;

/// Where a store in memory can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Before the head's lock is asked for.
    BeforeLock,
    /// Before a batch is staged; the lock is held.
    BeforeWrite,
    /// Before anything is durable; the lock is held.
    BeforeCommit,
    /// Everything is durable and visible; the lock is held and the caller does not know yet.
    AfterCommit,
}

/// How the next commit goes wrong.
pub enum CommitFault {
    /// Nothing is kept.
    Lost(Box<dyn Fn() -> StoreError + Send + Sync>),
    /// Everything is kept, and the caller is told an error all the same, as when a connection breaks too late.
    Kept(Box<dyn Fn() -> StoreError + Send + Sync>),
}

/// By which tests make a store in memory fail or stop.
#[derive(Default)]
pub struct Hooks {
    commit_fault: Mutex<Option<CommitFault>>,
    pauses: Mutex<Vec<Pause>>,
    unavailable: Arc<AtomicBool>,
}

struct Pause {
    point: Point,
    reached: oneshot::Sender<()>,
    go: oneshot::Receiver<()>,
}

/// One stop that was asked for. Dropping it lets go.
pub struct Paused {
    reached: Option<oneshot::Receiver<()>>,
    go: oneshot::Sender<()>,
}

impl Paused {
    /// Waits until somebody stands at the point.
    pub async fn reached(&mut self) {
        if let Some(reached) = self.reached.take() {
            // An error: the store is gone, and nobody will ever stand there.
            let _ = reached.await;
        }
    }

    /// Lets whoever stands there, or comes there, go on.
    pub fn go(self) {
        let _ = self.go.send(());
    }
}

impl Hooks {
    /// The next commit fails so.
    pub fn fail_next_commit(&self, fault: CommitFault) {
        *lock(&self.commit_fault) = Some(fault);
    }

    /// The next commit keeps nothing and says that the store is unavailable.
    pub fn lose_next_commit(&self) {
        self.fail_next_commit(CommitFault::Lost(Box::new(unavailable)));
    }

    /// The next commit keeps everything and says that the store is unavailable.
    pub fn keep_next_commit_but_fail(&self) {
        self.fail_next_commit(CommitFault::Kept(Box::new(unavailable)));
    }

    /// From now on reading and locking fail (true) or work again (false).
    pub fn set_unavailable(&self, away: bool) {
        self.unavailable.store(away, Ordering::SeqCst);
    }

    /// The next one to come to the point stops there until told to go. Stops at one point queue up.
    pub fn pause_at(&self, point: Point) -> Paused {
        let (reached, was_reached) = oneshot::channel();
        let (go, may_go) = oneshot::channel();
        lock(&self.pauses).push(Pause { point, reached, go: may_go });
        Paused { reached: Some(was_reached), go }
    }

    pub(super) async fn at(&self, point: Point) {
        let pause = {
            let mut pauses = lock(&self.pauses);
            let found = pauses.iter().position(|pause| pause.point == point);
            found.map(|index| pauses.remove(index))
        };
        if let Some(pause) = pause {
            let _ = pause.reached.send(());
            let _ = pause.go.await;
        }
    }

    pub(super) fn take_commit_fault(&self) -> Option<CommitFault> {
        lock(&self.commit_fault).take()
    }

    pub(super) fn reading(&self) -> Result<(), StoreError> {
        if self.unavailable.load(Ordering::SeqCst) { Err(unavailable()) } else { Ok(()) }
    }
}

fn unavailable() -> StoreError {
    StoreError::Unavailable { what: "a fault was asked for", source: None }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
