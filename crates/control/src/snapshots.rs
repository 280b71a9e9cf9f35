//! Snapshots of the policy: on a schedule and at the end. One that can't be written is a slower start, nothing else.

use crate::control::Inner;
use charter_events::Offset;
use charter_policy::Policy;
use charter_store::{Snapshot, SnapshotHeader, causes};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Another build may fold otherwise, so its snapshots are not read: the version, and a hash of the fold's sources.
pub const CODE_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("CHARTER_FOLD"));

/// The version of the last snapshot.
pub(crate) struct Last(AtomicU64);

impl Last {
    pub(crate) const fn new(version: Offset) -> Self {
        Self(AtomicU64::new(version.get()))
    }
}

/// Looks now and then whether enough happened, or enough time passed, since the last snapshot.
pub(crate) async fn run(inner: Arc<Inner>) {
    let config = &inner.config;
    let mut looked = Instant::now();
    while inner.stop.run_until_cancelled(tokio::time::sleep(config.snapshot_check_every)).await.is_some() {
        let version = inner.published.version().get();
        let since = version.saturating_sub(inner.last_snapshot.0.load(Ordering::Relaxed));
        if since >= config.snapshot_every_events || looked.elapsed() >= config.snapshot_every {
            write_if_newer(&inner).await;
            looked = Instant::now();
        }
    }
}

/// Writes a snapshot of the published policy unless the last one is of the same version.
pub(crate) async fn write_if_newer(inner: &Arc<Inner>) {
    let state = inner.published.load();
    let version = state.head.offset;
    if version.get() <= inner.last_snapshot.0.load(Ordering::Relaxed) {
        return;
    }
    let began = Instant::now();
    let policy = Arc::clone(&state.policy);
    // Encoding a large policy takes seconds of processor time: off the async threads.
    let body = match tokio::task::spawn_blocking(move || policy.to_snapshot()).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => return tracing::error!(error = %causes(&error), "no snapshot could be made"),
        Err(error) => return tracing::error!(error = %causes(&error), "no snapshot could be made"),
    };
    let bytes = body.len();
    let header = SnapshotHeader {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: CODE_VERSION.to_owned(),
        log_id: state.head.log_id,
        offset: version,
        hash: state.head.hash,
    };
    match inner.store.save(Snapshot { header, body }).await {
        Ok(()) => {
            inner.last_snapshot.0.fetch_max(version.get(), Ordering::Relaxed);
            tracing::info!(%version, bytes, took = ?began.elapsed(), "snapshot written");
        }
        Err(error) => tracing::error!(error = %causes(&error), "no snapshot could be written"),
    }
}
