//! The folder a store lives in: its files, who may read them, and the lock of the one server.

use charter_store::{StoreError, snapshot_files::make_dir};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

#[derive(Clone)]
pub(crate) struct Place {
    dir: PathBuf,
}

impl Place {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join("charter.db")
    }

    /// The file of tables made from the log.
    pub(crate) fn tables(&self) -> PathBuf {
        self.dir.join("tables.db")
    }

    /// The name under which one that can't be used is kept.
    pub(crate) fn tables_aside(&self) -> PathBuf {
        self.dir.join("tables.db.aside")
    }

    /// Is there when the file of tables was found damaged.
    pub(crate) fn tables_damaged(&self) -> PathBuf {
        self.dir.join("tables.db.damaged")
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.dir.join("snapshots")
    }

    /// Makes the folder (0700) where it is missing.
    pub(crate) fn make_folder(&self) -> Result<(), StoreError> {
        make_dir(&self.dir).map_err(|e| self.trouble("the folder can't be made", e))
    }

    /// Makes the database's file (0600) where it is missing; one that is there is never touched. SQLite gives its
    /// other files the database's rights. Only for whoever holds the lock.
    pub(crate) fn make_database(&self, _lock: &File) -> Result<(), StoreError> {
        make_file(&self.database()).map_err(|e| self.trouble("the file can't be made", e))
    }

    /// The same for the file of tables.
    pub(crate) fn make_tables(&self) -> io::Result<()> {
        make_file(&self.tables())
    }

    /// Takes the folder for this server, as long as the file lives.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        let path = self.dir.join("server.lock");
        let mut options = OpenOptions::new();
        // Never emptied: it may be somebody else's.
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|e| self.trouble("the lock file can't be opened", e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(self.dir.display().to_string())),
            Err(TryLockError::Error(e)) => Err(self.trouble("the lock can't be taken", e)),
        }
    }

    pub(crate) fn not_ours(&self, why: impl Into<String>) -> StoreError {
        StoreError::NotAStore { place: self.dir.display().to_string(), why: why.into(), source: None }
    }

    fn trouble(&self, why: &str, source: io::Error) -> StoreError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
            _ => StoreError::NotAStore {
                place: self.dir.display().to_string(),
                why: why.to_owned(),
                source: Some(source.into()),
            },
        }
    }
}

fn make_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}
