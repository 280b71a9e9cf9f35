//! What a reply promises, and what a batch may not do to its neighbours.

use super::house::{House, group, request};
use crate::failpoints::Point;
use charter_events::Offset;
use charter_store::memory::Point as StorePoint;
use std::sync::Arc;
use tokio::task::JoinSet;

#[tokio::test]
async fn whoever_was_answered_reads_what_he_wrote() {
    let house = Arc::new(House::new().await);
    let admin = house.administrator("root").await;
    let mut callers = JoinSet::new();
    for number in 0..64 {
        let (house, admin) = (Arc::clone(&house), admin.clone());
        callers.spawn(async move {
            for round in 0..5 {
                let slug = format!("g{number}-{round}");
                let receipt = house.does(admin.clone(), group(&slug)).await.unwrap();
                let policy = house.control.at_least(receipt.last).await.unwrap();
                assert!(policy.version() >= receipt.last && policy.group_by_slug(&slug).is_some());
                assert_eq!(receipt.created, policy.group_by_slug(&slug).map(|id| id.as_uuid()));
            }
        });
    }
    callers.join_all().await;
}

#[tokio::test]
async fn commands_that_wait_together_are_committed_together() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let mut callers = JoinSet::new();
    for number in 0..100 {
        let request = request(admin.clone(), group(&format!("g{number}")));
        let control = house.control.clone();
        callers.spawn(async move { control.submit(request).await });
    }
    paused.reached().await;
    let commits = house.script.reached(Point::Commit);
    paused.go();
    let receipts = callers.join_all().await;
    assert!(receipts.iter().all(Result::is_ok));
    // One batch for the first who came, one for everyone who came while the head was locked.
    assert!(house.script.reached(Point::Commit) - commits <= 2);
    let mut offsets: Vec<_> = receipts.into_iter().map(|receipt| receipt.unwrap().first.get()).collect();
    offsets.sort_unstable();
    assert!(offsets.windows(2).all(|pair| pair[1] == pair[0] + 1), "dense and without holes: {offsets:?}");
}

#[tokio::test]
async fn a_refused_command_costs_its_neighbours_nothing_and_sees_what_they_did() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let asked = ["first", "same", "same", "last"].map(|slug| request(admin.clone(), group(slug)));
    let codes = house.first_alone(asked.into()).await;
    assert_eq!(codes, ["accepted", "accepted", "name_taken", "accepted"]);
    assert!(house.has_group("first") && house.has_group("same") && house.has_group("last"));
}

#[tokio::test]
async fn a_version_that_does_not_come_is_an_error_and_not_an_older_answer() {
    let house = House::new().await;
    let next = house.control.head().offset.plus(1).unwrap();
    let error = house.control.at_least(next).await.unwrap_err();
    assert_eq!((error.wanted, error.at), (next, house.control.head().offset));
    let control = house.control.clone();
    let waiting = tokio::spawn(async move { control.at_least(next).await.map(|policy| policy.version()) });
    tokio::task::yield_now().await;
    house.administrator("root").await;
    assert!(waiting.await.unwrap().unwrap() >= next);
}

#[tokio::test]
async fn the_moment_never_goes_back() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let recorded = house.control.head().recorded_at;
    house.clock.set("1970-01-01T00:00:00Z");
    assert_eq!(house.control.now(), recorded);
    house.does(admin, group("ops")).await.unwrap();
    let events = house.control.events(Offset::ZERO, 1_000).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].recorded_at <= pair[1].recorded_at));
    assert_eq!(house.control.head().recorded_at, recorded);
}

#[tokio::test]
async fn callers_that_go_away_cancel_nothing_half_way() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    for number in 0..2_000_u32 {
        let (control, asked) = (house.control.clone(), request(admin.clone(), group(&format!("g{number}"))));
        let task = tokio::spawn(async move { control.submit(asked).await });
        for _ in 0..number % 7 {
            tokio::task::yield_now().await;
        }
        task.abort();
    }
    house.does(admin, group("last")).await.unwrap();
    let folded = crate::fold_log(&house.store, None).await.unwrap();
    assert_eq!(folded.head, house.control.head());
    assert_eq!(folded.policy.digest(), house.control.policy().digest());
    assert!(house.has_group("last"));
}

#[tokio::test]
async fn more_commands_than_the_queue_takes_are_turned_away_and_not_lost_in_it() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let mut callers = JoinSet::new();
    for number in 0..5_000 {
        let (control, asked) = (house.control.clone(), request(admin.clone(), group(&format!("g{number}"))));
        callers.spawn(async move { control.submit(asked).await });
    }
    paused.reached().await;
    house.queued(4_096 - 128).await;
    paused.go();
    let answers = callers.join_all().await;
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    let turned_away =
        answers.into_iter().filter(|a| matches!(a, Err(crate::CommandError::QueueFull))).count();
    assert_eq!(accepted + turned_away, 5_000);
    assert!(turned_away > 0 && accepted >= 4_096);
    assert_eq!(house.control.policy().groups().count(), accepted);
}
