//! Opening, closing, and who may open what beside whom.

use crate::common::{fill, raw, reader, run, scan, server};
use charter_events::Offset;
use charter_store::{
    LogStore, SecretStore, SecretWrite, Snapshot, SnapshotHeader, SnapshotStore, StoreError, UserKey, Wanted,
    What, conformance::append_one,
};
use charter_store_sqlite::{Access, SqliteStore};
use std::fs;

#[tokio::test]
async fn what_was_appended_is_there_after_closing_and_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let keys = store.installation_secrets().await.unwrap();
    let events = fill(&*store, 150).await;
    let head = store.head().await.unwrap();
    store.close().await;
    let store = server(dir.path()).await;
    assert_eq!(store.head().await.unwrap(), head);
    assert_eq!(store.read(Offset::ZERO, 1_000).await.unwrap(), events);
    assert_eq!(store.installation_secrets().await.unwrap().tag_key.expose(), keys.tag_key.expose());
    append_one(&*store, 1).await;
    scan(&*store).await.unwrap();
}

#[tokio::test]
async fn a_second_server_is_refused_and_told_which_folder() {
    let dir = tempfile::tempdir().unwrap();
    let first = server(dir.path()).await;
    let error = SqliteStore::open(dir.path(), Access::Server).await.unwrap_err();
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    append_one(&*first, 1).await;
    first.close().await;
    append_one(&*server(dir.path()).await, 1).await;
}

#[tokio::test]
async fn a_tool_reads_beside_a_running_server_and_can_not_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    append_one(&*store, 3).await;
    let tool = reader(dir.path()).await;
    assert_eq!(scan(&*tool).await.unwrap().events, 3);
    append_one(&*store, 2).await;
    assert_eq!(scan(&*tool).await.unwrap().events, 5);
    assert!(matches!(tool.append().await.map(drop).unwrap_err(), StoreError::ReadOnly));
    assert!(matches!(
        tool.write_secrets(&[SecretWrite::ClearSetupCode]).await.unwrap_err(),
        StoreError::ReadOnly
    ));
    store.close().await;
    let alone = reader(dir.path()).await;
    assert_eq!(scan(&*alone).await.unwrap().events, 5, "without a server");
}

#[tokio::test]
async fn a_folder_without_a_store_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("missing")] {
        let error = SqliteStore::open(&path, Access::ReadOnly).await.unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
        assert!(!path.join("charter.db").exists());
    }
    fs::write(dir.path().join("charter.db"), "no database at all, but long enough to be one ".repeat(100))
        .unwrap();
    for access in [Access::ReadOnly, Access::Server] {
        let error = SqliteStore::open(dir.path(), access).await.unwrap_err();
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("charter.db"), "").unwrap();
    let mut connection = raw(dir.path()).await;
    run(&mut connection, "CREATE TABLE theirs (x INTEGER)").await;
    let error = SqliteStore::open(dir.path(), Access::Server).await.unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut connection).await.unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn a_database_of_a_newer_build_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    server(dir.path()).await.close().await;
    run(&mut raw(dir.path()).await, "PRAGMA user_version = 1000").await;
    for access in [Access::Server, Access::ReadOnly] {
        let error = SqliteStore::open(dir.path(), access).await.unwrap_err();
        assert!(matches!(error, StoreError::TooNew { found: 1000, .. }), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("a").join("store");
    let store = server(&dir).await;
    append_one(&*store, 1).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn events_refuse_to_be_changed_or_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    append_one(&*store, 2).await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.path().join("charter.db"));
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    for sql in [
        "UPDATE events SET reason = 'other' WHERE \"offset\" = 1",
        "DELETE FROM events WHERE \"offset\" = 2",
        "DELETE FROM events",
        "DELETE FROM log_head",
    ] {
        let error = sqlx::raw_sql(sql).execute(&mut connection).await.unwrap_err();
        assert!(error.to_string().contains("never"), "{sql}: {error}");
    }
    let loose = "UPDATE events SET schema = 'text'";
    assert!(sqlx::raw_sql(loose).execute(&mut raw(dir.path()).await).await.is_err(), "a STRICT table");
    assert_eq!(scan(&*store).await.unwrap().events, 2);
}

#[tokio::test]
async fn a_damaged_tail_start_or_head_keeps_a_server_from_starting_and_a_tool_from_nothing() {
    for (sql, offset) in [
        ("UPDATE events SET payload = x'00' WHERE \"offset\" = 1", 1),
        ("UPDATE events SET payload = x'00' WHERE \"offset\" = 290", 290),
        ("DELETE FROM events WHERE \"offset\" = 300", 300),
        ("UPDATE log_head SET head = 299", 300),
        ("UPDATE log_head SET head_hash = randomblob(32)", 300),
        ("UPDATE log_head SET recorded_at = recorded_at + 1", 300),
        ("DELETE FROM log_head", 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = server(dir.path()).await;
        fill(&*store, 300).await;
        store.close().await;
        run(&mut raw(dir.path()).await, sql).await;
        let error = SqliteStore::open(dir.path(), Access::Server).await.unwrap_err();
        let fault = error.fault().unwrap_or_else(|| panic!("{sql}: {error}"));
        assert_eq!(fault.offset.get(), offset, "{sql}: {fault}");
        // And the folder is free again.
        assert!(matches!(SqliteStore::open(dir.path(), Access::Server).await, Err(StoreError::Damaged(_))));
        let tool = reader(dir.path()).await;
        assert_eq!(scan(&*tool).await.unwrap_err().fault().unwrap(), fault, "{sql}");
    }
}

#[tokio::test]
async fn a_writer_that_finds_another_head_than_it_left_keeps_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    append_one(&*store, 2).await;
    run(&mut raw(dir.path()).await, "UPDATE log_head SET head_hash = randomblob(32)").await;
    let mut append = store.append().await.unwrap();
    let events = charter_store::conformance::Writing::new(append.head()).command(1);
    append.write(&charter_store::conformance::batch_of(events)).await.unwrap();
    let error = append.commit().await.unwrap_err();
    assert!(matches!(error, StoreError::HeadMoved { .. }), "{error}");
    assert_eq!(store.read(Offset::ZERO, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_destroyed_key_is_not_found_in_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let user = charter_events::UserId::from_u128(7);
    let canary: [u8; 32] = *b"canary-of-a-key-0123456789abcdef";
    store.write_secrets(&[SecretWrite::PutUserKey { user, key: UserKey::new(canary) }]).await.unwrap();
    assert!(found(dir.path(), &canary), "the test would prove nothing");
    store.write_secrets(&[SecretWrite::DestroyUserKey { user }]).await.unwrap();
    // The next write comes after the write-ahead log was cleared.
    append_one(&*store, 1).await;
    assert!(!found(dir.path(), &canary));
}

fn found(dir: &std::path::Path, canary: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).any(|path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(canary.len()).any(|window| window == canary)
    })
}

#[tokio::test]
async fn closing_undoes_the_append_under_way_and_frees_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let mut append = store.append().await.unwrap();
    let events = charter_store::conformance::Writing::new(append.head()).command(1);
    append.write(&charter_store::conformance::batch_of(events)).await.unwrap();
    store.close().await;
    assert!(matches!(append.commit().await.unwrap_err(), StoreError::Closed));
    assert!(matches!(store.append().await.map(drop).unwrap_err(), StoreError::Closed));
    assert!(matches!(store.head().await.unwrap_err(), StoreError::Closed));
    assert_eq!(server(dir.path()).await.head().await.unwrap().offset, Offset::ZERO);
}

#[tokio::test]
async fn snapshots_lie_beside_the_database_and_a_tool_can_not_save_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let event = append_one(&*store, 1).await.remove(0);
    let log_id = store.head().await.unwrap().log_id;
    let header = SnapshotHeader {
        format: 1,
        code_version: "1".into(),
        log_id,
        offset: event.offset,
        hash: event.hash,
    };
    let snapshot = Snapshot { header, body: b"state".to_vec() };
    store.save(snapshot.clone()).await.unwrap();
    let tool = reader(dir.path()).await;
    let wanted = Wanted { format: 1, code_version: "1".into(), at_most: None };
    assert_eq!(tool.latest(&wanted).await.unwrap().snapshot.as_ref(), Some(&snapshot));
    assert!(matches!(tool.save(snapshot).await.unwrap_err(), StoreError::ReadOnly));
}

#[tokio::test]
async fn a_row_that_can_not_be_read_ends_the_page_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    fill(&*store, 10).await;
    run(&mut raw(dir.path()).await, "UPDATE events SET via = 'pigeon' WHERE \"offset\" = 5").await;
    assert_eq!(store.read(Offset::ZERO, 100).await.unwrap().len(), 4);
    let error = store.read(Offset::new(4).unwrap(), 100).await.unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.offset.get(), 5);
    assert!(matches!(fault.what, What::Unreadable(_)));
}

#[tokio::test]
async fn who_does_not_get_the_folder_makes_and_touches_no_database() {
    let dir = tempfile::tempdir().unwrap();
    let lock = fs::File::create(dir.path().join("server.lock")).unwrap();
    lock.lock().unwrap();
    let error = SqliteStore::open(dir.path(), Access::Server).await.unwrap_err();
    assert!(matches!(error, StoreError::InUse(_)), "{error}");
    assert!(!dir.path().join("charter.db").exists());
    drop(lock);
    append_one(&*server(dir.path()).await, 1).await;
}

#[tokio::test]
async fn what_a_killed_server_left_in_the_write_ahead_log_is_cleared_by_the_next_one() {
    let (dir, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = server(dir.path()).await;
    let user = charter_events::UserId::from_u128(7);
    store.write_secrets(&[SecretWrite::PutUserKey { user, key: UserKey::new([7; 32]) }]).await.unwrap();
    let mut reading = raw(dir.path()).await;
    run(&mut reading, "BEGIN; SELECT count(*) FROM events").await;
    store.write_secrets(&[SecretWrite::DestroyUserKey { user }]).await.unwrap();
    // Its turn to clear is over, in vain. The files are as a kill would leave them now.
    drop(store.append().await.unwrap());
    for name in ["charter.db", "charter.db-wal"] {
        fs::copy(dir.path().join(name), after.path().join(name)).unwrap();
    }
    let wal = after.path().join("charter.db-wal");
    let has_key = || fs::read(&wal).unwrap().windows(32).any(|bytes| bytes == [7; 32]);
    assert!(has_key());

    let next = server(after.path()).await;
    next.forget_credentials_ended_before(charter_events::Timestamp::MIN).await.unwrap();
    drop(next.append().await.unwrap());
    assert!(!has_key());
}

#[tokio::test]
async fn what_a_reader_kept_in_the_write_ahead_log_is_cleared_when_rows_are_tidied_away() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let user = charter_events::UserId::from_u128(7);
    store.write_secrets(&[SecretWrite::PutUserKey { user, key: UserKey::new([7; 32]) }]).await.unwrap();
    let mut reading = raw(dir.path()).await;
    run(&mut reading, "BEGIN; SELECT count(*) FROM events").await;
    store.write_secrets(&[SecretWrite::DestroyUserKey { user }]).await.unwrap();
    let wal = || fs::metadata(dir.path().join("charter.db-wal")).unwrap().len();
    store.write_secrets(&[SecretWrite::ClearSetupCode]).await.unwrap();
    assert_ne!(wal(), 0, "the reader was in the way");
    run(&mut reading, "COMMIT").await;
    store.forget_credentials_ended_before(charter_events::Timestamp::MIN).await.unwrap();
    // Tidied after the answer was given; the next turn comes after it.
    drop(store.append().await.unwrap());
    assert_eq!(wal(), 0);
}
