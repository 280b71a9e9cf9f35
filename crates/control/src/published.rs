//! The policy everyone reads: one pointer, swapped when events are durable, and a bell for those who
//! wait for a version.

use crate::error::VersionNotReached;
use arc_swap::ArcSwap;
use charter_events::{Head, Offset};
use charter_policy::Policy;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// A policy and the end of the log it was folded from.
pub(crate) struct State {
    pub(crate) policy: Arc<Policy>,
    pub(crate) head: Head,
}

/// The newest state. Versions never go back.
pub(crate) struct Published {
    state: ArcSwap<State>,
    publishing: Mutex<()>,
    version: watch::Sender<Offset>,
}

impl Published {
    pub(crate) fn new(policy: Policy, head: Head) -> Self {
        let state = State { policy: Arc::new(policy), head };
        Self {
            version: watch::Sender::new(head.offset),
            state: ArcSwap::from_pointee(state),
            publishing: Mutex::new(()),
        }
    }

    pub(crate) fn load(&self) -> Arc<State> {
        self.state.load_full()
    }

    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.state.load().policy)
    }

    pub(crate) fn version(&self) -> Offset {
        self.state.load().head.offset
    }

    pub(crate) fn versions(&self) -> watch::Receiver<Offset> {
        self.version.subscribe()
    }

    /// Replaces an earlier state, and gives the one that is published then. Writer and follower may both come with what
    /// others appended: whoever is later changes nothing, for it is the same log.
    pub(crate) fn publish(&self, policy: Policy, head: Head) -> Arc<State> {
        let _one_at_a_time = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.load();
        if head.offset <= now.head.offset {
            return now;
        }
        let state = Arc::new(State { policy: Arc::new(policy), head });
        self.state.store(Arc::clone(&state));
        self.version.send_replace(head.offset);
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; offsets stay far below 2^53")]
        metrics::gauge!("charter_policy_version").set(head.offset.get() as f64);
        state
    }

    /// The newest policy, which is at least at the version; waits for it no longer than said.
    pub(crate) async fn at_least(
        &self,
        wanted: Offset,
        wait: Duration,
    ) -> Result<Arc<Policy>, VersionNotReached> {
        let policy = self.policy();
        if policy.version() >= wanted {
            return Ok(policy);
        }
        let mut versions = self.version.subscribe();
        let reached = tokio::time::timeout(wait, versions.wait_for(|version| *version >= wanted)).await;
        let policy = self.policy();
        match reached {
            _ if policy.version() >= wanted => Ok(policy),
            Ok(_) | Err(_) => Err(VersionNotReached { wanted, at: policy.version() }),
        }
    }
}
