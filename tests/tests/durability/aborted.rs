//! Callers who go away at any moment of a request leave nothing behind: no open transaction, no hole, no lost answer.

use charter_tests::{Caller, Installation, Log, Server, eventually, on_both_databases};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const REQUESTS: usize = 10_000;
const AT_ONCE: usize = 64;
/// How many commands at least have to be acknowledged, and how many abandoned ones carried out, to have tested a thing.
const OF_EACH_MIN: usize = 100;
const ANSWER_BYTES_MAX: usize = 16 * 1024;

type Acknowledged = Arc<Mutex<BTreeMap<String, u64>>>;

/// When a caller goes away.
enum Moment {
    /// So many bytes of the request are sent.
    Within(usize),
    /// The request is sent, and so much time has passed.
    After(Duration),
    /// The answer begins to come in.
    Answered,
    /// It has come in.
    Never,
}

/// Spread over all kinds, the same in each run.
fn moment(number: usize, request: &str) -> Moment {
    let spread = number.wrapping_mul(7_919);
    match number % 8 {
        0 | 1 => Moment::Within(spread % request.len()),
        2 => Moment::After(Duration::ZERO),
        3 | 4 => Moment::After(Duration::from_micros((spread % 20_000) as u64)),
        5 | 6 => Moment::Answered,
        _ => Moment::Never,
    }
}

/// Sends one command by hand and goes away when told to; the version it was acknowledged with, if the answer was read.
async fn send(address: &str, request: &str, moment: Moment) -> std::io::Result<Option<u64>> {
    let mut connection = TcpStream::connect(address).await?;
    if let Moment::Within(bytes) = moment {
        connection.write_all(&request.as_bytes()[..bytes]).await?;
        return Ok(None);
    }
    connection.write_all(request.as_bytes()).await?;
    match moment {
        Moment::After(time) => {
            tokio::time::sleep(time).await;
            Ok(None)
        }
        Moment::Answered => connection.read_u8().await.map(|_| None),
        _ => {
            let mut answer = Vec::new();
            connection.take(ANSWER_BYTES_MAX as u64).read_to_end(&mut answer).await?;
            Ok(version_of(&String::from_utf8_lossy(&answer)))
        }
    }
}

fn version_of(answer: &str) -> Option<u64> {
    if !answer.starts_with("HTTP/1.1 201") {
        return None;
    }
    let headers = answer.lines().filter_map(|line| line.split_once(": "));
    let mut versions = headers.filter(|(name, _)| name.eq_ignore_ascii_case("policy-version"));
    versions.next()?.1.trim().parse().ok()
}

/// One of the callers: every so-many-th request.
async fn abort_every(caller: usize, admin: Caller, acknowledged: Acknowledged) {
    let address = admin.url().trim_start_matches("http://").to_owned();
    for number in (caller..REQUESTS).step_by(AT_ONCE) {
        let name = format!("a{number}");
        let body = json!({"slug": name, "name": name}).to_string();
        let request = format!(
            "POST /api/v1/groups HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nX-Reason: {name}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            admin.secret().unwrap(),
            body.len(),
        );
        // A server that is busy may refuse or close the connection: that is an end of the request as well.
        if let Ok(Some(version)) = send(&address, &request, moment(number, &request)).await {
            acknowledged.lock().unwrap().insert(name, version);
        }
    }
}

/// Sessions of the servers that hold a transaction open.
fn open_transactions(installation: &Installation) -> String {
    let database = installation.database().unwrap();
    let open = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = '{}' AND state LIKE 'idle in transaction%'",
        database.server_role
    );
    database.sql(&open).unwrap()
}

/// Every command of the callers that is in the log, with where it ends.
fn carried_out(log: &Log) -> BTreeMap<String, u64> {
    let ends = log.events.iter().map(|(event, _)| (event.command.reason.clone(), event.offset.get()));
    ends.filter_map(|(reason, offset)| Some((reason?, offset))).collect()
}

async fn requests_that_are_abandoned_at_any_moment_leave_a_server_that_works_and_a_sound_log(
    installation: Installation,
) {
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    let acknowledged = Acknowledged::default();
    let callers: Vec<_> = (0..AT_ONCE)
        .map(|caller| tokio::spawn(abort_every(caller, admin.clone(), Arc::clone(&acknowledged))))
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }

    server.until_ready(true, 10).await.unwrap();
    let last = admin.post("/api/v1/groups", &json!({"slug": "last", "name": "last"})).await.unwrap();
    let last = last.expect(201).unwrap().version.unwrap();
    if installation.database().is_ok() {
        eventually("no transaction is open", 10, async || open_transactions(&installation) == "0")
            .await
            .unwrap();
    }
    let log = Log::read(&admin, last).await.unwrap();
    let mut acknowledged = acknowledged.lock().unwrap().clone();
    assert!(acknowledged.len() >= OF_EACH_MIN, "only {} were acknowledged", acknowledged.len());
    // Of those that nobody waited for each may be there or not, but once.
    let mut abandoned = carried_out(&log);
    abandoned.retain(|name, _| !acknowledged.contains_key(name));
    assert!(abandoned.len() >= OF_EACH_MIN, "only {} were carried out unseen", abandoned.len());
    acknowledged.extend(abandoned);
    log.holds_once(&acknowledged, "a").unwrap();
    server.stop().unwrap();
    installation.verify().unwrap();
}

on_both_databases!(requests_that_are_abandoned_at_any_moment_leave_a_server_that_works_and_a_sound_log);
