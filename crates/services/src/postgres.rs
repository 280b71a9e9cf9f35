//! A PostgreSQL server of our own: passwords asked for, loopback only, in a folder that goes with it or stays.

use crate::{
    database::Database,
    find,
    folder::Folder,
    process::{self, PORT_TRIES_MAX, Watchdog},
};
use anyhow::{Context, bail, ensure};
use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The superuser's name.
const ADMIN: &str = "admin";
/// More than any test opens.
const CONNECTIONS_MAX: usize = 200;
/// The system's user that PostgreSQL runs as where we are root: it refuses to be root itself.
const SYSTEM_USER: &str = "postgres";

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopHow {
    /// Connections are ended, everything is written: an orderly restart.
    Fast,
    /// At once; the next start recovers from the log, as after a crash.
    Immediate,
}

/// What may be chosen of a server.
#[derive(Debug, Clone, Default)]
pub struct PostgresSettings {
    /// Kept there; a temporary folder when there is none.
    pub folder: Option<PathBuf>,
    /// Whether a commit is on the disk when it is answered. Without it tests are much faster.
    pub durable: bool,
    /// Further variables for the server's own process; the commands that make its cluster don't get them.
    pub environment: Vec<(String, String)>,
}

/// A running server; stopped on drop, its temporary folder removed.
pub struct Postgres {
    bin: PathBuf,
    /// The user and group it runs as, where we are root.
    owner: Option<(u32, u32)>,
    durable: bool,
    environment: Vec<(String, String)>,
    password: String,
    port: u16,
    child: Mutex<Option<Child>>,
    watchdog: Watchdog,
    folder: Folder,
}

impl Postgres {
    /// A new server that writes lazily: for tests that lose no power.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start; with the end of its log.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(&PostgresSettings::default())
    }

    /// A new server that has every commit on the disk.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_durable() -> anyhow::Result<Self> {
        Self::start_with(&PostgresSettings { durable: true, ..PostgresSettings::default() })
    }

    /// A server as chosen; makes the cluster unless the folder has one.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn start_with(settings: &PostgresSettings) -> anyhow::Result<Self> {
        let bin = find::postgres_bin()?;
        let folder = Folder::open(settings.folder.as_deref(), "charter-postgres-")?;
        let owner = owner()?;
        own(folder.path(), owner, 0o700)?;
        let watchdog = Watchdog::start("QUIT", folder.to_remove())?;
        let mut server = Self {
            bin,
            owner,
            durable: settings.durable,
            environment: settings.environment.clone(),
            password: String::new(),
            port: 0,
            child: Mutex::default(),
            watchdog,
            folder,
        };
        server.password = server.prepare()?;
        server.first_start()?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn pid_file(&self) -> PathBuf {
        self.data().join("postmaster.pid")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// A command of PostgreSQL's, as the user it may run as.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }

    /// Makes the cluster unless it is there; its superuser's password.
    fn prepare(&self) -> anyhow::Result<String> {
        let kept = self.folder.path().join("password");
        if self.data().join("PG_VERSION").exists() {
            let password = std::fs::read_to_string(&kept);
            return password.with_context(|| format!("{} can't be read", kept.display()));
        }
        let password = process::password()?;
        std::fs::write(&kept, &password)?;
        own(&kept, self.owner, 0o600)?;
        let mut command = self.program("initdb");
        command.arg("--pgdata").arg(self.data()).arg("--pwfile").arg(&kept);
        command.args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--username", ADMIN]);
        if !self.durable {
            command.arg("--no-sync");
        }
        let output = command.output().context("initdb could not be started")?;
        let (place, said) = (self.folder.path().display(), String::from_utf8_lossy(&output.stderr));
        let hint = if said.contains("ermission denied") && self.owner.is_some() {
            " (the user `postgres`, as whom it runs, has to reach that folder: choose another one, or set TMPDIR)"
        } else {
            ""
        };
        ensure!(output.status.success(), "initdb in {place} failed{hint}: {}", said.trim());
        Ok(password)
    }

    /// On the port of last time where there is one, so that URLs that were pasted somewhere stay good.
    fn first_start(&mut self) -> anyhow::Result<()> {
        let kept = self.folder.path().join("port");
        let mut last = std::fs::read_to_string(&kept).ok().and_then(|text| text.trim().parse().ok());
        for _ in 0..PORT_TRIES_MAX {
            self.port = match last.take() {
                Some(port) => port,
                None => process::free_port()?,
            };
            if self.start_process()? {
                std::fs::write(&kept, self.port.to_string())?;
                return Ok(());
            }
            if !process::log_tail(&self.log()).contains("Address already in use") {
                break;
            }
        }
        bail!("PostgreSQL did not start: {}", process::log_tail(&self.log()))
    }

    /// Whether it came up.
    fn start_process(&self) -> anyhow::Result<bool> {
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        for setting in self.settings() {
            command.arg("-c").arg(setting);
        }
        let mut child = process::spawn(&mut command, &self.log())?;
        self.watchdog.watch(&child);
        let up = process::wait_ready(&mut child, || self.says_ready())?;
        if !up {
            self.watchdog.forget();
        }
        *self.child() = up.then_some(child);
        Ok(up)
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", self.port),
            // Sockets would need a folder that nobody else uses.
            "unix_socket_directories=".to_owned(),
            format!("max_connections={CONNECTIONS_MAX}"),
            "shared_buffers=64MB".to_owned(),
            "max_wal_size=256MB".to_owned(),
            "min_wal_size=32MB".to_owned(),
            "timezone=UTC".to_owned(),
        ];
        if !self.durable {
            settings.extend(["fsync=off", "full_page_writes=off"].map(str::to_owned));
        }
        settings
    }

    /// The eighth line of the pid file tells, as `pg_ctl` reads it too; the first one that it is not an old file.
    fn says_ready(&self) -> bool {
        let text = std::fs::read_to_string(self.pid_file()).unwrap_or_default();
        let port = text.lines().nth(3).is_some_and(|port| port.trim() == self.port.to_string());
        port && text.lines().nth(7).is_some_and(|state| state.trim() == "ready")
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The superuser's URL, of database `postgres`.
    pub fn admin_url(&self) -> String {
        format!("postgres://{ADMIN}:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// The port it listens on; stays over a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A database with an owner and a server's role, each with a password. The same one when it is there already.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn database(&self, name: &str) -> anyhow::Result<Database> {
        Database::make(&self.admin_url(), name)
    }

    /// Runs statements as the superuser in database `postgres`; what they print, without headings.
    ///
    /// # Errors
    /// What the server says.
    pub fn sql(&self, statements: &str) -> anyhow::Result<String> {
        crate::database::psql(&self.admin_url(), statements)
    }

    /// The process id of the server, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// Stops the server; its data stays.
    ///
    /// # Errors
    /// When the process can't be ended.
    pub fn stop(&self, how: StopHow) -> anyhow::Result<()> {
        let Some(mut child) = self.child().take() else { return Ok(()) };
        process::end(&mut child, if how == StopHow::Fast { "INT" } else { "QUIT" })?;
        self.watchdog.forget();
        Ok(())
    }

    /// Starts the server again on the same data and port; stops it first when it runs.
    ///
    /// # Errors
    /// As [`Postgres::start`].
    pub fn restart(&self) -> anyhow::Result<()> {
        self.stop(StopHow::Fast)?;
        for _ in 0..PORT_TRIES_MAX {
            if self.start_process()? {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(250));
        }
        bail!("PostgreSQL did not start again: {}", process::log_tail(&self.log()))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // What is thrown away need not be written first.
        let how = if self.folder.to_remove().is_some() { StopHow::Immediate } else { StopHow::Fast };
        let stopped = self.stop(how);
        if stopped.is_err() {
            // The watchdog ends it then: it is not called off.
            self.watchdog.stay();
        }
    }
}

/// The user and group PostgreSQL has to run as; none when we are not root.
fn owner() -> anyhow::Result<Option<(u32, u32)>> {
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    let missing = "PostgreSQL refuses to run as root, and there is no user `postgres` to run it as: \
                   install it with `make need-postgres` or `apt-get install postgresql`, or be another user";
    Ok(Some((id(&["-u", SYSTEM_USER]).context(missing)?, id(&["-g", SYSTEM_USER]).context(missing)?)))
}

fn id(arguments: &[&str]) -> anyhow::Result<u32> {
    let output = Command::new("id").args(arguments).output().context("`id` could not be started")?;
    ensure!(output.status.success(), "`id {}` failed", arguments.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}

fn own(path: &Path, owner: Option<(u32, u32)>, mode: u32) -> anyhow::Result<()> {
    if let Some((user, group)) = owner {
        std::os::unix::fs::chown(path, Some(user), Some(group))?;
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_survives_a_stop_at_once_and_the_folder_goes_with_the_server() {
        let server = Postgres::start_durable().unwrap();
        let folder = server.folder.path().to_path_buf();
        let database = server.database("one").unwrap();
        crate::database::psql(&database.owner_url, "CREATE TABLE t (n int); INSERT INTO t VALUES (7);")
            .unwrap();

        server.stop(StopHow::Immediate).unwrap();
        assert!(crate::database::psql(&database.owner_url, "SELECT n FROM t").is_err());
        server.restart().unwrap();

        assert_eq!(crate::database::psql(&database.owner_url, "SELECT n FROM t").unwrap(), "7");
        drop(server);
        assert!(!folder.exists());
    }

    #[test]
    fn a_folder_that_was_named_keeps_its_databases_urls_and_data() {
        let folder = tempfile::tempdir().unwrap();
        own(folder.path(), None, 0o755).unwrap();
        let settings =
            PostgresSettings { folder: Some(folder.path().join("kept")), ..PostgresSettings::default() };
        let first = Postgres::start_with(&settings).unwrap();
        let before = first.database("charter").unwrap();
        crate::database::psql(&before.owner_url, "CREATE TABLE t (n int)").unwrap();
        drop(first);

        let second = Postgres::start_with(&settings).unwrap();

        let after = second.database("charter").unwrap();
        assert_eq!((&before.owner_url, &before.server_url), (&after.owner_url, &after.server_url));
        assert_eq!(crate::database::psql(&after.owner_url, "SELECT count(*) FROM t").unwrap(), "0");
    }

    #[test]
    fn a_wrong_password_is_refused() {
        let server = Postgres::start().unwrap();
        let database = server.database("one").unwrap();
        let wrong = database.server_url.replace("one_server:", "one_server:x");
        assert!(crate::database::psql(&wrong, "SELECT 1").is_err());
        assert_eq!(crate::database::psql(&database.server_url, "SELECT current_user").unwrap(), "one_server");
    }
}
