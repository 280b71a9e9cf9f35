//! The folder for backups, as the command line names it, and what the control plane asks of it. Work on files is done
//! off the threads that serve.

use crate::{
    app::path_or_empty,
    cmd::store::Place,
    exit::{Failure, Outcome},
};
use async_trait::async_trait;
use charter_control::{BackupMade, BackupResult, BackupWatch, Backups, KeysKept};
use charter_events::{LogId, Offset, Timestamp};
use charter_replay_tools::{
    Progress,
    backup::{BackupError, BackupFolder, Taken},
};
use charter_store::{BoxError, Store};
use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::runtime::Handle;

/// Where backups go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FolderArgs {
    /// The folder for backups; `backups` in the data folder when left out and everything is kept there; `none`: none
    /// are taken
    #[arg(long, env = "CHARTER_BACKUPS", value_name = "FOLDER", value_parser = path_or_empty())]
    pub(super) backups: Option<PathBuf>,
    /// The file of users' keys that each backup replaces; in the folder for backups when left out. Keep no older copy
    /// of it: whoever has one opens the names of persons who were erased since
    #[arg(long, env = "CHARTER_BACKUP_KEYS", value_name = "FILE", value_parser = path_or_empty())]
    pub(super) backup_keys: Option<PathBuf>,
}

impl FolderArgs {
    /// The folder meant, if there is one.
    pub(crate) fn folder(&self, place: &Place) -> Option<BackupFolder> {
        let given = self.backups.as_deref().filter(|path| !path.as_os_str().is_empty());
        let dir = match (given, place) {
            (Some(path), _) if path == Path::new("none") => return None,
            (Some(path), _) => path.to_owned(),
            (None, Place::Folder(data)) => data.join("backups"),
            (None, Place::Database { .. }) => return None,
        };
        let keys = self.backup_keys.clone().filter(|path| !path.as_os_str().is_empty());
        Some(BackupFolder::new(dir, keys))
    }

    /// Says that there is a file of keys which is not the one that is kept up.
    pub(crate) fn warn_of_forgotten_keys(&self, place: &Place, log_id: LogId) {
        let forgotten = self.folder(place).and_then(|folder| folder.forgotten_keys_file(log_id));
        if let Some(path) = forgotten {
            let path = path.display();
            tracing::warn!(%path, "a file of keys is left that is not kept up: delete it, or it keeps keys of erased persons");
        }
    }

    /// The same, where one is needed.
    pub(crate) fn required(&self, place: &Place) -> Outcome<BackupFolder> {
        self.folder(place).ok_or_else(|| {
            Failure::usage("there is no folder for backups").hint("`--backups FOLDER` names one")
        })
    }
}

/// A folder as the control plane asks it.
pub(crate) struct Kept(pub(crate) BackupFolder);

#[async_trait]
impl Backups for Kept {
    async fn take(
        &self,
        store: Arc<dyn Store>,
        now: Timestamp,
        watch: Arc<BackupWatch>,
    ) -> Result<BackupMade, BoxError> {
        let folder = self.0.clone();
        let taken = apart(async move {
            let mut phases = Phases::default();
            folder.take(store.as_ref(), now, &mut |at| phases.tell(at, &watch)).await
        });
        let taken = taken.await?;
        Ok(BackupMade { head: taken.head, result: result(&taken) })
    }

    async fn keys_kept(&self, store: Arc<dyn Store>) -> Result<KeysKept, BoxError> {
        let folder = self.0.clone();
        let kept = async move {
            match folder.keys_missing(store.as_ref()).await {
                Ok(missing) => Ok(KeysKept::Ours { missing }),
                Err(error @ BackupError::ForeignKeys { .. }) => {
                    Ok(KeysKept::OfAnother { why: error.to_string() })
                }
                Err(error) => Err(error),
            }
        };
        apart(kept).await
    }

    async fn refresh_keys(&self, store: Arc<dyn Store>, now: Timestamp) -> Result<(), BoxError> {
        let folder = self.0.clone();
        apart(async move { folder.refresh_keys(store.as_ref(), now).await.map(drop) }).await
    }
}

/// On a thread that may wait for a disk.
async fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, BackupError>> + Send + 'static,
) -> Result<T, BoxError> {
    let runtime = Handle::current();
    Ok(tokio::task::spawn_blocking(move || runtime.block_on(work)).await??)
}

/// A backup is written, then read back: each event counts twice.
#[derive(Default)]
struct Phases {
    last: Offset,
    reads_back: bool,
}

impl Phases {
    fn tell(&mut self, Progress { at, end }: Progress, watch: &BackupWatch) -> bool {
        self.reads_back |= at < self.last;
        self.last = at;
        let before = if self.reads_back { end.get() } else { 0 };
        watch.tell(before.saturating_add(at.get()), end.get().saturating_mul(2))
    }
}

fn result(taken: &Taken) -> BackupResult {
    let Taken { head, digest, bytes, file, keys_file, keys } = taken;
    BackupResult {
        file: file.display().to_string(),
        offset: head.offset,
        bytes: *bytes,
        sha256: *digest,
        keys_file: keys_file.display().to_string(),
        keys: *keys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(backups: Option<&str>) -> FolderArgs {
        FolderArgs { backups: backups.map(PathBuf::from), backup_keys: None }
    }

    #[test]
    fn a_data_folder_has_its_backups_in_it_and_a_database_where_it_is_told() {
        let folder = Place::Folder("data".into());
        let url = "postgres://ann@db.example/charter".parse().unwrap();
        let database = Place::Database { url: Box::new(url), data: "data".into() };
        let dir = |given, place: &Place| args(given).folder(place).map(|kept| kept.dir().to_owned());
        assert_eq!(dir(None, &folder), Some("data/backups".into()));
        assert_eq!(dir(Some(""), &folder), Some("data/backups".into()));
        assert_eq!(dir(Some("there"), &folder), Some("there".into()));
        assert_eq!(dir(Some("none"), &folder), None);
        assert_eq!(dir(None, &database), None);
        assert_eq!(dir(Some("there"), &database), Some("there".into()));
        assert!(args(None).required(&database).is_err());
    }

    #[test]
    fn what_is_written_and_read_back_counts_twice() {
        let (mut phases, watch) = (Phases::default(), BackupWatch::default());
        let mut at = |at: u64| {
            let progress = Progress { at: Offset::new(at).unwrap(), end: Offset::new(10).unwrap() };
            assert!(phases.tell(progress, &watch));
            watch.read()
        };
        assert_eq!([at(4), at(10), at(5), at(10)], [(4, 20), (10, 20), (15, 20), (20, 20)]);
    }
}
