//! Opening and closing, and what is told when a database can't be opened.

use crate::{
    common::{Db, append, connection, fill, on_database, scan},
    proxy::Proxy,
};
use charter_events::Offset;
use charter_services::Database;
use charter_store::{
    LogStore, SecretStore, SecretWrite, Snapshot, SnapshotHeader, SnapshotStore, StoreError, Wanted, What,
    causes,
    conformance::{Writing, batch_of},
};
use charter_store_postgres::{Access, PostgresStore, SecretUrl};

fn password(url: &str) -> &str {
    url.split_once('@').unwrap().0.rsplit_once(':').unwrap().1
}

#[tokio::test]
async fn what_is_wrong_with_an_address_is_told_in_one_line_without_the_password() {
    let db = Db::fresh().await;
    let url = &db.database.server_url;
    let (name, role, secret) = (&db.database.name, &db.database.server_role, password(url));
    let place = url.rsplit_once('@').unwrap().1.split('/').next().unwrap();
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (address, told) in [
        (url.replace(place, &format!("127.0.0.1:{port}")), "nothing listens at `127.0.0.1:"),
        (url.replace(place, "no-such-host.invalid:5432"), "`no-such-host.invalid:5432`"),
        (url.replace(secret, &format!("{secret}x")), "the password of the role"),
        (url.replace(role, "nobody"), "the password of the role `nobody`"),
        (on_database(url, "nothing"), "there is no database `nothing`"),
        (format!("{url}?sslmode=require"), "TLS"),
    ] {
        let error = db.open_error(&address).await;
        assert!(matches!(error, StoreError::NotAStore { .. }), "{error:?}");
        let line = error.to_string();
        assert!(line.contains(told), "{told}: {line}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret) && !line.contains('\n'), "{shown}");
    }
    db.sql(&format!("REVOKE CONNECT ON DATABASE {name} FROM {role}"));
    let line = db.open_error(url).await.to_string();
    assert!(line.contains(&format!("GRANT CONNECT ON DATABASE {name} TO {role}")), "{line}");
    db.sql(&format!("GRANT CONNECT ON DATABASE {name} TO {role}; ALTER ROLE {role} NOLOGIN"));
    let line = db.open_error(url).await.to_string();
    assert!(line.contains("may not sign in"), "{line}");
}

#[tokio::test]
async fn a_database_that_takes_no_more_connections_says_what_to_raise() {
    let db = Db::fresh().await;
    db.sql(&format!("ALTER ROLE {} CONNECTION LIMIT 0", db.database.server_role));
    let error = db.open_error(&db.database.server_url).await;
    let line = error.to_string();
    assert!(line.contains("CONNECTION LIMIT") && line.contains("too many connections"), "{line}");
    assert!(line.contains(&db.server_url().server()) && !line.contains(" at line "), "{line}");
}

#[tokio::test]
async fn what_fails_later_is_told_with_its_cause_and_without_the_password() {
    let db = Db::fresh().await;
    let (url, secret) = (&db.database.server_url, password(&db.database.server_url));
    let proxy = Proxy::to(url).await;
    let address = proxy.url(url).parse::<SecretUrl>().unwrap();
    let store = PostgresStore::open(&address, db.folder.path(), Access::Server).await.unwrap();
    db.sql(&format!("REVOKE INSERT ON log.events FROM {}", db.database.server_role));
    let told = causes(&append(&*store).await.unwrap_err());
    assert!(told.ends_with("writing: permission denied for table events"), "{told}");
    drop(proxy);
    let told = causes(&store.head().await.unwrap_err());
    assert!(told.contains(&format!("{}: Connection refused", address.server())), "{told}");
    assert!(!told.contains(secret), "{told}");
}

#[tokio::test]
async fn a_database_of_another_encoding_is_refused() {
    let db = Db::fresh().await;
    let name = format!("{}_latin", db.database.name);
    db.sql(&format!("CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"));
    let url = on_database(&db.database.superuser_url(), &name);
    let line = db.open_error(&url).await.to_string();
    db.sql(&format!("DROP DATABASE {name} WITH (FORCE)"));
    assert!(line.contains("its encoding is LATIN1"), "{line}");
}

#[tokio::test]
async fn what_was_appended_is_there_after_closing_and_opening_again() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let events = fill(&*store, 150).await;
    let head = store.head().await.unwrap();
    store.close().await;
    let store = db.server().await;
    assert_eq!(store.head().await.unwrap(), head);
    assert_eq!(store.read(Offset::ZERO, 1_000).await.unwrap(), events);
    append(&*store).await.unwrap();
    scan(&*store).await.unwrap();
}

#[tokio::test]
async fn closing_undoes_the_append_under_way_and_refuses_the_next() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut open = store.append().await.unwrap();
    open.write(&batch_of(Writing::new(open.head()).command(1))).await.unwrap();
    store.close().await;
    assert!(matches!(open.commit().await.unwrap_err(), StoreError::Closed));
    assert!(matches!(store.append().await.map(drop).unwrap_err(), StoreError::Closed));
    assert!(matches!(store.head().await.unwrap_err(), StoreError::Closed));
    assert_eq!(append(&*db.server().await).await.unwrap(), 1);
}

#[tokio::test]
async fn closing_does_not_wait_for_a_lock_somebody_else_holds() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let mut stranger = connection(&db.database.owner_url).await;
    let lock = "BEGIN; SELECT * FROM log.log_head FOR UPDATE";
    sqlx::raw_sql(lock).execute(&mut stranger).await.unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { append(&*store).await }
    });
    crate::common::wait_for(&db, "SELECT count(*) FROM pg_locks WHERE NOT granted", "1").await;
    store.close().await;
    assert!(matches!(waiting.await.unwrap().unwrap_err(), StoreError::Closed));
}

#[tokio::test]
async fn a_tool_reads_beside_a_running_server_and_can_not_write() {
    let db = Db::fresh().await;
    let store = db.server().await;
    fill(&*store, 3).await;
    let tool = db.reader().await;
    assert_eq!(scan(&*tool).await.unwrap().events, 3);
    fill(&*store, 2).await;
    assert_eq!(scan(&*tool).await.unwrap().events, 5);
    assert!(matches!(append(&*tool).await.unwrap_err(), StoreError::ReadOnly));
    let write = tool.write_secrets(&[SecretWrite::ClearSetupCode]).await;
    assert!(matches!(write.unwrap_err(), StoreError::ReadOnly));
}

#[tokio::test]
async fn snapshots_lie_in_the_folder_and_a_tool_can_not_save_one() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let event = fill(&*store, 1).await.remove(0);
    let log_id = store.head().await.unwrap().log_id;
    let (offset, hash) = (event.offset, event.hash);
    let header = SnapshotHeader { format: 1, code_version: "1".into(), log_id, offset, hash };
    let snapshot = Snapshot { header, body: b"state".to_vec() };
    store.save(snapshot.clone()).await.unwrap();
    assert_eq!(std::fs::read_dir(db.folder.path()).unwrap().count(), 1);
    let tool = db.reader().await;
    let wanted = Wanted { format: 1, code_version: "1".into(), at_most: None };
    assert_eq!(tool.latest(&wanted).await.unwrap().snapshot.as_ref(), Some(&snapshot));
    assert!(matches!(tool.save(snapshot).await.unwrap_err(), StoreError::ReadOnly));
    // Another database's log has no such event.
    let other = Db::fresh().await;
    let other = PostgresStore::open(&other.server_url(), db.folder.path(), Access::Server).await.unwrap();
    let loaded = other.latest(&wanted).await.unwrap();
    assert_eq!((loaded.snapshot, loaded.ignored.len()), (None, 1));
}

#[tokio::test]
async fn a_commit_is_durable_whatever_the_role_is_set_to() {
    let db = Db::fresh().await;
    // Refuses a head that is moved by a session that does not wait for the disk.
    db.sql(&format!(
        "ALTER ROLE {} SET synchronous_commit = off; \
         CREATE FUNCTION log.durable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF current_setting('synchronous_commit') = 'off' THEN RAISE EXCEPTION 'not durable'; END IF; \
         RETURN NEW; END $$; \
         CREATE TRIGGER durable BEFORE UPDATE ON log.log_head FOR EACH ROW EXECUTE FUNCTION log.durable()",
        db.database.server_role
    ));
    append(&*db.server().await).await.unwrap();
    let lazily = crate::common::run_as(&db.database.server_url, "UPDATE log.log_head SET head = head").await;
    assert!(lazily.unwrap_err().1.contains("not durable"), "the test would prove nothing");
}

#[tokio::test]
async fn a_damaged_tail_start_or_head_keeps_a_server_from_starting_and_a_tool_from_nothing() {
    let db = Db::fresh().await;
    fill(&*db.server().await, 300).await;
    db.disarm();
    db.sql(
        "CREATE TABLE public.kept AS SELECT * FROM log.events; \
         CREATE TABLE public.head AS SELECT * FROM log.log_head",
    );
    for (sql, offset) in [
        ("UPDATE log.events SET payload = '\\x00' WHERE \"offset\" = 1", 1),
        ("UPDATE log.events SET payload = '\\x00' WHERE \"offset\" = 290", 290),
        ("UPDATE log.events SET via = 'pigeon' WHERE \"offset\" = 300", 300),
        ("DELETE FROM log.events WHERE \"offset\" = 300", 300),
        ("UPDATE log.log_head SET head = 299", 300),
        ("UPDATE log.log_head SET head_hash = decode(repeat('ab', 32), 'hex')", 300),
        ("UPDATE log.log_head SET recorded_at = recorded_at + 1", 300),
        ("DELETE FROM log.log_head", 0),
    ] {
        db.sql(sql);
        let error = db.open_error(&db.database.server_url).await;
        let fault = error.fault().unwrap_or_else(|| panic!("{sql}: {error}"));
        assert_eq!(fault.offset.get(), offset, "{sql}: {fault}");
        let tool = db.reader().await;
        assert_eq!(scan(&*tool).await.unwrap_err().fault().unwrap(), fault, "{sql}");
        db.sql(
            "DELETE FROM log.events; INSERT INTO log.events SELECT * FROM public.kept; \
             DELETE FROM log.log_head; INSERT INTO log.log_head SELECT * FROM public.head",
        );
    }
    append(&*db.server().await).await.unwrap();
}

#[tokio::test]
async fn a_row_that_can_not_be_read_ends_the_page_before_it() {
    let db = Db::fresh().await;
    let store = db.server().await;
    fill(&*store, 10).await;
    db.disarm();
    db.sql("UPDATE log.events SET reason = '\\xff' WHERE \"offset\" = 5");
    assert_eq!(store.read(Offset::ZERO, 100).await.unwrap().len(), 4);
    let error = store.read(Offset::new(4).unwrap(), 100).await.unwrap_err();
    let fault = error.fault().unwrap();
    assert_eq!(fault.offset.get(), 5);
    assert!(matches!(fault.what, What::Unreadable(_)));
}

#[tokio::test]
async fn an_address_without_a_server_is_a_line_too() {
    let database = Database::fresh("store").unwrap();
    let url: SecretUrl = database.owner_url.parse().unwrap();
    let shown = format!("{url} {url:?}");
    assert!(!shown.contains(password(&database.owner_url)), "{shown}");
    assert!(shown.contains(&database.name), "{shown}");
    database.remove().unwrap();
}
