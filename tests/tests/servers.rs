//! Several servers on one PostgreSQL: whatever happens to each of them, they remain one installation.
#![expect(clippy::unwrap_used, reason = "a test")]

use charter_bus_nats::NatsConfig;
use charter_follower::{Follower, FollowerConfig, Token};
use charter_services::Nats;
use charter_tests::{Caller, Database, Fleet, Installation, Load, Log, PASSWORD};
use serde_json::json;
use std::time::{Duration, Instant};

const CALLERS: usize = 64;
const COMMANDS_DEFAULT: usize = 20_000;
/// Between two kills so many commands are acknowledged, at least and at most.
const COMMANDS_BETWEEN_KILLS: (usize, usize) = (600, 1_800);
const LOAD_SECONDS_MAX: u64 = 400;

/// Numbers that look random and come again with the same seed.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

async fn follower(admin: &Caller, nats: &Nats) -> Follower {
    let body = json!({"name": "follower"});
    let issued = admin.post("/api/v1/user/me/tokens", &body).await.unwrap().expect(201).unwrap();
    let mut config = FollowerConfig::new(admin.url(), Token::new(issued.text("secret").unwrap()));
    config.nats = Some(NatsConfig::new(nats.url().parse().unwrap(), "end-to-end"));
    Follower::start(config).await.unwrap()
}

/// Waits until the follower has the whole log, and checks that it answers from the log's state.
async fn follows(follower: &Follower, log: &Log) {
    let head = log.events.last().unwrap().0.offset;
    let policy = follower.at_least(head, Duration::from_secs(60)).await.unwrap();
    assert_eq!(policy.version(), head);
    assert_eq!(hex(policy.digest()), log.state_digest().unwrap());
}

fn hex(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Kills or stops some server of the fleet again and again while the load goes on; how often.
async fn disturb(fleet: &mut Fleet, load: &Load, commands: usize, seed: u64) -> usize {
    let mut seeded = Seeded(seed);
    let (least, most) = COMMANDS_BETWEEN_KILLS;
    let (mut next, mut disturbed) = (0, 0);
    loop {
        next += least + seeded.below(most - least);
        if next >= commands {
            return disturbed;
        }
        load.until(next, LOAD_SECONDS_MAX).await.unwrap();
        let number = seeded.below(3);
        if seeded.below(4) == 0 {
            fleet.stop(number).unwrap()
        } else {
            fleet.kill(number).unwrap()
        }
        fleet.start_again(number).await.unwrap();
        disturbed += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_that_are_killed_and_restarted_keep_every_acknowledged_command_once_and_end_alike() {
    let nats = Nats::start().unwrap();
    let installation = Installation::new(Database::Postgres).unwrap().with_nats(nats.url());
    let mut fleet = Fleet::start(installation, 3).await.unwrap();
    let follower = follower(&fleet.admin(0).unwrap(), &nats).await;
    let commands = setting("CHARTER_SERVERS_COMMANDS", COMMANDS_DEFAULT);
    let load = fleet.load("c");

    let started = Instant::now();
    let callers = load.start(CALLERS, commands.div_ceil(CALLERS));
    let seed = setting("CHARTER_SERVERS_SEED", 20_261_130) as u64;
    let disturbed = disturb(&mut fleet, &load, commands, seed).await;
    Load::join(callers).await.unwrap();
    eprintln!("{} commands, {disturbed} servers ended, {:?}", load.count(), started.elapsed());

    assert!(
        load.count() >= commands && (disturbed > 0 || commands < 2_000),
        "{disturbed} kills: nothing was tested"
    );
    let log = fleet.agree_with_stream(&load, &nats.url()).await.unwrap();
    follows(&follower, &log).await;
    follower.shutdown().await;
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_goes_on_while_nats_is_away_and_when_it_is_back() {
    let nats = Nats::start().unwrap();
    let installation = Installation::new(Database::Postgres).unwrap().with_nats(nats.url());
    let fleet = Fleet::start(installation, 2).await.unwrap();
    let follower = follower(&fleet.admin(0).unwrap(), &nats).await;

    for (name, is_away) in [("a", false), ("b", true), ("c", false)] {
        if is_away {
            nats.kill().unwrap()
        } else if nats.pid().is_none() {
            nats.restart().unwrap()
        }
        let load = fleet.load(name);
        Load::join(load.start(8, 10)).await.unwrap();
        let log = fleet.agree(&load).await.unwrap();
        follows(&follower, &log).await;
    }
    assert!(follower.status().stopped.is_none());
    follower.shutdown().await;
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_repeated_at_another_server_with_the_same_key_is_answered_the_same_and_done_once() {
    let fleet = Fleet::start(Installation::new(Database::Postgres).unwrap(), 2).await.unwrap();
    let (a, b) = (fleet.admin(0).unwrap(), fleet.admin(1).unwrap());
    let post = |caller: &Caller, slug: &str| {
        let request =
            caller.request(reqwest::Method::POST, "/api/v1/groups").header("idempotency-key", "once");
        request.json(&json!({"slug": slug, "name": "Operations"}))
    };

    let first = a.send(post(&a, "ops")).await.unwrap().expect(201).unwrap();
    let again = b.send(post(&b, "ops")).await.unwrap().expect(201).unwrap();
    let other = b.send(post(&b, "others")).await.unwrap();

    assert_eq!((first.version, &first.body), (again.version, &again.body));
    assert_eq!((other.status, other.code()), (422, "idempotency_key_reused"));
    let log = Log::read(&b, first.version.unwrap()).await.unwrap();
    assert_eq!(Some(log.head()), first.version);
    fleet.end().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_last_two_administrators_who_suspend_each_other_through_two_servers_one_remains() {
    const ROUNDS: usize = 20;
    let fleet = Fleet::start(Installation::new(Database::Postgres).unwrap(), 2).await.unwrap();
    let mut ada = fleet.admin(0).unwrap();
    let body = json!({"username": "bob", "password": PASSWORD});
    ada.post("/api/v1/users", &body).await.unwrap().expect(201).unwrap();
    let body = json!({"subject": "user:bob", "role": "administrator", "scope": "global"});
    let granted = ada.post("/api/v1/grants", &body).await.unwrap().expect(201).unwrap();
    fleet
        .admin(1)
        .unwrap()
        .get_at_least("/api/v1/log", granted.version.unwrap())
        .await
        .unwrap()
        .expect(200)
        .unwrap();
    let mut bob = fleet.server(1).unwrap().sign_in("bob", PASSWORD).await.unwrap();

    for round in 0..ROUNDS {
        let nothing = json!({});
        let (by_ada, by_bob) = tokio::join!(
            ada.post("/api/v1/users/bob/suspend", &nothing),
            bob.post("/api/v1/users/ada/suspend", &nothing),
        );
        let (by_ada, by_bob) = (by_ada.unwrap(), by_bob.unwrap());
        let done = [by_ada.status, by_bob.status].into_iter().filter(|status| *status < 300).count();
        assert_eq!(done, 1, "round {round}: {by_ada:?} {by_bob:?}");

        let (winner, loser, number) = if by_ada.status < 300 { (&ada, "bob", 1) } else { (&bob, "ada", 0) };
        let path = format!("/api/v1/users/{loser}/reactivate");
        let back = winner.post(&path, &nothing).await.unwrap();
        assert!(back.status < 300, "{back:?}");
        // Who was suspended has lost his session.
        let version = back.version.unwrap();
        let other = fleet.server(number).unwrap();
        winner.at(&other.url).get_at_least("/api/v1/log", version).await.unwrap().expect(200).unwrap();
        let again = other.sign_in(loser, PASSWORD).await.unwrap();
        if loser == "bob" { bob = again } else { ada = again }
    }
    fleet.end().unwrap();
}

/// One secret, many hands, two doors: one account, and of it one password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_who_take_a_link_at_two_servers_at_once_one_gets_in() {
    const ROUNDS: usize = 10;
    const HANDS: usize = 6;
    let mut fleet = Fleet::start(Installation::new(Database::Postgres).unwrap(), 2).await.unwrap();
    let urls = [0, 1].map(|number| fleet.server(number).unwrap().url.clone());
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let name = format!("guest{round}");
        let ada = fleet.admin(round % 2).unwrap();
        let invited = ada.post("/api/v1/invitations", &json!({"username": name})).await.unwrap();
        let link = invited.expect(201).unwrap().text("secret").unwrap().to_owned();
        let hands: Vec<_> = (0..HANDS)
            .map(|hand| {
                let (nobody, link) = (Caller::new(&urls[hand % 2], None), link.clone());
                tokio::spawn(async move {
                    let body = json!({"secret": link, "password": format!("the password of hand {hand}")});
                    nobody.post("/api/v1/invitations/accept", &body).await.unwrap()
                })
            })
            .collect();
        let mut winners = Vec::new();
        for (hand, answer) in hands.into_iter().enumerate() {
            let answer = answer.await.unwrap();
            match answer.status {
                201 => winners.push((hand, answer.version.unwrap())),
                _ => assert_eq!((answer.status, answer.code()), (401, "invalid_link"), "round {round}"),
            }
        }
        let [(winner, version)] = winners[..] else { panic!("round {round}: {winners:?} got in") };
        // Only the winner's password signs in, at either server.
        for number in 0..2 {
            let server = fleet.server(number).unwrap();
            let log = fleet.admin(number).unwrap().get_at_least("/api/v1/log", version).await.unwrap();
            log.expect(200).unwrap();
            for hand in [winner, (winner + 1) % HANDS] {
                let signed = server.sign_in(&name, &format!("the password of hand {hand}")).await;
                assert_eq!(signed.is_ok(), hand == winner, "round {round}");
            }
        }
        taken.push(link);
    }
    // A server that was killed and comes back remembers what was used.
    fleet.kill(1).unwrap();
    fleet.start_again(1).await.unwrap();
    for link in taken {
        let nobody = Caller::new(&fleet.server(1).unwrap().url, None);
        let body = json!({"secret": link, "password": PASSWORD});
        let answer = nobody.post("/api/v1/invitations/accept", &body).await.unwrap();
        assert_eq!((answer.status, answer.code()), (401, "invalid_link"));
    }
    fleet.end().unwrap();
}
