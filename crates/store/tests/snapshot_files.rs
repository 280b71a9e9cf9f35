//! Snapshots as files: what is whole is loaded, anything else is ignored and the older one taken.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_events::Offset;
use charter_store::{
    LogStore, MemoryStore, SNAPSHOTS_KEPT, Snapshot, SnapshotHeader, StoreError, Wanted, causes,
    conformance::append_one, snapshot_files::SnapshotFiles,
};
use std::{fs, path::PathBuf};

struct Setting {
    dir: tempfile::TempDir,
    files: SnapshotFiles,
    log: MemoryStore,
}

fn wanted() -> Wanted {
    Wanted { format: 1, code_version: "0.1.0".into(), at_most: None }
}

async fn setting() -> (Setting, Vec<Snapshot>) {
    let dir = tempfile::tempdir().unwrap();
    let files = SnapshotFiles::new(dir.path().join("snapshots"));
    let log = MemoryStore::default();
    let log_id = log.head().await.unwrap().log_id;
    let events = append_one(&log, 6).await;
    let snapshots = [1, 3, 5].map(|index| {
        let (offset, hash) = (events[index].offset, events[index].hash);
        let header = SnapshotHeader { format: 1, code_version: "0.1.0".into(), log_id, offset, hash };
        Snapshot { header, body: (0..200_u8).collect() }
    });
    for snapshot in &snapshots {
        files.save(snapshot.clone()).await.unwrap();
    }
    (Setting { dir, files, log }, snapshots.to_vec())
}

impl Setting {
    fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            fs::read_dir(self.dir.path().join("snapshots")).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        paths
    }
}

#[tokio::test]
async fn the_last_two_are_kept_and_nothing_else() {
    let (setting, snapshots) = setting().await;
    let stray = setting.dir.path().join("snapshots").join("00000000000000000009.snapshot.new");
    fs::write(&stray, "half").unwrap();
    setting.files.save(snapshots[2].clone()).await.unwrap();
    let paths = setting.paths();
    assert_eq!(paths.len(), SNAPSHOTS_KEPT, "{paths:?}");
    let loaded = setting.files.latest(&setting.log, &wanted()).await.unwrap();
    assert_eq!(loaded.snapshot.as_ref(), Some(&snapshots[2]));
}

#[tokio::test]
async fn every_flipped_byte_makes_a_snapshot_ignored_and_the_older_one_is_taken() {
    let (setting, snapshots) = setting().await;
    let newest = setting.paths().pop().unwrap();
    let sound = fs::read(&newest).unwrap();
    for index in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[index] ^= 1 << (index % 8);
        fs::write(&newest, bytes).unwrap();
        let loaded = setting.files.latest(&setting.log, &wanted()).await.unwrap();
        assert_eq!(loaded.snapshot.as_ref(), Some(&snapshots[1]), "byte {index}");
        assert_eq!(loaded.ignored.len(), 1, "byte {index}");
    }
}

#[tokio::test]
async fn a_snapshot_of_any_other_length_is_ignored() {
    let (setting, snapshots) = setting().await;
    let newest = setting.paths().pop().unwrap();
    let sound = fs::read(&newest).unwrap();
    for length in 0..sound.len() {
        fs::write(&newest, &sound[..length]).unwrap();
        let loaded = setting.files.latest(&setting.log, &wanted()).await.unwrap();
        assert_eq!(loaded.snapshot.as_ref(), Some(&snapshots[1]), "cut to {length}");
    }
    fs::write(&newest, [sound.as_slice(), b"!"].concat()).unwrap();
    let loaded = setting.files.latest(&setting.log, &wanted()).await.unwrap();
    assert_eq!(loaded.snapshot.as_ref(), Some(&snapshots[1]), "one byte more");
}

#[tokio::test]
async fn what_could_never_be_loaded_is_not_saved() {
    let (setting, snapshots) = setting().await;
    let mut nothing = snapshots[0].clone();
    nothing.header.offset = Offset::ZERO;
    assert!(matches!(setting.files.save(nothing).await.unwrap_err(), StoreError::Refused(_)));
    let mut long = snapshots[0].clone();
    long.header.code_version = "v".repeat(65);
    assert!(matches!(setting.files.save(long).await.unwrap_err(), StoreError::Refused(_)));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_them() {
    use std::os::unix::fs::PermissionsExt;
    let (setting, _) = setting().await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&setting.dir.path().join("snapshots")), 0o700);
    assert_eq!(mode(&setting.paths()[0]), 0o600);
}

#[tokio::test]
async fn a_folder_that_can_not_be_written_to_is_named_with_the_reason() {
    let (setting, snapshots) = setting().await;
    let folder = setting.dir.path().join("a-file").join("snapshots");
    fs::write(setting.dir.path().join("a-file"), "in the way").unwrap();
    let files = SnapshotFiles::new(&folder);
    for error in [files.try_folder().unwrap_err(), files.save(snapshots[0].clone()).await.unwrap_err()] {
        let told = causes(&error);
        assert!(told.contains(&folder.display().to_string()) && told.contains("os error"), "{told}");
    }
    let before = setting.paths();
    setting.files.try_folder().unwrap();
    assert_eq!(setting.paths(), before);
}
