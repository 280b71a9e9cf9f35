//! Asking the server where its log ends, and comparing: the only thing that makes answers fresh, and what finds events
//! that never came and logs that were set back. Must not know which way the events come.

use crate::{
    error::{FollowerError, Stopped},
    shared::Shared,
};
use charter_events::{Head, Offset};
use std::time::{Duration, Instant};
use tokio::time::{Instant as At, MissedTickBehavior, interval, interval_at, sleep, timeout};

/// How long the server has to say where its log ends, where something else goes on meanwhile.
pub(crate) const CHECK_MAX: Duration = Duration::from_secs(2);
/// How long what the server has may be on its way here before it is read.
const ON_ITS_WAY_MAX: Duration = Duration::from_millis(500);
/// How often it is then read.
const READS_MAX: u32 = 10;
/// The longest time between checks.
const CHECK_EVERY_MAX: Duration = Duration::from_secs(3_600);
/// How often it is told how old the answers may be.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Where the server said its log ends.
pub(crate) struct Learnt {
    head: Head,
    /// When it was asked, …
    asked: Instant,
    /// … and for how long it had not been sure itself.
    stale: Duration,
    /// It ends before what was followed when it was asked.
    is_behind: bool,
}

impl Shared {
    /// Asks the server where its log ends, and compares with what was followed: two histories stop it.
    pub(crate) async fn learn_head(&self, wait: Duration) -> Result<Learnt, FollowerError> {
        let (before, asked) = (self.at(), Instant::now());
        let (head, stale) = self.api.head(wait).await?;
        if head.log_id != before.log_id {
            return Err(self.stop(Stopped::OtherLog { known: before.log_id, found: head.log_id }).into());
        }
        let known = self.fold().known_hash(head.offset);
        if known.is_some_and(|known| known != head.hash) {
            return Err(self.stop(Stopped::Fork { offset: head.offset }).into());
        }
        let mut facts = self.facts();
        facts.heard = Instant::now();
        facts.server_version = facts.server_version.max(head.offset);
        Ok(Learnt { head, asked, stale, is_behind: head.offset < before.offset })
    }

    /// Asks the server where its log ends, reads what is missing here, and notes that this is the server's state.
    pub(crate) async fn check(&self, wait: Duration) -> Result<(), FollowerError> {
        let learnt = self.learn_head(wait).await?;
        self.read_to(learnt.head.offset).await?;
        self.confirm(&learnt);
        Ok(())
    }

    /// Reads up to where the server's log ends. It may have said so a moment before it shows the events there.
    async fn read_to(&self, end: Offset) -> Result<(), FollowerError> {
        for _ in 0..READS_MAX {
            if self.version() >= end {
                break;
            }
            self.catch_up(Some(end)).await?;
            if self.version() < end {
                sleep(ON_ITS_WAY_MAX / READS_MAX).await;
            }
        }
        Ok(())
    }

    /// Notes that the state here is the server's, if it is.
    fn confirm(&self, learnt: &Learnt) {
        let Learnt { head, asked, stale, is_behind } = *learnt;
        let (known, at) = {
            let fold = self.fold();
            (fold.known_hash(head.offset), fold.head().offset)
        };
        if is_behind {
            let end = head.offset;
            let why = "it lags behind others, or was set back";
            return self.check_trouble(Some(format!("the server's log ends at {end}, before {at}: {why}")));
        }
        if known != Some(head.hash) {
            let what = format!("the server's log goes on to {}, but its events have not come", head.offset);
            return self.check_trouble(Some(what));
        }
        self.freshness.confirm(asked, stale);
        self.check_trouble(None);
    }

    /// Whether events come without being asked for: what has not come after a moment is read.
    async fn look(&self) -> Result<(), FollowerError> {
        let learnt = self.learn_head(CHECK_MAX).await?;
        let end = learnt.head.offset;
        let mut versions = self.versions();
        let kept_up = self.at().offset >= end
            || timeout(ON_ITS_WAY_MAX, versions.wait_for(|version| *version >= end)).await.is_ok();
        self.silent_checks.send_modify(|count| *count = if kept_up { 0 } else { count.saturating_add(1) });
        self.read_to(end).await?;
        self.confirm(&learnt);
        Ok(())
    }
}

/// Checks again and again, until it finds what can never come right.
pub(crate) async fn run(shared: &Shared) {
    // several in the time that answers may be old
    let every = shared.config.stale_max.map_or(Duration::MAX, |max| max / 3).min(shared.config.check_every);
    let every = every.clamp(Duration::from_millis(1), CHECK_EVERY_MAX);
    let mut ticks = interval_at(At::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match shared.look().await {
            Ok(()) => {}
            Err(FollowerError::Stopped(_)) => return,
            Err(error) => shared.check_trouble(Some(error.to_string())),
        }
    }
}

/// Records how old the answers may be, for ever.
pub(crate) async fn tell(shared: &Shared) {
    metrics::gauge!("charter_follower_stopped").set(0.0);
    let mut ticks = interval(TELL_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        metrics::gauge!("charter_follower_stale_seconds").set(shared.freshness.age().as_secs_f64());
    }
}
