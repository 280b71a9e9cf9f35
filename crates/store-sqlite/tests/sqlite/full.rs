//! A disk with no space left: it is told as that, nothing acknowledged is lost, and it goes on when there is space.

use crate::common::{scan, server};
use charter_store::{
    LogStore, StoreError,
    conformance::{Writing, batch_of, group_renamed, meta},
};
use std::{fs, path::Path, process::Command};

/// Set where a root may not mount, as in some containers: the test is left out then, which else it never is for root.
const WITHOUT_MOUNT: &str = "CHARTER_TEST_WITHOUT_MOUNT";

/// A file system of 4 MiB in memory; gone when dropped.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    /// `None`, and loudly, where this user may not mount.
    #[expect(clippy::print_stderr, reason = "what is not tested is said")]
    fn mount(dir: &'a Path) -> Option<Self> {
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(dir).output();
        if done.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(Self(dir));
        }
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        assert!(
            !root || std::env::var_os(WITHOUT_MOUNT).is_some(),
            "root may not mount a small file system here ({done:?}): set {WITHOUT_MOUNT}=1 to go without this test"
        );
        eprintln!(
            "NOT TESTED: a full disk. This user may not mount a small file system; run the tests as root."
        );
        None
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

async fn append(store: &dyn LogStore) -> Result<u64, StoreError> {
    let mut append = store.append().await?;
    let mut meta = meta(u128::from(append.head().offset.get()) + 1);
    meta.reason = Some("r".repeat(1_000));
    let events: Vec<_> = (0..50).map(|n| group_renamed(n + 1, &"n".repeat(100))).collect();
    let batch = batch_of(Writing::new(append.head()).with(&meta, &events));
    append.write(&batch).await?;
    append.commit().await.map(|head| head.offset.get())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_goes_on_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path()) else { return };
    let ballast = dir.path().join("ballast");
    fs::write(&ballast, vec![0; 1_500_000]).unwrap();
    let store = server(&dir.path().join("store")).await;
    let mut acknowledged = 0;
    let error = loop {
        match append(&*store).await {
            Ok(offset) => acknowledged = offset,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert!(acknowledged > 0);
    assert!(matches!(append(&*store).await, Err(StoreError::Full)), "and again");
    assert_eq!(scan(&*store).await.unwrap().head.offset.get(), acknowledged);
    fs::remove_file(&ballast).unwrap();
    assert!(append(&*store).await.unwrap() > acknowledged);
    scan(&*store).await.unwrap();
    store.close().await;
    scan(&*server(&dir.path().join("store")).await).await.unwrap();
    drop(small);
}
