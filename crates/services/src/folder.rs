//! The folder a server keeps its data in: a temporary one that goes with it, or one that stays.

use anyhow::Context;
use std::path::{Path, PathBuf};

/// A folder, removed on drop unless it was named by the caller.
pub(crate) struct Folder {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl Folder {
    /// The folder that was named (made when it is missing), else a temporary one.
    pub(crate) fn open(named: Option<&Path>, prefix: &str) -> anyhow::Result<Self> {
        if let Some(path) = named {
            std::fs::create_dir_all(path).with_context(|| format!("{} can't be made", path.display()))?;
            let path = path.canonicalize()?;
            return Ok(Self { path, temporary: None });
        }
        let temporary = tempfile::Builder::new().prefix(prefix).tempdir().context("no temporary folder")?;
        Ok(Self { path: temporary.path().to_path_buf(), temporary: Some(temporary) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is to be removed should this process be killed.
    pub(crate) fn to_remove(&self) -> Option<&Path> {
        self.temporary.as_ref().map(tempfile::TempDir::path)
    }
}
