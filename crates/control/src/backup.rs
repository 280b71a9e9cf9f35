//! Backups as somebody asks for them: one at a time, watched and stopped as an operation, recorded in the log once the
//! file is there. What a backup is, and where it goes, is handed in ([`Backups`]).
//!
//! The keys of users are in a file beside the backups. It must lose the key of whoever is erased, and must not lose a
//! key that is nowhere else: after a restore without keys it has the only ones, and where a new or a restored
//! installation was given the file of another, it has that one's.

use crate::{
    backup_result::BackupResult,
    control::{Control, Inner},
    error::{CommandError, VersionNotReached},
    operations::{Ongoing, OperationError},
    request::{Request, RequestMeta},
};
use async_trait::async_trait;
use charter_commands::RecordBackup;
use charter_events::{BackupTaken, Head, Timestamp, UserId};
use charter_policy::Caller;
use charter_store::{BoxError, Operation, Store, StoreError, causes};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// The kind of operation that a backup is.
pub const BACKUP_OPERATION: &str = "backup";
/// How often it is looked at how far a backup is, and whether it was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How far a backup is, and that it is to stop. Shared by whoever takes it and whoever watches.
#[derive(Debug, Default)]
pub struct BackupWatch {
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl BackupWatch {
    /// Says how far it is; false: it is to stop.
    pub fn tell(&self, done: u64, total: u64) -> bool {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        !self.stopped.load(Ordering::Relaxed)
    }

    /// What is done, of how much.
    pub fn read(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Has it stopped at its next look.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// A backup that is there: written, read back and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupMade {
    /// The last event in it.
    pub head: Head,
    /// Which file it is, how large, and where the keys are.
    pub result: BackupResult,
}

/// What is in the file of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysKept {
    /// Keys of this installation, or no file.
    Ours {
        /// The users whose key is there, and not in the store.
        missing: Vec<UserId>,
    },
    /// Keys of another log, or of another history of this one.
    OfAnother {
        /// By what that is known, for people.
        why: String,
    },
}

/// Where backups go.
///
/// Errors are for people: of a store, of a file system, or that another process writes there.
#[async_trait]
pub trait Backups: Send + Sync {
    /// Takes a backup of a store, and replaces the file of users' keys unless that is another installation's.
    async fn take(
        &self,
        store: Arc<dyn Store>,
        now: Timestamp,
        watch: Arc<BackupWatch>,
    ) -> Result<BackupMade, BoxError>;

    /// Whose keys are in the file of keys, and which of them are not in the store.
    async fn keys_kept(&self, store: Arc<dyn Store>) -> Result<KeysKept, BoxError>;

    /// Replaces the file of keys, if there is one, by the keys the store has; an error when it is another
    /// installation's.
    async fn refresh_keys(&self, store: Arc<dyn Store>, now: Timestamp) -> Result<(), BoxError>;
}

/// Why no backup was begun.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// No folder is set for them (409).
    #[error("this server has no folder for backups; `--backups` or `CHARTER_BACKUPS` names one")]
    NoFolder,
    /// One is being taken, or the store keeps no operations.
    #[error(transparent)]
    Operation(#[from] OperationError),
}

impl BackupError {
    /// The stable code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoFolder => "no_backup_folder",
            Self::Operation(OperationError::Running { .. }) => "backup_running",
            Self::Operation(error) => error.code(),
        }
    }
}

/// Why a backup that was begun is none.
#[derive(Debug, thiserror::Error)]
pub enum BackupFailed {
    /// Somebody stopped it, or its server ends.
    #[error("it was stopped")]
    Stopped,
    /// The file of keys has the only copy of some users' keys.
    #[error(
        "the file of keys has the keys of {users} users that the installation lacks, as after a restore without \
         `--keys`: move it to where it is safe first, or restore with it"
    )]
    KeysWouldBeLost {
        /// How many.
        users: usize,
    },
    /// The file of keys is not of this history: a new installation, or a restored copy of one, was given the file of
    /// another.
    #[error(
        "{why}; it may have the only copy of somebody's key: move it to where it is safe first, or give each \
         installation a file of its own with `--backup-keys`"
    )]
    KeysOfAnother {
        /// By what that is known.
        why: String,
    },
    /// The file can't be written, or is not what was written.
    #[error(transparent)]
    Taking(BoxError),
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This server does not see the end of the log.
    #[error("the state can't be read up to the end of the log")]
    Behind(#[from] VersionNotReached),
    /// The file is there, and nothing of it is in the log.
    #[error("the backup is there ({told}), but the log does not say so: {error}")]
    NotRecorded {
        /// Which file.
        told: String,
        /// Why not.
        error: CommandError,
    },
}

impl Control {
    /// Begins a backup. Whether the caller may ask for it is judged by whoever calls. What becomes of it, the operation
    /// tells; once the file is there, the log does too, with the reason of the request.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn start_backup(
        &self,
        asked_by: Option<UserId>,
        meta: RequestMeta,
    ) -> Result<Operation, BackupError> {
        let Some(backups) = self.inner.config.backups.clone() else { return Err(BackupError::NoFolder) };
        let ongoing = self.begin_operation(BACKUP_OPERATION, "log", asked_by).await?;
        let operation = self.operation(ongoing.id()).await?;
        let control = self.clone();
        self.inner.tasks.spawn(async move { control.run_backup(backups, asked_by, meta, ongoing).await });
        Ok(operation)
    }

    /// Takes a backup now and records it, without an operation: for whoever has the store to itself.
    ///
    /// # Errors
    /// [`BackupFailed`].
    pub async fn take_backup(
        &self,
        backups: &dyn Backups,
        asked_by: Option<UserId>,
        meta: RequestMeta,
        watch: Arc<BackupWatch>,
    ) -> Result<BackupResult, BackupFailed> {
        self.require_no_key_lost(backups).await?;
        let made = backups.take(self.store(), self.inner.time(), Arc::clone(&watch)).await;
        let made = made.map_err(|error| {
            if watch.is_stopped() { BackupFailed::Stopped } else { BackupFailed::Taking(error) }
        })?;
        self.recorded(made, asked_by, meta).await
    }

    async fn run_backup(
        &self,
        backups: Arc<dyn Backups>,
        asked_by: Option<UserId>,
        meta: RequestMeta,
        mut ongoing: Ongoing,
    ) {
        let id = ongoing.id();
        let watch = Arc::new(BackupWatch::default());
        let taking = self.take_backup(backups.as_ref(), asked_by, meta, Arc::clone(&watch));
        let taken = self.watched(taking, &watch, &mut ongoing).await;
        let outcome = if taken.is_ok() { "done" } else { "failed" };
        metrics::counter!("charter_backups_total", "outcome" => outcome).increment(1);
        match &taken {
            Ok(made) => tracing::info!(%id, "backup taken: {made}"),
            Err(BackupFailed::Stopped) => tracing::info!(%id, "the backup was stopped"),
            Err(error) => tracing::error!(%id, error = %causes(error), "no backup was taken"),
        }
        // What somebody stopped stands as stopped already; a server that ends stopped it by itself.
        if matches!(taken, Err(BackupFailed::Stopped)) && ongoing.is_cancelled().await {
            return;
        }
        if let Err(error) = ongoing.end(taken.map(|made| made.kept()).map_err(|error| causes(&error))).await {
            tracing::warn!(%id, error = %causes(&error), "the end of the backup can't be written down");
        }
    }

    /// Writes down now and then how far it is, and stops it once it was stopped or the server ends.
    async fn watched(
        &self,
        taking: impl Future<Output = Result<BackupResult, BackupFailed>>,
        watch: &BackupWatch,
        ongoing: &mut Ongoing,
    ) -> Result<BackupResult, BackupFailed> {
        tokio::pin!(taking);
        loop {
            tokio::select! {
                taken = &mut taking => {
                    ongoing.note(watch.read());
                    return taken;
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let (done, total) = watch.read();
                    let halted = ongoing.progress(done, total, "events written and read back").await.is_err();
                    if halted || self.inner.stop.is_cancelled() {
                        watch.stop();
                    }
                }
            }
        }
    }

    async fn recorded(
        &self,
        made: BackupMade,
        asked_by: Option<UserId>,
        meta: RequestMeta,
    ) -> Result<BackupResult, BackupFailed> {
        let BackupMade { head, result } = made;
        let taken = BackupTaken { head: head.offset, hash: head.hash, digest: result.sha256, asked_by };
        let RequestMeta { via, request_id, reason, .. } = meta;
        let meta = RequestMeta { request_id, reason, ..RequestMeta::new(via) };
        let request = Request::new(Caller::System, RecordBackup { taken }.into(), meta);
        if let Err(error) = self.submit(request).await {
            return Err(BackupFailed::NotRecorded { told: result.to_string(), error });
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge takes floats; seconds fit")]
        let seconds = (self.inner.time().as_micros() / 1_000_000) as f64;
        metrics::gauge!("charter_last_backup_timestamp_seconds").set(seconds);
        Ok(result)
    }

    /// The file of keys may have the only copy of a key: of anybody whom this log does not say was erased.
    async fn require_no_key_lost(&self, backups: &dyn Backups) -> Result<(), BackupFailed> {
        let missing = match backups.keys_kept(self.store()).await.map_err(BackupFailed::Taking)? {
            KeysKept::Ours { missing } => missing,
            KeysKept::OfAnother { why } => return Err(BackupFailed::KeysOfAnother { why }),
        };
        if missing.is_empty() {
            return Ok(());
        }
        // Whoever was erased until the keys were read is so in this policy, too.
        let policy = self.at_least(self.inner.store.head().await?.offset).await?;
        let not_erased = |user: &UserId| policy.user(*user).is_none_or(|user| user.profile.is_some());
        match missing.iter().filter(|user| not_erased(user)).count() {
            0 => Ok(()),
            users => Err(BackupFailed::KeysWouldBeLost { users }),
        }
    }
}

/// That the file of keys may have a key that was destroyed since.
#[derive(Debug)]
pub(crate) struct KeysFile(AtomicBool);

impl KeysFile {
    /// Somebody may have been erased while no server ran.
    pub(crate) const fn new() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Somebody was erased, here or elsewhere.
    pub(crate) fn is_stale(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Takes destroyed keys out of this server's file of keys. Until it is done it is tried again at each round.
pub(crate) async fn refresh_keys(inner: &Arc<Inner>) {
    let Some(backups) = &inner.config.backups else { return };
    if !inner.keys_file.0.swap(false, Ordering::Relaxed) {
        return;
    }
    let control = Control { inner: Arc::clone(inner) };
    let refreshed = match control.require_no_key_lost(backups.as_ref()).await {
        Ok(()) => {
            let done = backups.refresh_keys(control.store(), inner.time()).await;
            done.map_err(BackupFailed::Taking)
        }
        Err(error) => Err(error),
    };
    match refreshed {
        Ok(()) => {}
        // Said once: somebody has to move the file.
        Err(error @ (BackupFailed::KeysWouldBeLost { .. } | BackupFailed::KeysOfAnother { .. })) => {
            tracing::warn!("the file of keys stays as it is: {error}");
        }
        Err(error) => {
            inner.keys_file.is_stale();
            tracing::warn!(error = %causes(&error), "the file of keys can't be replaced: it may have keys of erased persons");
        }
    }
}
