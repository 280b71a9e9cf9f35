//! A backup taken beside a running server is the installation again, elsewhere: the same log, none of the credentials;
//! and a stream that has gone on meanwhile is reported as a fork, and left as it is.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_services::Nats;
use charter_tests::{
    ADMIN, Caller, Database, Installation, Log, PASSWORD, Server, Stream, eventually, on_both_databases,
};
use serde_json::json;
use std::path::{Path, PathBuf};

const WAIT_SECONDS_MAX: u64 = 60;

/// The file a backup operation made, once it is done.
async fn backed_up(admin: &Caller, folder: &Path) -> PathBuf {
    let begun = admin.post("/api/v1/backups", &json!({})).await.unwrap().expect(202).unwrap();
    let operation = format!("/api/v1/operations/{}", begun.text("id").unwrap());
    let mut ended = begun;
    eventually("the backup is taken", WAIT_SECONDS_MAX, async || {
        ended = admin.get(&operation).await.unwrap().expect(200).unwrap();
        ended.text("state") != Some("running")
    })
    .await
    .unwrap();
    assert_eq!(ended.text("state"), Some("done"), "{ended:?}");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let newest = files.filter(|path| path.extension().is_some_and(|ending| ending == "backup")).max();
    newest.unwrap()
}

fn keys_in(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "keys")).unwrap()
}

async fn groups(admin: &Caller, names: &[&str]) {
    for name in names {
        let body = json!({"slug": name, "name": name});
        admin.post("/api/v1/groups", &body).await.unwrap().expect(201).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An installation whose backups are in a folder that is not its own.
fn installation(kind: Database, backups: &Path, nats: &str) -> Installation {
    let installation = Installation::new(kind).unwrap().with_nats(nats);
    installation.with("CHARTER_BACKUPS", text(backups)).with("CHARTER_PASSWORD", PASSWORD)
}

async fn a_restored_log_is_a_fork_of_the_stream(first: Installation) {
    let (nats, backups) = (Nats::start().unwrap(), tempfile::tempdir().unwrap());
    let kind = first.kind();
    drop(first);
    let first = installation(kind, backups.path(), &nats.url());
    let server = Server::start(&first).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let token = json!({"name": "ci"});
    let token = admin.post("/api/v1/user/me/tokens", &token).await.unwrap().expect(201).unwrap();
    let robot = Caller::new(&server.url, Some(token.text("secret").unwrap().to_owned()));
    robot.get("/api/v1/user/me").await.unwrap().expect(200).unwrap();
    groups(&admin, &["before"]).await;
    let file = backed_up(&admin, backups.path()).await;
    groups(&admin, &["lost-1", "lost-2"]).await;
    let log = Log::read(&admin, 0).await.unwrap();
    let stream = Stream::of(&nats.url(), log.id).await.unwrap();
    stream.until(log.head(), WAIT_SECONDS_MAX).await.unwrap();
    server.stop().unwrap();

    let second = installation(kind, backups.path(), &nats.url());
    let keys = keys_in(backups.path());
    second.run_well(&["restore", text(&file), "--keys", text(&keys), "--reason", "drill"]).unwrap();
    second.verify().unwrap();
    second.run_well(&["recover-admin", "--username", ADMIN]).unwrap();
    let again = second.run(&["restore", text(&file)]).unwrap();
    assert_eq!(again.status.code(), Some(5), "{again:?}");
    let server = Server::start_unready(&second).await.unwrap();
    server.until_ready(false, WAIT_SECONDS_MAX).await.unwrap();

    let nobody = Caller::new(&server.url, None);
    eventually("the fork is reported", WAIT_SECONDS_MAX, async || {
        nobody.get("/readyz").await.is_ok_and(|answer| answer.code() == "stream_forked")
    })
    .await
    .unwrap();
    for old in [&admin, &robot] {
        old.at(&server.url).get("/api/v1/user/me").await.unwrap().expect(401).unwrap();
    }
    let admin = server.sign_in(ADMIN, PASSWORD).await.unwrap();
    groups(&admin, &["after"]).await;
    let found = |name: &'static str| {
        let admin = admin.clone();
        async move { admin.get(&format!("/api/v1/groups/{name}")).await.unwrap().status }
    };
    assert_eq!((found("before").await, found("lost-1").await, found("after").await), (200, 404, 200));
    let restored = Log::read(&admin, 0).await.unwrap();
    goes_on_after(&restored, &log);
    // Nothing was overwritten: it is still the old log, to its end.
    stream.equals(&log).await.unwrap();

    stream.delete().await.unwrap();
    server.until_ready(true, WAIT_SECONDS_MAX).await.unwrap();
    stream.until(restored.head(), WAIT_SECONDS_MAX).await.unwrap();
    stream.equals(&restored).await.unwrap();
    server.stop().unwrap();
}

/// The restored log is the old one up to the backup, then says that it was restored.
fn goes_on_after(restored: &Log, old: &Log) {
    assert_eq!(restored.id, old.id);
    let is_restore = |line: &String| line.contains("\"operations.backup_restored\"");
    let at = restored.events.iter().position(|(_, line)| is_restore(line)).unwrap();
    let lines = |log: &Log| log.events.iter().take(at).map(|(_, line)| line.clone()).collect::<Vec<_>>();
    assert_eq!(lines(restored), lines(old));
    let taken = old.events.get(at).unwrap();
    assert!(taken.1.contains("\"operations.backup_taken\""), "{}", taken.1);
    let (event, line) = restored.events.get(at).unwrap();
    assert_eq!(event.command.reason.as_deref(), Some("drill"));
    let digest =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["payload"]["digest"].clone();
    assert_eq!(digest(line), digest(&taken.1));
}

async fn a_backup_is_taken_while_commands_run_and_each_is_in_it_or_after_it(installation: Installation) {
    let backups = tempfile::tempdir().unwrap();
    let installation = installation.with("CHARTER_BACKUPS", text(backups.path()));
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let load = charter_tests::Load::new("b", charter_tests::Urls::new([server.url.clone()]), &admin);
    let callers = load.start(4, 100_000);
    load.until(50, WAIT_SECONDS_MAX).await.unwrap();
    let mut files = Vec::new();
    for round in 1..=3 {
        files.push(backed_up(&admin, backups.path()).await);
        load.until(50 + round * 50, WAIT_SECONDS_MAX).await.unwrap();
    }
    load.stop();
    charter_tests::Load::join(callers).await.unwrap();
    let log = Log::read(&admin, 0).await.unwrap();
    server.stop().unwrap();
    for file in &files {
        let told = installation.run_well(&["backup", "verify", text(file), "-o", "json"]).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let head = usize::try_from(told["head"].as_u64().unwrap()).unwrap();
        let (last, _) = log.events.get(head - 1).unwrap();
        assert_eq!(told["head_hash"].as_str().unwrap(), last.hash.to_string());
        let recorded = log.events.iter().filter(|(event, line)| {
            event.type_name == "operations.backup_taken" && line.contains(told["sha256"].as_str().unwrap())
        });
        assert_eq!(recorded.count(), 1, "{told}");
    }
}

async fn who_may_not_or_where_there_is_no_folder_no_backup_is_taken(installation: Installation) {
    let backups = tempfile::tempdir().unwrap();
    let installation = installation.with("CHARTER_BACKUPS", "none");
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let refused = admin.post("/api/v1/backups", &json!({})).await.unwrap().expect(409).unwrap();
    assert_eq!(refused.code(), "no_backup_folder");
    let body = json!({"username": "bob", "password": PASSWORD});
    admin.post("/api/v1/users", &body).await.unwrap().expect(201).unwrap();
    let bob = server.sign_in("bob", PASSWORD).await.unwrap();
    let refused = bob.post("/api/v1/backups", &json!({})).await.unwrap().expect(403).unwrap();
    assert_eq!(refused.code(), "forbidden");
    server.stop().unwrap();
    assert_eq!(std::fs::read_dir(backups.path()).unwrap().count(), 0);
}

/// Puts a log that was saved back, with the tables left as they are: SQLite's by its file, PostgreSQL's by a backup.
fn put_back_beside_the_tables(installation: &Installation, saved: &Path) {
    match installation.kind() {
        Database::Sqlite => {
            let data = installation.data(0);
            for file in ["charter.db-wal", "charter.db-shm"] {
                let _ = std::fs::remove_file(data.join(file));
            }
            std::fs::copy(saved, data.join("charter.db")).unwrap();
            assert!(data.join("tables.db").exists());
        }
        Database::Postgres => {
            installation.database().unwrap().sql("DROP SCHEMA log CASCADE").unwrap();
            installation.run_well(&["migrate"]).unwrap();
            installation.run_well(&["restore", text(saved), "--reason", "drill"]).unwrap();
            installation.run_well(&["recover-admin", "--username", ADMIN]).unwrap();
        }
    }
}

async fn are_followed(admin: &Caller) {
    eventually("the tables are followed", WAIT_SECONDS_MAX, async || {
        let Ok(all) = admin.get("/api/v1/projections").await else { return false };
        let follows = |one: &serde_json::Value| one["status"] == "following" && one["behind"] == 0;
        all.body["items"].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(follows))
    })
    .await
    .unwrap();
}

async fn tables_that_stayed_beside_a_restored_log_show_nothing_of_what_was_lost(installation: Installation) {
    let backups = tempfile::tempdir().unwrap();
    let installation =
        installation.with("CHARTER_BACKUPS", text(backups.path())).with("CHARTER_PASSWORD", PASSWORD);
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    groups(&admin, &["kept"]).await;
    let (server, saved) = match installation.kind() {
        Database::Postgres => (server, backed_up(&admin, backups.path()).await),
        Database::Sqlite => {
            server.stop().unwrap();
            let saved = backups.path().join("charter.db");
            std::fs::copy(installation.data(0).join("charter.db"), &saved).unwrap();
            (Server::start(&installation).await.unwrap(), saved)
        }
    };
    let admin = admin.at(&server.url);
    let lost: Vec<String> = (0..40).map(|number| format!("lost-{number}")).collect();
    groups(&admin, &lost.iter().map(String::as_str).collect::<Vec<_>>()).await;
    are_followed(&admin).await;
    server.stop().unwrap();
    put_back_beside_the_tables(&installation, &saved);

    let server = Server::start(&installation).await.unwrap();
    let admin = server.sign_in(ADMIN, PASSWORD).await.unwrap();
    let found = async |text: &str| admin.get(&format!("/api/v1/groups?q={text}")).await.unwrap();
    // From the first moment on: while they are not built it says so.
    eventually("they are built anew", WAIT_SECONDS_MAX, async || {
        let answer = found("lost").await;
        let told = answer.status == 503 && answer.code() == "tables_not_built";
        assert!(told || (answer.status == 200 && answer.body["items"] == json!([])), "{answer:?}");
        answer.status == 200
    })
    .await
    .unwrap();
    groups(&admin, &["after"]).await;
    are_followed(&admin).await;
    assert_eq!(found("kept").await.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(found("after").await.body["items"].as_array().unwrap().len(), 1);
    let audit = admin.get("/api/v1/audit?limit=1").await.unwrap().expect(200).unwrap();
    assert_eq!(audit.body["items"][0]["type"], "group.created", "{audit:?}");
    let ready = admin.get("/readyz").await.unwrap();
    assert!(ready.status == 200 && ready.body["degraded"].as_array().is_none_or(Vec::is_empty), "{ready:?}");
    server.stop().unwrap();
}

on_both_databases!(
    tables_that_stayed_beside_a_restored_log_show_nothing_of_what_was_lost,
    a_restored_log_is_a_fork_of_the_stream,
    a_backup_is_taken_while_commands_run_and_each_is_in_it_or_after_it,
    who_may_not_or_where_there_is_no_folder_no_backup_is_taken,
);
