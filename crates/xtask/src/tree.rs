//! The files of the checkout, as the checks see them. Knows no rule.

use anyhow::Context;
use std::path::{Path, PathBuf};

/// What is built, fetched or kept by a tool, never written by hand.
const SKIPPED_FOLDERS: &[&str] = &["target", "node_modules", ".git", ".venv"];
/// The largest file that is read as text, in bytes.
const TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The top of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

/// One text file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// From the top, with `/`.
    pub(crate) path: String,
    /// What it holds.
    pub(crate) text: String,
}

/// Every text file of the checkout.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// In order of their paths.
    pub(crate) files: Vec<File>,
    /// Every path there is, folders included.
    pub(crate) paths: std::collections::BTreeSet<String>,
}

impl Tree {
    /// Reads the checkout.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut tree = Self::default();
        tree.walk(&root(), "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn walk(&mut self, folder: &Path, prefix: &str) -> anyhow::Result<()> {
        for entry in
            std::fs::read_dir(folder).with_context(|| format!("read folder `{}`", folder.display()))?
        {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !SKIPPED_FOLDERS.contains(&name.as_str()) {
                    self.walk(&entry.path(), &path)?;
                    self.paths.insert(path);
                }
            } else if kind.is_file() && entry.metadata()?.len() <= TEXT_BYTES_MAX {
                if let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) {
                    self.files.push(File { path: path.clone(), text });
                }
                self.paths.insert(path);
            }
        }
        Ok(())
    }
}
