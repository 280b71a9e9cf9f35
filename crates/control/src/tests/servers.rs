//! Two servers on one log: whatever the order of their steps, a command is decided at the head.

use super::house::{House, StandingClock, code, group, quiet, request};
use crate::{
    Config,
    failpoints::race::{Racer, interleave, orders},
};
use charter_commands::{ChangePassword, Command, Guard, Guards, RevokeGrant, ScheduleDeletion, SuspendUser};
use charter_events::{Subject, UserId};
use charter_policy::{Caller, Policy};
use charter_store::MemoryStore;
use charter_testkit::{at, ids::user};
use std::{sync::Arc, time::Duration};

/// How an installation loses an administrator who acts himself.
#[derive(Debug, Clone, Copy)]
enum Way {
    GiveUpGrant,
    Suspend,
    ScheduleDeletion,
    RemovePassword,
}

const WAYS: [Way; 4] = [Way::GiveUpGrant, Way::Suspend, Way::ScheduleDeletion, Way::RemovePassword];

impl Way {
    fn command(self, policy: &Policy, id: UserId) -> Command {
        match self {
            Self::GiveUpGrant => {
                let grant = policy.grants_of(Subject::User(id)).next().unwrap().id;
                RevokeGrant { grant }.into()
            }
            Self::Suspend => SuspendUser { user: id }.into(),
            Self::ScheduleDeletion => {
                ScheduleDeletion { user: id, erase_at: at("2026-04-01T00:00:00Z") }.into()
            }
            Self::RemovePassword => ChangePassword { user: id, has_password: false }.into(),
        }
    }
}

/// The last two administrators go at once, each in his way and through a server of his own. Tells who was answered yes,
/// and how many lasting administrators are left.
async fn race(order: u32, ways: [Way; 2], config: Config) -> ([bool; 2], usize) {
    let store = MemoryStore::default();
    let house = House::on(store.clone()).await;
    house.administrator("one").await;
    house.administrator("two").await;
    let policy = house.control.policy();
    let racer = |config| Racer::start(Arc::new(store.clone()), config);
    let mut servers = [racer(config.clone()).await.unwrap(), racer(config).await.unwrap()];
    for (server, (name, way)) in servers.iter_mut().zip(["one", "two"].into_iter().zip(ways)) {
        let id = user(name);
        server.ask(request(Caller::of(id), way.command(&policy, id))).await;
    }
    interleave(&mut servers, order).await;
    let left = crate::fold_log(&store, None).await.unwrap().policy;
    // Else they would follow on through all the races after this one.
    servers.iter().for_each(|server| server.control().inner.stop.cancel());
    let answered = servers.map(|server| server.was_accepted());
    (answered, left.lasting_administrators(house.control.now()).len())
}

async fn one_is_left(order: u32, ways: [Way; 2], config: Config) {
    let (answered, left) = race(order, ways, config).await;
    assert_eq!(left, 1, "{ways:?} in order {order:012b}");
    assert_eq!(
        answered.iter().filter(|yes| **yes).count(),
        1,
        "{ways:?} in order {order:012b}: {answered:?}"
    );
}

#[tokio::test]
async fn in_every_order_of_their_steps_two_servers_leave_one_of_the_last_two_administrators() {
    assert_eq!(orders().count(), 924);
    for order in orders() {
        one_is_left(order, [Way::GiveUpGrant, Way::Suspend], quiet(StandingClock::new())).await;
    }
}

#[tokio::test]
async fn also_while_they_follow_each_other_and_renew_their_leases_one_is_left() {
    let often = Duration::from_millis(1);
    for order in orders() {
        let config =
            Config { follow_every: Some(often), lease_renew_every: often, ..quiet(StandingClock::new()) };
        one_is_left(order, [Way::Suspend, Way::RemovePassword], config).await;
    }
}

#[tokio::test]
async fn whichever_two_ways_to_lose_an_administrator_race_one_is_left() {
    for first in WAYS {
        for second in WAYS {
            for order in orders().step_by(61) {
                one_is_left(order, [first, second], quiet(StandingClock::new())).await;
            }
        }
    }
}

#[tokio::test]
async fn without_the_guard_the_same_race_leaves_nobody() {
    for order in orders().step_by(97) {
        let removed = Guards::only(Guard::LastAdministrator);
        let config = Config { removed, ..quiet(StandingClock::new()) };
        let (answered, left) = race(order, [Way::GiveUpGrant, Way::Suspend], config).await;
        assert_eq!((answered, left), ([true, true], 0), "order {order:012b}");
    }
}

#[tokio::test]
async fn a_command_is_decided_on_what_the_other_server_appended() {
    let store = MemoryStore::default();
    let (one, other) = (House::on(store.clone()).await, House::on(store).await);
    let admin = one.administrator("root").await;
    assert!(other.control.policy().user(admin.user().unwrap()).is_none());
    // The other has not seen the administrator; a refusal on what it has seen would be wrong.
    other.does(admin.clone(), group("ops")).await.unwrap();
    assert_eq!(code(one.does(admin.clone(), group("ops")).await), "name_taken");
    one.does(admin, group("dev")).await.unwrap();
    assert!(one.has_group("ops") && one.control.head().offset > other.control.head().offset);
}

#[tokio::test]
async fn many_callers_of_two_servers_get_dense_offsets_and_equal_policies() {
    let store = MemoryStore::default();
    let (one, other) = (House::on(store.clone()).await, House::on(store.clone()).await);
    let admin = one.administrator("root").await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..200 {
        let control = if number % 2 == 0 { one.control.clone() } else { other.control.clone() };
        let asked = request(admin.clone(), group(&format!("g{}", number / 2)));
        callers.spawn(async move { control.submit(asked).await.is_ok() });
    }
    let accepted = callers.join_all().await.into_iter().filter(|accepted| *accepted).count();
    assert_eq!(accepted, 100, "each name once, whichever server was faster");
    one.does(admin.clone(), group("last")).await.unwrap();
    other.does(admin, group("very-last")).await.unwrap();
    let folded = crate::fold_log(&store, None).await.unwrap();
    assert_eq!(folded.policy.digest(), other.control.policy().digest());
    assert_eq!(folded.policy.groups().count(), 102);
}
