//! What is configured wrongly stops the start with one line that says what to change, and tells no password.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_services::{Database as Made, Nats, NatsSettings, free_port};
use charter_tests::{Database, Installation, Server};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::Stdio,
    time::{Duration, Instant},
};

/// When a server that should not start counts as started.
const END_SECONDS_MAX: u64 = 45;
/// A password that is in every wrong URL here, and in nothing that is printed.
const SECRET: &str = "hunter2-and-more";

/// Starts a server that must not come up; what it printed on stderr.
#[track_caller]
fn refusal(installation: &Installation) -> String {
    let mut command = installation.command().unwrap();
    command.args(["serve", "--listen", "127.0.0.1:0"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(END_SECONDS_MAX);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{stdout}{stderr}");
    assert!(!stdout.contains(SECRET) && !stderr.contains(SECRET), "a password is told: {stdout}{stderr}");
    stderr
}

/// Refuses with one line that begins with `error:` and has all of these in it or in the hints after it.
#[track_caller]
fn refuses(installation: &Installation, says: &[&str]) {
    let stderr = refusal(installation);
    let errors = stderr.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "not one line: {stderr}");
    let told = stderr.split_once("error:").unwrap().1;
    for words in says {
        assert!(told.contains(words), "`{words}` is not told: {stderr}");
    }
}

fn at_database(url: &str) -> Installation {
    Installation::unmigrated(None).unwrap().with("CHARTER_DATABASE_URL", url)
}

fn at_nats(url: &str) -> Installation {
    Installation::new(Database::Sqlite).unwrap().with_nats(url)
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let port = free_port().unwrap();
    let url = format!("postgres://ann:{SECRET}@127.0.0.1:{port}/charter");
    refuses(&at_database(&url), &[&format!("nothing listens at `127.0.0.1:{port}`"), "check host and port"]);
}

#[test]
fn a_text_that_is_no_address_of_a_database_is_refused_without_being_repeated() {
    for url in [format!("mysql://ann:{SECRET}@127.0.0.1/charter"), format!("ann:{SECRET}@somewhere")] {
        refuses(&at_database(&url), &["CHARTER_DATABASE_URL"]);
    }
}

#[test]
fn a_wrong_password_of_the_database_is_told_as_such() {
    let made = Made::fresh("wrong").unwrap();
    let (_, place) = made.server_url.rsplit_once('@').unwrap();
    let url = format!("postgres://{}:{SECRET}@{place}", made.server_role);
    refuses(&at_database(&url), &["the password of the role", &made.server_role, "is not accepted"]);
}

#[test]
fn a_database_that_does_not_exist_is_named() {
    let made = Made::fresh("missing").unwrap();
    let (server, _) = made.server_url.rsplit_once('/').unwrap();
    refuses(&at_database(&format!("{server}/no_such_database")), &["no_such_database"]);
}

#[test]
fn an_empty_database_that_the_role_may_not_fill_asks_for_its_owner() {
    let installation = Installation::unmigrated(Some(Made::fresh("empty").unwrap())).unwrap();
    refuses(&installation, &["charter migrate", "CHARTER_MIGRATION_URL"]);
}

#[test]
fn a_right_that_is_missing_is_named() {
    let installation = Installation::new(Database::Postgres).unwrap();
    let made = installation.database().unwrap();
    made.sql(&format!("REVOKE INSERT ON log.events FROM {}", made.server_role)).unwrap();
    refuses(&installation, &["INSERT", "log.events", &made.server_role]);
}

#[test]
fn a_database_of_a_newer_build_is_left_alone() {
    let installation = Installation::new(Database::Postgres).unwrap();
    let made = installation.database().unwrap();
    made.sql("UPDATE log.schema_version SET version = 9999").unwrap();
    refuses(&installation, &["9999", "newer"]);
    assert_eq!(installation.run(&["migrate"]).unwrap().status.code(), Some(1));
}

#[test]
fn a_nats_server_that_refuses_the_password_is_told_as_such() {
    let config = "authorization { user: ann, password: other }".to_owned();
    let nats = Nats::start_with(NatsSettings { config: Some(config), ..NatsSettings::default() }).unwrap();
    refuses(&at_nats(&nats.url_as("ann", SECRET)), &["does not accept", "CHARTER_NATS_URL"]);
}

#[test]
fn a_text_that_is_no_address_of_a_nats_server_is_refused_without_being_repeated() {
    refuses(&at_nats(&format!("https://ann:{SECRET}@127.0.0.1")), &["CHARTER_NATS_URL"]);
}

#[test]
fn a_nats_server_without_jetstream_is_told_as_such() {
    let settings = NatsSettings { without_jetstream: true, ..NatsSettings::default() };
    let nats = Nats::start_with(settings).unwrap();
    refuses(&at_nats(&nats.url()), &["JetStream", "--jetstream"]);
}

#[test]
fn a_nats_user_without_the_rights_for_the_stream_is_told_which() {
    let config = format!(
        "authorization {{ users: [{{ user: ann, password: \"{SECRET}\", \
         permissions: {{ publish: {{ deny: [\"$JS.API.STREAM.CREATE.>\"] }} }} }}] }}"
    );
    let nats = Nats::start_with(NatsSettings { config: Some(config), ..NatsSettings::default() }).unwrap();
    refuses(&at_nats(&nats.url_as("ann", SECRET)), &["may not publish to", "$JS.API.STREAM.CREATE"]);
}

/// Greets as an old server would, and answers pings.
fn an_old_nats_server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut out = stream.try_clone().unwrap();
                let info = r#"{"server_id":"A","server_name":"old","version":"2.9.10","proto":1,"headers":true,
                    "host":"127.0.0.1","port":4222,"max_payload":1048576,"jetstream":true,"client_id":1,"go":"go1"}"#;
                out.write_all(format!("INFO {}\r\n", info.replace('\n', "")).as_bytes()).unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if line.starts_with("PING") && out.write_all(b"PONG\r\n").is_err() {
                        break;
                    }
                }
            });
        }
    });
    url
}

#[test]
fn an_old_nats_server_is_told_with_the_version_that_is_needed() {
    refuses(&at_nats(&an_old_nats_server()), &["2.9.10", "2.10"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nats_server_that_is_only_away_does_not_keep_a_server_from_starting() {
    let url = format!("nats://ann:{SECRET}@127.0.0.1:{}", free_port().unwrap());
    let installation = at_nats(&url);
    let server = Server::start(&installation).await.unwrap();
    server.set_up().await.unwrap();
    assert!(!server.printed().contains(SECRET), "{}", server.printed());
    server.stop().unwrap();
}
