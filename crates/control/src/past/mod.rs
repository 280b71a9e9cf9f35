//! The state at any past version: from the nearest state before it that is at hand, and what follows in the log.
//!
//! Owns what asking about the past may cost: how many states are kept, how many are folded at once, how long is waited.
//! Must not know who asks; whether he may is judged by the present policy, elsewhere.

mod folds;
mod kept;

pub(crate) use folds::Pasts;

use crate::{
    control::Control,
    load::{self, Folding, LoadError},
    published::State,
};
use charter_events::{Head, Offset, Timestamp, UserId};
use charter_policy::Policy;
use charter_store::{
    Store, StoreError, chain,
    past::{self, AsOf, NoVersion, Version},
};
use std::sync::Arc;

/// The state at a past version, and the moment to judge at.
#[derive(Clone)]
pub struct Past {
    /// The policy then.
    pub policy: Arc<Policy>,
    /// The moment asked for, or the one at which the version's last event was recorded: what expired later is live.
    pub now: Timestamp,
    /// Where the log ended then.
    pub head: Head,
}

impl std::fmt::Debug for Past {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Past").field("head", &self.head).field("now", &self.now).finish_non_exhaustive()
    }
}

/// Why there is no answer about the past.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AsOfError {
    /// It is yet to come (422).
    #[error("`{asked}` is beyond the end of the log, which is at offset {head}")]
    BeyondHead {
        /// What was asked for.
        asked: AsOf,
        /// The last event's offset.
        head: Offset,
    },
    /// No command was complete then (422).
    #[error("`{asked}` is before the first command was complete")]
    BeforeFirstEvent {
        /// What was asked for.
        asked: AsOf,
    },
    /// As many questions about the past wait for a state as may (503): try again in a moment.
    #[error("too many questions about the past are being answered")]
    Busy,
    /// The state is still being replayed (503): the same question, asked again later, finds it.
    #[error("the state then is still being replayed from the log")]
    StillFolding,
    /// The log can't be read (503).
    #[error("the log can't be read")]
    Unavailable(#[source] Arc<LoadError>),
    /// An event on the way is damaged, or this build can't read it (500).
    #[error("the log can't be replayed to there")]
    Unreadable(#[source] Arc<LoadError>),
}

impl AsOfError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BeyondHead { .. } => "beyond_head",
            Self::BeforeFirstEvent { .. } => "before_first_event",
            Self::Busy => "overloaded",
            Self::StillFolding => "still_replaying",
            Self::Unavailable(_) => "unavailable",
            Self::Unreadable(_) => "internal",
        }
    }
}

impl From<NoVersion> for AsOfError {
    fn from(error: NoVersion) -> Self {
        match error {
            NoVersion::BeyondHead { asked, head } => Self::BeyondHead { asked, head },
            NoVersion::BeforeFirstEvent { asked } => Self::BeforeFirstEvent { asked },
            NoVersion::Store(error) => Arc::new(LoadError::Store(error)).into(),
        }
    }
}

impl From<Arc<LoadError>> for AsOfError {
    fn from(error: Arc<LoadError>) -> Self {
        match error.as_ref() {
            LoadError::Store(StoreError::Damaged(_))
            | LoadError::Damaged(_)
            | LoadError::Unknown { .. }
            | LoadError::Inconsistent { .. } => Self::Unreadable(error),
            LoadError::Store(_) => Self::Unavailable(error),
        }
    }
}

impl Control {
    /// The state as of an offset or a time. What other servers have committed counts, also when it is not shown here
    /// yet. Of a large log this may take long: it is bounded, and what was not ready in time is so soon.
    ///
    /// # Errors
    /// [`AsOfError`].
    pub async fn as_of(&self, asked: AsOf) -> Result<Past, AsOfError> {
        let inner = &self.inner;
        let beyond = |head: &Head| match asked {
            AsOf::Offset(offset) => offset > head.offset,
            AsOf::Time(moment) => moment > head.recorded_at,
        };
        let mut published = inner.published.load();
        if beyond(&published.head) && self.follow_others().await {
            published = inner.published.load();
        }
        let log = inner.store.as_ref();
        let Version { head, now } = past::version(log, &published.head, asked, self.now()).await?;
        let state =
            if head.offset == published.head.offset { published } else { folds::state(inner, head).await? };
        Ok(Past { policy: Arc::clone(&state.policy), now, head })
    }

    /// A user as a question about the past names him: by his id, by a name he has now, or by one he had then and nobody
    /// in the past view has now. Who was erased since is known by his id alone, as everywhere.
    pub fn resolve_past_user(&self, then: &Policy, text: &str) -> Option<UserId> {
        let now = self.policy();
        let was_there = |user: &UserId| then.user(*user).is_some();
        let has_a_name = |user: &UserId| now.user(*user).is_some_and(|view| view.profile.is_some());
        let by_present_name = self.resolve_user(&now, text).filter(was_there);
        by_present_name.or_else(|| self.resolve_user(then, text).filter(has_a_name))
    }
}

/// The state when the log ended with a head it once had.
///
/// # Errors
/// [`LoadError`].
pub(crate) async fn state_at(store: &dyn Store, head: Head) -> Result<Arc<State>, LoadError> {
    let snapshot = load::usable_snapshot(store, &head).await?;
    let (policy, at) = snapshot.unwrap_or_else(|| (Policy::new(), chain::empty(head.log_id)));
    folded(store, Folding::new(policy, at), head).await
}

async fn folded(store: &dyn Store, mut folding: Folding, head: Head) -> Result<Arc<State>, LoadError> {
    load::fold_until(store, &mut folding, &head, None).await?;
    Ok(Arc::new(State { policy: Arc::new(folding.policy), head }))
}
