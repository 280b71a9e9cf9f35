//! Somebody is deleted, called back, deleted again and erased by the clock; then his names are nowhere: not in any
//! answer, past or present, not in what servers printed, not in a file of the database, of its backups, exports and
//! snapshots, not in the stream. Neither is his key. What is left still verifies.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use base64::{Engine, engine::general_purpose};
use charter_events::{Timestamp, UserId};
use charter_services::{Nats, Postgres, PostgresSettings};
use charter_store::SecretStore;
use charter_store_postgres::PostgresStore;
use charter_store_sqlite::SqliteStore;
use charter_tests::{Caller, Database, Installation, Log, PASSWORD, Server, Stream, eventually};
use serde_json::{Value, json};
use std::{
    fmt::Write,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const WAIT_SECONDS_MAX: u64 = 90;
/// All of a person's names, as they are given.
const NAMES: [(&str, &str); 5] = [
    ("username", "zebulon-quark"),
    ("display_name", "Zebulon Quark Pfister"),
    ("email", "z.pfister@mail.example"),
    ("login_name", "Zebulon.Login"),
    ("external_id", "ZEB-EXT-4711"),
];
/// An address he had before.
const EARLIER: &str = "pfister.before@mail.example";

/// What to look for: names as they are, and in hexadecimal digits, in any case.
fn in_any_case() -> Vec<String> {
    let texts = ["zebulon", "pfister", "zeb-ext-4711", EARLIER];
    let forms = |text: &str| {
        [text, &text.to_uppercase()].map(|text| {
            text.bytes().fold(String::new(), |mut hex, byte| {
                write!(hex, "{byte:02x}").unwrap();
                hex
            })
        })
    };
    let hex = NAMES.iter().map(|(_, name)| *name).chain(texts).flat_map(forms);
    hex.chain(texts.map(str::to_owned)).collect()
}

/// The same in base64: what of it does not depend on what stands around, at each of three places.
fn in_base64() -> Vec<String> {
    let mut found = Vec::new();
    for text in NAMES.iter().map(|(_, name)| *name).chain([EARLIER]) {
        for text in [text.to_owned(), text.to_lowercase(), text.to_uppercase()] {
            for before in 0..3 {
                let bytes = [&b"\0\0"[..before], text.as_bytes()].concat();
                let code = general_purpose::STANDARD_NO_PAD.encode(&bytes);
                let whole = bytes.len() / 3 * 4;
                let from = [0, 2, 3][before];
                found.push(code.get(from..whole).unwrap().to_owned());
                found.push(code.get(from..whole).unwrap().replace('+', "-").replace('/', "_"));
            }
        }
    }
    found
}

/// The files below some places that have one of these texts.
fn files_with(texts: &[String], options: &[&str], places: &[&Path]) -> String {
    let mut grep = Command::new("grep");
    grep.args(["-r", "-l", "-a"]).args(options).args(["-f", "-"]).args(places).env("LC_ALL", "C");
    let mut child = grep.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(texts.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    // 1: nothing was found. Anything else but 0 says that it was not looked everywhere.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn names_in(places: &[&Path]) -> String {
    files_with(&in_any_case(), &["-i", "-F"], places) + &files_with(&in_base64(), &["-F"], places)
}

/// The files that have a key: its bytes, or hexadecimal digits.
fn key_in(key: &[u8; 32], places: &[&Path]) -> String {
    let escaped = key.iter().fold(String::new(), |mut text, byte| {
        write!(text, "\\x{byte:02x}").unwrap();
        text
    });
    let hex = escaped.replace("\\x", "");
    files_with(&[escaped], &["-P"], places) + &files_with(&[hex], &["-i", "-F"], places)
}

/// The place everything of one installation is in.
struct Place {
    folder: tempfile::TempDir,
    nats: Nats,
    postgres: Option<Postgres>,
    installation: Installation,
}

impl Place {
    fn new(kind: Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nats = Nats::start().unwrap();
        let postgres = (kind == Database::Postgres).then(|| {
            let settings = PostgresSettings {
                folder: Some(folder.path().join("postgres")),
                ..PostgresSettings::default()
            };
            std::fs::create_dir(folder.path().join("postgres")).unwrap();
            Postgres::start_with(&settings).unwrap()
        });
        let installation = match &postgres {
            Some(postgres) => Installation::on(postgres.database("erasure").unwrap()).unwrap(),
            None => Installation::new(Database::Sqlite).unwrap(),
        };
        let installation = installation.with_nats(nats.url());
        let backups = folder.path().join("backups").display().to_string();
        Self { installation: installation.with("CHARTER_BACKUPS", backups), folder, nats, postgres }
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    /// Everything that is written to a disk.
    fn places(&self) -> Vec<PathBuf> {
        vec![self.folder.path().to_owned(), self.installation.data(0), self.nats.folder()]
    }

    fn keys_file(&self) -> PathBuf {
        let files = std::fs::read_dir(self.backups()).unwrap().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "keys")).unwrap()
    }

    async fn key_of(&self, user: UserId) -> Option<[u8; 32]> {
        let data = self.installation.data(0);
        let key = match self.installation.kind() {
            Database::Sqlite => {
                let store = SqliteStore::open(&data, charter_store_sqlite::Access::ReadOnly).await.unwrap();
                let key = store.user_key(user).await.unwrap();
                store.close().await;
                key
            }
            Database::Postgres => {
                let url = self.installation.database().unwrap().server_url.parse().unwrap();
                let access = charter_store_postgres::Access::ReadOnly;
                let store = PostgresStore::open(&url, &data.join("snapshots"), access).await.unwrap();
                let key = store.user_key(user).await.unwrap();
                store.close().await;
                key
            }
        };
        key.map(|key| *key.expose())
    }
}

/// His account, and enough around it that every kind of answer has him in it.
async fn made(admin: &Caller) -> String {
    let mut body = json!({"password": PASSWORD});
    for (member, name) in NAMES {
        body[member] = name.into();
    }
    body["email"] = EARLIER.into();
    let made = admin.post("/api/v1/users", &body).await.unwrap().expect(201).unwrap();
    let id = made.text("id").unwrap().to_owned();
    let patch = admin.request(reqwest::Method::PATCH, &format!("/api/v1/users/{id}"));
    let patch = patch.json(&json!({"email": NAMES[2].1}));
    admin.send(patch).await.unwrap().expect(200).unwrap();
    admin.post("/api/v1/groups", &json!({"slug": "ops", "name": "Ops"})).await.unwrap().expect(201).unwrap();
    let member = format!("/api/v1/groups/ops/members/{}", NAMES[0].1);
    admin.put(&member, &json!({})).await.unwrap();
    let grant = json!({"subject": format!("user:{id}"), "role": "administrator", "scope": "global"});
    admin.post("/api/v1/grants", &grant).await.unwrap().expect(201).unwrap();
    id
}

async fn asked(admin: &Caller, id: &str) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let version = admin.get("/api/v1/log").await.unwrap().version.unwrap();
    let paths = [
        format!("/api/v1/users/{id}"),
        "/api/v1/users?limit=500".to_owned(),
        "/api/v1/groups/ops/members".to_owned(),
        "/api/v1/grants?limit=500".to_owned(),
        "/api/v1/events?limit=500".to_owned(),
        "/api/v1/audit?limit=500".to_owned(),
        format!("/api/v1/audit?subject=user:{id}"),
        format!("/api/v1/history/diff?from=1&to={version}"),
        "/metrics".to_owned(),
    ];
    let past = (1..version).flat_map(|at| {
        [format!("/api/v1/users/{id}?as_of={at}"), format!("/api/v1/groups/ops/members?as_of={at}")]
    });
    for path in paths.into_iter().chain(past) {
        let answer = admin.request(reqwest::Method::GET, &path).send().await.unwrap();
        answers.push((path, answer.text().await.unwrap()));
    }
    for question in ["explain", "effective", "check"] {
        let body = json!({"user": id, "permission": "core.user.read"});
        let answer = admin.post(&format!("/api/v1/{question}"), &body).await.unwrap();
        answers.push((question.to_owned(), answer.body.to_string()));
    }
    answers
}

/// Which of some texts have one of his names.
fn with_names(texts: &[(String, String)]) -> Vec<&str> {
    let any_case = in_any_case();
    let base64 = in_base64();
    let has = |text: &str| {
        let lower = text.to_lowercase();
        any_case.iter().any(|name| lower.contains(&name.to_lowercase()))
            || base64.iter().any(|name| text.contains(name.as_str()))
    };
    texts.iter().filter(|(_, text)| has(text)).map(|(place, _)| place.as_str()).collect()
}

async fn status(admin: &Caller, id: &str) -> String {
    let user = admin.get(&format!("/api/v1/users/{id}")).await.unwrap().expect(200).unwrap();
    user.text("status").unwrap().to_owned()
}

/// Deleted with the usual grace, and called back: he is who he was, but signs in anew.
async fn deleted_and_restored(server: &Server, admin: &Caller, id: &str) {
    let him = server.sign_in(NAMES[3].1, PASSWORD).await.unwrap();
    let path = format!("/api/v1/users/{id}/schedule-deletion");
    let scheduled = admin.post(&path, &json!({})).await.unwrap().expect(200).unwrap();
    assert_eq!(scheduled.text("status"), Some("awaiting_deletion"), "{scheduled:?}");
    let now = Timestamp::from_micros(micros_from_now(0)).unwrap();
    let erase_at: Timestamp = scheduled.text("erase_at").unwrap().parse().unwrap();
    assert!(erase_at > now.saturating_add_micros(86_400_000_000), "{erase_at}");
    him.get("/api/v1/user/me").await.unwrap().expect(401).unwrap();
    assert!(server.sign_in(NAMES[0].1, PASSWORD).await.is_err());
    let path = format!("/api/v1/users/{id}/restore");
    admin.post(&path, &json!({})).await.unwrap().expect(200).unwrap();
    assert_eq!(status(admin, id).await, "active");
    him.get("/api/v1/user/me").await.unwrap().expect(401).unwrap();
    let him = server.sign_in(NAMES[0].1, PASSWORD).await.unwrap();
    him.get("/api/v1/users?limit=500").await.unwrap().expect(200).unwrap();
}

fn micros_from_now(seconds: i64) -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap() + seconds * 1_000_000
}

async fn backed_up(admin: &Caller) {
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
}

async fn nothing_is_left(kind: Database) {
    let place = Place::new(kind);
    let server = Server::start(&place.installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let id = made(&admin).await;
    let user: UserId = id.parse().unwrap();
    deleted_and_restored(&server, &admin, &id).await;
    backed_up(&admin).await;
    let shown = asked(&admin, &id).await;
    // The net has no hole: what is there is found.
    let found = with_names(&shown);
    assert!(found.contains(&"/api/v1/users?limit=500") && found.len() > 3, "{found:?}");
    assert!(found.iter().any(|place| place.contains("as_of")), "{found:?}");
    let key = place.key_of(user).await.unwrap();
    assert!(!key_in(&key, &[&place.keys_file()]).is_empty());
    let planted = place.folder.path().join("planted");
    std::fs::write(&planted, general_purpose::STANDARD.encode("x Zebulon Quark Pfister y")).unwrap();
    assert_eq!(names_in(&[place.folder.path()]).trim(), planted.display().to_string());
    std::fs::remove_file(&planted).unwrap();

    let erase_at = Timestamp::from_micros(micros_from_now(2)).unwrap();
    let path = format!("/api/v1/users/{id}/schedule-deletion");
    let body = json!({"erase_at": erase_at.to_string()});
    admin.post(&path, &body).await.unwrap().expect(200).unwrap();
    let mut printed = server.printed();
    server.stop().unwrap();
    // The clock's work is looked for once soon after a start, then every few minutes.
    let server = Server::start(&place.installation).await.unwrap();
    let admin = admin.at(&server.url);
    eventually("he is erased", WAIT_SECONDS_MAX, async || status(&admin, &id).await == "erased")
        .await
        .unwrap();
    eventually("his key leaves the file of keys", WAIT_SECONDS_MAX, async || {
        key_in(&key, &[&place.keys_file()]).is_empty()
    })
    .await
    .unwrap();

    let answers = asked(&admin, &id).await;
    assert_eq!(with_names(&answers), Vec::<&str>::new());
    assert!(answers.iter().any(|(path, text)| path.starts_with("/api/v1/events") && text.contains(&id)));
    assert!(server.sign_in(NAMES[0].1, PASSWORD).await.is_err());
    let log = Log::read(&admin, 0).await.unwrap();
    let stream = Stream::of(&place.nats.url(), log.id).await.unwrap();
    stream.until(log.head(), WAIT_SECONDS_MAX).await.unwrap();
    printed.push_str(&server.printed());
    server.stop().unwrap();
    assert_eq!(with_names(&[("printed".to_owned(), printed)]), Vec::<&str>::new());
    assert_eq!(place.key_of(user).await, None);
    place.installation.verify().unwrap();
    on_disk(&place, &key);
    restored(&place, &id).await;
}

/// No name on any disk, and no key, but where PostgreSQL keeps what was deleted until it is told to rewrite it.
fn on_disk(place: &Place, key: &[u8; 32]) {
    let export = place.folder.path().join("export.ndjson").display().to_string();
    place.installation.run_well(&["replay", "export", "--out", &export]).unwrap();
    let mut places = place.places();
    if place.postgres.is_some() {
        let database = place.installation.database().unwrap();
        let url = &database.owner_url;
        assert!(url.contains("erasure"), "{url}");
        database.sql("CHECKPOINT").unwrap();
    }
    let all: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    assert_eq!(names_in(&all), "");
    if place.postgres.is_some() {
        // As docs/backup.md says; the write-ahead log goes as it is recycled.
        place.installation.database().unwrap().sql("VACUUM FULL log.user_keys; CHECKPOINT").unwrap();
        places = vec![place.folder.path().join("postgres/data/base"), place.backups()];
        places.extend([place.installation.data(0), place.nats.folder()]);
    }
    let all: Vec<&Path> = places.iter().map(PathBuf::as_path).collect();
    assert_eq!(key_in(key, &all), "");
}

/// A backup from before has his account, and not his name.
async fn restored(place: &Place, id: &str) {
    let files = std::fs::read_dir(place.backups()).unwrap().map(|entry| entry.unwrap().path());
    let file =
        files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "backup")).unwrap();
    let other = Installation::new(Database::Sqlite).unwrap().with("CHARTER_PASSWORD", PASSWORD);
    let keys = place.keys_file();
    let restore = ["restore", file.to_str().unwrap(), "--keys", keys.to_str().unwrap(), "--keep-passwords"];
    let done = other.run(&restore).unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("1 users have no key") && said.contains(id), "{said}");
    let server = Server::start(&other).await.unwrap();
    // Passwords were kept: hers works, that of the erased one does not.
    let admin = server.sign_in(charter_tests::ADMIN, PASSWORD).await.unwrap();
    assert!(server.sign_in(NAMES[0].1, PASSWORD).await.is_err());
    let user = admin.get(&format!("/api/v1/users/{id}")).await.unwrap().expect(200).unwrap();
    assert_eq!(user.body.get("username"), None, "{user:?}");
    assert_ne!(user.body, Value::Null);
    assert_eq!(with_names(&asked(&admin, id).await), Vec::<&str>::new());
    server.stop().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_erasure_nothing_is_left_on_sqlite() {
    nothing_is_left(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_erasure_nothing_is_left_on_postgres() {
    nothing_is_left(Database::Postgres).await;
}
