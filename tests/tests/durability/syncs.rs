//! Answers wait for the disk; a disk that fails makes commands unavailable and nothing else.

use crate::shim::Shimmed;
use charter_services::StopHow;
use charter_tests::{ADMIN, Database, Fleet, Installation, Load, PASSWORD, Server};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const LOAD_SECONDS_MAX: u64 = 60;

fn group(slug: &str) -> Value {
    json!({"slug": slug, "name": slug})
}

/// How many of many commands were answered before a sync that began after they were sent had returned.
async fn answers_ahead_of_the_disk(world: Shimmed) -> usize {
    const CALLERS: usize = 8;
    const COMMANDS_EACH: usize = 8;
    let Shimmed { shim, postgres: _postgres, installation } = world;
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    // Long enough that an answer which does not wait for it is always first.
    shim.delay(50);
    let shim = Arc::new(shim);
    let callers = (0..CALLERS).map(|caller| {
        let (admin, shim) = (admin.clone(), Arc::clone(&shim));
        tokio::spawn(async move {
            let mut ahead = 0;
            for number in 0..COMMANDS_EACH {
                let sent = shim.mark();
                let body = group(&format!("g{caller}-{number}"));
                admin.post("/api/v1/groups", &body).await.unwrap().expect(201).unwrap();
                ahead += usize::from(!shim.synced_since(sent));
            }
            ahead
        })
    });
    let mut ahead = 0;
    for caller in callers.collect::<Vec<_>>() {
        ahead += caller.await.unwrap();
    }
    shim.delay(0);
    server.stop().unwrap();
    installation.verify().unwrap();
    ahead
}

async fn no_answer_leaves_before_a_sync_that_began_after_the_command_has_returned(database: Database) {
    assert_eq!(answers_ahead_of_the_disk(Shimmed::new(database)).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_answers_ahead_of_the_disk_is_noticed() {
    assert_ne!(answers_ahead_of_the_disk(Shimmed::on_postgres(false)).await, 0);
}

async fn while_the_disk_does_not_answer_no_command_is_answered_and_nobody_sees_it(database: Database) {
    let Shimmed { shim, postgres: _postgres, installation } = Shimmed::new(database);
    let server = Server::start(&installation).await.unwrap();
    let admin = server.set_up().await.unwrap();
    for round in 0..3 {
        let slug = format!("held{round}");
        let before = admin.get("/api/v1/log").await.unwrap().expect(200).unwrap().version;
        shim.hold();
        let mark = shim.mark();
        let asked = tokio::spawn({
            let (admin, slug) = (admin.clone(), slug.clone());
            async move { admin.post("/api/v1/groups", &group(&slug)).await.unwrap() }
        });
        shim.until("begin", mark).await;

        // A wrong answer would come at any moment: the longer this is, the surer it is seen.
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(!asked.is_finished(), "answered ahead of the disk");
        let seen = admin.get(&format!("/api/v1/groups/{slug}")).await.unwrap();
        assert_eq!((seen.status, seen.version), (404, before), "{seen:?}");
        assert_eq!(admin.get("/readyz").await.unwrap().status, 200);

        shim.let_go();
        asked.await.unwrap().expect(201).unwrap();
        admin.get(&format!("/api/v1/groups/{slug}")).await.unwrap().expect(200).unwrap();
    }
    server.stop().unwrap();
    installation.verify().unwrap();
}

async fn a_disk_that_fails_makes_commands_unavailable_and_loses_none_that_was_acknowledged(
    database: Database,
) {
    const TIMES: usize = 3;
    const CALLERS: usize = 8;
    let Shimmed { shim, postgres, installation } = Shimmed::new(database);
    let mut fleet = Fleet::start(installation, 1).await.unwrap();
    let load = fleet.load("f");
    let callers = load.start(CALLERS, 100_000);
    for time in 0..TIMES {
        load.until(load.count() + 40, LOAD_SECONDS_MAX).await.unwrap();
        let mark = shim.mark();
        shim.fail();
        shim.until("fail", mark).await;

        let admin = fleet.admin(0).unwrap();
        let refused = admin.post("/api/v1/groups", &group(&format!("no{time}"))).await.unwrap();
        assert_eq!(refused.status, 503, "{refused:?}");
        fleet.server(0).unwrap().until_ready(false, 10).await.unwrap();
        // Which of a poll and a commit fails first is the database's to choose; either way the log names it.
        assert!(fleet.server(0).unwrap().printed().contains("store_unavailable"));

        // PostgreSQL ends its sessions when its log can't be synced, and tries to recover again and again. Now and
        // then both it and the server end for good before the disk is well.
        let ends = time % 2 == 1;
        if ends {
            fleet.kill(0).unwrap();
            postgres.iter().for_each(|postgres| postgres.stop(StopHow::Immediate).unwrap());
        }
        shim.mend();
        if ends {
            postgres.iter().for_each(|postgres| postgres.restart().unwrap());
            fleet.start_again(0).await.unwrap();
        }
        fleet.server(0).unwrap().until_ready(true, 60).await.unwrap();
    }
    load.until(load.count() + 40, LOAD_SECONDS_MAX).await.unwrap();
    load.stop();
    Load::join(callers).await.unwrap();
    fleet.agree(&load).await.unwrap();
    fleet.end().unwrap();
}

/// What a server acknowledged until a sync of its file failed; nothing when it could not be started.
async fn acknowledged_until_it_fails(installation: &Installation, commands: usize) -> Option<Vec<String>> {
    // A server that can't start has said so and ended.
    let server = Server::start(installation).await.ok()?;
    let admin = server.set_up().await.ok()?;
    let mut acknowledged = Vec::new();
    for number in 0..commands {
        let slug = format!("g{number}");
        let answer = admin.post("/api/v1/groups", &group(&slug)).await.unwrap();
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
        acknowledged.extend((answer.status == 201).then_some(slug));
    }
    server.kill().unwrap();
    Some(acknowledged)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_of_its_first_syncs_fails_an_installation_in_a_file_starts_again_with_all_it_acknowledged()
{
    const SYNCS: usize = 10;
    for number in 1..=SYNCS {
        let Shimmed { shim, installation, .. } = Shimmed::new(Database::Sqlite);
        shim.fail_at(number);
        let acknowledged = acknowledged_until_it_fails(&installation, SYNCS).await;
        assert!(shim.log().contains("fail "), "there was no sync {number}: nothing was tested");
        shim.mend();

        let server = Server::start(&installation).await.unwrap_or_else(|e| panic!("sync {number}: {e:#}"));
        if let Some(acknowledged) = acknowledged {
            let admin = server.sign_in(ADMIN, PASSWORD).await.unwrap();
            for slug in acknowledged {
                admin.get(&format!("/api/v1/groups/{slug}")).await.unwrap().expect(200).unwrap();
            }
        }
        server.stop().unwrap();
        installation.verify().unwrap();
    }
}

macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        $(mod $name {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_sqlite() {
                super::$name(super::Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_postgres() {
                super::$name(super::Database::Postgres).await;
            }
        })+
    };
}

on_both!(
    no_answer_leaves_before_a_sync_that_began_after_the_command_has_returned,
    while_the_disk_does_not_answer_no_command_is_answered_and_nobody_sees_it,
    a_disk_that_fails_makes_commands_unavailable_and_loses_none_that_was_acknowledged,
);
