//! The folder backups are kept in: their names, one at a time, and no name before the file under it was read back and
//! verified.

use super::{
    BackupError, GoOn, check,
    format::FirstLine,
    keys::{KeysWritten, read_first, read_keys, write_keys},
    write::{Written, write},
};
use charter_events::{Hash, Head, LogId, Offset, Timestamp, UserId};
use charter_store::{MOVED_ROWS_MAX, Store, snapshot_files::make_dir};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

/// How many hexadecimal digits of the last event's hash are in a backup's name.
const HASH_DIGITS: usize = 12;
/// How many backups may end at one event.
const SAME_HEAD_MAX: u32 = 1_000;

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

    /// A file of keys under the usual name, where another is named: nobody replaces it any more, so it keeps the keys
    /// of whoever is erased from now on.
    pub fn forgotten_keys_file(&self, log_id: LogId) -> Option<PathBuf> {
        let usual = Self::new(self.dir.clone(), None).keys_file(log_id);
        (usual != self.keys_file(log_id) && usual.exists()).then_some(usual)
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
        let file = self.free_name(&head)?;
        fs::rename(&unfinished, &file).and_then(|()| synced(&self.dir)).map_err(|e| at(&file, e))?;
        let KeysWritten { keys, .. } = self.replace_keys(store, log_id, now).await?;
        Ok(Taken { head, digest, bytes, file, keys_file: self.keys_file(log_id), keys })
    }

    /// Replaces the file of keys, if there is one, by one of the users there are now: for when a key was destroyed.
    /// `None` when there is none. Blocks on the file system.
    ///
    /// # Errors
    /// [`BackupError`]; [`BackupError::ForeignKeys`] when the file is of another log or history.
    pub async fn refresh_keys(
        &self,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<Option<KeysWritten>, BackupError> {
        let log_id = store.head().await?.log_id;
        self.sweep(log_id)?;
        if !self.keys_file(log_id).is_file() {
            return Ok(None);
        }
        self.replace_keys(store, log_id, now).await.map(Some)
    }

    /// The users whose key is in the file of keys and not in a store. Nobody when there is no such file. Blocks on the
    /// file system.
    ///
    /// # Errors
    /// [`BackupError::Keys`] when the file is not as it was written, [`BackupError::ForeignKeys`] when it is of another
    /// log or history: it is not replaced then, it may have the only copy of a key.
    pub async fn keys_missing(&self, store: &dyn Store) -> Result<Vec<UserId>, BackupError> {
        let path = self.keys_file(store.head().await?.log_id);
        let Some(mut input) = opened(&path)? else { return Ok(Vec::new()) };
        let mut kept = read_keys(&mut input).map_err(|error| keys_at(&path, error))?;
        require_ours(&path, (kept.log_id, kept.head, kept.head_hash), store).await?;
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

    /// Removes what a process left that was killed while it wrote: it may hold keys. Whoever writes now has the lock.
    fn sweep(&self, log_id: LogId) -> Result<(), BackupError> {
        let keys = self.keys_file(log_id);
        let unfinished = self.dir.join(format!("charter-{log_id}.backup.new"));
        for (left, lock) in [
            (beside(&keys, ".new"), beside(&keys, ".lock")),
            (unfinished, self.dir.join(format!("charter-{log_id}.lock"))),
        ] {
            if !left.try_exists().map_err(|source| at(&left, source))? {
                continue;
            }
            let file = private(&lock, false).map_err(|source| at(&lock, source))?;
            match file.try_lock() {
                Ok(()) => removed(&left)?,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(at(&lock, source)),
            }
        }
        Ok(())
    }

    /// A name nothing has yet, while nobody else may take one: two histories of one log can end at the same offset, and
    /// one can be backed up twice there.
    fn free_name(&self, head: &Head) -> Result<PathBuf, BackupError> {
        let Head { log_id, offset, hash, .. } = head;
        let hash: String = hash.to_string().chars().take(HASH_DIGITS).collect();
        let name = format!("charter-{log_id}-{:020}-{hash}", offset.get());
        for number in 1..=SAME_HEAD_MAX {
            let more = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.dir.join(format!("{name}{more}.backup"));
            if !path.try_exists().map_err(|source| at(&path, source))? {
                return Ok(path);
            }
        }
        let path = self.dir.join(format!("{name}.backup"));
        Err(at(
            &path,
            io::Error::new(io::ErrorKind::AlreadyExists, "there are too many backups of this version"),
        ))
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
        // Here, where nobody writes it meanwhile: since it was last looked at it may have become somebody else's.
        if let Some(mut input) = opened(&path)? {
            let FirstLine { log_id, head, head_hash, .. } =
                read_first(&mut input).map_err(|error| keys_at(&path, error))?;
            require_ours(&path, (log_id, head, head_hash), store).await?;
        }
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

/// The file, if there is one.
fn opened(path: &Path) -> Result<Option<BufReader<File>>, BackupError> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::new(file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(at(path, source)),
    }
}

fn keys_at(path: &Path, error: BackupError) -> BackupError {
    match error {
        BackupError::Line { line, why } => BackupError::Keys { path: path.to_owned(), line, why },
        error => error,
    }
}

/// That a file of keys was written from the very history a store has: of its log, and at an event that is in it. A
/// restored copy and the installation it was copied from have one log id, and part at the first event after the backup.
async fn require_ours(
    path: &Path,
    (log_id, head, hash): (LogId, Offset, Hash),
    store: &dyn Store,
) -> Result<(), BackupError> {
    // Read after the file was: a file of this history is never ahead of it.
    let ours = store.head().await?;
    let foreign = |why: String| Err(BackupError::ForeignKeys { path: path.to_owned(), why });
    if log_id != ours.log_id {
        return foreign(format!("it is of log {log_id}, and this is log {}", ours.log_id));
    }
    if head > ours.offset {
        let end = ours.offset;
        return foreign(format!("it was written at offset {head}, and the log ends at {end}"));
    }
    let found = match head.get().checked_sub(1).and_then(Offset::new) {
        None => Some(Hash::ZERO),
        Some(before) => store.hashes(before, 1).await?.into_iter().next(),
    };
    if found == Some(hash) {
        return Ok(());
    }
    foreign(format!("it was written at offset {head} of another history of the same log"))
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

fn removed(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path, error)),
        _ => Ok(()),
    }
}

fn finished(mut out: BufWriter<File>) -> io::Result<()> {
    out.flush()?;
    out.get_ref().sync_all()
}

/// A rename is durable once its folder is.
fn synced(dir: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
