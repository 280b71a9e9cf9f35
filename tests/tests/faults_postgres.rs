//! PostgreSQL fails in every way it can: what was acknowledged stays, questions are answered for a while, and all goes
//! on by itself afterwards.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use charter_services::{Postgres, StopHow};
use charter_tests::{Answer, Caller, Fleet, Installation, Load, Server, eventually};
use serde_json::json;
use sqlx::Connection;
use std::time::{Duration, Instant};

const CALLERS: usize = 8;
const COMMANDS_EACH_MAX: usize = 100_000;
const LOAD_SECONDS_MAX: u64 = 120;
/// For how long the servers answer while the database is away.
const STALE_SECONDS: u64 = 4;

/// A PostgreSQL of the test's own that writes to the disk, and an installation there.
fn own_postgres() -> (Postgres, Installation) {
    let postgres = Postgres::start_durable().unwrap();
    let installation = Installation::on(postgres.database("charter").unwrap()).unwrap();
    (postgres, installation.with("CHARTER_STALE_DECISIONS", STALE_SECONDS.to_string()))
}

async fn asked(caller: &Caller) -> Answer {
    let question = json!({"user": "ada", "permission": "core.user.read"});
    caller.post("/api/v1/check", &question).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_the_database_ends_under_load_cost_no_command() {
    const TIMES: usize = 20;
    let (postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load("t");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);

    for _ in 0..TIMES {
        // More than were on their way when the connections ended: there are new ones.
        load.until(load.count() + 3 * CALLERS, LOAD_SECONDS_MAX).await.unwrap();
        let ended =
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'charter_server'";
        assert_ne!(postgres.sql(ended).unwrap(), "0");
    }
    load.until(load.count() + 200, LOAD_SECONDS_MAX).await.unwrap();
    load.stop();
    Load::join(callers).await.unwrap();

    for number in 0..2 {
        fleet.server(number).unwrap().until_ready(true, 30).await.unwrap();
    }
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

/// From the moment at which the database went away: answers say how old they are, the server is not ready, and then
/// there are no answers any more.
async fn answers_for_a_while(admin: &Caller) {
    let (stopped, mut stale, mut not_ready) = (Instant::now(), 0, 0);
    let last = loop {
        let answer = asked(admin).await;
        if answer.status == 503 {
            break answer;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        if answer.stale.is_some() {
            stale += 1;
            not_ready += usize::from(admin.get("/readyz").await.unwrap().status == 503);
        }
        assert!(stopped.elapsed().as_secs() < STALE_SECONDS + 20, "it goes on answering: {answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(last.code(), "unavailable");
    assert!(
        stale > 0 && not_ready > 0,
        "{stale} answers were told to be old, {not_ready} times it was not ready"
    );
    // Counted from the last time it heard of the database, which may have been just before.
    assert!(stopped.elapsed() >= Duration::from_secs(STALE_SECONDS - 1), "{:?}", stopped.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_questions_are_answered_for_a_while_and_afterwards_nothing_is_missing() {
    let (postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load("d");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);
    load.until(200, LOAD_SECONDS_MAX).await.unwrap();
    assert_eq!(asked(&fleet.admin(0).unwrap()).await.expect(200).unwrap().stale, None);

    postgres.stop(StopHow::Immediate).unwrap();
    let (first, second) = (fleet.admin(0).unwrap(), fleet.admin(1).unwrap());
    tokio::join!(answers_for_a_while(&first), answers_for_a_while(&second));
    for admin in [&first, &second] {
        let command = admin.post("/api/v1/groups", &json!({"slug": "no", "name": "no"})).await.unwrap();
        assert_eq!(command.status, 503, "{command:?}");
    }
    let acknowledged = load.count();
    postgres.restart().unwrap();

    for number in 0..2 {
        fleet.server(number).unwrap().until_ready(true, 60).await.unwrap();
        let answer = asked(&fleet.admin(number).unwrap()).await.expect(200).unwrap();
        assert_eq!(answer.stale, None, "{answer:?}");
    }
    load.until(acknowledged + 200, LOAD_SECONDS_MAX).await.unwrap();
    load.stop();
    Load::join(callers).await.unwrap();
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_database_restarted_again_and_again_under_load_loses_no_acknowledged_command() {
    const TIMES: usize = 6;
    let (postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load("r");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);

    for time in 0..TIMES {
        load.until(load.count() + 100, LOAD_SECONDS_MAX).await.unwrap();
        postgres.stop(if time % 2 == 0 { StopHow::Immediate } else { StopHow::Fast }).unwrap();
        postgres.restart().unwrap();
    }
    load.until(load.count() + 200, LOAD_SECONDS_MAX).await.unwrap();
    load.stop();
    Load::join(callers).await.unwrap();

    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_held_up_while_it_idles_holds_nobody_else_up_and_catches_up_afterwards() {
    let (_postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load_on("p", 0).unwrap();

    fleet.server(1).unwrap().pause().unwrap();
    Load::join(load.start(CALLERS, 25)).await.unwrap();
    fleet.server(1).unwrap().resume().unwrap();

    assert_eq!(load.count(), CALLERS * 25);
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

/// Holds the server up at a moment at which it has the head of the log locked.
async fn pause_within_an_append(postgres: &Postgres, server: &Server) {
    const TRIES_MAX: usize = 500;
    let holds = "SELECT count(*) FROM pg_stat_activity \
                 WHERE usename = 'charter_server' AND state = 'idle in transaction'";
    for _ in 0..TRIES_MAX {
        server.pause().unwrap();
        // What it had sent before is carried out meanwhile.
        tokio::time::sleep(Duration::from_millis(30)).await;
        if postgres.sql(holds).unwrap() != "0" {
            return;
        }
        server.resume().unwrap();
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    panic!("never within an append: nothing was tested");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_held_up_with_the_head_locked_holds_the_others_up_for_a_bounded_time() {
    const HELD_SECONDS_MAX: u64 = 60;
    let (postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load_on("h", 1).unwrap();
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);
    load.until(20, LOAD_SECONDS_MAX).await.unwrap();

    let held = fleet.server(1).unwrap();
    pause_within_an_append(&postgres, held).await;
    load.stop();
    let admin = fleet.admin(0).unwrap();
    let body = json!({"slug": "other", "name": "Other"});
    eventually("another server's command is done", HELD_SECONDS_MAX, async || {
        admin.post("/api/v1/groups", &body).await.is_ok_and(|answer| answer.status == 201)
    })
    .await
    .unwrap();
    held.resume().unwrap();

    Load::join(callers).await.unwrap();
    held.until_ready(true, 30).await.unwrap();
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_within_an_append_leaves_nothing_of_it_and_nobody_waits() {
    const TIMES: usize = 5;
    let (postgres, installation) = own_postgres();
    let mut fleet = Fleet::start(installation, 2).await.unwrap();
    let load = fleet.load("k");
    let callers = load.start(CALLERS, COMMANDS_EACH_MAX);

    for _ in 0..TIMES {
        load.until(load.count() + 50, LOAD_SECONDS_MAX).await.unwrap();
        pause_within_an_append(&postgres, fleet.server(1).unwrap()).await;
        fleet.kill(1).unwrap();
        load.until(load.count() + 50, LOAD_SECONDS_MAX).await.unwrap();
        fleet.start_again(1).await.unwrap();
    }
    load.stop();
    Load::join(callers).await.unwrap();

    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_idles_with_the_head_locked_makes_commands_unavailable_and_questions_not() {
    const REFUSED_WITHIN: Duration = Duration::from_secs(45);
    let (_postgres, installation) = own_postgres();
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let admin = fleet.admin(0).unwrap();
    let url = fleet.installation().database().unwrap().superuser_url();
    let mut idler = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT head FROM log.log_head FOR UPDATE").execute(&mut idler).await.unwrap();

    let asked_at = Instant::now();
    let refused = admin.post("/api/v1/groups", &json!({"slug": "held", "name": "Held"})).await.unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(asked_at.elapsed() < REFUSED_WITHIN, "{:?}", asked_at.elapsed());
    let answer = asked(&admin).await.expect(200).unwrap();
    assert_eq!((&answer.body["allowed"], answer.stale), (&json!(true), None));
    sqlx::raw_sql("ROLLBACK").execute(&mut idler).await.unwrap();

    let load = fleet.load("i");
    Load::join(load.start(2, 4)).await.unwrap();
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}
