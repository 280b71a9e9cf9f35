//! Where everything is kept, as the command line names it, and opening it: a PostgreSQL database, or the SQLite file in
//! a data folder. Owns what it means to people that a store can't be opened; must not know what is done with one.

use crate::{
    app::path_or_empty,
    contexts,
    exit::{Doing, Exit, Failure, Outcome, chain},
};
use charter_events::Timestamp;
use charter_store::{Store, StoreError};
use charter_store_postgres::{self as postgres, PostgresStore, SecretUrl};
use charter_store_sqlite::{self as sqlite, SqliteStore};
use std::{
    convert::Infallible,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

/// Text from the command line that may hold a password: never shown, not even when it is not understood.
#[derive(Clone)]
pub(crate) struct Hidden(String);

impl FromStr for Hidden {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.trim().to_owned()))
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl Hidden {
    /// The text, unless it is empty or the word `none`.
    pub(crate) fn given(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|text| !text.is_empty() && !text.eq_ignore_ascii_case("none"))
    }
}

/// Which store.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreArgs {
    /// The data folder; `charter` in your data folder (XDG_DATA_HOME) when left out
    #[arg(long, env = "CHARTER_DATA", value_name = "FOLDER", value_parser = path_or_empty())]
    data: Option<PathBuf>,
    /// A PostgreSQL database, as postgres://USER:PASSWORD@HOST/NAME, instead of the SQLite file in the data folder;
    /// `none`: the file after all. Other users of this machine see arguments: a password is safer in the variable
    #[arg(long, env = "CHARTER_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<Hidden>,
}

/// A store, by its place.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// The SQLite file in a data folder.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Database {
        /// Which.
        url: Box<SecretUrl>,
        /// Its snapshots are in a folder of this machine.
        data: PathBuf,
    },
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read and write, as a server does.
    Server,
    /// To read, also beside servers.
    ReadOnly,
}

/// An open store.
pub(crate) struct Opened {
    /// What everything goes through.
    pub(crate) store: Arc<dyn Store>,
    kind: Kind,
}

enum Kind {
    Sqlite(Arc<SqliteStore>),
    Postgres(Arc<PostgresStore>),
}

impl StoreArgs {
    /// Refuses a place named beside a file that is read instead of it. What the environment names always is no mistake.
    pub(crate) fn require_none_beside(&self, file: &Path) -> Outcome<()> {
        let by_variable = |name: &str, value: &OsStr| std::env::var_os(name).is_some_and(|set| set == value);
        let data = self.data.as_ref().is_some_and(|path| !by_variable("CHARTER_DATA", path.as_os_str()));
        let url = self.database_url.as_ref().is_some_and(|Hidden(text)| {
            let set = std::env::var("CHARTER_DATABASE_URL");
            !set.is_ok_and(|set| set.trim() == text)
        });
        let flag = match (data, url) {
            (true, _) => "--data",
            (_, true) => "--database-url",
            (false, false) => return Ok(()),
        };
        Err(Failure::usage(format!(
            "`--file {}` is read instead of a store, and `{flag}` names one",
            file.display()
        ))
        .hint("give one of both"))
    }

    /// The place meant.
    pub(crate) fn place(&self) -> Outcome<Place> {
        let data = self.data.clone().filter(|path| !path.as_os_str().is_empty());
        let data = data.map_or_else(contexts::data_folder, Ok);
        let Some(text) = self.database_url.as_ref().and_then(Hidden::given) else {
            return data.map(Place::Folder);
        };
        let url = database_url(text, "CHARTER_DATABASE_URL")?;
        Ok(Place::Database { url: Box::new(url), data: data? })
    }

    /// The database meant, if it is one. Needs no data folder.
    pub(crate) fn database(&self) -> Outcome<Option<SecretUrl>> {
        let given = self.database_url.as_ref().and_then(Hidden::given);
        given.map(|text| database_url(text, "CHARTER_DATABASE_URL")).transpose()
    }
}

/// Reads the address of a database; the error names where it was given and not what.
pub(crate) fn database_url(text: &str, variable: &str) -> Outcome<SecretUrl> {
    text.parse().map_err(|error: postgres::UrlError| {
        let failure =
            Failure::error(chain(&error)).hint(format!("correct `{variable}`, or the flag given instead"));
        match error {
            postgres::UrlError::Malformed(_) => {
                failure.hint("in a role or password, write signs by their codes: `/` as `%2F`, `@` as `%40`")
            }
            _ => failure,
        }
    })
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Database { url, .. } => write!(f, "{}/{}", url.server(), url.database()),
        }
    }
}

impl Place {
    /// Whether several servers may use it at once.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self, Self::Database { .. })
    }

    /// The SQLite file that is in the data folder of a server on a database: it may hold another history.
    pub(crate) fn beside(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(_) => None,
            Self::Database { data, .. } => Some(data.join("charter.db")).filter(|file| file.is_file()),
        }
    }

    /// Opens it. To read, it must exist.
    pub(crate) async fn open(&self, access: Access) -> Outcome<Opened> {
        match self {
            Self::Folder(path) => open_folder(path, access).await,
            Self::Database { url, data } => {
                let access = match access {
                    Access::Server => postgres::Access::Server,
                    Access::ReadOnly => postgres::Access::ReadOnly,
                };
                // The folder is made with the first snapshot.
                let opened = PostgresStore::open(url, &data.join("snapshots"), access).await;
                let store = opened.map_err(|error| {
                    let failure = opening(&error);
                    match error {
                        StoreError::NeedsMigration { .. } => failure
                            .hint("`CHARTER_MIGRATION_URL` names the database as its owner, who may do that"),
                        _ => failure,
                    }
                })?;
                Ok(Opened { store: store.clone(), kind: Kind::Postgres(store) })
            }
        }
    }
}

async fn open_folder(path: &Path, access: Access) -> Outcome<Opened> {
    let access = match access {
        Access::Server => {
            private_folder(path)?;
            sqlite::Access::Server
        }
        Access::ReadOnly if !path.is_dir() => {
            return Err(Failure::error(format!("there is no data folder `{}`", path.display()))
                .hint("name it with `--data`, or set `CHARTER_DATA`"));
        }
        Access::ReadOnly => sqlite::Access::ReadOnly,
    };
    let store = SqliteStore::open(path, access).await.map_err(|error| opening(&error))?;
    Ok(Opened { store: store.clone(), kind: Kind::Sqlite(store) })
}

impl Opened {
    /// Closes it, so that what it held is free when this returns.
    pub(crate) async fn close(self) {
        drop(self.store);
        match self.kind {
            Kind::Sqlite(store) => store.close().await,
            Kind::Postgres(store) => store.close().await,
        }
    }

    /// Refuses while a server runs on it: for what must have the store to itself.
    pub(crate) async fn alone(&self, now: Timestamp) -> Outcome<()> {
        let servers = self.store.live_servers(now).await.map_err(|error| opening(&error))?;
        if servers.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = servers.iter().map(|lease| lease.server.to_string()).collect();
        Err(Failure::new(Exit::Conflict, format!("servers run on this database: {}", ids.join(", ")))
            .hint("stop them first; one that was killed is forgotten after some seconds"))
    }
}

/// What it means that a store can't be opened or read.
pub(crate) fn opening(error: &StoreError) -> Failure {
    let failure = Failure::error(chain(error));
    match error {
        StoreError::Damaged(_) => failure
            .hint("nothing is written to a damaged log: keep it as it is, and restore a backup elsewhere")
            .hint("`charter verify` names the first bad offset"),
        _ => failure,
    }
}

#[cfg(unix)]
fn private_folder(path: &Path) -> Outcome<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .doing(format_args!("create the data folder `{}`", path.display()))
}

#[cfg(not(unix))]
fn private_folder(path: &Path) -> Outcome<()> {
    std::fs::create_dir_all(path).doing(format_args!("create the data folder `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(url: Option<&str>) -> StoreArgs {
        StoreArgs { data: Some("d".into()), database_url: url.map(|url| url.parse().unwrap()) }
    }

    #[test]
    fn the_database_counts_when_there_is_one_and_is_shown_without_its_password() {
        for none in [None, Some(""), Some("none"), Some("None")] {
            assert!(matches!(args(none).place().unwrap(), Place::Folder(_)), "{none:?}");
        }
        let given = args(Some("postgres://ann:hunter2@db.example:6000/charter"));
        assert_eq!(given.place().unwrap().to_string(), "db.example:6000/charter");
        assert!(!format!("{given:?} {:?}", given.place().unwrap()).contains("hunter2"));
        let wrong = args(Some("mysql://ann:hunter2@db/x")).place().unwrap_err();
        assert!(!format!("{wrong:?}").contains("hunter2"), "{wrong:?}");
    }
}
