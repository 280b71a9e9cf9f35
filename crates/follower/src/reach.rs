//! Waiting for a version, which the stream may bring or the server may have. Owns that whoever asks for a version that
//! will never be holds nobody up; must not know what is in it.

use crate::{
    checks::CHECK_MAX,
    error::{FollowerError, NotReached},
    shared::Shared,
};
use charter_events::Offset;
use charter_policy::Policy;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How long to wait before the server is asked again for a version it does not have yet: doubling, …
const ASK_AGAIN_FIRST: Duration = Duration::from_millis(20);
/// … up to this.
const ASK_AGAIN_MAX: Duration = Duration::from_millis(500);

impl Shared {
    /// The policy at a version or a later one: the server is asked for what is missing at once.
    pub(crate) async fn at_least(&self, wanted: Offset, wait: Duration) -> Result<Arc<Policy>, NotReached> {
        if self.version() >= wanted {
            return Ok(Arc::clone(&self.state().policy));
        }
        let mut why = None;
        let reached = tokio::time::timeout(wait, self.reach(wanted, &mut why)).await;
        let state = self.state();
        let at = state.head.offset;
        match (reached, self.freshness.stopped()) {
            _ if at >= wanted => Ok(Arc::clone(&state.policy)),
            (_, Some(stopped)) => Err(NotReached::Stopped { wanted, at, stopped: stopped.clone() }),
            _ => Err(NotReached::InTime { wanted, at, why }),
        }
    }

    /// Whichever is first: it comes by itself, or the server has it.
    async fn reach(&self, wanted: Offset, why: &mut Option<String>) {
        let mut versions = self.versions();
        let is_over = |version: &Offset| *version >= wanted || self.freshness.stopped().is_some();
        let mut pause = ASK_AGAIN_FIRST;
        let asking = async {
            loop {
                *why = self.ask_for(wanted).await.err().map(|error| error.to_string());
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(ASK_AGAIN_MAX);
            }
        };
        tokio::select! {
            _ = versions.wait_for(is_over) => {}
            () = asking => {}
        }
    }

    /// Reads up to a version when the server has it. Of many who ask at once, one asks for all.
    async fn ask_for(&self, wanted: Offset) -> Result<(), FollowerError> {
        let began = Instant::now();
        if self.server_version() < wanted {
            let mut asked = self.asking.lock().await;
            if asked.is_none_or(|asked| asked < began) {
                *asked = Some(Instant::now());
                self.learn_head(CHECK_MAX).await?;
            }
        }
        if self.server_version() < wanted {
            return Ok(());
        }
        self.catch_up(Some(wanted)).await
    }

    fn server_version(&self) -> Offset {
        self.facts().server_version
    }
}
