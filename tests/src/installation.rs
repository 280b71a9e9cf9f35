//! An installation: a folder, or a database that several servers share; and how the program is told of it.

use anyhow::{Context, ensure};
use charter_services::shared_nats;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// What an installation is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// One file in the data folder.
    Sqlite,
    /// A database of the server that the whole test run shares.
    Postgres,
}

/// An installation of its own, empty at first. Its folder goes with it.
pub struct Installation {
    folder: tempfile::TempDir,
    database: Option<charter_services::Database>,
    environment: Vec<(String, String)>,
}

impl Installation {
    /// A new installation; a database in PostgreSQL is migrated.
    ///
    /// # Errors
    /// When PostgreSQL can't be had, or does not take the migrations.
    pub fn new(database: Database) -> anyhow::Result<Self> {
        match database {
            Database::Sqlite => Self::unmigrated(None),
            Database::Postgres => Self::on(charter_services::Database::fresh("e2e")?),
        }
    }

    /// A new installation in a database of the caller's, which is migrated.
    ///
    /// # Errors
    /// As [`Installation::new`].
    pub fn on(database: charter_services::Database) -> anyhow::Result<Self> {
        let installation = Self::unmigrated(Some(database))?;
        installation.run_well(&["migrate"])?;
        Ok(installation)
    }

    /// The same, of a database as it is.
    ///
    /// # Errors
    /// When there is no room for a folder.
    pub fn unmigrated(database: Option<charter_services::Database>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("charter-e2e-").tempdir()?;
        Ok(Self { folder, database, environment: Vec::new() })
    }

    /// With a variable for every program that is started on it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// A file in its folder that its owner alone may read.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn secret_file(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        use std::{io::Write, os::unix::fs::OpenOptionsExt};
        let folder = self.folder.path().join("secrets");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(name);
        let mut options = std::fs::OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?
            .write_all(text.as_bytes())?;
        Ok(path)
    }

    /// With the stream on a NATS server.
    #[must_use]
    pub fn with_nats(self, url: impl Into<String>) -> Self {
        self.with("CHARTER_NATS_URL", url)
    }

    /// With the stream on the NATS server that the whole test run shares.
    ///
    /// # Errors
    /// When there is none and none can be started.
    pub fn with_shared_nats(self) -> anyhow::Result<Self> {
        Ok(self.with_nats(shared_nats()?))
    }

    /// What it is kept in.
    pub fn kind(&self) -> Database {
        if self.database.is_some() { Database::Postgres } else { Database::Sqlite }
    }

    /// Its database in PostgreSQL.
    ///
    /// # Errors
    /// When it is kept in a file.
    pub fn database(&self) -> anyhow::Result<&charter_services::Database> {
        self.database.as_ref().context("the installation is not kept in PostgreSQL")
    }

    /// The data folder of a server. On PostgreSQL each number has its own, as on a machine of its own.
    pub fn data(&self, number: usize) -> PathBuf {
        match self.kind() {
            Database::Sqlite => self.folder.path().to_path_buf(),
            Database::Postgres => self.folder.path().join(number.to_string()),
        }
    }

    /// The program on this installation, with nothing of this machine's own configuration.
    ///
    /// # Errors
    /// When it was not built.
    pub fn command(&self) -> anyhow::Result<Command> {
        self.command_of(0)
    }

    /// The same, with the data folder of a server.
    ///
    /// # Errors
    /// When it was not built.
    pub fn command_of(&self, number: usize) -> anyhow::Result<Command> {
        let mut command = Command::new(binary()?);
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CHARTER_"))
        {
            command.env_remove(name);
        }
        let home = self.folder.path();
        command.env("CHARTER_DATA", self.data(number)).env("NO_COLOR", "1").current_dir(home);
        command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
        if let Some(database) = &self.database {
            command.env("CHARTER_DATABASE_URL", &database.server_url);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    /// Runs a verb of the program to its end. `migrate` does it as the database's owner.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = self.command()?;
        if let (Some(database), Some(&"migrate")) = (&self.database, arguments.first()) {
            command.env("CHARTER_MIGRATION_URL", &database.owner_url);
        }
        command.args(arguments).output().context("the program can't be started")
    }

    /// The same; what it printed on stdout.
    ///
    /// # Errors
    /// When it fails; with what it printed.
    pub fn run_well(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.run(arguments)?;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.success(),
            "`charter {}`: {}\n{stdout}{stderr}",
            arguments.join(" "),
            output.status
        );
        Ok(stdout.into_owned())
    }

    /// Recomputes every hash of the log; no server need run.
    ///
    /// # Errors
    /// What `charter verify` says.
    pub fn verify(&self) -> anyhow::Result<()> {
        self.run_well(&["verify"]).map(drop)
    }
}

/// The `charter` binary of this build.
///
/// # Errors
/// When it was not built, naming the command that builds it.
pub fn binary() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let profile = test.ancestors().nth(2).unwrap_or(Path::new(""));
    let path = profile.join("charter");
    ensure!(path.exists(), "`charter` is not built: run `cargo build -p charter-cli` first");
    Ok(path)
}
