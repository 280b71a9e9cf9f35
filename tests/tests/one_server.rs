//! What one server does with its installation: SQLite's file is its alone, and a log that was damaged is never served
//! as if it were whole.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_tests::{ADMIN, Database, Installation, PASSWORD, Server, on_both_databases};
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_folder_refuses_and_names_it() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let first = Server::start(&installation).await.unwrap();

    let second = installation.run(&["serve", "--listen", "127.0.0.1:0"]).unwrap();

    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains(&installation.data(0).display().to_string()), "{said}");
    first.set_up().await.unwrap();
    first.stop().unwrap();
}

async fn what_was_acknowledged_is_there_after_an_orderly_stop(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let made = admin
        .post("/api/v1/groups", &json!({"slug": "ops", "name": "Ops"}))
        .await
        .unwrap()
        .expect(201)
        .unwrap();
    server.stop().unwrap();

    let server = Server::start(&installation).await.unwrap();

    assert!(server.setup_code.is_none(), "setup stays closed once there was an administrator");
    let admin = server.sign_in(ADMIN, PASSWORD).await.unwrap();
    let found = admin.get("/api/v1/groups/ops").await.unwrap().expect(200).unwrap();
    assert_eq!(found.body["id"], made.body["id"]);
}

/// Flips one byte of one event's payload behind the server's back, as a faulty disk would.
async fn flip_a_byte(installation: &Installation, offset: i64) {
    match installation.kind() {
        Database::Sqlite => flip_a_byte_of_the_file(&installation.data(0).join("charter.db"), offset).await,
        Database::Postgres => {
            let statements = format!(
                "ALTER TABLE log.events DISABLE TRIGGER USER; \
                 UPDATE log.events SET payload = set_byte(payload, 0, get_byte(payload, 0) # 1) \
                 WHERE \"offset\" = {offset} RETURNING 1"
            );
            assert_eq!(installation.database().unwrap().sql(&statements).unwrap(), "1");
        }
    }
}

async fn flip_a_byte_of_the_file(file: &std::path::Path, offset: i64) {
    use sqlx::Connection;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let triggers: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    assert!(!triggers.is_empty(), "the log refuses changes");
    for (name,) in triggers {
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP TRIGGER {name}")))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    let (mut payload,): (Vec<u8>,) = sqlx::query_as("SELECT payload FROM events WHERE \"offset\" = $1")
        .bind(offset)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    payload[0] ^= 1;
    sqlx::query("UPDATE events SET payload = $1 WHERE \"offset\" = $2")
        .bind(payload)
        .bind(offset)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

async fn damage_at_the_head_refuses_the_start_and_names_the_offset(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let head = server.set_up().await.unwrap().get("/api/v1/log").await.unwrap().expect(200).unwrap();
    let head = head.body["head"].as_i64().unwrap();
    server.stop().unwrap();
    flip_a_byte(&installation, head).await;

    let start = installation.run(&["serve", "--listen", "127.0.0.1:0"]).unwrap();

    assert_eq!(start.status.code(), Some(1));
    let said = String::from_utf8_lossy(&start.stderr).into_owned();
    assert!(said.contains(&head.to_string()), "{said}");
}

async fn damage_below_the_snapshot_is_found_in_the_background_and_stops_writes_and_readiness(
    installation: Installation,
) {
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    for number in 0..300 {
        let slug = format!("g{number}");
        admin
            .post("/api/v1/groups", &json!({"slug": slug, "name": slug}))
            .await
            .unwrap()
            .expect(201)
            .unwrap();
    }
    server.stop().unwrap();
    flip_a_byte(&installation, 30).await;

    let server = Server::start_unready(&installation).await.unwrap();

    let admin = admin.at(&server.url);
    let deadline = Instant::now() + Duration::from_secs(30);
    let ready = loop {
        let ready = admin.get("/readyz").await.unwrap();
        if ready.status == 503 {
            break ready;
        }
        assert!(Instant::now() < deadline, "the damage was not found");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(ready.body.to_string().contains("30"), "{ready:?}");
    let refused = admin.post("/api/v1/groups", &json!({"slug": "late", "name": "late"})).await.unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
}

on_both_databases!(
    what_was_acknowledged_is_there_after_an_orderly_stop,
    damage_at_the_head_refuses_the_start_and_names_the_offset,
    damage_below_the_snapshot_is_found_in_the_background_and_stops_writes_and_readiness,
);
