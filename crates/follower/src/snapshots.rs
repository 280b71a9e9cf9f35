//! A follower's own snapshots, so that a start need not read the whole log: used only when the server's log still
//! holds the event they end with. One that is doubtful or can't be written is a slower start, nothing else.

use crate::{api::Api, error::FollowerError, shared::Shared};
use async_trait::async_trait;
use charter_events::{Head, Offset, StoredEvent, Timestamp};
use charter_policy::Policy;
use charter_store::{
    Answer, Append, IdempotencyKey, Ignored, Loaded, LogStore, Snapshot, SnapshotHeader, StoreError, Wanted,
    chain, snapshot_files::SnapshotFiles,
};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio_util::sync::CancellationToken;

/// Another build may fold otherwise, so its snapshots are not read.
const CODE_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("CHARTER_FOLD"));

/// The newest snapshot in a folder that belongs to the server's log, and the head it was made at.
pub(crate) async fn newest(
    folder: &Path,
    api: &Api,
    head: Head,
) -> Result<Option<(Policy, Head)>, FollowerError> {
    let wanted = Wanted {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: CODE_VERSION.to_owned(),
        at_most: Some(head.offset),
    };
    let log = ServersLog { api: api.clone(), head };
    let Loaded { snapshot, ignored } = match SnapshotFiles::new(folder).latest(&log, &wanted).await {
        Ok(loaded) => loaded,
        Err(error) => return Err(unreachable(api, &error)),
    };
    for Ignored { name, why } in ignored {
        tracing::info!(name, why, "a snapshot is ignored");
    }
    let Some(Snapshot { header, body }) = snapshot else { return Ok(None) };
    let Some(at) = anchor(api, head, &header).await? else {
        tracing::warn!(offset = %header.offset, "a snapshot that does not end with a command of the log is ignored");
        return Ok(None);
    };
    let read = tokio::task::spawn_blocking(move || Policy::from_snapshot(&body)).await;
    match read {
        Ok(Ok(policy)) if policy.version() == at.offset => Ok(Some((policy, at))),
        _ => {
            tracing::warn!(offset = %at.offset, "an unreadable snapshot is ignored");
            Ok(None)
        }
    }
}

/// The head as it was where a snapshot was made, when a command ends there and its record has its hash.
async fn anchor(api: &Api, head: Head, header: &SnapshotHeader) -> Result<Option<Head>, FollowerError> {
    let Some(before) = header.offset.get().checked_sub(1).and_then(Offset::new) else { return Ok(None) };
    let page = api.page(before, 1).await?;
    let fits = |event: &&StoredEvent| {
        event.offset == header.offset && event.hash == header.hash && event.ends_command()
    };
    let Some(event) = page.first().filter(fits) else { return Ok(None) };
    let previous =
        Head { log_id: head.log_id, offset: before, hash: event.prev_hash, recorded_at: Timestamp::MIN };
    Ok(chain::verify(&previous, event).ok())
}

fn unreachable(api: &Api, error: &StoreError) -> FollowerError {
    FollowerError::Unreachable { server: api.server.clone(), why: error.to_string() }
}

/// When the last snapshot was written.
pub(crate) struct Last(AtomicU64);

impl Last {
    pub(crate) const fn new(version: Offset) -> Self {
        Self(AtomicU64::new(version.get()))
    }
}

/// Writes one whenever enough events have come since the last, until told to end; then one more.
pub(crate) async fn keep(shared: Arc<Shared>, last: Last, stop: CancellationToken) {
    let mut versions = shared.versions();
    while stop.run_until_cancelled(versions.changed()).await.is_some() {
        let since = versions.borrow_and_update().get().saturating_sub(last.0.load(Ordering::Relaxed));
        if since >= shared.config.snapshot_every_events {
            write(&shared, &last).await;
        }
    }
    write(&shared, &last).await;
}

async fn write(shared: &Shared, last: &Last) {
    let Some(folder) = &shared.config.folder else { return };
    let state = shared.state();
    let version = state.head.offset;
    if version.get() <= last.0.load(Ordering::Relaxed) {
        return;
    }
    let policy = Arc::clone(&state.policy);
    // Encoding a large policy takes seconds of processor time: off the async threads.
    let body = match tokio::task::spawn_blocking(move || policy.to_snapshot()).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => return tracing::error!(%error, "no snapshot could be made"),
        Err(error) => return tracing::error!(%error, "no snapshot could be made"),
    };
    let bytes = body.len();
    let header = SnapshotHeader {
        format: Policy::SNAPSHOT_FORMAT,
        code_version: CODE_VERSION.to_owned(),
        log_id: state.head.log_id,
        offset: version,
        hash: state.head.hash,
    };
    match SnapshotFiles::new(folder).save(Snapshot { header, body }).await {
        Ok(()) => {
            last.0.fetch_max(version.get(), Ordering::Relaxed);
            tracing::info!(%version, bytes, "snapshot written");
        }
        Err(error) => tracing::error!(%error, "no snapshot could be written"),
    }
}

/// The server's log as the port that snapshots are checked against: reading only.
struct ServersLog {
    api: Api,
    head: Head,
}

#[async_trait]
impl LogStore for ServersLog {
    async fn head(&self) -> Result<Head, StoreError> {
        Ok(self.head)
    }

    async fn read(&self, after: Offset, limit: usize) -> Result<Vec<StoredEvent>, StoreError> {
        let page = self.api.page(after, limit).await;
        page.map_err(|error| StoreError::unavailable("reading the server's log", error))
    }

    async fn append(&self) -> Result<Box<dyn Append>, StoreError> {
        Err(StoreError::ReadOnly)
    }

    async fn kept_answer(&self, _key: &IdempotencyKey) -> Result<Option<Answer>, StoreError> {
        Ok(None)
    }

    async fn forget_answers_before(&self, _moment: Timestamp) -> Result<usize, StoreError> {
        Err(StoreError::ReadOnly)
    }
}
