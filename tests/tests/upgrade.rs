//! Data that earlier builds wrote opens today: the same history, the same state, and everybody signs in as before.
//! What the fixtures are and how they were made: `tests/fixtures/README.md`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_tests::{ADMIN, Caller, Database, Installation, PASSWORD, Server};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// What a fixture holds, as the build that wrote it had it.
struct Written {
    folder: &'static str,
    head: u64,
    head_hash: &'static str,
    state_digest: &'static str,
}

/// The last build that knew SQLite alone, with its snapshot. The digest is that of the state in the snapshot, too: a
/// build of that day's fold took it from there.
const SQLITE_1: Written = Written {
    folder: "sqlite-1",
    head: 117,
    head_hash: "61353d7f684b0230d482443081ce3ad3f66d37e6707e207b4c52478acad93367",
    state_digest: "fbd79c3374452c3d2abc751c44b9d220f8541418f3c2a2bdfa5394953c9d6ee0",
};

/// The first build that knew PostgreSQL.
const POSTGRES_1: Written = Written {
    folder: "postgres-1",
    head: 117,
    head_hash: "05793254f1e41c07dd36ef6c68d0fb6ed941a654e0e0d3e249050baca670cb73",
    state_digest: "01e464010f950243d92375cef31a63ba810466383466c294ff7055da445ad5ed",
};

/// The same of the last builds before links were kept among sessions and tokens.
const SQLITE_2: Written = Written {
    folder: "sqlite-2",
    head: 117,
    head_hash: "e0a28183daf4f43436707b206a5235b607a63d6fe184a7607d9bec83dace345e",
    state_digest: "e90a37072a7e4bccda7557c54160b1c317134a184c2906262dc257353ede5ed6",
};

/// And of PostgreSQL.
const POSTGRES_2: Written = Written {
    folder: "postgres-2",
    head: 117,
    head_hash: "5a4c27f3017694b2c13d970737d10b28866e86a72818985037cd545888a1fa2f",
    state_digest: "74191a4dfd550a20c5c04e4c813d4437b74d51545674b8c31c49df625eb38bc6",
};

impl Written {
    fn path(&self, file: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(self.folder).join(file)
    }

    /// The token in it.
    fn token(&self) -> String {
        let secrets = fs::read_to_string(self.path("secrets.txt")).unwrap();
        secrets.lines().find_map(|line| line.strip_prefix("token ")).unwrap().to_owned()
    }
}

fn data_folder(written: &Written) -> Installation {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let (data, snapshots) = (installation.data(0), installation.data(0).join("snapshots"));
    fs::copy(written.path("charter.sqlite"), data.join("charter.db")).unwrap();
    fs::create_dir(&snapshots).unwrap();
    let snapshot = format!("{:020}.snapshot", written.head);
    fs::copy(written.path(&snapshot), snapshots.join(&snapshot)).unwrap();
    installation
}

/// A database with the dump in it, as its owner would restore it.
fn database(written: &Written) -> Installation {
    let database = charter_services::Database::fresh("upgrade").unwrap();
    let dump = fs::read_to_string(written.path("dump.psql")).unwrap();
    database.sql(&format!("SET ROLE {}_owner;\n{dump}", database.name)).unwrap();
    Installation::unmigrated(Some(database)).unwrap()
}

fn json_of(installation: &Installation, arguments: &[&str]) -> Value {
    serde_json::from_str(&installation.run_well(arguments).unwrap()).unwrap()
}

/// The history, and the state folded from all of it: the snapshot of another build is left alone.
fn is_what_was_written(installation: &Installation, written: &Written) {
    let found = json_of(installation, &["replay", "verify", "-o", "json"]);
    let found = (&found["head"], &found["head_hash"], &found["state_digest"]);
    let expected = (json!(written.head), json!(written.head_hash), json!(written.state_digest));
    assert_eq!(found, (&expected.0, &expected.1, &expected.2));
    let doctor = installation.run_well(&["doctor"]).unwrap();
    assert!(doctor.contains("without a snapshot"), "{doctor}");
    assert!(doctor.contains(written.state_digest) && !doctor.contains("WRONG"), "{doctor}");
}

/// What stands beside the log: the answer to a command that was given a key is still told to whoever repeats it.
fn has_its_answers(installation: &Installation) {
    let data = installation.data(0);
    fs::create_dir_all(&data).unwrap();
    let (log, secrets) = (data.join("log"), data.join("secrets"));
    let (log, secrets) = (log.to_str().unwrap(), secrets.to_str().unwrap());
    installation.run_well(&["replay", "export", "--out", log, "--secrets", secrets]).unwrap();
    let rows = fs::read_to_string(secrets).unwrap();
    let answer = rows.lines().find(|line| line.contains("\"answer\"")).unwrap();
    assert!(answer.contains("\"upgrade-1\""), "{answer}");
}

async fn can_be_used(installation: &Installation, written: &Written) {
    let server = Server::start(installation).await.unwrap();
    assert!(server.setup_code.is_none(), "it has its administrator");
    let ada = server.sign_in(ADMIN, PASSWORD).await.unwrap();
    server.sign_in("grace", PASSWORD).await.unwrap();
    let robot = Caller::new(&server.url, Some(written.token()));
    let me = robot.get("/api/v1/user/me").await.unwrap().expect(200).unwrap();
    assert_eq!(me.body["user"]["username"], ADMIN, "{me:?}");
    let grace = ada.get("/api/v1/users/grace").await.unwrap().expect(200).unwrap();
    assert_eq!(grace.text("display_name"), Some("Grace Hopper"));
    ada.get("/api/v1/users/erased").await.unwrap().expect(404).unwrap();
    let crew = ada.get("/api/v1/groups/crew").await.unwrap().expect(200).unwrap();
    assert_eq!(crew.text("name"), Some("Die Mannschaft 馬"));
    let made = ada.post("/api/v1/groups", &json!({"slug": "later", "name": "Later"})).await.unwrap();
    assert!(made.expect(201).unwrap().version.unwrap() > written.head);
    server.stop().unwrap();
    installation.verify().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_of_each_earlier_schema_opens_and_goes_on() {
    for written in [&SQLITE_1, &SQLITE_2] {
        let installation = data_folder(written);

        is_what_was_written(&installation, written);
        installation.run_well(&["migrate"]).unwrap();

        is_what_was_written(&installation, written);
        has_its_answers(&installation);
        can_be_used(&installation, written).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_each_earlier_schema_opens_and_goes_on() {
    for written in [&POSTGRES_1, &POSTGRES_2] {
        let installation = database(written);

        // Its roles are those of this cluster: the owner says who serves it.
        installation.run_well(&["migrate"]).unwrap();

        is_what_was_written(&installation, written);
        has_its_answers(&installation);
        can_be_used(&installation, written).await;
    }
}
