//! The policy everyone reads: one pointer, swapped when a command's events are durable, and a bell for those who
//! wait for a version.

use crate::error::VersionNotReached;
use arc_swap::ArcSwap;
use charter_events::{Head, Offset};
use charter_policy::Policy;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// A policy and the end of the log it was folded from.
pub(crate) struct State {
    pub(crate) policy: Arc<Policy>,
    pub(crate) head: Head,
}

/// The newest state. Only the writer's task publishes, so versions never go back.
pub(crate) struct Published {
    state: ArcSwap<State>,
    version: watch::Sender<Offset>,
}

impl Published {
    pub(crate) fn new(policy: Policy, head: Head) -> Self {
        let state = State { policy: Arc::new(policy), head };
        Self { version: watch::Sender::new(head.offset), state: ArcSwap::from_pointee(state) }
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

    pub(crate) fn publish(&self, policy: Policy, head: Head) {
        self.state.store(Arc::new(State { policy: Arc::new(policy), head }));
        self.version.send_replace(head.offset);
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; offsets stay far below 2^53")]
        metrics::gauge!("charter_policy_version").set(head.offset.get() as f64);
    }

    /// The newest policy, which is at least at the version; waits for it no longer than said.
    pub(crate) async fn at_least(
        &self,
        wanted: Offset,
        wait: Duration,
    ) -> Result<Arc<Policy>, VersionNotReached> {
        let mut versions = self.version.subscribe();
        let reached = tokio::time::timeout(wait, versions.wait_for(|version| *version >= wanted)).await;
        let policy = self.policy();
        match reached {
            _ if policy.version() >= wanted => Ok(policy),
            Ok(_) | Err(_) => Err(VersionNotReached { wanted, at: policy.version() }),
        }
    }
}
