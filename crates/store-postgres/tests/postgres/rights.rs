//! Two roles: what the servers' may not do, what it must, and that the log refuses even its owner.

use crate::common::{Db, append, on_database, run_as, scan};
use charter_services::Database;
use charter_store::{SecretStore, SecretWrite, StoreError, UserKey};
use charter_store_postgres::{Access, PostgresStore, migrate};

const CHANGES: [&str; 6] = [
    "UPDATE log.events SET reason = 'other' WHERE \"offset\" = 1",
    "UPDATE log.events SET reason = 'other' WHERE false",
    "DELETE FROM log.events WHERE \"offset\" = 2",
    "DELETE FROM log.events",
    "TRUNCATE log.events",
    "DELETE FROM log.log_head",
];

#[tokio::test]
async fn a_servers_role_can_not_change_or_remove_what_happened() {
    let db = Db::fresh().await;
    append(&*db.server().await).await.unwrap();
    let others = [
        "ALTER TABLE log.events DISABLE TRIGGER ALL",
        "DROP TABLE log.events",
        "CREATE TABLE log.mine (n int)",
        "DELETE FROM log.installation_secrets",
        "INSERT INTO log.log_head VALUES (true, gen_random_uuid(), 0, '', 0)",
        "UPDATE log.schema_version SET version = 2",
    ];
    for sql in CHANGES.into_iter().chain(others) {
        let error = run_as(&db.database.server_url, sql).await.unwrap_err();
        assert_eq!(error.0, "42501", "{sql}: {}", error.1);
    }
    assert_eq!(scan(&*db.server().await).await.unwrap().events, 1);
}

#[tokio::test]
async fn events_refuse_to_be_changed_or_removed_by_their_owner_too() {
    let db = Db::fresh().await;
    let store = db.server().await;
    append(&*store).await.unwrap();
    append(&*store).await.unwrap();
    let back = ["UPDATE log.log_head SET head = 1", "UPDATE log.log_head SET log_id = gen_random_uuid()"];
    for sql in CHANGES.into_iter().chain(back) {
        let error = run_as(&db.database.owner_url, sql).await.unwrap_err();
        assert!(error.1.contains("never"), "{sql}: {}", error.1);
        // As a replica applies what its primary did.
        let replica = format!("SET session_replication_role = replica; {sql}");
        let error = db.database.sql(&replica).unwrap_err().to_string();
        assert!(error.contains("never"), "{replica}: {error}");
    }
    assert_eq!(scan(&*store).await.unwrap().events, 2);
}

#[tokio::test]
async fn each_right_that_is_missing_is_named_with_how_to_give_it() {
    let db = Db::fresh().await;
    let role = &db.database.server_role;
    let granted = db.sql(&format!(
        "SELECT privilege_type, table_schema || '.' || table_name FROM information_schema.role_table_grants \
         WHERE grantee = '{role}' AND table_schema = 'log'"
    ));
    let mut rights: Vec<(String, String)> = granted
        .lines()
        .map(|line| line.split_once('|').unwrap())
        .map(|(right, table)| (right.to_owned(), table.to_owned()))
        .collect();
    assert!(rights.len() > 20, "{rights:?}");
    for (right, schema) in [("USAGE", "log"), ("USAGE", "tables"), ("CREATE", "tables")] {
        rights.push((right.to_owned(), format!("SCHEMA {schema}")));
    }
    for (right, on) in rights {
        db.sql(&format!("REVOKE {right} ON {on} FROM {role}"));
        let error = db.open_error(&db.database.server_url).await;
        assert!(matches!(error, StoreError::NotAStore { .. }), "{right} on {on}: {error}");
        let told = error.to_string();
        assert!(told.contains(&format!("GRANT {right} ON {on} TO {role}")), "{right} on {on}: {told}");
        assert!(!told.contains('\n'), "{told}");
        db.sql(&format!("GRANT {right} ON {on} TO {role}"));
    }
    append(&*db.server().await).await.unwrap();
}

#[tokio::test]
async fn a_role_that_could_change_the_log_is_refused_until_the_owner_migrates_again() {
    let db = Db::fresh().await;
    let role = &db.database.server_role;
    for (right, table) in [
        ("UPDATE", "log.events"),
        ("UPDATE (reason)", "log.events"),
        ("DELETE", "log.events"),
        ("TRUNCATE", "log.events"),
        ("TRIGGER", "log.events"),
        ("DELETE", "log.log_head"),
        ("TRUNCATE", "log.log_head"),
    ] {
        db.sql(&format!("GRANT {right} ON {table} TO {role}"));
        let told = db.open_error(&db.database.server_url).await.to_string();
        let named = right.split(' ').next().unwrap();
        assert!(told.contains(&format!("has {named} on `{table}`")), "{right}: {told}");
        migrate(&db.owner_url(), Some(role)).await.unwrap();
        append(&*db.server().await).await.unwrap();
    }
}

#[tokio::test]
async fn the_installations_keys_change_only_while_there_are_no_users() {
    let db = Db::fresh().await;
    let store = db.server().await;
    let change = "UPDATE log.installation_secrets SET value = sha256('other') WHERE name = 'tag_key'";
    run_as(&db.database.server_url, change).await.unwrap();
    let user = charter_events::UserId::from_u128(1);
    let put = SecretWrite::PutUserKey { user, key: UserKey::new([1; 32]) };
    store.write_secrets(&[put]).await.unwrap();
    for url in [&db.database.server_url, &db.database.owner_url] {
        let error = run_as(url, change).await.unwrap_err();
        assert!(error.1.contains("never changed"), "{}", error.1);
    }
}

#[tokio::test]
async fn a_servers_role_makes_tables_of_its_own_and_uses_the_owners_in_their_schema() {
    let db = Db::fresh().await;
    let (server, owner) = (&db.database.server_url, &db.database.owner_url);
    run_as(server, "CREATE TABLE tables.own (n int); INSERT INTO tables.own VALUES (1)").await.unwrap();
    run_as(owner, "CREATE TABLE tables.given (n int)").await.unwrap();
    run_as(server, "INSERT INTO tables.given VALUES (1); TRUNCATE tables.given").await.unwrap();
    migrate(&db.owner_url(), Some(&db.database.server_role)).await.unwrap();
    run_as(server, "DROP TABLE tables.own").await.unwrap();
    append(&*db.server().await).await.unwrap();
}

#[tokio::test]
async fn a_tool_needs_to_read_the_log_and_nothing_else() {
    let db = Db::fresh().await;
    append(&*db.server().await).await.unwrap();
    let tool = Database::fresh("tool").unwrap();
    let role = &tool.server_role;
    db.sql(&format!("GRANT CONNECT ON DATABASE {} TO {role}", db.database.name));
    let url = on_database(&tool.server_url, &db.database.name).parse().unwrap();
    let open = || PostgresStore::open(&url, db.folder.path(), Access::ReadOnly);
    for grant in [
        "USAGE ON SCHEMA log",
        "SELECT ON log.schema_version",
        "SELECT ON log.log_head",
        "SELECT ON log.events",
    ] {
        let told = open().await.unwrap_err().to_string();
        assert!(told.contains(&format!("GRANT {grant} TO {role}")), "{grant}: {told}");
        db.sql(&format!("GRANT {grant} TO {role}"));
    }
    let store = open().await.unwrap();
    assert_eq!(scan(&*store).await.unwrap().events, 1);
    assert!(matches!(append(&*store).await.unwrap_err(), StoreError::ReadOnly));
    db.sql(&format!("REVOKE ALL ON ALL TABLES IN SCHEMA log FROM {role}; DROP OWNED BY {role}"));
    tool.remove().unwrap();
}
