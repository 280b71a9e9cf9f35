//! A failover: the name of the database leads to a standby for a while. What it tells may be long past, so that no
//! server believes it.

use crate::{
    common::{Db, append, scan},
    proxy::Proxy,
};
use charter_services::{Postgres, PostgresSettings};
use charter_store::{LogStore, ServerStore, StoreError};
use charter_store_postgres::{Access, PostgresStore};
use std::{fs, path::Path, process::Command, time::Duration};

/// A server that follows another one.
fn standby_of(primary: &Postgres, folder: &Path) -> Postgres {
    let (server, password) = {
        let url = primary.admin_url();
        let (user, server) = url.rsplit_once('@').unwrap();
        (server.split('/').next().unwrap().to_owned(), user.rsplit_once(':').unwrap().1.to_owned())
    };
    let (host, port) = server.split_once(':').unwrap();
    let made = Command::new(pg_basebackup())
        .args(["--pgdata", &folder.join("data").display().to_string()])
        .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=admin"])
        .args(["--host", host, "--port", port])
        .env("PGPASSWORD", &password)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(folder.join("password"), password).unwrap();
    // The server may run as another user than this test.
    let owner = fs::metadata(folder).map(|folder| std::os::unix::fs::MetadataExt::uid(&folder)).unwrap();
    if owner == 0 {
        let owned = Command::new("chown").args(["-R", "postgres:postgres"]).arg(folder).status().unwrap();
        assert!(owned.success());
    }
    let settings =
        PostgresSettings { folder: Some(folder.to_owned()), durable: false, ..PostgresSettings::default() };
    Postgres::start_with(&settings).unwrap()
}

/// Beside the `psql` that the services use.
fn pg_basebackup() -> std::path::PathBuf {
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest =
        installed.map(|version| version.path().join("bin/pg_basebackup")).filter(|p| p.exists()).max();
    newest.unwrap_or_else(|| "pg_basebackup".into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_answers_in_the_primarys_place_is_not_believed() {
    let primary = Postgres::start().unwrap();
    let db = Db::on(primary.database("charter").unwrap()).migrated().await;
    let proxy = Proxy::to(&db.database.server_url).await;
    let url = proxy.url(&db.database.server_url);
    let store = PostgresStore::open(&url.parse().unwrap(), db.folder.path(), Access::Server).await.unwrap();
    append(&*store).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let standby = standby_of(&primary, &folder.path().join("kept"));
    append(&*store).await.unwrap();

    proxy.lead_to(&standby.admin_url());

    let unavailable = |error: StoreError| assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    unavailable(store.poll().await.unwrap_err());
    unavailable(store.head().await.unwrap_err());
    unavailable(append(&*store).await.unwrap_err());
    unavailable(store.lead(charter_store::Task::Publish).await.map(drop).unwrap_err());
    let error = db.open_error(&url).await;
    assert!(error.to_string().contains("standby"), "{error}");
    // A tool may read the past.
    let tool = PostgresStore::open(&url.parse().unwrap(), db.folder.path(), Access::ReadOnly).await.unwrap();
    let replayed = async {
        while tool.head().await.unwrap().offset.get() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), replayed).await.unwrap();
    tool.close().await;

    standby.sql("SELECT pg_promote()").unwrap();

    assert_eq!(append(&*store).await.unwrap(), 3);
    assert_eq!(store.poll().await.unwrap().head.offset.get(), 3);
    assert_eq!(scan(&*store).await.unwrap().events, 3);
}
