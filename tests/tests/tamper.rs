//! Whoever can write to the database changes the log beneath the product, and `charter replay verify` names the first
//! bad offset, with a checkpoint that was saved before also where the log is whole in itself.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_tests::{Caller, Database, Installation, Server, eventually, on_both_databases};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use std::{fs, path::PathBuf};

on_both_databases!(
    a_changed_log_is_told_at_its_first_bad_offset,
    what_only_a_saved_checkpoint_shows_is_shown_by_it,
    a_server_whose_log_is_changed_beneath_it_serves_no_proof_of_it,
    a_server_serves_no_tile_that_it_did_not_sign,
    checkpoints_of_before_a_move_to_another_store_count_after_it,
);

/// The event that is changed.
const CHANGED: u64 = 7;

/// Each field of the envelope given another value, in both databases' SQL; `{e}` are the events, `{h}` the head.
const FIELDS: [&str; 15] = [
    "event_id = command_id",
    "command_id = event_id",
    "command_index = command_index + 1",
    "command_size = command_size + 1",
    "type = 'user.registered'",
    "schema = schema + 1",
    "recorded_at = recorded_at + 1",
    "actor_kind = 'system', actor_id = NULL",
    "actor_id = prev_hash",
    "via = 'import'",
    "request_id = 'another'",
    "reason = 'another'",
    "payload = prev_hash",
    "prev_hash = hash",
    "hash = prev_hash",
];

/// What somebody has in hand who can write to the database.
struct Beneath<'a> {
    installation: &'a Installation,
    /// The file as it was, without a server.
    sound: Option<Vec<u8>>,
}

impl<'a> Beneath<'a> {
    async fn of(installation: &'a Installation) -> Self {
        let mut new = Self { installation, sound: None };
        match installation.kind() {
            Database::Sqlite => {
                new.sqlite("PRAGMA wal_checkpoint(TRUNCATE)").await;
                new.sound = Some(fs::read(new.file()).unwrap());
            }
            Database::Postgres => {
                new.postgres(
                    "ALTER TABLE log.events DISABLE TRIGGER ALL; ALTER TABLE log.log_head DISABLE TRIGGER ALL; \
                     CREATE TABLE public.events AS SELECT * FROM log.events; \
                     CREATE TABLE public.log_head AS SELECT * FROM log.log_head",
                );
            }
        }
        new
    }

    fn file(&self) -> PathBuf {
        self.installation.data(0).join("charter.db")
    }

    async fn sqlite(&self, sql: &str) {
        let url = format!("sqlite://{}", self.file().display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        for trigger in ["events_are_never_changed", "events_are_never_deleted", "log_head_is_never_deleted"] {
            let drop = AssertSqlSafe(format!("DROP TRIGGER IF EXISTS {trigger}"));
            sqlx::raw_sql(drop).execute(&mut connection).await.unwrap();
        }
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    fn postgres(&self, sql: &str) {
        let database = self.installation.database().unwrap();
        database.sql(sql).unwrap();
    }

    async fn change(&self, sql: &str) {
        match self.installation.kind() {
            Database::Sqlite => self.sqlite(&sql.replace("{e}", "events").replace("{h}", "log_head")).await,
            Database::Postgres => {
                self.postgres(&sql.replace("{e}", "log.events").replace("{h}", "log.log_head"))
            }
        }
    }

    /// Puts everything back.
    fn put_back(&self) {
        match &self.sound {
            Some(file) => {
                for beside in ["charter.db-wal", "charter.db-shm"] {
                    // There is none when the last connection was closed in order.
                    let _ = fs::remove_file(self.installation.data(0).join(beside));
                }
                fs::write(self.file(), file).unwrap();
            }
            None => self.postgres(
                "DELETE FROM log.events; INSERT INTO log.events SELECT * FROM public.events; \
                 UPDATE log.log_head SET head = was.head, head_hash = was.head_hash, recorded_at = was.recorded_at \
                 FROM public.log_head AS was",
            ),
        }
    }
}

/// What `verify` says on stderr, of a log it finds fault with.
fn fault(installation: &Installation, arguments: &[&str]) -> String {
    let ran = installation.run(&[&["replay", "verify"], arguments].concat()).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    String::from_utf8(ran.stderr).unwrap()
}

/// The newest checkpoint, once it has at least so many events.
async fn checkpoint(ada: &Caller, at_least: u64) -> String {
    let mut note = String::new();
    let size = |note: &str| note.lines().nth(1).and_then(|size| size.parse::<u64>().ok());
    eventually("a checkpoint of the whole log", 20, async || {
        let answer = ada.get("/api/v1/log/checkpoint").await.unwrap();
        if let Value::String(text) = answer.body {
            note = text;
        }
        size(&note).is_some_and(|size| size >= at_least)
    })
    .await
    .unwrap();
    note
}

/// A log of some dozens of events; its end, a checkpoint of it and the key, saved.
struct Saved {
    head: u64,
    checkpoint: PathBuf,
    key: String,
}

async fn filled(installation: &Installation) -> Saved {
    let server = Server::start(installation).await.unwrap();
    let ada = server.set_up().await.unwrap();
    let mut head = 0;
    for number in 0..12 {
        let body = json!({"slug": format!("group-{number}"), "name": format!("Group {number}")});
        head = ada.post("/api/v1/groups", &body).await.unwrap().expect(201).unwrap().version.unwrap();
    }
    let saved = save(installation, &ada, head).await;
    server.stop().unwrap();
    saved
}

async fn save(installation: &Installation, ada: &Caller, head: u64) -> Saved {
    let note = checkpoint(ada, head).await;
    let path = installation.data(0).join(format!("{head}.checkpoint"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, note).unwrap();
    let log = ada.get("/api/v1/log").await.unwrap().expect(200).unwrap();
    let key = log.text("verifier_key").unwrap().to_owned();
    Saved { head: log.body["head"].as_u64().unwrap(), checkpoint: path, key }
}

async fn a_changed_log_is_told_at_its_first_bad_offset(installation: Installation) {
    let Saved { head, .. } = filled(&installation).await;
    // A command of one event, by a user: every field of it can be given another value.
    let changed = head - 3;
    let beneath = Beneath::of(&installation).await;
    let mut changes: Vec<(String, u64)> = FIELDS
        .iter()
        .map(|field| (format!("UPDATE {{e}} SET {field} WHERE \"offset\" = {changed}"), changed))
        .collect();
    changes.extend([
        (format!("DELETE FROM {{e}} WHERE \"offset\" = {changed}"), changed),
        ("DELETE FROM {e} WHERE \"offset\" = 1".to_owned(), 1),
        (format!("DELETE FROM {{e}} WHERE \"offset\" > {}", head - 2), head - 1),
        (
            "UPDATE {e} SET \"offset\" = 100000 WHERE \"offset\" = 7; \
             UPDATE {e} SET \"offset\" = 7 WHERE \"offset\" = 9; \
             UPDATE {e} SET \"offset\" = 9 WHERE \"offset\" = 100000"
                .to_owned(),
            7,
        ),
    ]);
    for (sql, offset) in changes {
        beneath.change(&sql).await;
        let told = fault(&installation, &[]);
        assert!(told.contains(&format!("damaged at offset {offset}:")), "{sql}: {told}");
        beneath.put_back();
    }
    installation.run_well(&["replay", "verify"]).unwrap();
}

async fn what_only_a_saved_checkpoint_shows_is_shown_by_it(installation: Installation) {
    let Saved { head, checkpoint, key } = filled(&installation).await;
    let checkpoint = checkpoint.to_str().unwrap();
    let beneath = Beneath::of(&installation).await;
    let whole = ["replay", "verify", "-o", "json", "--checkpoint", checkpoint, "--key", &key];
    let told: Value = serde_json::from_str(&installation.run_well(&whole).unwrap()).unwrap();
    assert_eq!((&told["events"], &told["checkpoint_size"]), (&json!(head), &json!(head)));
    let cut = head - 3;
    let with_its_head = format!(
        "DELETE FROM {{e}} WHERE \"offset\" > {cut}; UPDATE {{h}} SET head = {cut}, \
         head_hash = (SELECT hash FROM {{e}} WHERE \"offset\" = {cut}), \
         recorded_at = (SELECT recorded_at FROM {{e}} WHERE \"offset\" = {cut})"
    );
    beneath.change(&with_its_head).await;
    installation.run_well(&["replay", "verify"]).unwrap();
    let told = fault(&installation, &["--checkpoint", checkpoint, "--key", &key]);
    assert!(told.contains(&format!("the log is cut at offset {}", cut + 1)), "{told}");
    beneath.put_back();
    // A checkpoint that was changed, and one by another key, count for nothing.
    let other = "charter/00000000-0000-0000-0000-000000000000+".to_owned() + key.split_once('+').unwrap().1;
    let told = installation.run(&["replay", "verify", "--checkpoint", checkpoint, "--key", &other]).unwrap();
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    let note = fs::read_to_string(checkpoint).unwrap();
    fs::write(checkpoint, note.replacen(&format!("\n{head}\n"), &format!("\n{}\n", head - 1), 1)).unwrap();
    let told = fault(&installation, &["--checkpoint", checkpoint, "--key", &key]);
    assert!(told.contains("does not count"), "{told}");
    assert!(
        fault(&installation, &["--checkpoint", checkpoint]).contains("does not count"),
        "by the store's own key"
    );
}

async fn a_server_whose_log_is_changed_beneath_it_serves_no_proof_of_it(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let ada = server.set_up().await.unwrap();
    let made = ada.post("/api/v1/groups", &json!({"slug": "one"})).await.unwrap().expect(201).unwrap();
    let Saved { key, .. } = save(&installation, &ada, made.version.unwrap()).await;
    let proof = ada.get(&format!("/api/v1/log/proof?offset={CHANGED}")).await.unwrap().expect(200).unwrap();
    let path = installation.data(0).join("proof");
    fs::write(&path, proof.body.as_str().unwrap()).unwrap();
    let beneath = Beneath::of(&installation).await;
    beneath.change(&format!("UPDATE {{e}} SET reason = 'another' WHERE \"offset\" = {CHANGED}")).await;
    for route in [format!("proof?offset={CHANGED}"), "tile/entries/000.p/9".to_owned()] {
        let refused = ada.get(&format!("/api/v1/log/{route}")).await.unwrap().expect(503).unwrap();
        assert_eq!(refused.code(), "log_damaged", "{refused:?}");
    }
    let refused = ada.post("/api/v1/groups", &json!({"slug": "two"})).await.unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    server.kill().unwrap();
    // The proof that was given away before still stands, without the log.
    let told =
        installation.run_well(&["replay", "check-proof", path.to_str().unwrap(), "--key", &key]).unwrap();
    assert!(told.contains(&format!("at offset {CHANGED} ")), "{told}");
}

async fn a_server_serves_no_tile_that_it_did_not_sign(installation: Installation) {
    let server = Server::start(&installation).await.unwrap();
    let ada = server.set_up().await.unwrap();
    let mut head = 0;
    // A full tile is not kept in memory.
    for number in 0..256 {
        let made = ada.post("/api/v1/groups", &json!({"slug": format!("group-{number}")})).await.unwrap();
        head = made.expect(201).unwrap().version.unwrap();
    }
    save(&installation, &ada, head).await;
    ada.get("/api/v1/log/tile/0/000").await.unwrap().expect(200).unwrap();
    let beneath = Beneath::of(&installation).await;
    beneath.change(&format!("UPDATE {{e}} SET hash = prev_hash WHERE \"offset\" = {CHANGED}")).await;
    for route in ["tile/0/000", "tile/entries/000", "proof?offset=200"] {
        let refused = ada.get(&format!("/api/v1/log/{route}")).await.unwrap().expect(503).unwrap();
        assert_eq!(refused.code(), "log_damaged", "{refused:?}");
    }
    let ready = ada.get("/readyz").await.unwrap().expect(503).unwrap();
    assert!(ready.body.to_string().contains(&format!("offset {CHANGED}\"")), "{ready:?}");
    server.kill().unwrap();
}

async fn checkpoints_of_before_a_move_to_another_store_count_after_it(installation: Installation) {
    let Saved { checkpoint, key, .. } = filled(&installation).await;
    let data = installation.data(0);
    let (log, secrets) = (data.join("moved.log"), data.join("moved.secrets"));
    let (log, secrets) = (log.to_str().unwrap(), secrets.to_str().unwrap());
    installation.run_well(&["replay", "export", "--out", log, "--secrets", secrets]).unwrap();
    let checkpoint = checkpoint.to_str().unwrap();
    installation
        .run_well(&["replay", "verify", "--file", log, "--checkpoint", checkpoint, "--key", &key])
        .unwrap();
    let other = Installation::new(match installation.kind() {
        Database::Sqlite => Database::Postgres,
        Database::Postgres => Database::Sqlite,
    })
    .unwrap();
    other.run_well(&["replay", "import", log, "--secrets", secrets]).unwrap();
    other.run_well(&["replay", "verify", "--checkpoint", checkpoint, "--key", &key]).unwrap();
    let proof = other.run_well(&["replay", "prove", "--offset", "9"]).unwrap();
    let path = data.join("9.tlog-proof");
    fs::write(&path, proof).unwrap();
    let event = data.join("event.json");
    let line = |offset: usize| fs::read_to_string(log).unwrap().lines().nth(offset).unwrap().to_owned();
    let check =
        ["replay", "check-proof", path.to_str().unwrap(), "--key", &key, "--event", event.to_str().unwrap()];
    fs::write(&event, line(9)).unwrap();
    other.run_well(&check).unwrap();
    fs::write(&event, line(10)).unwrap();
    let refused = other.run(&check).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("another event"), "{told}");
}
