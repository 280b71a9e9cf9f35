//! What the clock makes happen: ended grants are recorded, accounts whose time has come are erased, old rows are
//! forgotten, last uses are written. Decisions never wait for any of it. Of several servers one does it for all; only
//! the last uses are each server's own.

use crate::{
    backup,
    control::{Control, Inner},
    error::CommandError,
    following::{self, in_time},
    identity,
    request::{Request, RequestMeta},
    start, writer,
};
use charter_commands::{Command, EraseUser, ExpireGrants};
use charter_events::{Timestamp, UserId, Via};
use charter_policy::{Caller, UserStatus};
use charter_store::{FORGET_ROWS_MAX, Leadership, SecretWrite, Task, causes};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// Answers are kept a day and some more.
const ANSWERS_KEPT: Duration = Duration::from_secs(25 * 3_600);
/// Rows of ended sessions and tokens are kept a little, for whoever looks.
const ENDED_CREDENTIALS_KEPT: Duration = Duration::from_secs(24 * 3_600);
/// Old rows are looked for once in so many rounds.
const ROUNDS_BETWEEN_FORGETTING: u32 = 30;
/// How many accounts one round erases.
const ERASED_PER_ROUND_MAX: usize = 100;

pub(crate) async fn run(inner: Arc<Inner>) {
    let every = inner.config.housekeeping_every;
    let stop = inner.stop.clone();
    let control = Control { inner };
    let mut round: u32 = 0;
    while stop.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        control.housekeeping(round.is_multiple_of(ROUNDS_BETWEEN_FORGETTING)).await;
        round = round.wrapping_add(1);
    }
}

impl Control {
    /// One round of the clock's work; the background task does it on its own.
    pub async fn housekeeping(&self, forget_old_rows: bool) {
        let inner = &self.inner;
        inner.pasts.forget_idle();
        let _ = following::once(inner).await;
        following::measure_absence(inner);
        if inner.contact.is_lost() {
            return;
        }
        // Reading is not enough to know that writing works again.
        if inner.health.doubts_the_store() {
            writer::catch_up(inner).await;
        }
        identity::flush_last_uses(inner).await;
        if inner.forbids_writing().is_some() {
            return;
        }
        if let Err(error) = start::bring_catalog_up_to_date(self).await {
            tracing::warn!(error = %causes(&error), "core's catalog stays as it is for now");
        }
        if leads(inner).await {
            self.expire_grants().await;
            if forget_old_rows {
                self.erase_users().await;
                self.forget_old_rows().await;
            }
        }
        // Each server has its own, if it has one.
        backup::refresh_keys(inner).await;
    }

    /// Records ended grants, one bounded command after another.
    async fn expire_grants(&self) {
        while !self.policy().grants_ending_by(self.now(), 1).is_empty() {
            let before = self.head().offset;
            let result = self.by_clock(ExpireGrants {}.into(), Vec::new()).await;
            // A command that records nothing would record nothing again.
            if result.is_err() || self.head().offset == before {
                return;
            }
        }
    }

    async fn erase_users(&self) {
        // What can't be undone waits until both clocks say that it is time.
        let (policy, now) = (self.policy(), self.now().min(self.inner.config.clock.now()));
        let due = |user: &charter_policy::UserView<'_>| {
            user.status == UserStatus::AwaitingDeletion && user.erase_at.is_some_and(|at| at <= now)
        };
        let users: Vec<UserId> = policy.users().filter(due).map(|user| user.id).collect();
        let mut overdue = users.len();
        let mut erased = 0;
        for user in users {
            let secrets = vec![
                SecretWrite::DestroyUserKey { user },
                SecretWrite::RemovePassword { user },
                SecretWrite::RemoveCredentialsOf { user, kind: None },
            ];
            match self.by_clock(EraseUser { user }.into(), secrets).await {
                Ok(()) => {
                    self.inner.profiles.forget(user);
                    self.inner.keys_file.is_stale();
                    overdue = overdue.saturating_sub(1);
                    erased += 1;
                }
                // He keeps nobody else waiting.
                Err(CommandError::Refused(_)) => {
                    tracing::warn!(%user, "an account that is due is not erased")
                }
                // What failed for one would fail for all.
                Err(_) => break,
            }
            if erased >= ERASED_PER_ROUND_MAX {
                break;
            }
        }
        let overdue = u32::try_from(overdue).unwrap_or(u32::MAX);
        metrics::gauge!("charter_erasures_overdue").set(f64::from(overdue));
    }

    async fn by_clock(&self, command: Command, secrets: Vec<SecretWrite>) -> Result<(), CommandError> {
        let name = command.name();
        let request =
            Request { secrets, ..Request::new(Caller::System, command, RequestMeta::new(Via::System)) };
        match self.submit(request).await {
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(command = name, error = %causes(&error), "the clock's work was refused");
                Err(error)
            }
        }
    }

    async fn forget_old_rows(&self) {
        let now = self.inner.time();
        let store = &self.inner.store;
        while store.forget_answers_before(before(now, ANSWERS_KEPT)).await.is_ok_and(is_full) {}
        while store
            .forget_credentials_ended_before(before(now, ENDED_CREDENTIALS_KEPT))
            .await
            .is_ok_and(is_full)
        {}
    }
}

/// Whether this server does the clock's work for all of them. Two that both believe they lead do the same work twice,
/// and the second finds nothing to do.
async fn leads(inner: &Inner) -> bool {
    let mut lead = inner.housekeeper.lock().await;
    let leads = lead_of(inner, Task::Housekeeping, &mut lead).await;
    metrics::gauge!("charter_housekeeping_leads").set(if leads { 1.0 } else { 0.0 });
    leads
}

/// Whether this server leads a task; takes the lead when nobody has it.
pub(crate) async fn lead_of(inner: &Inner, task: Task, lead: &mut Option<Box<dyn Leadership>>) -> bool {
    let wait = inner.config.store_wait;
    if let Some(held) = lead.as_mut()
        && !timeout(wait, held.holds()).await.unwrap_or(false)
    {
        *lead = None;
    }
    if lead.is_none() {
        match in_time(wait, "taking the lead of a task", inner.store.lead(task)).await {
            Ok(taken) => *lead = taken,
            Err(error) => {
                tracing::warn!(?task, error = %causes(&error), "it is not known who leads a task");
            }
        }
    }
    lead.is_some()
}

const fn is_full(rows: usize) -> bool {
    rows >= FORGET_ROWS_MAX
}

fn before(now: Timestamp, length: Duration) -> Timestamp {
    now.saturating_add_micros(-i64::try_from(length.as_micros()).unwrap_or(i64::MAX))
}
