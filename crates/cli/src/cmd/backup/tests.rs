//! The file of keys outlives mistakes: a server that starts on it replaces it only when it is its own.

use super::{FolderArgs, Kept};
use crate::cmd::store::Place;
use charter_control::{Config, Control, RecoveryOf, RequestMeta};
use charter_events::{Profile, Timestamp, Via};
use charter_replay_tools::backup::{BackupFolder, Options, read_keys, restore, verify};
use charter_store::{LogStore, MemoryStore};
use std::{fs, io::Cursor, path::Path, sync::Arc, time::Duration};

/// A server whose clock does its work when it is told to, with one file of keys.
async fn server(store: &MemoryStore, dir: &Path) -> Control {
    let args = FolderArgs { backups: Some(dir.to_owned()), backup_keys: Some(dir.join("users.keys")) };
    let folder = args.folder(&Place::Folder(dir.to_owned())).unwrap();
    let config = Config {
        backups: Some(Arc::new(Kept(folder))),
        housekeeping_every: Duration::from_secs(1_000_000),
        verify_every: None,
        projections: Vec::new(),
        make_setup_code: false,
        ..Config::default()
    };
    Control::start(Arc::new(store.clone()), config).await.unwrap().control
}

async fn administrator(control: &Control, name: &str) {
    let names = Profile {
        username: name.parse().unwrap(),
        display_name: None,
        email: None,
        login_name: None,
        external_id: None,
        identity: None,
    };
    control.recover_administrator(RecoveryOf::New(names), None, RequestMeta::new(Via::Cli)).await.unwrap();
}

/// An installation with one person, and its file of keys as the backup left it.
async fn installation(dir: &Path) -> (MemoryStore, Vec<u8>) {
    let store = MemoryStore::default();
    let control = server(&store, dir).await;
    administrator(&control, "ada").await;
    BackupFolder::new(dir.to_owned(), Some(dir.join("users.keys")))
        .take(&store, control.now(), &mut |_| true)
        .await
        .unwrap();
    control.shutdown().await;
    let keys = fs::read(dir.join("users.keys")).unwrap();
    assert_eq!(read_keys(&mut keys.as_slice()).unwrap().keys.len(), 1);
    (store, keys)
}

fn backup_in(dir: &Path) -> Vec<u8> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "backup"));
    fs::read(file.unwrap()).unwrap()
}

/// Starts there, lets the clock do its work and asks for a backup: why there is none.
async fn refused(store: &MemoryStore, dir: &Path) -> String {
    let control = server(store, dir).await;
    control.housekeeping(true).await;
    let args = FolderArgs { backups: Some(dir.to_owned()), backup_keys: Some(dir.join("users.keys")) };
    let kept = Kept(args.folder(&Place::Folder(dir.to_owned())).unwrap());
    let taken = control.take_backup(&kept, None, RequestMeta::new(Via::Cli), Arc::default()).await;
    control.shutdown().await;
    taken.unwrap_err().to_string()
}

#[tokio::test]
async fn a_new_installation_that_was_given_the_file_of_another_leaves_it_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (_, keys) = installation(dir.path()).await;
    let other = MemoryStore::new(charter_events::LogId::from_u128(77));
    let why = refused(&other, dir.path()).await;
    assert!(why.contains("it is of log") && why.contains("--backup-keys"), "{why}");
    assert_eq!(fs::read(dir.path().join("users.keys")).unwrap(), keys);
}

#[tokio::test]
async fn a_new_installation_under_the_id_of_another_as_after_a_restore_that_failed_leaves_its_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, keys) = installation(dir.path()).await;
    let adopted = MemoryStore::new(store.head().await.unwrap().log_id);
    let why = refused(&adopted, dir.path()).await;
    assert!(why.contains("not this installation's"), "{why}");
    assert_eq!(fs::read(dir.path().join("users.keys")).unwrap(), keys);
}

#[tokio::test]
async fn a_restored_copy_without_keys_leaves_the_only_ones_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (_, keys) = installation(dir.path()).await;
    let (file, copy) = (backup_in(dir.path()), MemoryStore::default());
    let verified = verify(&mut file.as_slice(), &mut |_| true).unwrap();
    let (options, now) = (Options::default(), Timestamp::from_micros(2_000_000_000_000_000).unwrap());
    restore(&copy, (&mut Cursor::new(file), verified), &options, now, &mut |_| true).await.unwrap();
    let why = refused(&copy, dir.path()).await;
    assert!(why.contains("the keys of 1 users that the installation lacks"), "{why}");
    assert_eq!(fs::read(dir.path().join("users.keys")).unwrap(), keys);
}

#[tokio::test]
async fn an_installation_goes_on_with_its_own_file_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = installation(dir.path()).await;
    let control = server(&store, dir.path()).await;
    administrator(&control, "bob").await;
    control.housekeeping(true).await;
    control.shutdown().await;
    let keys = fs::read(dir.path().join("users.keys")).unwrap();
    assert_eq!(read_keys(&mut keys.as_slice()).unwrap().keys.len(), 2);
}
