//! The folder backups are kept in: their names, one at a time, and no name before the file under it was read back and
//! verified.

use super::{
    BackupError, GoOn, check,
    keys::{KeysWritten, read_keys, write_keys},
    write::{Written, write},
};
use charter_events::{Hash, Head, LogId, Timestamp, UserId};
use charter_store::{MOVED_ROWS_MAX, Store, snapshot_files::make_dir};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Where backups go, and where the file of keys is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFolder {
    dir: PathBuf,
    keys: Option<PathBuf>,
}

/// A backup that was taken, and read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The last event in it, and of which log.
    pub head: Head,
    /// SHA-256 of the file.
    pub digest: Hash,
    /// Its length, in bytes.
    pub bytes: u64,
    /// The file.
    pub file: PathBuf,
    /// The file of keys that was replaced.
    pub keys_file: PathBuf,
    /// How many keys are in that.
    pub keys: u64,
}

impl BackupFolder {
    /// Backups in this folder; it is made when it is first needed. The keys go to a file there unless another is named.
    pub const fn new(dir: PathBuf, keys: Option<PathBuf>) -> Self {
        Self { dir, keys }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file of a log's keys.
    pub fn keys_file(&self, log_id: LogId) -> PathBuf {
        self.keys.clone().unwrap_or_else(|| self.dir.join(format!("charter-{log_id}.keys")))
    }

    /// Takes a backup: writes it under a name of its own, reads it back, and only then gives it its name; after that it
    /// replaces the file of keys. Blocks on the file system.
    ///
    /// # Errors
    /// [`BackupError`]. Then there is no new backup; a file of keys that is there stays as it was.
    pub async fn take(
        &self,
        store: &dyn Store,
        now: Timestamp,
        go_on: GoOn<'_>,
    ) -> Result<Taken, BackupError> {
        make_dir(&self.dir).map_err(|source| at(&self.dir, source))?;
        let log_id = store.head().await?.log_id;
        let _lock = self.lock(log_id)?;
        let unfinished = self.dir.join(format!("charter-{log_id}.backup.new"));
        let written = match self.write(store, now, &unfinished, go_on).await {
            Ok(written) => written,
            Err(error) => {
                // Half a backup is of no use to anyone.
                drop(fs::remove_file(&unfinished));
                return Err(error);
            }
        };
        let Written { head, digest, bytes } = written;
        let file = self.dir.join(format!("charter-{log_id}-{:020}.backup", head.offset.get()));
        fs::rename(&unfinished, &file).and_then(|()| synced(&self.dir)).map_err(|e| at(&file, e))?;
        let KeysWritten { keys, .. } = self.replace_keys(store, log_id, now).await?;
        Ok(Taken { head, digest, bytes, file, keys_file: self.keys_file(log_id), keys })
    }

    /// Replaces the file of keys, if there is one, by one of the users there are now: for when a key was destroyed.
    /// `None` when there is none. Blocks on the file system.
    ///
    /// # Errors
    /// [`BackupError`].
    pub async fn refresh_keys(
        &self,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<KeysWritten>, BackupError> {
        let log_id = store.head().await?.log_id;
        if !self.keys_file(log_id).is_file() {
            return Ok(None);
        }
        self.replace_keys(store, log_id, now).await.map(Some)
    }

    /// The users whose key is in the file of keys and not in a store. Nobody when there is no such file. Blocks on the
    /// file system.
    ///
    /// # Errors
    /// [`BackupError::Keys`] when the file is not as it was written: it is not replaced then, it may have the only copy
    /// of a key.
    pub async fn keys_missing(&self, store: &dyn Store) -> Result<Vec<UserId>, BackupError> {
        let path = self.keys_file(store.head().await?.log_id);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(at(&path, source)),
        };
        let mut kept = read_keys(&mut BufReader::new(file)).map_err(|error| match error {
            BackupError::Line { line, why } => BackupError::Keys { path: path.clone(), line, why },
            error => error,
        })?;
        let mut after = None;
        loop {
            let page = store.user_keys_after(after, MOVED_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(kept.keys.into_keys().collect()) };
            after = Some(*last);
            for (user, _) in page {
                kept.keys.remove(&user);
            }
        }
    }

    async fn replace_keys(
        &self,
        store: &dyn Store,
        log_id: LogId,
        now: Timestamp,
    ) -> Result<KeysWritten, BackupError> {
        let path = self.keys_file(log_id);
        let lock = beside(&path, ".lock");
        // Waits for whoever writes keys now: they may be those from before.
        let held = private(&lock, false).and_then(|file| file.lock().map(|()| file));
        let _held = held.map_err(|source| at(&lock, source))?;
        let unfinished = beside(&path, ".new");
        let done = async {
            let mut out = BufWriter::new(private(&unfinished, true).map_err(|e| at(&unfinished, e))?);
            let written = write_keys(store, now, &mut out).await?;
            finished(out).and_then(|()| fs::rename(&unfinished, &path)).map_err(|e| at(&path, e))?;
            let folder = path.parent().unwrap_or(&self.dir);
            synced(folder).map_err(|e| at(folder, e))?;
            Ok(written)
        }
        .await;
        if done.is_err() {
            drop(fs::remove_file(&unfinished));
        }
        done
    }

    async fn write(
        &self,
        store: &dyn Store,
        now: Timestamp,
        path: &Path,
        go_on: GoOn<'_>,
    ) -> Result<Written, BackupError> {
        let mut out = BufWriter::new(private(path, true).map_err(|e| at(path, e))?);
        let written = write(store, now, &mut out, go_on).await?;
        finished(out).map_err(|e| at(path, e))?;
        let file = File::open(path).map_err(|e| at(path, e))?;
        let found = check(&mut BufReader::new(file), go_on)?;
        if (found.head.hash, found.digest, found.bytes) != (written.head.hash, written.digest, written.bytes)
        {
            return Err(BackupError::Changed);
        }
        Ok(written)
    }

    /// One backup of a log at a time in a folder, whichever process takes it.
    fn lock(&self, log_id: LogId) -> Result<File, BackupError> {
        let path = self.dir.join(format!("charter-{log_id}.lock"));
        let file = private(&path, false).map_err(|e| at(&path, e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(BackupError::Busy(self.dir.clone())),
            Err(TryLockError::Error(source)) => Err(at(&path, source)),
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn at(path: &Path, source: io::Error) -> BackupError {
    BackupError::Folder { path: path.to_owned(), source }
}

/// A file that only its owner reads, emptied if it is to be.
fn private(path: &Path, emptied: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(emptied);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn finished(mut out: BufWriter<File>) -> io::Result<()> {
    out.flush()?;
    out.get_ref().sync_all()
}

/// A rename is durable once its folder is.
fn synced(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
