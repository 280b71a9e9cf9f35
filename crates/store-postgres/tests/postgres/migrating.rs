//! Making the schema and bringing it up to date.

use crate::common::{Db, append};
use charter_store::{LogStore, SecretStore, StoreError};
use charter_store_postgres::{Access, KNOWN, Migrated, PostgresStore, migrate, schema_version};
use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

#[tokio::test]
async fn a_migration_makes_the_schema_once_and_keeps_the_logs_id_and_keys() {
    let db = Db::empty();
    let role = Some(db.database.server_role.as_str());
    assert_eq!(schema_version(&db.server_url()).await.unwrap(), 0);
    let error = db.open_error(&db.database.server_url).await;
    assert!(matches!(error, StoreError::NeedsMigration { found: 0, known: KNOWN }), "{error}");
    assert_eq!(migrate(&db.owner_url(), role).await.unwrap(), Migrated { from: 0, to: KNOWN });
    let before = db.server().await;
    assert_eq!(migrate(&db.owner_url(), role).await.unwrap(), Migrated { from: KNOWN, to: KNOWN });
    assert_eq!(schema_version(&db.server_url()).await.unwrap(), KNOWN);
    let after = db.server().await;
    assert_eq!(before.head().await.unwrap(), after.head().await.unwrap());
    let keys = [before.installation_secrets().await.unwrap(), after.installation_secrets().await.unwrap()];
    assert_eq!(keys[0].tag_key.expose(), keys[1].tag_key.expose());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_that_start_at_once_make_one_schema() {
    let db = Db::empty();
    let migrating: Vec<_> = (0..6)
        .map(|_| {
            let (owner, role) = (db.owner_url(), db.database.server_role.clone());
            tokio::spawn(async move { migrate(&owner, Some(&role)).await })
        })
        .collect();
    let mut made = 0;
    for done in migrating {
        made += usize::from(done.await.unwrap().unwrap().from == 0);
    }
    assert_eq!(made, 1);
    append(&*db.server().await).await.unwrap();
}

/// What a server does when it starts.
async fn start(db: &Db) -> Result<(), StoreError> {
    let url = db.server_url();
    let open = || PostgresStore::open(&url, db.folder.path(), Access::Server);
    match open().await.map(drop) {
        Err(StoreError::NeedsMigration { .. }) => {
            migrate(&db.owner_url(), Some(&db.database.server_role)).await?;
            open().await.map(drop)
        }
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_at_once_on_an_empty_database_all_find_all_of_it() {
    for _ in 0..5 {
        let db = Arc::new(Db::empty());
        let starting: Vec<_> = (0..5)
            .map(|number: u64| {
                let db = db.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(number * 15)).await;
                    start(&db).await
                })
            })
            .collect();
        for started in starting {
            started.await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn a_migration_that_fails_at_its_end_leaves_nothing_behind() {
    let db = Db::empty();
    migrate(&db.owner_url(), Some("nobody")).await.unwrap_err();
    assert_eq!(db.sql("SELECT count(*) FROM pg_namespace WHERE nspname IN ('log', 'tables')"), "0");
    start(&db).await.unwrap();
}

#[tokio::test]
async fn who_may_not_migrate_is_told_so_and_changes_nothing() {
    let db = Db::empty();
    let told = migrate(&db.server_url(), None).await.unwrap_err().to_string();
    let role = &db.database.server_role;
    assert!(told.contains(role) && told.contains("CHARTER_MIGRATION_URL"), "{told}");
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname IN ('log', 'tables')";
    assert_eq!(db.sql(schemas), "0");
    let told = migrate(&db.owner_url(), Some("nobody\"; --")).await.unwrap_err().to_string();
    assert!(told.contains("there is no role `nobody\"; --`"), "{told}");
}

#[tokio::test]
async fn schemas_an_administrator_made_for_the_owner_are_used() {
    let db = Db::empty();
    let owner = db.database.server_role.replace("_server", "_owner");
    db.sql(&format!(
        "ALTER DATABASE {} OWNER TO CURRENT_USER; GRANT CONNECT ON DATABASE {0} TO {owner}; \
         CREATE SCHEMA log AUTHORIZATION {owner}; CREATE SCHEMA tables AUTHORIZATION {owner}",
        db.database.name
    ));
    migrate(&db.owner_url(), Some(&db.database.server_role)).await.unwrap();
    append(&*db.server().await).await.unwrap();
}

#[tokio::test]
async fn somebody_elses_schema_and_a_newer_one_are_refused_untouched() {
    let db = Db::empty();
    db.sql("CREATE SCHEMA log; CREATE TABLE log.lines (line text)");
    for told in [
        migrate(&db.owner_url(), None).await.unwrap_err().to_string(),
        db.open_error(&db.database.server_url).await.to_string(),
    ] {
        assert!(told.contains("another program's"), "{told}");
    }
    assert_eq!(db.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'tables'"), "0");
    let newer = Db::fresh().await;
    newer.sql("UPDATE log.schema_version SET version = 1000");
    for error in [
        migrate(&newer.owner_url(), None).await.unwrap_err(),
        newer.open_error(&newer.database.server_url).await,
        PostgresStore::open(&newer.owner_url(), newer.folder.path(), Access::ReadOnly).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::TooNew { found: 1000, known: KNOWN }), "{error}");
    }
    assert_eq!(schema_version(&newer.server_url()).await.unwrap(), 1000);
}

#[test]
fn the_migrations_of_both_databases_have_the_same_numbers_and_names() {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let names = |database: &str| -> BTreeSet<_> {
        let files = fs::read_dir(migrations.join(database)).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    };
    let (postgres, sqlite) = (names("postgres"), names("sqlite"));
    assert_eq!(postgres, sqlite);
    assert_eq!(postgres.len(), usize::try_from(KNOWN).unwrap(), "and each is applied");
    for (number, name) in postgres.iter().enumerate() {
        assert!(name.starts_with(&format!("{:04}_", number + 1)), "{name}");
    }
}
