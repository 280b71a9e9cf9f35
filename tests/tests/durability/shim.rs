//! The library that is preloaded into whoever writes to the disk, and installations whose disk it is.

use charter_services::{Postgres, PostgresSettings};
use charter_tests::{Database, Installation, eventually};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/shim/fsync.c");

/// A disk that does what it is told.
pub(crate) struct Shim {
    folder: tempfile::TempDir,
}

impl Shim {
    /// Compiles the library; at first it only keeps its log.
    fn build() -> Self {
        let folder = tempfile::Builder::new().prefix("charter-shim-").tempdir().unwrap();
        // PostgreSQL runs as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]);
        cc.arg(folder.path().join("fsync.so")).args([SOURCE, "-ldl"]);
        let output = cc.output().unwrap_or_else(|error| {
            panic!("`cc` can't be started ({error}): install a C compiler, as `make need-cc` says")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a process whose syncs of these files it is to have needs in its environment.
    fn environment(&self, files: &str) -> Vec<(String, String)> {
        let shown = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", shown(&self.path("fsync.so"))),
            ("FSYNC_SHIM_FOLDER", shown(self.folder.path())),
            ("FSYNC_SHIM_PATH", files.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Each sync takes so much longer.
    pub(crate) fn delay(&self, milliseconds: u64) {
        fs::write(self.path("delay"), milliseconds.to_string()).unwrap();
    }

    /// No sync returns from now on.
    pub(crate) fn hold(&self) {
        fs::write(self.path("hold"), "").unwrap();
    }

    /// Syncs return again.
    pub(crate) fn let_go(&self) {
        fs::remove_file(self.path("hold")).unwrap();
    }

    /// Every sync fails from now on.
    pub(crate) fn fail(&self) {
        fs::write(self.path("fail"), "").unwrap();
    }

    /// The sync with this number fails, in each process.
    pub(crate) fn fail_at(&self, number: usize) {
        fs::write(self.path("nth"), number.to_string()).unwrap();
    }

    /// Syncs succeed again.
    pub(crate) fn mend(&self) {
        for name in ["fail", "nth"] {
            // Only one of them is there.
            let _ = fs::remove_file(self.path(name));
        }
    }

    /// What happened so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Where the log ends now: what is told from here on began later.
    pub(crate) fn mark(&self) -> usize {
        self.log().len()
    }

    /// Waits until a sync was told of that began after the mark.
    pub(crate) async fn until(&self, what: &str, mark: usize) {
        let told = async || self.log()[mark..].lines().any(|line| line.starts_with(what));
        eventually(&format!("a sync of which the shim tells `{what}`"), 30, told).await.unwrap();
    }

    /// Whether a sync began after the mark and has returned.
    pub(crate) fn synced_since(&self, mark: usize) -> bool {
        let log = self.log();
        let numbers = |what: &str| -> Vec<&str> {
            let calls = log[mark..].lines().filter_map(|line| line.strip_prefix(what)?.split(' ').next());
            calls.collect()
        };
        let ended = numbers("end ");
        numbers("begin ").iter().any(|call| ended.contains(call))
    }
}

/// An installation on such a disk.
pub(crate) struct Shimmed {
    pub(crate) shim: Shim,
    /// The test's own PostgreSQL, when it is kept there.
    pub(crate) postgres: Option<Postgres>,
    pub(crate) installation: Installation,
}

impl Shimmed {
    pub(crate) fn new(database: Database) -> Self {
        match database {
            Database::Sqlite => Self::on_sqlite(),
            Database::Postgres => Self::on_postgres(true),
        }
    }

    /// The server's own file.
    pub(crate) fn on_sqlite() -> Self {
        let shim = Shim::build();
        let mut installation = Installation::new(Database::Sqlite).unwrap();
        for (name, value) in shim.environment("/charter.db") {
            installation = installation.with(&name, value);
        }
        Self { shim, postgres: None, installation }
    }

    /// The log of a PostgreSQL; `durable`: whether that one waits for its disk.
    pub(crate) fn on_postgres(durable: bool) -> Self {
        let shim = Shim::build();
        let environment = shim.environment("/pg_wal/");
        let settings = PostgresSettings { durable, environment, ..PostgresSettings::default() };
        let postgres = Postgres::start_with(&settings).unwrap();
        let installation = Installation::on(postgres.database("charter").unwrap()).unwrap();
        Self { shim, postgres: Some(postgres), installation }
    }
}
