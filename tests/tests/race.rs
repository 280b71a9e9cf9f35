//! Two servers on one PostgreSQL database, stopped at each of their steps: whatever the order, one of the last two
//! administrators is left.

#![expect(clippy::unwrap_used, reason = "a test")]

use charter_commands::{
    ChangePassword, Command, CreateGroup, RecoverAdministrator, RevokeGrant, SuspendUser,
};
use charter_control::{
    Clock, Config, Freshness, Request, RequestMeta, SystemClock,
    failpoints::race::{Racer, interleave, orders},
};
use charter_events::{Subject, UserId, Via};
use charter_policy::{Caller, Policy};
use charter_services::Database;
use charter_store::{LogStore, Store};
use charter_store_postgres::{Access, PostgresStore, SecretUrl, migrate};
use charter_testkit::ids::{profile, shown, user};
use std::{sync::Arc, time::Duration};

/// A database that two servers share.
struct Shared {
    database: Database,
    folder: tempfile::TempDir,
}

impl Shared {
    async fn new() -> Self {
        let database = Database::fresh("race").unwrap();
        let owner: SecretUrl = database.owner_url.parse().unwrap();
        migrate(&owner, Some(&database.server_role)).await.unwrap();
        Self { database, folder: tempfile::tempdir().unwrap() }
    }

    async fn store(&self) -> Arc<PostgresStore> {
        let url = self.database.server_url.parse().unwrap();
        PostgresStore::open(&url, self.folder.path(), Access::Server).await.unwrap()
    }

    async fn racer(&self) -> Racer {
        let config = Config {
            follow_every: Some(Duration::from_millis(10)),
            lease_renew_every: Duration::from_millis(100),
            verify_every: None,
            ..Config::default()
        };
        let store: Arc<dyn Store> = self.store().await;
        Racer::start(store, config).await.unwrap()
    }

    async fn end(self, racers: [Racer; 2]) {
        for racer in racers {
            racer.control().clone().shutdown().await;
        }
        self.database.remove().unwrap();
    }
}

fn request(caller: Caller, command: impl Into<Command>) -> Request {
    Request::new(caller, command.into(), RequestMeta::new(Via::Api))
}

/// How an installation loses an administrator who acts himself.
#[derive(Debug, Clone, Copy)]
enum Way {
    GiveUpGrant,
    Suspend,
    RemovePassword,
}

impl Way {
    fn command(self, policy: &Policy, id: UserId) -> Command {
        match self {
            Self::GiveUpGrant => RevokeGrant { grant: administration(policy, id) }.into(),
            Self::Suspend => SuspendUser { user: id }.into(),
            Self::RemovePassword => ChangePassword { user: id, has_password: false }.into(),
        }
    }
}

fn administration(policy: &Policy, id: UserId) -> charter_events::GrantId {
    policy.grants_of(Subject::User(id)).next().unwrap().id
}

/// Two lasting administrators, whatever became of them before; both servers have seen it.
async fn two_administrators(racers: &[Racer; 2]) {
    let [one, other] = racers;
    let now = SystemClock.now();
    for name in ["one", "two"] {
        let id = user(name);
        let policy = one.control().policy();
        if policy.lasting_administrators(now).contains(&id) {
            continue;
        }
        let profile = policy.user(id).is_none().then(|| profile(name));
        let command = RecoverAdministrator { user: id, profile, has_password: true };
        one.control().submit(request(Caller::System, command)).await.unwrap();
    }
    let policy = other.control().at_least(one.control().head().offset).await.unwrap();
    assert_eq!(policy.lasting_administrators(now).len(), 2);
}

async fn one_is_left(racers: &mut [Racer; 2], order: u32, ways: [Way; 2]) {
    two_administrators(racers).await;
    let policy = racers[0].control().policy();
    for (racer, (name, way)) in racers.iter_mut().zip(["one", "two"].into_iter().zip(ways)) {
        let id = user(name);
        racer.ask(request(Caller::of(id), way.command(&policy, id))).await;
    }
    interleave(racers, order).await;
    let [one, other] = &*racers;
    let accepted = [one.was_accepted(), other.was_accepted()];
    assert!(accepted[0] != accepted[1], "{ways:?} in order {order:012b}: {accepted:?}");
    let version = one.control().head().offset.max(other.control().head().offset);
    for racer in [one, other] {
        let policy = racer.control().at_least(version).await.unwrap();
        let left = policy.lasting_administrators(SystemClock.now()).len();
        assert_eq!(left, 1, "{ways:?} in order {order:012b}");
    }
}

async fn race(orders: impl Iterator<Item = u32>, ways: &[[Way; 2]]) {
    let shared = Shared::new().await;
    let mut racers = [shared.racer().await, shared.racer().await];
    let mut raced = 0;
    for order in orders {
        for ways in ways {
            one_is_left(&mut racers, order, *ways).await;
            raced += 1;
        }
    }
    assert!(raced > 0);
    let [one, other] = &racers;
    assert_eq!(one.control().policy().digest(), other.control().policy().digest());
    assert_eq!(one.control().verify_log().await.unwrap().offset, one.control().head().offset);
    shared.end(racers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_every_order_of_steps_two_servers_on_postgresql_leave_one_of_the_last_two_administrators() {
    assert_eq!(orders().count(), 924);
    race(orders(), &[[Way::GiveUpGrant, Way::Suspend]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whichever_two_ways_to_lose_an_administrator_race_on_one_database_one_is_left() {
    let ways = [Way::GiveUpGrant, Way::Suspend, Way::RemovePassword];
    let pairs: Vec<[Way; 2]> = ways.iter().flat_map(|a| ways.iter().map(|b| [*a, *b])).collect();
    race(orders().step_by(61), &pairs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_write_their_snapshots_into_one_folder_at_once_do_each_other_no_harm() {
    let shared = Shared::new().await;
    for round in 0..5 {
        let racers = [shared.racer().await, shared.racer().await];
        two_administrators(&racers).await;
        let slug = format!("g{round}").parse().unwrap();
        let asked = request(Caller::of(user("one")), CreateGroup { slug, name: shown("Group") });
        let last = racers[1].control().submit(asked).await.unwrap().last;
        let digest = racers[0].control().at_least(last).await.unwrap().digest();
        assert_eq!(digest, racers[1].control().policy().digest());
        let [one, other] = racers.map(|racer| racer.control().clone().shutdown());
        tokio::join!(one, other);
        let next = shared.racer().await;
        assert_eq!(next.control().policy().digest(), digest, "round {round}");
        next.control().clone().shutdown().await;
    }
    shared.database.remove().unwrap();
}

/// Longer than the store itself waits for the lock.
const HELD: Duration = Duration::from_secs(7);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_another_server_holds_for_long_makes_commands_wait_and_nothing_else() {
    let shared = Shared::new().await;
    let racers = [shared.racer().await, shared.racer().await];
    two_administrators(&racers).await;
    let holder = shared.store().await;
    let held = holder.append().await.unwrap();
    let (control, slug) = (racers[0].control().clone(), "waits".parse().unwrap());
    let asked = request(Caller::of(user("one")), CreateGroup { slug, name: shown("Waits") });
    let waiting = tokio::spawn({
        let control = control.clone();
        async move { control.submit(asked).await }
    });
    tokio::time::sleep(HELD).await;
    assert!(!waiting.is_finished(), "it waits for its turn");
    assert!(control.readiness().is_ready());
    assert_eq!(control.freshness(), Freshness::Fresh);
    held.rollback().await.unwrap();
    waiting.await.unwrap().unwrap();
    holder.close().await;
    shared.end(racers).await;
}
