//! A log that was tampered with or has rotted: the first bad offset is told, each time.

use crate::common::{fill, raw, reader, run, scan, server};
use charter_events::StoredEvent;
use charter_store::{LogStore, What};
use charter_store_sqlite::{Access, SqliteStore};
use sqlx::{AssertSqlSafe, SqliteConnection};
use std::{fs, sync::Arc};

const INTEGERS: &[&str] = &["\"offset\"", "command_index", "command_size", "schema", "recorded_at"];
const BYTES: &[&str] = &[
    "event_id",
    "command_id",
    "type",
    "actor_kind",
    "actor_id",
    "via",
    "request_id",
    "reason",
    "payload",
    "prev_hash",
    "hash",
];
const TEXTS: &[&str] = &["type", "actor_kind", "via", "request_id", "reason"];

struct Damaged {
    dir: tempfile::TempDir,
    store: Arc<SqliteStore>,
    raw: SqliteConnection,
    events: Vec<StoredEvent>,
}

async fn log_of(events: usize) -> Damaged {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let mut append = store.append().await.unwrap();
    let mut writing = charter_store::conformance::Writing::new(append.head());
    let mut meta = charter_store::conformance::meta(1);
    let mut all = Vec::new();
    for number in 0..events {
        meta.command_id = charter_events::CommandId::from_u128(number as u128 + 1);
        meta.request_id = number.is_multiple_of(2).then(|| format!("request-{number}"));
        meta.reason = number.is_multiple_of(3).then(|| "because".to_owned());
        let user = charter_events::UserId::from_u128(number as u128);
        meta.actor = [charter_events::Actor::User(user), charter_events::Actor::System][number % 2].clone();
        all.extend(writing.with(&meta, &[charter_store::conformance::group_renamed(1, "Sample")]));
    }
    append.write(&charter_store::conformance::batch_of(all.clone())).await.unwrap();
    append.commit().await.unwrap();
    store.close().await;
    let raw = raw(dir.path()).await;
    Damaged { store: reader(dir.path()).await, dir, raw, events: all }
}

impl Damaged {
    async fn bytes(&mut self, column: &str, offset: u64) -> Option<Vec<u8>> {
        let sql = format!("SELECT CAST({column} AS BLOB) FROM events WHERE \"offset\" = ?");
        let offset = offset.cast_signed();
        sqlx::query_scalar(AssertSqlSafe(sql)).bind(offset).fetch_one(&mut self.raw).await.unwrap()
    }

    async fn put_bytes(&mut self, column: &str, offset: u64, value: Option<&[u8]>) {
        let as_kept = if TEXTS.contains(&column) { "CAST(? AS TEXT)" } else { "?" };
        let sql = format!("UPDATE events SET {column} = {as_kept} WHERE \"offset\" = ?");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(value).bind(offset.cast_signed());
        assert_eq!(query.execute(&mut self.raw).await.unwrap().rows_affected(), 1);
    }

    async fn first_fault(&self) -> Option<u64> {
        match scan(&*self.store).await {
            Ok(_) => None,
            Err(error) => Some(error.fault().unwrap_or_else(|| panic!("{error}")).offset.get()),
        }
    }

    /// Flips one bit in each of these bytes of a column, and looks each time.
    async fn flip_bytes(&mut self, column: &str, offset: u64, step: usize) -> usize {
        let Some(sound) = self.bytes(column, offset).await else { return 0 };
        let mut flipped = 0;
        for index in (0..sound.len()).step_by(step) {
            let mut bytes = sound.clone();
            bytes[index] ^= 1 << (index % 8);
            self.put_bytes(column, offset, Some(&bytes)).await;
            assert_eq!(self.first_fault().await, Some(offset), "{column}, byte {index}");
            flipped += 1;
        }
        self.put_bytes(column, offset, Some(&sound)).await;
        flipped
    }

    async fn flip_integer(&mut self, column: &str, offset: u64) -> usize {
        let mut flipped = 0;
        for byte in 0..8 {
            let mask = 1_i64 << (byte * 8 + (byte + 1) % 7);
            let flip =
                format!("UPDATE events SET {column} = ({column} | ?1) - ({column} & ?1) WHERE event_id = ?2");
            let id = self.events[offset as usize - 1].event_id.as_uuid().as_bytes().to_vec();
            let changed = sqlx::query(AssertSqlSafe(flip.clone()))
                .bind(mask)
                .bind(id.clone())
                .execute(&mut self.raw)
                .await;
            if changed.is_err() {
                // Another event has that offset.
                continue;
            }
            assert_eq!(self.first_fault().await, Some(offset), "{column}, byte {byte}");
            sqlx::query(AssertSqlSafe(flip)).bind(mask).bind(id).execute(&mut self.raw).await.unwrap();
            flipped += 1;
        }
        flipped
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_flipped_byte_of_a_log_of_50_is_told_at_its_offset() {
    let mut log = log_of(50).await;
    let mut flipped = 0;
    for offset in 1..=50 {
        for column in BYTES {
            flipped += log.flip_bytes(column, offset, 1).await;
        }
        for column in INTEGERS {
            flipped += log.flip_integer(column, offset).await;
        }
    }
    assert!(flipped > 10_000, "only {flipped} bytes were flipped");
    assert_eq!(log.first_fault().await, None, "everything was put back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_in_any_column_of_a_log_of_1000_is_told_at_its_offset() {
    let mut log = log_of(1_000).await;
    for (number, column) in BYTES.iter().enumerate() {
        for offset in [1, 2, 64 + number as u64, 499, 999, 1_000] {
            log.flip_bytes(column, offset, 13).await;
        }
    }
    for column in INTEGERS {
        for offset in [1, 500, 1_000] {
            log.flip_integer(column, offset).await;
        }
    }
    assert_eq!(log.first_fault().await, None);
}

#[tokio::test]
async fn text_that_appears_or_goes_is_told_at_its_offset() {
    let mut log = log_of(20).await;
    for column in ["request_id", "reason", "actor_id"] {
        for offset in 1..=20 {
            let sound = log.bytes(column, offset).await;
            let other = if sound.is_some() { None } else { Some(b"".as_slice()) };
            log.put_bytes(column, offset, other).await;
            assert_eq!(log.first_fault().await, Some(offset), "{column}");
            log.put_bytes(column, offset, sound.as_deref()).await;
        }
    }
    assert_eq!(log.first_fault().await, None);
}

#[tokio::test]
async fn rows_deleted_swapped_added_or_cut_off_and_a_changed_head_are_told() {
    let at_the_end = "INSERT INTO events SELECT \"offset\" + 1, event_id, command_id, command_index, command_size, \
         type, \
         schema, recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash FROM events \
         WHERE \"offset\" = 1000";
    for (sql, offset) in [
        ("DELETE FROM events WHERE \"offset\" = 1", 1),
        ("DELETE FROM events WHERE \"offset\" = 500", 500),
        ("DELETE FROM events WHERE \"offset\" BETWEEN 300 AND 400", 300),
        ("DELETE FROM events WHERE \"offset\" > 990", 991),
        ("DELETE FROM events", 1),
        (
            "UPDATE events SET \"offset\" = 100000 WHERE \"offset\" = 7; \
             UPDATE events SET \"offset\" = 7 WHERE \"offset\" = 9; \
             UPDATE events SET \"offset\" = 9 WHERE \"offset\" = 100000",
            7,
        ),
        ("UPDATE events SET \"offset\" = \"offset\" + 1000 WHERE \"offset\" > 600", 601),
        (at_the_end, 1001),
        ("UPDATE log_head SET head = 999", 1000),
        ("UPDATE log_head SET head = 1001", 1001),
        ("UPDATE log_head SET head = 0", 1),
        ("UPDATE log_head SET head_hash = randomblob(32)", 1000),
        ("UPDATE log_head SET recorded_at = recorded_at - 1", 1000),
        ("UPDATE log_head SET log_id = randomblob(16)", 1),
        ("DELETE FROM log_head", 0),
    ] {
        let mut log = log_of(1_000).await;
        run(&mut log.raw, sql).await;
        assert_eq!(log.first_fault().await, Some(offset), "{sql}");
    }
}

#[tokio::test]
async fn a_log_cut_together_with_its_head_is_told_only_by_a_head_kept_elsewhere() {
    let mut log = log_of(100).await;
    let kept_elsewhere = log.store.head().await.unwrap();
    let cut = "DELETE FROM events WHERE \"offset\" > 90; UPDATE log_head SET head = 90, \
               head_hash = (SELECT hash FROM events WHERE \"offset\" = 90), \
               recorded_at = (SELECT recorded_at FROM events WHERE \"offset\" = 90)";
    run(&mut log.raw, cut).await;
    let scanned = scan(&*log.store).await.unwrap();
    assert!(scanned.head.offset < kept_elsewhere.offset);
}

#[tokio::test]
async fn a_cut_within_a_command_is_told_even_when_the_head_was_cut_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let events = fill(&*store, 60).await;
    let inside = events.iter().rev().find(|e| !e.ends_command()).unwrap().offset.get();
    let cut = format!(
        "DELETE FROM events WHERE \"offset\" > {inside}; UPDATE log_head SET head = {inside}, \
         head_hash = (SELECT hash FROM events WHERE \"offset\" = {inside}), \
         recorded_at = (SELECT recorded_at FROM events WHERE \"offset\" = {inside})"
    );
    sqlx::raw_sql(AssertSqlSafe(cut)).execute(&mut raw(dir.path()).await).await.unwrap();
    let error = scan(&*store).await.unwrap_err();
    assert_eq!(error.fault().unwrap().offset.get(), inside + 1);
    assert_eq!(error.fault().unwrap().what, What::Missing);
}

/// Whatever byte of the file goes bad, nobody reads other events than were written without being told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_byte_anywhere_in_the_file_never_changes_events_silently() {
    let log = log_of(200).await;
    let events = log.events.clone();
    log.store.close().await;
    let close = sqlx::Connection::close(log.raw);
    close.await.unwrap();
    let sound = fs::read(log.dir.path().join("charter.db")).unwrap();
    let (mut told, mut harmless) = (0, 0);
    let stride = sound.len() / 400;
    for round in 0..400 {
        let index = round * stride + round % 97;
        let mut bytes = sound.clone();
        bytes[index] ^= 1 << (round % 8);
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("charter.db"), bytes).unwrap();
        let Ok(store) = SqliteStore::open(copy.path(), Access::ReadOnly).await else {
            told += 1;
            continue;
        };
        match scan(&*store).await {
            Err(_) => told += 1,
            Ok(_) => {
                assert_eq!(read_all(&*store).await, events, "byte {index}");
                harmless += 1;
            }
        }
        store.close().await;
    }
    assert!(told > 100, "{told} told, {harmless} harmless");
}

async fn read_all(store: &dyn LogStore) -> Vec<StoredEvent> {
    store.read(charter_events::Offset::ZERO, 10_000).await.unwrap()
}
