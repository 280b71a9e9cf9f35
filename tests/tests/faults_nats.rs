//! The stream fails in every way it can: commands and questions go on, and in the end it is the log again, event for
//! event.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_services::Nats;
use charter_tests::{Database, Fleet, Installation, Load, Log, Metrics, Stream, eventually};
use serde_json::json;
use std::path::Path;

const CALLERS: usize = 8;
const COMMANDS_EACH_MAX: usize = 100_000;
const LOAD_SECONDS_MAX: u64 = 120;
const WAIT_SECONDS_MAX: u64 = 60;

/// A NATS server of the test's own, and two servers that publish there.
async fn two_servers() -> (Nats, Fleet) {
    let nats = Nats::start().unwrap();
    let installation = Installation::new(Database::Postgres).unwrap().with_nats(nats.url());
    let fleet = Fleet::start(installation, 2).await.unwrap();
    (nats, fleet)
}

/// Some commands, all acknowledged.
async fn some_commands(fleet: &Fleet, name: &str) -> Load {
    let load = fleet.load(name);
    Load::join(load.start(CALLERS, 10)).await.unwrap();
    load
}

/// What the publisher says the stream lacks, in events.
async fn lag(fleet: &Fleet) -> Option<f64> {
    let publisher = fleet.publisher().await?;
    Metrics::of(&fleet.admin(publisher).ok()?).await.ok()?.value("charter_publish_lag_events")
}

async fn stream_of(fleet: &Fleet, nats: &Nats) -> Stream {
    let log = Log::read(&fleet.admin(0).unwrap(), 0).await.unwrap();
    Stream::of(&nats.url(), log.id).await.unwrap()
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_nats_commands_and_questions_go_on_and_the_lag_rises_and_drains() {
    let (nats, fleet) = two_servers().await;
    let load = fleet.load("n");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);
    load.until(100, LOAD_SECONDS_MAX).await.unwrap();
    eventually("somebody publishes", WAIT_SECONDS_MAX, async || fleet.publisher().await.is_some())
        .await
        .unwrap();

    nats.kill().unwrap();
    load.until(load.count() + 300, LOAD_SECONDS_MAX).await.unwrap();
    let question = json!({"user": "ada", "permission": "core.user.read"});
    for number in 0..2 {
        let admin = fleet.admin(number).unwrap();
        admin.post("/api/v1/check", &question).await.unwrap().expect(200).unwrap();
        admin.get("/readyz").await.unwrap().expect(200).unwrap();
    }
    eventually("the lag rises", WAIT_SECONDS_MAX, async || lag(&fleet).await.is_some_and(|lag| lag > 100.0))
        .await
        .unwrap();
    nats.restart().unwrap();
    load.until(load.count() + 100, LOAD_SECONDS_MAX).await.unwrap();
    load.stop();
    Load::join(callers).await.unwrap();

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    eventually("the lag is gone", WAIT_SECONDS_MAX, async || lag(&fleet).await == Some(0.0)).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_without_nats_publish_once_it_is_there() {
    let nats = Nats::start().unwrap();
    nats.stop().unwrap();
    let installation = Installation::new(Database::Postgres).unwrap().with_nats(nats.url());
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = some_commands(&fleet, "w").await;

    nats.restart().unwrap();

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_on_a_file_publishes_too() {
    let nats = Nats::start().unwrap();
    let installation = Installation::new(Database::Sqlite).unwrap().with_nats(nats.url());
    let fleet = Fleet::start(installation, 1).await.unwrap();
    let load = some_commands(&fleet, "f").await;

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_was_deleted_is_made_again_from_the_log() {
    let (nats, fleet) = two_servers().await;
    let load = some_commands(&fleet, "a").await;
    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();

    stream_of(&fleet, &nats).await.delete().await.unwrap();
    let load = some_commands(&fleet, "b").await;

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_restored_from_an_old_copy_is_completed_from_where_it_ends() {
    let (nats, fleet) = two_servers().await;
    let load = some_commands(&fleet, "a").await;
    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    let old = tempfile::tempdir().unwrap();
    nats.stop().unwrap();
    copied(&nats.folder(), old.path());
    nats.restart().unwrap();
    let load = some_commands(&fleet, "b").await;
    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();

    nats.stop().unwrap();
    std::fs::remove_dir_all(nats.folder()).unwrap();
    copied(old.path(), &nats.folder());
    nats.restart().unwrap();
    let load = some_commands(&fleet, "c").await;

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_publishing_server_is_killed_under_load_another_takes_over() {
    const TIMES: usize = 5;
    let (nats, mut fleet) = two_servers().await;
    let load = fleet.load("k");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);

    for _ in 0..TIMES {
        load.until(load.count() + 50, LOAD_SECONDS_MAX).await.unwrap();
        eventually("somebody publishes", WAIT_SECONDS_MAX, async || fleet.publisher().await.is_some())
            .await
            .unwrap();
        let publisher = fleet.publisher().await.unwrap();
        fleet.kill(publisher).unwrap();
        let other = 1 - publisher;
        eventually("the other takes over", WAIT_SECONDS_MAX, async || fleet.publisher().await == Some(other))
            .await
            .unwrap();
        fleet.start_again(publisher).await.unwrap();
    }
    load.stop();
    Load::join(callers).await.unwrap();

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_committed_and_did_not_publish_before_it_was_killed_another_publishes() {
    let (nats, mut fleet) = two_servers().await;
    some_commands(&fleet, "a").await;
    eventually("somebody publishes", WAIT_SECONDS_MAX, async || fleet.publisher().await.is_some())
        .await
        .unwrap();
    let publisher = fleet.publisher().await.unwrap();

    nats.stop().unwrap();
    let load = some_commands(&fleet, "b").await;
    fleet.kill(publisher).unwrap();
    nats.restart().unwrap();

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_both_believe_to_lead_publish_each_event_once() {
    const TIMES: usize = 10;
    let (nats, fleet) = two_servers().await;
    let load = fleet.load("l");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);

    for _ in 0..TIMES {
        load.until(load.count() + 50, LOAD_SECONDS_MAX).await.unwrap();
        // Whoever led is not told, and goes on until he asks; the other takes the lead meanwhile.
        let name = &fleet.installation().database().unwrap().name;
        let ended = format!(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database \
             WHERE l.locktype = 'advisory' AND d.datname = '{name}'"
        );
        fleet.installation().database().unwrap().sql(&ended).unwrap();
    }
    load.stop();
    Load::join(callers).await.unwrap();

    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    for number in 0..2 {
        fleet.server(number).unwrap().until_ready(true, WAIT_SECONDS_MAX).await.unwrap();
    }
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn something_foreign_on_the_stream_is_a_fork_that_alarms_until_the_stream_is_made_again() {
    let (nats, fleet) = two_servers().await;
    let before = some_commands(&fleet, "a").await;
    fleet.agree_with_stream(&before, &nats.url()).await.unwrap();
    let stream = stream_of(&fleet, &nats).await;

    stream.intrude("group.created", "{}").await.unwrap();
    let load = some_commands(&fleet, "b").await;
    let is_forked = async || {
        let Some(publisher) = fleet.publisher().await else { return false };
        let Ok(admin) = fleet.admin(publisher) else { return false };
        admin.get("/readyz").await.is_ok_and(|ready| (ready.status, ready.code()) == (503, "stream_forked"))
    };
    eventually("the fork is told", WAIT_SECONDS_MAX, is_forked).await.unwrap();
    stream.delete().await.unwrap();

    for number in 0..2 {
        fleet.server(number).unwrap().until_ready(true, WAIT_SECONDS_MAX).await.unwrap();
    }
    fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_installations_on_one_nats_server_have_streams_of_their_own() {
    let nats = Nats::start().unwrap();
    let mut fleets = Vec::new();
    for _ in 0..2 {
        let installation = Installation::new(Database::Postgres).unwrap().with_nats(nats.url());
        fleets.push(Fleet::start(installation, 1).await.unwrap());
    }
    for fleet in &fleets {
        let load = some_commands(fleet, "x").await;
        fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    }
    for fleet in fleets {
        fleet.end().unwrap();
    }
}
