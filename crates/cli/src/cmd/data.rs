//! Data folders: naming them, and opening them beside or instead of a server.

use crate::{
    contexts,
    exit::{Failure, Outcome, chain},
};
use charter_store::{Store, StoreError};
use charter_store_sqlite::{Access, SqliteStore};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Which data folder.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DataFolder {
    /// The folder everything is kept in; `charter` in your data folder (XDG_DATA_HOME) when left out
    #[arg(long, env = "CHARTER_DATA", value_name = "FOLDER")]
    data: Option<PathBuf>,
}

impl DataFolder {
    /// The folder meant.
    pub(crate) fn path(&self) -> Outcome<PathBuf> {
        self.data.clone().map_or_else(contexts::data_folder, Ok)
    }
}

/// Opens a folder. To read, it must exist; a server makes it, readable by its owner alone.
pub(crate) async fn open(path: &Path, access: Access) -> Outcome<Arc<dyn Store>> {
    match access {
        Access::Server => private_folder(path)?,
        Access::ReadOnly if !path.is_dir() => {
            return Err(Failure::error(format!("there is no data folder `{}`", path.display()))
                .hint("name it with `--data`, or set `CHARTER_DATA`"));
        }
        Access::ReadOnly => {}
    }
    let store = SqliteStore::open(path, access).await.map_err(|error| opening(&error))?;
    Ok(store)
}

/// What it means that a store can't be opened or read.
pub(crate) fn opening(error: &StoreError) -> Failure {
    let failure = Failure::error(chain(error));
    match error {
        StoreError::Damaged(_) => failure
            .hint("nothing is written to a damaged log: keep the folder as it is, and restore a backup elsewhere")
            .hint("`charter verify` names the first bad offset"),
        _ => failure,
    }
}

#[cfg(unix)]
fn private_folder(path: &Path) -> Outcome<()> {
    use crate::exit::Doing;
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .doing(format_args!("create the data folder `{}`", path.display()))
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> Outcome<()> {
    use crate::exit::Doing;
    std::fs::create_dir_all(path).doing(format_args!("create the data folder `{}`", path.display()))
}
