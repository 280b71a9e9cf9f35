//! The runner of read models in tables: follows the published versions, rebuilds generations beside the one that is
//! read, and has a good one read in its place. Of several servers one does it for all.
//!
//! What is safe here is safe by the store: rows and checkpoint move together by compare-and-set, and one row says which
//! generation is read. Two runners would be waste, never wrong. Nothing a decision needs is here: when the tables stand
//! still, questions and commands go on.
//!
//! - [`project`]: from events to rows. [`line`]: generations at the same event move on together.
//! - [`worker`]: what there is to do, from the generations and operations the store keeps. [`lines`]: its lines, step
//!   by step. [`history`]: the state a generation stands at, and whether it is of this log.
//! - [`build`]: how an operation comes along. [`finish`]: its last steps. [`stumbles`]: what if it can't go on.
//!   [`targets`]: which generation an operation is about.
//! - [`asked`]: what people ask of it. [`shown`]: what it tells of itself.

mod asked;
mod build;
mod finish;
mod history;
mod line;
mod lines;
mod project;
mod shown;
mod stumbles;
mod targets;
mod worker;

pub use asked::{AfterBuild, ProjectionError};
pub(crate) use history::head_at;
pub(crate) use shown::Tables;
pub use shown::{GenerationState, ProjectionState, ProjectionStatus};

use crate::control::Inner;
use charter_events::Offset;
use charter_store::causes;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::sleep};
use worker::{Turn, Worker};

/// Changes that come thicker than this are taken together.
const TURNS_APART_MIN: Duration = Duration::from_millis(10);
/// How soon the tables are tried again after a failure: at first, and at most.
const FAILED_PAUSE_MIN: Duration = Duration::from_millis(100);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Says so when the runner ends without having been told to: a panic.
struct Ends(Arc<Inner>, bool);

impl Drop for Ends {
    fn drop(&mut self) {
        if !self.1 {
            tracing::error!("the runner of the tables has ended");
            self.0.tables.ended();
        }
    }
}

/// Keeps the tables until the server stops.
pub(crate) async fn run(inner: Arc<Inner>) {
    if inner.config.projections.is_empty() {
        return;
    }
    let mut ends = Ends(Arc::clone(&inner), false);
    inner.stop.run_until_cancelled(again(&inner)).await;
    ends.1 = true;
}

async fn again(inner: &Arc<Inner>) {
    let mut worker = Worker::new(Arc::clone(inner));
    let mut versions = inner.published.versions();
    let mut pause = FAILED_PAUSE_MIN;
    let mut failing = false;
    loop {
        match worker.turn().await {
            Ok(Turn::NotKept) => return tracing::info!("this store keeps no tables"),
            Ok(turn) => {
                (failing, pause) = (false, FAILED_PAUSE_MIN);
                match turn {
                    Turn::More => tokio::task::yield_now().await,
                    _ => rest(inner, &mut worker, &mut versions).await,
                }
            }
            Err(error) => {
                if !failing {
                    tracing::warn!(error = %causes(&error), "the tables can't be kept up to date");
                }
                failing = true;
                worker.look_again();
                sleep(pause).await;
                pause = (pause * 2).min(FAILED_PAUSE_MAX);
            }
        }
    }
}

/// Until there may be something to do.
async fn rest(inner: &Inner, worker: &mut Worker, versions: &mut watch::Receiver<Offset>) {
    sleep(TURNS_APART_MIN).await;
    tokio::select! {
        _ = versions.changed() => {}
        () = inner.operations.asked.notified() => worker.look_again(),
        () = sleep(inner.config.tables_look_every) => {}
    }
}
