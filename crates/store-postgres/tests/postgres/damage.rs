//! A log that was tampered with or has rotted: the first bad offset is told, each time.

use crate::common::{Db, connection, scan};
use charter_events::{Actor, CommandId, StoredEvent, UserId};
use charter_store::{
    LogStore, What,
    conformance::{Writing, batch_of, group_renamed, meta},
};
use charter_store_postgres::PostgresStore;
use sqlx::{AssertSqlSafe, PgConnection};
use std::sync::Arc;

const BYTES: [&str; 6] = ["actor_id", "request_id", "reason", "payload", "prev_hash", "hash"];
const IDS: [&str; 2] = ["event_id", "command_id"];
const TEXTS: [&str; 3] = ["type", "actor_kind", "via"];
const INTEGERS: [&str; 5] = ["\"offset\"", "command_index", "command_size", "schema", "recorded_at"];

struct Damaged {
    db: Db,
    store: Arc<PostgresStore>,
    raw: PgConnection,
    events: Vec<StoredEvent>,
}

async fn log_of(events: usize) -> Damaged {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    let mut meta = meta(1);
    let mut all = Vec::new();
    for number in 0..events {
        meta.command_id = CommandId::from_u128(number as u128 + 1);
        meta.request_id = number.is_multiple_of(2).then(|| format!("request-{number}"));
        meta.reason = number.is_multiple_of(3).then(|| "because".to_owned());
        let user = UserId::from_u128(number as u128);
        meta.actor = [Actor::User(user), Actor::System][number % 2].clone();
        all.extend(writing.with(&meta, &[group_renamed(1, "Sample")]));
    }
    append.write(&batch_of(all.clone())).await.unwrap();
    append.commit().await.unwrap();
    db.disarm();
    let raw = connection(&db.database.superuser_url()).await;
    Damaged { db, store, raw, events: all }
}

impl Damaged {
    async fn first_fault(&self) -> Option<u64> {
        match scan(&*self.store).await {
            Ok(_) => None,
            Err(error) => Some(error.fault().unwrap_or_else(|| panic!("{error}")).offset.get()),
        }
    }

    /// A column of one event as bytes.
    async fn bytes(&mut self, column: &str, offset: u64) -> Option<Vec<u8>> {
        let as_bytes = match column {
            "event_id" | "command_id" => format!("uuid_send({column})"),
            "type" | "actor_kind" | "via" => format!("textsend({column})"),
            _ => column.to_owned(),
        };
        let sql = format!("SELECT {as_bytes} FROM log.events WHERE \"offset\" = $1");
        let asked = sqlx::query_scalar(AssertSqlSafe(sql)).bind(offset.cast_signed());
        asked.fetch_one(&mut self.raw).await.unwrap()
    }

    async fn put(&mut self, column: &str, offset: u64, value: Option<&[u8]>) {
        let as_kept = match column {
            "event_id" | "command_id" => "encode($1, 'hex')::uuid",
            // Any byte is some character there.
            "type" | "actor_kind" | "via" => "convert_from($1, 'LATIN1')",
            _ => "$1",
        };
        let sql = format!("UPDATE log.events SET {column} = {as_kept} WHERE \"offset\" = $2");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(value).bind(offset.cast_signed());
        assert_eq!(query.execute(&mut self.raw).await.unwrap().rows_affected(), 1);
    }

    /// Flips one bit in each of these bytes of a column, and looks each time.
    async fn flip_bytes(&mut self, column: &str, offset: u64, step: usize) -> usize {
        let Some(sound) = self.bytes(column, offset).await else { return 0 };
        let mut flipped = 0;
        for index in (0..sound.len()).step_by(step) {
            let mut bytes = sound.clone();
            // In a text no byte may become 0 or end it.
            bytes[index] ^= 1 << (index % 5);
            self.put(column, offset, Some(&bytes)).await;
            assert_eq!(self.first_fault().await, Some(offset), "{column}, byte {index}");
            flipped += 1;
        }
        self.put(column, offset, Some(&sound)).await;
        flipped
    }

    async fn flip_integer(&mut self, column: &str, offset: u64) -> usize {
        let id = self.events[usize::try_from(offset).unwrap() - 1].event_id.as_uuid();
        let bits = if matches!(column, "\"offset\"" | "recorded_at") { 64 } else { 32 };
        let mut flipped = 0;
        for bit in (0..bits).step_by(7) {
            let kind = if bits == 64 { "bigint" } else { "integer" };
            let flip = format!(
                "UPDATE log.events SET {column} = {column} # (1::{kind} << {bit}) WHERE event_id = $1"
            );
            let changed = sqlx::query(AssertSqlSafe(flip.clone())).bind(id).execute(&mut self.raw).await;
            if changed.is_err() {
                // Another event has that offset.
                continue;
            }
            assert_eq!(self.first_fault().await, Some(offset), "{column}, bit {bit}");
            sqlx::query(AssertSqlSafe(flip)).bind(id).execute(&mut self.raw).await.unwrap();
            flipped += 1;
        }
        flipped
    }
}

#[tokio::test]
async fn a_flipped_byte_in_any_column_is_told_at_its_offset() {
    let mut log = log_of(30).await;
    let mut flipped = 0;
    for offset in [1, 2, 17, 29, 30] {
        for column in BYTES.iter().chain(&IDS).chain(&TEXTS) {
            flipped += log.flip_bytes(column, offset, 3).await;
        }
        for column in INTEGERS {
            flipped += log.flip_integer(column, offset).await;
        }
    }
    assert!(flipped > 300, "only {flipped} were flipped");
    assert_eq!(log.first_fault().await, None, "everything was put back");
}

#[tokio::test]
async fn text_that_appears_or_goes_is_told_at_its_offset() {
    let mut log = log_of(12).await;
    for column in ["request_id", "reason", "actor_id"] {
        for offset in 1..=12 {
            let sound = log.bytes(column, offset).await;
            let other = if sound.is_some() { None } else { Some(b"".as_slice()) };
            log.put(column, offset, other).await;
            assert_eq!(log.first_fault().await, Some(offset), "{column}");
            log.put(column, offset, sound.as_deref()).await;
        }
    }
    assert_eq!(log.first_fault().await, None);
}

#[tokio::test]
async fn rows_deleted_swapped_added_or_cut_off_and_a_changed_head_are_told() {
    let log = log_of(200).await;
    log.db.sql(
        "CREATE TABLE public.kept AS SELECT * FROM log.events; \
         CREATE TABLE public.head AS SELECT * FROM log.log_head",
    );
    let beyond = "INSERT INTO log.events SELECT 201, event_id, command_id, command_index, command_size, type, schema, \
                  recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash \
                  FROM log.events WHERE \"offset\" = 200";
    for (sql, offset) in [
        ("DELETE FROM log.events WHERE \"offset\" = 1", 1),
        ("DELETE FROM log.events WHERE \"offset\" BETWEEN 100 AND 120", 100),
        ("DELETE FROM log.events WHERE \"offset\" > 190", 191),
        ("DELETE FROM log.events", 1),
        (
            "UPDATE log.events SET \"offset\" = 1000 WHERE \"offset\" = 7; \
             UPDATE log.events SET \"offset\" = 7 WHERE \"offset\" = 9; \
             UPDATE log.events SET \"offset\" = 9 WHERE \"offset\" = 1000",
            7,
        ),
        ("UPDATE log.events SET \"offset\" = \"offset\" + 1000 WHERE \"offset\" > 150", 151),
        ("UPDATE log.events SET \"offset\" = -\"offset\" WHERE \"offset\" = 60", 60),
        (beyond, 201),
        ("UPDATE log.log_head SET head = 199", 200),
        ("UPDATE log.log_head SET head = 201", 201),
        ("UPDATE log.log_head SET head = 0", 1),
        ("UPDATE log.log_head SET head = -1", 0),
        ("UPDATE log.log_head SET head_hash = sha256('')", 200),
        ("UPDATE log.log_head SET recorded_at = recorded_at - 1", 200),
        ("UPDATE log.log_head SET log_id = gen_random_uuid()", 1),
        ("DELETE FROM log.log_head", 0),
    ] {
        log.db.sql(sql);
        assert_eq!(log.first_fault().await, Some(offset), "{sql}");
        log.db.sql(
            "DELETE FROM log.events; INSERT INTO log.events SELECT * FROM public.kept; \
             DELETE FROM log.log_head; INSERT INTO log.log_head SELECT * FROM public.head",
        );
        assert_eq!(log.first_fault().await, None, "{sql}");
    }
}

#[tokio::test]
async fn columns_that_hold_something_else_are_told_as_unreadable_events() {
    for sql in [
        "ALTER TABLE log.events ALTER COLUMN payload DROP NOT NULL; \
         UPDATE log.events SET payload = NULL WHERE \"offset\" = 1",
        "ALTER TABLE log.events ALTER COLUMN event_id TYPE text USING event_id::text",
        "UPDATE log.events SET actor_kind = 'robot' WHERE \"offset\" = 1",
        "UPDATE log.events SET hash = 'short' WHERE \"offset\" = 1",
        "UPDATE log.events SET command_index = -1 WHERE \"offset\" = 1",
        "UPDATE log.events SET recorded_at = 9223372036854775807 WHERE \"offset\" = 1",
    ] {
        let log = log_of(3).await;
        log.db.sql(sql);
        let error = scan(&*log.store).await.unwrap_err();
        let fault = error.fault().unwrap_or_else(|| panic!("{sql}: {error}"));
        assert_eq!(fault.offset.get(), 1, "{sql}: {fault}");
        assert!(matches!(fault.what, What::Unreadable(_)), "{sql}: {fault}");
    }
}
