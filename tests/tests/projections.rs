//! Tables are rebuilt while commands run at full rate, with operations stopped and gone on with, the server killed,
//! generations switched and rolled back at random moments: readers never see a mixture, nor older tables than before,
//! and in the end all generations hold the same rows.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use charter_events::Offset;
use charter_services::free_port;
use charter_store::{Listed, Query, Store, TABLE_ROWS_MAX, Target};
use charter_store_postgres::PostgresStore;
use charter_store_sqlite::SqliteStore;
use charter_tables::{PROJECTIONS, Projection, Spec, Value, projection};
use charter_testkit::Rng;
use charter_tests::{
    Answer, Caller, Database, Installation, Load, Log, Server, Urls, eventually, on_both_databases,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const CALLERS: usize = 16;
const COMMANDS_EACH: usize = 300;
/// Three of four commands make a group, and all groups fit one page.
const GROUPS_MAX: usize = CALLERS * COMMANDS_EACH * 3 / 4;
const SECONDS_MAX: u64 = 120;
const READ_EVERY: Duration = Duration::from_millis(20);
/// Once in so many actions the server is killed.
const KILL_ONCE_IN: usize = 6;

fn directory() -> &'static Spec {
    projection("directory").unwrap().spec()
}

/// The installation's store as a tool sees it, beside the server.
async fn beside(installation: &Installation) -> Arc<dyn Store> {
    match installation.kind() {
        Database::Sqlite => {
            let access = charter_store_sqlite::Access::ReadOnly;
            SqliteStore::open(&installation.data(0), access).await.unwrap()
        }
        Database::Postgres => {
            let url = installation.database().unwrap().server_url.parse().unwrap();
            let access = charter_store_postgres::Access::ReadOnly;
            PostgresStore::open(&url, &installation.data(0), access).await.unwrap()
        }
    }
}

/// One page with every group, as it is read at this moment.
async fn groups(store: &dyn Store) -> Option<Listed> {
    let spec = directory();
    let (table, _) = spec.table("groups").unwrap();
    let query = Query {
        spec,
        table,
        filters: Vec::new(),
        order_by: None,
        descending: false,
        after: None,
        limit: TABLE_ROWS_MAX,
    };
    // A server that is just killed may leave the database busy for a moment.
    store.list_rows(&query).await.ok().flatten()
}

/// Reads until it is told to stop: of each page its offset, its generation and how many groups it has.
async fn reader(store: Arc<dyn Store>, stop: Arc<AtomicBool>) -> Vec<(Offset, u32, usize)> {
    let mut pages = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if let Some(Listed { rows, checkpoint, generation }) = groups(store.as_ref()).await {
            pages.push((checkpoint.offset, generation, rows.len()));
        }
        tokio::time::sleep(READ_EVERY).await;
    }
    pages
}

async fn post(caller: &Caller, path: &str, body: Option<&serde_json::Value>) -> Answer {
    let request = caller.request(reqwest::Method::POST, path);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    caller.send(request).await.unwrap()
}

/// The newest operation's id.
async fn newest(admin: &Caller) -> String {
    let all = admin.get("/api/v1/operations").await.unwrap().expect(200).unwrap();
    all.body["items"][0]["id"].as_str().unwrap().to_owned()
}

/// Any of what may be asked; most of it is refused, and must do no harm then.
async fn anything(admin: &Caller, rng: &mut Rng) {
    // Mostly the one that is watched.
    let watched = rng.below(3) > 0;
    let name = if watched { directory().name } else { PROJECTIONS[rng.below(PROJECTIONS.len())].spec().name };
    let projection = |verb: &str| format!("/api/v1/projections/{name}/{verb}");
    let answer = match rng.below(7) {
        0 | 1 => post(admin, &projection("rebuild"), Some(&json!({}))).await,
        2 => post(admin, &projection("rebuild"), Some(&json!({"switch": false}))).await,
        3 => post(admin, &projection("switch"), None).await,
        4 => post(admin, &projection("rollback"), None).await,
        5 => post(admin, &format!("/api/v1/operations/{}/cancel", newest(admin).await), None).await,
        _ => post(admin, &format!("/api/v1/operations/{}/resume", newest(admin).await), None).await,
    };
    assert!(matches!(answer.status, 200 | 202 | 409 | 503), "{answer:?}");
    if answer.status == 202 && rng.below(2) == 0 {
        ended(admin, &answer).await;
    }
}

/// Waits until nothing works on any projection, and all of them follow the log.
async fn calm(admin: &Caller) {
    let calm = async || {
        let Ok(all) = admin.get("/api/v1/projections").await else { return false };
        let Some(items) = all.body["items"].as_array() else { return false };
        let follows = |one: &serde_json::Value| one["status"] == "following" && one["behind"] == 0;
        items.len() == PROJECTIONS.len() && items.iter().all(|one| one["operation"].is_null() && follows(one))
    };
    let waited = eventually("the tables are calm", SECONDS_MAX, calm).await;
    if let Err(error) = waited {
        panic!("{error:#}: {:#}", admin.get("/api/v1/projections").await.unwrap().body);
    }
}

/// Waits until an operation ends, and tells how it stands then.
async fn ended(admin: &Caller, begun: &Answer) -> serde_json::Value {
    let at = format!("/api/v1/operations/{}", begun.text("id").unwrap());
    let ended = async || admin.get(&at).await.is_ok_and(|told| told.body["state"] != "running");
    eventually("the operation ends", SECONDS_MAX, ended).await.unwrap();
    admin.get(&at).await.unwrap().body
}

async fn done(admin: &Caller, begun: Answer) {
    let told = ended(admin, &begun.expect(202).unwrap()).await;
    assert_eq!(told["state"], "done", "{told:#}");
}

async fn storm(
    installation: &Installation,
    admin: &Caller,
    load: &Load,
    mut server: Server,
    port: u16,
) -> Server {
    let mut rng = Rng::new(4);
    let mut kills = 0;
    while load.count() < CALLERS * COMMANDS_EACH || kills < 3 {
        tokio::time::sleep(Duration::from_millis(20 + u64::try_from(rng.below(250)).unwrap())).await;
        if rng.below(KILL_ONCE_IN) == 0 {
            server.kill().unwrap();
            server = Server::start_nth(installation, 0, port).await.unwrap();
            kills += 1;
        } else {
            anything(admin, &mut rng).await;
        }
    }
    server
}

/// Every page is what the log says there was at its version, and none is older than the one before.
fn no_mixture(pages: &[(Offset, u32, usize)], log: &Log) {
    let mut there = 0;
    let mut count = BTreeMap::from([(Offset::ZERO, 0)]);
    for (event, _) in &log.events {
        there += usize::from(event.type_name == "group.created");
        count.insert(event.offset, there);
    }
    let mut last = Offset::ZERO;
    for (at, generation, rows) in pages {
        assert!(*at >= last, "readers went back from {last} to {at}");
        assert_eq!(*rows, count[at], "a mixture at {at} in generation {generation}");
        last = *at;
    }
    let mut generations: Vec<u32> = pages.iter().map(|(_, generation, _)| *generation).collect();
    generations.dedup();
    assert!(pages.len() > 20 && generations.len() > 2, "{} pages of {generations:?}", pages.len());
}

/// Each projection rebuilt and rolled back once more: its generations hold the same rows.
async fn same_rows(admin: &Caller, store: &dyn Store) {
    for of in PROJECTIONS {
        let name = of.spec().name;
        for verb in ["rebuild", "rollback", "rollback"] {
            let body = (verb == "rebuild").then(|| json!({}));
            done(admin, post(admin, &format!("/api/v1/projections/{name}/{verb}"), body.as_ref()).await)
                .await;
        }
        calm(admin).await;
        assert_eq!(digests(*of, store).await.len(), 2, "{name}");
    }
    let failed = admin.get("/api/v1/operations").await.unwrap().body;
    let failed: Vec<_> =
        failed["items"].as_array().unwrap().iter().filter(|one| one["state"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The digests of a projection's generations; those at the same event are the same.
async fn digests(of: &'static dyn Projection, store: &dyn Store) -> Vec<[u8; 32]> {
    let all = store.generations().await.unwrap();
    let numbers = all.iter().filter(|one| one.projection == of.spec().name).map(|one| one.number);
    let targets: Vec<Target> = numbers.map(|number| Target { spec: of.spec(), number }).collect();
    let digests = store.digest_rows(&targets).await.unwrap();
    for (at, digest) in &digests {
        let same = digests.iter().filter(|(other, _)| other == at);
        assert!(same.into_iter().all(|(_, other)| other == digest), "{}: {digests:?}", of.spec().name);
    }
    digests.into_iter().map(|(_, digest)| digest.finish()).collect()
}

async fn rebuilds_at_full_rate_show_no_mixture_and_end_with_equal_rows(installation: Installation) {
    const { assert!(GROUPS_MAX < TABLE_ROWS_MAX) };
    let port = free_port().unwrap();
    let server = Server::start_nth(&installation, 0, port).await.unwrap();
    let admin = server.set_up().await.unwrap();
    calm(&admin).await;
    let store = beside(&installation).await;
    let stop = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn(reader(Arc::clone(&store), Arc::clone(&stop)));
    let load = Load::new("g", Urls::new([server.url.clone()]), &admin);
    let callers = load.start(CALLERS, COMMANDS_EACH);
    let server = storm(&installation, &admin, &load, server, port).await;
    Load::join(callers).await.unwrap();
    calm(&admin).await;
    stop.store(true, Ordering::Relaxed);
    let pages = reading.await.unwrap();
    let acknowledged = load.acknowledged();
    let last = acknowledged.values().copied().max().unwrap();
    let log = Log::read(&admin, last).await.unwrap();
    log.holds_once(&acknowledged, load.name()).unwrap();
    no_mixture(&pages, &log);
    assert_eq!(groups(store.as_ref()).await.unwrap().rows.len(), GROUPS_MAX);
    same_rows(&admin, store.as_ref()).await;
    server.stop().unwrap();
    installation.verify().unwrap();
}

on_both_databases!(rebuilds_at_full_rate_show_no_mixture_and_end_with_equal_rows);

#[tokio::test]
async fn the_command_line_lists_rebuilds_and_refuses_projections() {
    let installation = Installation::new(Database::Sqlite).unwrap();
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    calm(&admin).await;
    let charter = |arguments: &[&str]| {
        let mut command = installation.command().unwrap();
        command.env("CHARTER_SERVER", &server.url).env("CHARTER_TOKEN", admin.secret().unwrap());
        command.args(["-o", "json"]).args(arguments).output().unwrap()
    };
    let json = |output: &std::process::Output| -> serde_json::Value {
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let listed = json(&charter(&["projections", "ls"]));
    assert_eq!(listed.as_array().unwrap().len(), PROJECTIONS.len());
    let rebuilt = json(&charter(&["projections", "rebuild", "directory"]));
    assert_eq!((&rebuilt["state"], &rebuilt["target"]), (&json!("done"), &json!("directory/2")));
    let held = json(&charter(&["projections", "rebuild", "directory", "--hold"]));
    assert_eq!(held["kind"], "projection.build");
    assert_eq!(json(&charter(&["projections", "switch", "directory"]))["state"], "done");
    assert_eq!(json(&charter(&["projections", "rollback", "directory"]))["target"], "directory/2");
    assert_eq!(json(&charter(&["projections", "operations"]))[0]["kind"], "projection.rollback");
    for (arguments, code, says) in [
        (&["projections", "rebuild", "nothing"][..], 1, "not_found"),
        (&["projections", "cancel", "directory"], 5, "nothing works on `directory`"),
        (&["projections", "resume", "directory"], 5, "not_resumable"),
        (&["projections", "skip", "directory", "1", "--yes"], 2, "--reason"),
        (&["projections", "skip", "directory", "1", "--yes", "--reason", "why"], 5, "not_stopped_there"),
        (&["projections", "skip", "directory", "999999", "--yes", "--reason", "why"], 1, "unknown_offset"),
    ] {
        let output = charter(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(says), "{arguments:?}: {output:?}");
    }
    let row = groups(beside(&installation).await.as_ref()).await.unwrap();
    assert!(row.rows.iter().all(|row| matches!(row[0], Value::Uuid(_))));
    server.stop().unwrap();
}
