//! A server killed at any moment loses no acknowledged command, and the log it leaves verifies.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use charter_tests::{ADMIN, Caller, Database, Installation, PASSWORD, Server, on_both_databases};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const CALLERS: usize = 64;
const ROUNDS_ON_A_FILE: usize = 100;
/// Fewer, because what is committed there does not depend on the process that was killed.
const ROUNDS_ON_POSTGRES: usize = 30;
/// The longest a round runs before the kill, in milliseconds.
const ROUND_MILLISECONDS_MAX: u64 = 250;
const COMMANDS_A_CALLER_MAX: usize = 10_000;

type Acknowledged = Arc<Mutex<BTreeSet<String>>>;

async fn create_groups(caller: Caller, name: String, stop: Arc<AtomicBool>, acknowledged: Acknowledged) {
    for number in 0..COMMANDS_A_CALLER_MAX {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let slug = format!("{name}-{number}");
        match caller.post("/api/v1/groups", &json!({"slug": slug, "name": slug})).await {
            Ok(answer) if answer.status == 201 => {
                acknowledged.lock().unwrap().insert(slug);
            }
            // Busy is an answer too: the command was not taken.
            Ok(answer) if answer.status == 503 || answer.status == 429 => {}
            Ok(answer) => panic!("{answer:?}"),
            Err(_) => return,
        }
    }
}

async fn slugs_of_groups(caller: &Caller) -> BTreeSet<String> {
    let mut slugs = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let page =
            caller.get(&format!("/api/v1/groups?limit=500{cursor}")).await.unwrap().expect(200).unwrap();
        for group in page.body["items"].as_array().unwrap() {
            slugs.insert(group["slug"].as_str().unwrap().to_owned());
        }
        match page.body["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return slugs,
        }
    }
}

async fn kill_at_any_moment_loses_no_acknowledged_command(installation: Installation) {
    let rounds = match installation.kind() {
        Database::Sqlite => ROUNDS_ON_A_FILE,
        Database::Postgres => ROUNDS_ON_POSTGRES,
    };
    let rounds = std::env::var("CHARTER_KILL_ROUNDS").map_or(rounds, |text| text.parse().unwrap());
    let acknowledged = Acknowledged::default();
    let mut server = Server::start(&installation).await.unwrap();
    server.set_up().await.unwrap();
    for round in 0..rounds {
        let caller = server.sign_in(ADMIN, PASSWORD).await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| {
                let name = format!("g{round}-{number}");
                tokio::spawn(create_groups(
                    caller.clone(),
                    name,
                    Arc::clone(&stop),
                    Arc::clone(&acknowledged),
                ))
            })
            .collect();
        // Spread over the round without a clock: any moment will do, and a failing round can be repeated.
        let moment = (round as u64).wrapping_mul(7_919) % ROUND_MILLISECONDS_MAX;
        tokio::time::sleep(Duration::from_millis(5 + moment)).await;
        server.kill().unwrap();
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.unwrap();
        }
        server =
            Server::start(&installation).await.unwrap_or_else(|error| panic!("round {round}: {error:#}"));
    }
    let caller = server.sign_in(ADMIN, PASSWORD).await.unwrap();
    let present = slugs_of_groups(&caller).await;
    let acknowledged = acknowledged.lock().unwrap().clone();
    let lost: Vec<_> = acknowledged.difference(&present).collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged commands are lost: {lost:?}",
        lost.len(),
        acknowledged.len()
    );
    assert!(
        acknowledged.len() >= rounds,
        "only {} commands in {rounds} rounds: nothing was tested",
        acknowledged.len()
    );
    server.stop().unwrap();
    installation.verify().unwrap();
}

on_both_databases!(kill_at_any_moment_loses_no_acknowledged_command);
