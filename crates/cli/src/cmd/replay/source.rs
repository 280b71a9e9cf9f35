//! A log to read: in a store, or in an exported file, which is read into memory and checked first.

use super::{failed, reader};
use crate::{
    app::App,
    cmd::store::{Access, Opened, StoreArgs, opening},
    exit::Outcome,
};
use charter_events::Offset;
use charter_replay_tools::{Progress, import::load};
use charter_store::{LogStore, MemoryStore, SecretStore};
use std::path::{Path, PathBuf};

/// Which log.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// Where it is kept
    #[command(flatten)]
    store: StoreArgs,
    /// An exported log, instead of one in a store; `-` is stdin. It is read into memory
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// A log that is open.
pub(crate) enum Log {
    /// In a store.
    Kept(Opened),
    /// Read from a file.
    Read(MemoryStore),
}

impl Source {
    /// Opens it, to be read only.
    pub(crate) async fn open(&self, app: &App) -> Outcome<Log> {
        match &self.file {
            Some(path) => {
                self.store.require_none_beside(path)?;
                from_file(app, path).await.map(Log::Read)
            }
            None => self.store.place()?.open(Access::ReadOnly).await.map(Log::Kept),
        }
    }
}

async fn from_file(app: &App, path: &Path) -> Outcome<MemoryStore> {
    let mut bar = None;
    let read = load(reader(path)?.as_mut(), |Progress { at, end }| {
        bar.get_or_insert_with(|| app.out.progress("reading", Some(end.get()))).at(at.get());
    })
    .await;
    if let Some(bar) = bar {
        bar.finish();
    }
    read.map_err(|error| failed(&error))
}

impl Log {
    /// The log itself.
    pub(crate) fn store(&self) -> &dyn LogStore {
        match self {
            Self::Kept(opened) => opened.store.as_ref(),
            Self::Read(store) => store,
        }
    }

    /// What stands beside it; a file has nothing.
    pub(crate) fn secrets(&self) -> Option<&dyn SecretStore> {
        match self {
            Self::Kept(opened) => Some(opened.store.as_ref()),
            Self::Read(_) => None,
        }
    }

    /// The last event's offset.
    pub(crate) async fn end(&self) -> Outcome<Offset> {
        Ok(self.store().head().await.map_err(|error| opening(&error))?.offset)
    }

    /// Closes it.
    pub(crate) async fn close(self) {
        if let Self::Kept(opened) = self {
            opened.close().await;
        }
    }
}
