//! The follower as a service sees it: start, ask, wait for a version, see how it is doing, end.

use crate::{
    api::Api,
    checks,
    config::FollowerConfig,
    error::{FollowerError, NotFresh, NotReached},
    facts::Status,
    follow,
    shared::{Shared, State},
    snapshots,
};
use charter_events::{Offset, PermissionKey, Scope, StoredEvent, Timestamp, UserId};
use charter_policy::{
    AccessControl, AccessError, AllowedObjects, Caller, Decision, EffectiveEntry, Page, Policy,
};
use charter_store::chain;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A policy in this process, kept up to date. Clones are the same one; when the last is dropped, following ends.
#[derive(Clone)]
pub struct Follower {
    shared: Arc<Shared>,
    running: Arc<Running>,
}

struct Running {
    stop: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    _ends_with_the_last: DropGuard,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("version", &self.shared.version()).finish_non_exhaustive()
    }
}

impl Follower {
    /// Starts: takes its newest snapshot when the server's log still holds the event it ends with, reads and verifies
    /// everything after it, and follows from there. Needs a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// [`FollowerError`]: an address or token that can't be right, a server that can't be reached, a log that can't be
    /// folded. Afterwards none of this ends it: it tries again, and says in [`Follower::status`] what is wrong.
    pub async fn start(config: FollowerConfig) -> Result<Self, FollowerError> {
        let api = Api::new(&config)?;
        let (head, _) = api.head(config.request_timeout).await?;
        let snapshot = match &config.folder {
            None => None,
            Some(folder) => snapshots::newest(folder, &api, head).await?,
        };
        let (policy, at) = snapshot.unwrap_or_else(|| (Policy::new(), chain::empty(head.log_id)));
        let last = snapshots::Last::new(at.offset);
        tracing::info!(server = api.server, from = %at.offset, to = %head.offset, "the log is read");
        let shared = Arc::new(Shared::new(api, config, policy, at));
        shared.check(shared.config.request_timeout).await?;
        if shared.freshness.age() > shared.config.check_every {
            // Reading all of it took so long that more has happened.
            shared.check(shared.config.request_timeout).await?;
        }
        let stop = CancellationToken::new();
        let mut tasks = vec![tokio::spawn({
            let (shared, stop) = (Arc::clone(&shared), stop.clone());
            async move {
                let telling = checks::tell(&shared);
                tokio::select! {
                    () = stop.cancelled() => {}
                    // It goes on after a stop.
                    ((), ()) = async { tokio::join!(follow::run(&shared), telling) } => {}
                }
            }
        })];
        if shared.config.folder.is_some() {
            tasks.push(tokio::spawn(snapshots::keep(Arc::clone(&shared), last, stop.clone())));
        }
        let running =
            Running { _ends_with_the_last: stop.clone().drop_guard(), stop, tasks: Mutex::new(tasks) };
        Ok(Self { shared, running: Arc::new(running) })
    }

    /// The newest policy, while it is known to be new enough to decide by. A request takes it once and answers from it
    /// throughout: it never changes.
    ///
    /// # Errors
    /// [`NotFresh`]: the server has not confirmed the state for longer than
    /// [`FollowerConfig::stale_max`], or the follower has stopped. Whoever gets this refuses.
    pub fn fresh_policy(&self) -> Result<Arc<Policy>, NotFresh> {
        self.shared.fresh().map(|state| Arc::clone(&state.policy))
    }

    /// The newest policy there is, however old: to look at, not to decide by, for that
    /// [`Follower::fresh_policy`] is there.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.shared.state().policy)
    }

    /// The version of the newest policy.
    pub fn version(&self) -> Offset {
        self.shared.version()
    }

    /// The newest policy once it is at least at this version, such as the `Policy-Version` of an answer of the
    /// server. What is missing is asked for at once; it is not waited for the stream to bring it. It may be old all the
    /// same: to decide, ask [`Follower::fresh_policy`] afterwards, which is at that version or a later one too.
    ///
    /// # Errors
    /// [`NotReached`] when `wait` has passed, or the follower stopped before the version.
    pub async fn at_least(&self, version: Offset, wait: Duration) -> Result<Arc<Policy>, NotReached> {
        self.shared.at_least(version, wait).await
    }

    /// One decision at the newest version, which stands in the answer. A user, permission or object that is not known
    /// is denied.
    ///
    /// # Errors
    /// [`NotFresh`]: nobody can say, so refuse.
    pub fn check(
        &self,
        user: UserId,
        permission: &PermissionKey,
        scope: Scope,
        now: Timestamp,
    ) -> Result<Decision, NotFresh> {
        self.fresh_policy().map(|policy| policy.check(user, permission, scope, now))
    }

    /// The moment to judge at: the clock's, but never before the last event, so that a clock that steps back undoes
    /// no expiry.
    pub fn now(&self) -> Timestamp {
        moment(&self.shared.state())
    }

    fn ask(&self) -> Result<Asked, AccessError> {
        let state = self.shared.fresh().map_err(|error| AccessError::Unavailable(error.to_string()))?;
        Ok(Asked { now: moment(&state), policy: Arc::clone(&state.policy) })
    }

    /// How it is doing.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Tells of each new version, and of a stop.
    pub fn versions(&self) -> watch::Receiver<Offset> {
        self.shared.versions()
    }

    /// The events from now on, as they are applied; those of a command that is not complete come before its version
    /// shows. A reader who is thousands behind misses some and is told how many.
    pub fn events(&self) -> broadcast::Receiver<Arc<StoredEvent>> {
        self.shared.events()
    }

    /// Stops following and writes a snapshot. What other clones answer stays as it is.
    pub async fn shutdown(self) {
        self.running.stop.cancel();
        let tasks = std::mem::take(&mut *self.running.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the follower ended badly");
            }
        }
    }
}

fn moment(state: &State) -> Timestamp {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let clock = i64::try_from(micros).ok().and_then(Timestamp::from_micros);
    clock.unwrap_or(Timestamp::MAX).max(state.head.recorded_at)
}

/// A policy that is new enough, and the moment of the question.
struct Asked {
    policy: Arc<Policy>,
    now: Timestamp,
}

/// The same questions as use cases ask them, at the newest version and [`Follower::now`]. Several questions that must
/// fit together are asked of one [`Follower::fresh_policy`]. Where that is [`NotFresh`] each is
/// [`AccessError::Unavailable`].
impl AccessControl for Follower {
    fn is_allowed(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scope: Scope,
    ) -> Result<Decision, AccessError> {
        let Asked { policy, now } = self.ask()?;
        policy.at(now).is_allowed(actor, permission, scope)
    }

    fn is_allowed_batch(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        scopes: &[Scope],
    ) -> Result<Vec<Decision>, AccessError> {
        let Asked { policy, now } = self.ask()?;
        policy.at(now).is_allowed_batch(actor, permission, scopes)
    }

    fn effective(&self, actor: &Caller, scope: Scope) -> Result<Vec<EffectiveEntry>, AccessError> {
        let Asked { policy, now } = self.ask()?;
        policy.at(now).effective(actor, scope)
    }

    fn allowed_objects(
        &self,
        actor: &Caller,
        permission: &PermissionKey,
        of: &str,
        page: Page,
    ) -> Result<AllowedObjects, AccessError> {
        let Asked { policy, now } = self.ask()?;
        policy.at(now).allowed_objects(actor, permission, of, page)
    }

    fn require(&self, actor: &Caller, permission: &PermissionKey, scope: Scope) -> Result<(), AccessError> {
        let Asked { policy, now } = self.ask()?;
        policy.at(now).require(actor, permission, scope)
    }
}
