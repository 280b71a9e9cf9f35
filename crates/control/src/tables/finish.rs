//! The last steps of an operation: a generation that is read is recorded, and those nobody needs are removed.

use super::{
    build::{About, Compared, Phase},
    line::WorkError,
    targets::{self, REBUILD, REPAIR, SWITCH},
    worker::Worker,
};
use crate::{
    control::{Control, Inner},
    error::CommandError,
    operations::shortened,
    request::{Request, RequestMeta},
};
use charter_commands::RecordRebuild;
use charter_events::{Hash, ProjectionRebuilt, UserId, Via};
use charter_policy::Caller;
use charter_store::{Generation, OperationState, StoreError, causes};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How soon it is tried again to record a rebuild.
const RECORD_AGAIN: Duration = Duration::from_secs(1);

impl Worker {
    /// The generation is read: what is left is to record it, and to remove what nobody needs.
    pub(super) async fn complete(&mut self, about: About) -> Result<(), WorkError> {
        let id = about.operation.id;
        let replaced = self.generations.iter().any(|one| one.projection == about.name() && !one.active);
        let recorded = [REBUILD, REPAIR, SWITCH].contains(&about.operation.kind.as_str())
            && (replaced || about.operation.asked_by.is_some());
        if recorded && !self.is_recorded(&about).await? {
            return Ok(());
        }
        self.remove_needless(&about).await?;
        let at = about.generation.checkpoint.offset;
        let detail = format!("generation {} is read from offset {at} on", about.number());
        self.works.remove(&id);
        self.end(&about.reached(), OperationState::Done, &detail).await
    }

    /// Records the rebuild, once however often it is tried; tells whether it is done.
    async fn is_recorded(&mut self, about: &About) -> Result<bool, WorkError> {
        let id = about.operation.id;
        let work = self.works.entry(id).or_default();
        match std::mem::take(&mut work.phase) {
            Phase::Recording(task) if !task.is_finished() => {
                work.phase = Phase::Recording(task);
                Ok(false)
            }
            Phase::Recording(task) => match task.await {
                Ok(Ok(())) => Ok(true),
                Ok(Err(error)) => {
                    work.wait_until = Some(Instant::now() + RECORD_AGAIN);
                    let at = about.generation.checkpoint.offset;
                    let detail = shortened(&format!("it is read; to be recorded: {error}"));
                    self.tell(about, at, at, &detail).await.map(|()| false)
                }
                Err(_) => Err(WorkError::Panicked),
            },
            _ => {
                let compared = match work.compared {
                    Some(compared) => compared,
                    // It was compared before a crash.
                    None => self.digest_of(about).await?,
                };
                let record = record(Arc::clone(&self.inner), about, compared)?;
                let task = self.beside(record);
                self.phase(id, Phase::Recording(task));
                Ok(false)
            }
        }
    }

    async fn digest_of(&self, about: &About) -> Result<Compared, WorkError> {
        let digests = self.inner.store.digest_rows(&[about.target()]).await?;
        let found = digests.first().map(|(at, digest)| (at.offset, Hash::new(digest.finish())));
        let (up_to, digest) = found.unwrap_or_default();
        // Whether a repair changed anything is known no longer: it may have.
        Ok(Compared { up_to, digest, differed: about.operation.kind == REPAIR })
    }

    /// All generations but the one that is read and the one that was read before it go.
    async fn remove_needless(&mut self, about: &About) -> Result<(), WorkError> {
        let previous =
            targets::previous(&self.generations, &self.operations, about.name()).map(|one| one.number);
        let goes =
            |one: &&Generation| one.projection == about.name() && !one.active && Some(one.number) != previous;
        for one in self.generations.iter().filter(goes) {
            match self.inner.store.drop_generation(about.name(), one.number).await {
                // Somebody's own view stands on it: nothing of this operation is the worse for it.
                Err(error @ StoreError::Refused(_)) => {
                    let (projection, number) = (about.name(), one.number);
                    tracing::warn!(projection, number, error = %causes(&error), "needless tables are left over");
                }
                dropped => dropped?,
            }
        }
        self.look_again();
        Ok(())
    }
}

/// What records that a generation was rebuilt and is read. The operation's id makes repeating it harmless.
fn record(
    inner: Arc<Inner>,
    about: &About,
    compared: Compared,
) -> Result<impl Future<Output = Result<(), CommandError>> + use<>, WorkError> {
    let rebuilt = ProjectionRebuilt {
        projection: about.name().parse().map_err(|_| StoreError::Refused(about.name().to_owned()))?,
        version: about.generation.version,
        generation: about.number(),
        up_to: compared.up_to,
        digest: compared.digest,
        differed: compared.differed,
        asked_by: about.operation.asked_by.map(UserId::new),
    };
    let id = about.operation.id;
    let mut hash = [0; 32];
    hash.iter_mut().zip(id.as_bytes()).for_each(|(to, from)| *to = *from);
    let meta = RequestMeta {
        idempotency: Some((format!("rebuilt:{id}"), Hash::new(hash))),
        ..RequestMeta::new(Via::System)
    };
    let request = Request::new(Caller::System, RecordRebuild { rebuilt }.into(), meta);
    Ok(async move { Control { inner }.submit(request).await.map(|_| ()) })
}
