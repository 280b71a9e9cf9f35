//! The file of tables: apart from the log, set aside when it can't be used, read with SQL.

use crate::common::{reader, run, server};
use charter_events::{Hash, Offset, Timestamp};
use charter_store::{
    Checkpoint, Filter, LogStore, Query, StoreError, TableStore, Target, conformance::append_one,
};
use charter_store_sqlite::SqliteStore;
use charter_tables::{Changes, Column, Kind, Spec, TableSpec, Value};
use sqlx::{ConnectOptions, Row, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc};
use uuid::Uuid;

static THINGS: Spec = Spec {
    name: "things",
    about: "for trying",
    version: 1,
    tables: &[TableSpec {
        name: "kept_things",
        about: "one row a thing",
        columns: &[Column::new("id", Kind::Uuid, "its id"), Column::new("name", Kind::Text, "its name")],
        key: 1,
        indexes: &[&["name"]],
    }],
};

fn query() -> Query {
    Query {
        spec: &THINGS,
        table: 0,
        filters: vec![],
        order_by: None,
        descending: false,
        after: None,
        limit: 10,
    }
}

/// A generation with one row, which is read.
async fn filled(store: &SqliteStore) -> Target {
    let number = store.create_generation(&THINGS, Timestamp::MIN).await.unwrap();
    let target = Target { spec: &THINGS, number };
    let log_id = store.head().await.unwrap().log_id;
    let from = Checkpoint { log_id, offset: Offset::ZERO, hash: Hash::ZERO };
    let to = Checkpoint { offset: Offset::new(1).unwrap(), ..from };
    let mut changes = Changes::default();
    changes.put(0, 1, vec![Value::Uuid(Uuid::from_u128(7)), Value::text("seven")]);
    store.change_rows(target, from, to, &changes).await.unwrap();
    store.index_generation(target).await.unwrap();
    store.activate_generation(target, None).await.unwrap();
    target
}

async fn raw(dir: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(dir.join("tables.db")).connect().await.unwrap()
}

async fn is_empty_again(dir: &Path) -> Arc<SqliteStore> {
    let store = server(dir).await;
    assert_eq!(store.generations().await.unwrap(), []);
    assert!(dir.join("tables.db.aside").exists(), "the old one is kept under another name");
    assert!(!dir.join("tables.db.damaged").exists());
    filled(&store).await;
    append_one(&*store, 1).await;
    store
}

#[tokio::test]
async fn tables_stay_over_a_restart_and_a_tool_reads_them_beside_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    let listed = store.list_rows(&query()).await.unwrap().unwrap();
    assert_eq!(listed.rows.len(), 1);
    let tool = reader(dir.path()).await;
    assert_eq!(tool.list_rows(&query()).await.unwrap().unwrap(), listed);
    let error = tool.create_generation(&THINGS, Timestamp::MIN).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    store.close().await;
    let store = server(dir.path()).await;
    assert_eq!(store.list_rows(&query()).await.unwrap().unwrap(), listed);
}

#[tokio::test]
async fn nobody_else_may_read_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    for name in ["tables.db", "tables.db-wal"] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn people_read_the_tables_with_sql_and_find_them_explained() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    let mut connection = raw(dir.path()).await;
    let row = sqlx::query("SELECT hex(id), name FROM kept_things").fetch_one(&mut connection).await.unwrap();
    assert_eq!((row.get::<String, _>(0).len(), row.get::<String, _>(1).as_str()), (32, "seven"));
    let schema: String =
        sqlx::query_scalar("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = 'kept_things'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    assert!(schema.contains("-- one row a thing") && schema.contains("-- its name"), "{schema}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    store.close().await;
    fs::write(dir.path().join("tables.db"), "not what was written ".repeat(1_000)).unwrap();
    is_empty_again(dir.path()).await;
}

#[tokio::test]
async fn a_file_of_another_log_or_another_build_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    store.close().await;
    run(&mut raw(dir.path()).await, "UPDATE generations SET log_id = x'00112233445566778899aabbccddeeff'")
        .await;
    is_empty_again(dir.path()).await.close().await;
    run(&mut raw(dir.path()).await, "PRAGMA user_version = 99").await;
    is_empty_again(dir.path()).await.close().await;
    run(&mut raw(dir.path()).await, "PRAGMA application_id = 5").await;
    is_empty_again(dir.path()).await;
}

#[tokio::test]
async fn damage_met_while_reading_harms_no_log_and_the_next_start_makes_the_tables_anew() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let target = filled(&store).await;
    store.close().await;
    // Every page but the first, which holds the schema.
    let path = dir.path().join("tables.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4_096..].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    let store = server(dir.path()).await;
    let error = match store.scan_rows(target, 0, None, 10).await {
        Err(error) => error,
        // The start may have met it already.
        Ok(_) => panic!("damaged rows were read"),
    };
    assert!(
        matches!(error, StoreError::Unavailable { .. } | StoreError::CheckpointMoved { .. }),
        "no damage of the log: {error}"
    );
    append_one(&*store, 1).await;
    store.close().await;
    is_empty_again(dir.path()).await;
}

#[tokio::test]
async fn a_search_among_a_million_ids_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    filled(&store).await;
    let ids = (0..1_000_000_u128).map(Uuid::from_u128).collect();
    let some = Query { filters: vec![Filter::OneOf("id", ids)], ..query() };
    assert_eq!(store.list_rows(&some).await.unwrap().unwrap().rows.len(), 1);
}

#[tokio::test]
async fn a_change_that_is_given_up_midway_leaves_nothing_and_the_next_one_works() {
    let dir = tempfile::tempdir().unwrap();
    let store = server(dir.path()).await;
    let target = filled(&store).await;
    let log_id = store.head().await.unwrap().log_id;
    let at = |offset| Checkpoint { log_id, offset: Offset::new(offset).unwrap(), hash: Hash::ZERO };
    let mut changes = Changes::default();
    for number in 0..20_000_u128 {
        changes.put(0, 1, vec![Value::Uuid(Uuid::from_u128(number)), Value::text(number.to_string())]);
    }
    for polls in [1, 3, 10, 30] {
        let mut change = Box::pin(store.change_rows(target, at(1), at(2), &changes));
        for _ in 0..polls {
            let polled = tokio::select! {
                biased;
                done = &mut change => Some(done),
                () = tokio::task::yield_now() => None,
            };
            assert!(polled.is_none(), "it is too large to be done by then");
        }
        drop(change);
        let kept = store.list_rows(&query()).await.unwrap().unwrap();
        assert_eq!((kept.checkpoint, kept.rows.len()), (at(1), 1), "after {polls} polls");
    }
    store.change_rows(target, at(1), at(2), &changes).await.unwrap();
    let kept = store.list_rows(&query()).await.unwrap().unwrap();
    assert_eq!((kept.checkpoint, kept.rows.len()), (at(2), 10));
}
