//! Tables beside the log: whose they are, who may read them, what happens when somebody meddles.

use crate::common::{Db, append, connection, end_connections, run_as, wait_for};
use charter_events::{Hash, Offset, Timestamp};
use charter_store::{Checkpoint, Filter, LogStore, Query, StoreError, TableStore, Target};
use charter_store_postgres::PostgresStore;
use charter_tables::{Changes, Column, Kind, Spec, TableSpec, Value};
use uuid::Uuid;

static THINGS: Spec = Spec {
    name: "things",
    about: "for trying",
    version: 1,
    tables: &[TableSpec {
        name: "kept_things",
        about: "one row a thing, as it's kept",
        columns: &[Column::new("id", Kind::Uuid, "its id"), Column::new("name", Kind::Text, "its name")],
        key: 1,
        indexes: &[&["name"]],
    }],
};
static NEXT: Spec = Spec {
    version: 2,
    tables: &[TableSpec {
        name: "kept_things",
        about: "one row a thing",
        columns: &[Column::new("id", Kind::Uuid, "its id"), Column::maybe("size", Kind::Int, "how large")],
        key: 1,
        indexes: &[],
    }],
    ..THINGS
};

fn query(spec: &'static Spec) -> Query {
    Query { spec, table: 0, filters: vec![], order_by: None, descending: false, after: None, limit: 10 }
}

async fn at(store: &PostgresStore, offset: u64) -> Checkpoint {
    let log_id = store.head().await.unwrap().log_id;
    Checkpoint { log_id, offset: Offset::new(offset).unwrap(), hash: Hash::ZERO }
}

async fn made(store: &PostgresStore, spec: &'static Spec, value: Value) -> Target {
    let target = Target { spec, number: store.create_generation(spec, Timestamp::MIN).await.unwrap() };
    let mut changes = Changes::default();
    changes.put(0, 1, vec![Value::Uuid(Uuid::from_u128(7)), value]);
    store.change_rows(target, at(store, 0).await, at(store, 1).await, &changes).await.unwrap();
    store.index_generation(target).await.unwrap();
    target
}

#[tokio::test]
async fn another_role_reads_the_views_by_a_grant_that_a_rebuild_does_not_take_away() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let first = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(first, None).await.unwrap();
    let server = db.database.server_url.as_str();
    run_as(server, "CREATE VIEW tables.mine AS SELECT 1 AS n").await.unwrap();
    run_as(server, "GRANT SELECT ON tables.kept_things TO PUBLIC").await.unwrap();
    let comment = "SELECT obj_description('tables.kept_things'::regclass)";
    assert_eq!(db.sql(comment), "one row a thing, as it's kept");
    let second = made(&store, &THINGS, Value::text("eight")).await;
    store.activate_generation(second, Some(first.number)).await.unwrap();
    assert_eq!(db.sql("SELECT name FROM tables.kept_things"), "eight");
    let granted = "SELECT has_table_privilege('public', 'tables.kept_things', 'SELECT')";
    assert_eq!(db.sql(granted), "t", "the view was replaced, not made anew");
    store.drop_generation("things", first.number).await.unwrap();
    assert_eq!(db.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'kept_things_g1%'"), "0");
}

#[tokio::test]
async fn tables_of_other_columns_take_the_view_over_and_back() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let first = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(first, None).await.unwrap();
    let second = made(&store, &NEXT, Value::Int(8)).await;
    store.activate_generation(second, Some(first.number)).await.unwrap();
    assert_eq!(db.sql("SELECT size FROM tables.kept_things"), "8");
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap(), None, "this build's tables are not read");
    store.activate_generation(first, Some(second.number)).await.unwrap();
    assert_eq!(db.sql("SELECT name FROM tables.kept_things"), "seven");
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap().unwrap().rows.len(), 1);
}

#[tokio::test]
async fn what_stands_on_a_view_that_must_change_is_named_and_nothing_moves() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let first = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(first, None).await.unwrap();
    run_as(&db.database.server_url, "CREATE VIEW tables.mine AS SELECT name FROM tables.kept_things")
        .await
        .unwrap();
    let second = made(&store, &NEXT, Value::Int(8)).await;
    let error = store.activate_generation(second, Some(first.number)).await.unwrap_err();
    let names = |why: &String| why.contains("view tables.mine depends on view tables.kept_things");
    assert!(matches!(&error, StoreError::Refused(why) if names(why)), "{error}");
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap().unwrap().generation, first.number);
}

#[tokio::test]
async fn what_stands_on_tables_that_are_retired_keeps_them_but_nobody_from_reading_others() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let first = made(&store, &THINGS, Value::text("lost")).await;
    store.activate_generation(first, None).await.unwrap();
    let mine = "CREATE VIEW tables.mine AS SELECT name FROM tables.kept_things";
    run_as(&db.database.server_url, mine).await.unwrap();
    store.retire_generation(THINGS.name, first.number).await.unwrap();
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap(), None);
    let second = made(&store, &THINGS, Value::text("kept")).await;
    store.activate_generation(second, None).await.unwrap();
    assert_eq!(db.sql("SELECT name FROM tables.mine"), "kept");
    store.drop_generation(THINGS.name, first.number).await.unwrap();
}

#[tokio::test]
async fn a_tool_reads_and_changes_nothing_also_before_there_are_any_tables() {
    let db = Db::fresh().await;
    let tool = db.reader().await;
    assert_eq!(tool.generations().await.unwrap(), []);
    assert_eq!(tool.operations().await.unwrap(), []);
    assert_eq!(tool.list_rows(&query(&THINGS)).await.unwrap(), None);
    let error = tool.create_generation(&THINGS, Timestamp::MIN).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    assert_eq!(db.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'tables'::regnamespace"), "0");
}

#[tokio::test]
async fn the_bookkeeping_is_made_again_when_somebody_removed_it() {
    let db = Db::fresh().await;
    let store = db.server().await;
    made(&store, &THINGS, Value::text("seven")).await;
    db.sql("DROP TABLE tables.layout, tables.projections, tables.generations, tables.operations, tables.kept_things_g1");
    store.create_generation(&THINGS, Timestamp::MIN).await.unwrap_err();
    assert_eq!(store.create_generation(&THINGS, Timestamp::MIN).await.unwrap(), 1);
}

#[tokio::test]
async fn connections_that_end_are_made_anew_and_nothing_is_half_done() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let target = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(target, None).await.unwrap();
    store.list_rows(&query(&THINGS)).await.unwrap();
    end_connections(&db);
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap().unwrap().rows.len(), 1);
    let mut changes = Changes::default();
    changes.put(0, 1, vec![Value::Uuid(Uuid::from_u128(8)), Value::text("eight")]);
    store.change_rows(target, at(&store, 1).await, at(&store, 2).await, &changes).await.unwrap();
    assert_eq!(store.list_rows(&query(&THINGS)).await.unwrap().unwrap().rows.len(), 2);
}

#[tokio::test]
async fn no_work_on_tables_holds_up_an_append() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let target = made(&store, &THINGS, Value::text("seven")).await;
    // Somebody keeps the generation's row: whoever changes its rows waits.
    let mut other = connection(&db.database.server_url).await;
    sqlx::raw_sql("BEGIN; UPDATE tables.generations SET indexed = true").execute(&mut other).await.unwrap();
    let changes = Changes::default();
    let (from, to) = (at(&store, 1).await, at(&store, 2).await);
    let mut change = Box::pin(store.change_rows(target, from, to, &changes));
    tokio::select! {
        biased;
        done = &mut change => panic!("it did not wait: {done:?}"),
        appended = append(&*store) => assert_eq!(appended.unwrap(), 1),
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    change.await.unwrap();
}

#[tokio::test]
async fn a_search_among_a_million_ids_is_answered() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let target = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(target, None).await.unwrap();
    let ids = (0..1_000_000_u128).map(Uuid::from_u128).collect();
    let some = Query { filters: vec![Filter::OneOf("id", ids)], ..query(&THINGS) };
    assert_eq!(store.list_rows(&some).await.unwrap().unwrap().rows.len(), 1);
}

#[tokio::test]
async fn text_too_long_for_an_index_is_a_row_that_is_never_taken() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let target = made(&store, &THINGS, Value::text("seven")).await;
    let mut changes = Changes::default();
    // Nothing that compresses.
    let long: String = (0..20_000_u32).map(|n| char::from_u32(0x4E00 + n * 7919 % 20_000).unwrap()).collect();
    changes.put(0, 1, vec![Value::Uuid(Uuid::from_u128(8)), Value::text(long)]);
    let done = store.change_rows(target, at(&store, 1).await, at(&store, 2).await, &changes).await;
    assert!(matches!(&done, Err(StoreError::Row { table, .. }) if table == "kept_things"), "{done:?}");
    let kept = store.digest_rows(&[target]).await.unwrap();
    assert_eq!((kept[0].0, kept[0].1.rows()), (at(&store, 1).await, 1));
}

#[tokio::test]
async fn searches_that_take_long_keep_nobody_from_generations_and_operations() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let target = made(&store, &THINGS, Value::text("seven")).await;
    store.activate_generation(target, None).await.unwrap();
    let mut other = connection(&db.database.server_url).await;
    sqlx::raw_sql("BEGIN; LOCK TABLE tables.kept_things_g1").execute(&mut other).await.unwrap();
    let search = || {
        let store = store.clone();
        // One that gives up is followed by another.
        tokio::spawn(async move { while store.list_rows(&query(&THINGS)).await.is_err() {} })
    };
    // As many as there are connections for them, and more that wait for one.
    let searches: Vec<_> = std::iter::repeat_with(search).take(6).collect();
    let waiting = "SELECT count(*) FROM pg_stat_activity \
                   WHERE wait_event_type = 'Lock' AND datname = current_database()";
    wait_for(&db, waiting, "3").await;
    assert_eq!(store.generations().await.unwrap().len(), 1);
    assert_eq!(store.operations().await.unwrap(), []);
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    for search in searches {
        search.await.unwrap();
    }
}
