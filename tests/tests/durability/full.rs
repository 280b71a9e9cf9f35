//! PostgreSQL on a disk with no space left: commands are unavailable, and it goes on by itself when there is space.

use charter_services::{Postgres, PostgresSettings};
use charter_tests::{Caller, Fleet, Installation, Load, eventually};
use serde_json::json;
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Set where a root may not mount, as in some containers: the test is left out then, which else it never is for root.
const WITHOUT_MOUNT: &str = "CHARTER_TEST_WITHOUT_MOUNT";
const COMMANDS_THAT_FIT_MAX: usize = 1_000;
const LOAD_SECONDS_MAX: u64 = 60;

/// A file system in memory; gone when dropped.
struct Small(tempfile::TempDir);

impl Small {
    /// `None`, and loudly, where this user may not mount.
    #[expect(clippy::print_stderr, reason = "what is not tested is said")]
    fn mount(mebibytes: usize) -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("charter-small-").tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=0755"), "tmpfs"]);
        let output = mount.arg(folder.path()).output();
        if output.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        assert!(
            !root || std::env::var_os(WITHOUT_MOUNT).is_some(),
            "root may not mount a small file system here ({output:?}): set {WITHOUT_MOUNT}=1 to go without this test"
        );
        eprintln!(
            "NOT TESTED: a full disk. This user may not mount a small file system; run the tests as root."
        );
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file that takes all the space there is.
    fn fill(&self) -> PathBuf {
        let ballast = self.path().join("ballast");
        let mut file = fs::File::create(&ballast).unwrap();
        while file.write_all(&[0; 64 * 1024]).is_ok() {}
        while file.write_all(&[0; 512]).is_ok() {}
        ballast
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

/// Whether a command is refused as unavailable. Some fit into the files as they are.
async fn refused_within(admin: &Caller, commands: usize) -> bool {
    for number in 0..commands {
        let slug = format!("n{number}");
        let answer = admin.post("/api/v1/groups", &json!({"slug": slug, "name": slug})).await.unwrap();
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
        if answer.status == 503 {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_under_postgresql_loses_nothing_and_all_goes_on_when_there_is_space() {
    let Some(small) = Small::mount(160) else { return };
    fs::set_permissions(small.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let settings = PostgresSettings {
        folder: Some(small.path().join("postgres")),
        durable: true,
        ..PostgresSettings::default()
    };
    let postgres = Postgres::start_with(&settings).unwrap();
    let installation = Installation::on(postgres.database("charter").unwrap()).unwrap();
    let fleet = Fleet::start(installation, 1).await.unwrap();
    let load = fleet.load("s");
    let callers = load.start(8, 100_000);
    load.until(100, LOAD_SECONDS_MAX).await.unwrap();

    let ballast = small.fill();
    let (server, admin) = (fleet.server(0).unwrap(), fleet.admin(0).unwrap());
    assert!(refused_within(&admin, COMMANDS_THAT_FIT_MAX).await, "there was space: nothing was tested");
    let question = json!({"user": "ada", "permission": "core.user.read"});
    admin.post("/api/v1/check", &question).await.unwrap().expect(200).unwrap();
    assert!(postgres.sql("SELECT 1").is_ok(), "it has no space, and is there");
    fs::remove_file(&ballast).unwrap();
    server.until_ready(true, 60).await.unwrap();
    load.until(load.count() + 100, LOAD_SECONDS_MAX).await.unwrap();

    // Its own log needs a new file, and there is no space for one: it ends itself.
    let ballast = small.fill();
    let _ = postgres.sql("SELECT pg_switch_wal()");
    eventually("PostgreSQL has ended", 30, async || postgres.sql("SELECT 1").is_err()).await.unwrap();
    server.until_ready(false, 30).await.unwrap();
    fs::remove_file(&ballast).unwrap();
    postgres.restart().unwrap();
    server.until_ready(true, 60).await.unwrap();
    load.until(load.count() + 100, LOAD_SECONDS_MAX).await.unwrap();

    load.stop();
    Load::join(callers).await.unwrap();
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
    drop(postgres);
}
