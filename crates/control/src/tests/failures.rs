//! Stores that fail, commits that may or may not have taken effect, servers that stop between two steps.

use super::house::{House, code, group, keyed, request};
use crate::{
    Config, NotReady,
    failpoints::{Hooks, Outcome, Point},
};
use async_trait::async_trait;
use charter_commands::UpsertCoreCatalog;
use charter_policy::Caller;
use charter_store::{MemoryStore, memory::Point as StorePoint};
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn a_commit_that_is_lost_leaves_nothing_and_everyone_in_it_hears_of_it() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let before = house.control.head().offset.get();
    let asked = ["first", "same", "same"].map(|slug| request(admin.clone(), group(slug)));
    house.script.at_next(Point::Commit, Outcome::Fail);
    house.script.at_next(Point::Commit, Outcome::Continue);
    let codes = house.first_alone(asked.into()).await;
    // The third was refused because of the second, which is gone: that is no reason any more.
    assert_eq!(codes, ["accepted", "unavailable", "unavailable"]);
    assert_eq!(house.control.head().offset.get(), before + 1);
    assert!(house.has_group("first") && !house.has_group("same"));
    house.store.hooks().lose_next_commit();
    assert_eq!(code(house.does(admin.clone(), group("same")).await), "unavailable");
    house.does(admin, group("same")).await.unwrap();
    assert!(house.control.readiness().is_ready());
}

#[tokio::test]
async fn a_commit_that_took_effect_and_reported_an_error_is_answered_as_done() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.store.hooks().keep_next_commit_but_fail();
    let receipt = house.does(admin.clone(), group("ops")).await.unwrap();
    assert!(house.has_group("ops") && house.control.head().offset == receipt.last);
    house.does(admin, group("dev")).await.unwrap();
}

/// Cuts the store off at the moment of a commit.
struct CutOff(Mutex<Option<MemoryStore>>);

#[async_trait]
impl Hooks for CutOff {
    async fn before(&self, point: Point) -> Outcome {
        if point == Point::Commit
            && let Some(store) = self.0.lock().unwrap().take()
        {
            store.hooks().set_unavailable(true);
            return Outcome::FailAfter;
        }
        Outcome::Continue
    }
}

#[tokio::test]
async fn an_outcome_nobody_knows_is_said_so_and_learnt_from_the_log_before_going_on() {
    let store = MemoryStore::default();
    let first = House::on(store.clone()).await;
    let admin = first.administrator("root").await;
    let hooks = Arc::new(CutOff(Mutex::new(None)));
    let config = Config { hooks: Some(hooks.clone()), ..super::house::quiet(first.clock.clone()) };
    let control = super::house::start(&store, config).await.unwrap().control;
    *hooks.0.lock().unwrap() = Some(store.clone());
    let asked = keyed(&admin, "k", 1, group("ops"));
    assert_eq!(code(control.submit(asked.clone()).await), "unavailable");
    assert_eq!(control.readiness().not_ready, Some(NotReady::StoreUnavailable));
    assert!(control.policy().group_by_slug("ops").is_none(), "not shown while it is not known to be durable");
    store.hooks().set_unavailable(false);
    assert_eq!(code(control.submit(request(admin.clone(), group("ops"))).await), "name_taken");
    assert!(control.policy().group_by_slug("ops").is_some() && control.readiness().is_ready());
    assert!(control.submit(asked).await.unwrap().repeated);
}

#[tokio::test]
async fn a_server_that_stops_before_a_commit_leaves_nothing() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let head = house.control.head();
    for point in [Point::Lock, Point::Decide, Point::Append, Point::Commit] {
        house.script.at_next(point, Outcome::Fail);
        assert_eq!(code(house.does(admin.clone(), group("ops")).await), "unavailable", "{point:?}");
        assert_eq!(crate::fold_log(&house.store, None).await.unwrap().head, head, "{point:?}");
        assert!(!house.has_group("ops"), "{point:?}");
    }
    house.does(admin, group("ops")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_stops_after_a_commit_loses_nothing_and_a_repeat_gets_the_answer() {
    for point in [Point::Publish, Point::Reply] {
        let house = House::new().await;
        let admin = house.administrator("root").await;
        house.script.at_next(point, Outcome::Fail);
        let asked = keyed(&admin, "k", 1, group("ops"));
        assert_eq!(code(house.control.submit(asked.clone()).await), "unavailable", "{point:?}");
        let restarted = House::on(house.store.clone()).await;
        assert!(restarted.has_group("ops"), "{point:?}");
        assert!(restarted.control.submit(asked.clone()).await.unwrap().repeated, "{point:?}");
        // The same server goes on as well, from what is in the log.
        assert!(house.control.submit(asked).await.unwrap().repeated, "{point:?}");
        assert!(house.has_group("ops"), "{point:?}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_said_so_and_comes_back() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.store.hooks().set_unavailable(true);
    assert_eq!(code(house.does(admin.clone(), group("ops")).await), "unavailable");
    assert_eq!(house.control.readiness().not_ready, Some(NotReady::StoreUnavailable));
    // Questions are still answered, at the version there is.
    assert!(house.control.policy().is_administrator(admin.user().unwrap(), house.control.now()));
    house.store.hooks().set_unavailable(false);
    house.control.housekeeping(false).await;
    assert!(house.control.readiness().is_ready());
    house.does(admin, group("ops")).await.unwrap();
}

#[tokio::test]
async fn a_server_that_shuts_down_completes_what_waits_and_takes_nothing_more() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let mut answers = Vec::new();
    for number in 0..300 {
        let (control, asked) = (house.control.clone(), request(admin.clone(), group(&format!("g{number}"))));
        answers.push(tokio::spawn(async move { control.submit(asked).await }));
        if number == 0 {
            paused.reached().await;
        }
    }
    house.queued(299).await;
    let ending = tokio::spawn(house.control.clone().shutdown());
    while !house.control.readiness().not_ready.is_some_and(|why| why == NotReady::Stopping) {
        tokio::task::yield_now().await;
    }
    paused.go();
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    ending.await.unwrap();
    assert_eq!(code(house.does(admin, group("late")).await), "unavailable");
}

#[tokio::test]
async fn an_outcome_nobody_knows_is_learnt_also_when_other_batches_fail_before() {
    let store = MemoryStore::default();
    let first = House::on(store.clone()).await;
    let admin = first.administrator("root").await;
    let hooks = Arc::new(CutOff(Mutex::new(None)));
    let version_wait = std::time::Duration::from_secs(30);
    let config =
        Config { hooks: Some(hooks.clone()), version_wait, ..super::house::quiet(first.clock.clone()) };
    let control = super::house::start(&store, config).await.unwrap().control;
    *hooks.0.lock().unwrap() = Some(store.clone());
    assert_eq!(code(control.submit(request(admin.clone(), group("ops"))).await), "unavailable");
    assert_eq!(code(control.submit(request(admin, group("dev"))).await), "unavailable");
    store.hooks().set_unavailable(false);
    let next = control.head().offset.plus(1).unwrap();
    let policy = control.at_least(next).await.unwrap();
    assert!(policy.group_by_slug("ops").is_some() && control.readiness().is_ready());
}

#[tokio::test]
async fn a_batch_of_answers_that_was_not_kept_is_not_answered_as_done() {
    let house = House::new().await;
    house.store.hooks().lose_next_commit();
    let asked = keyed(&Caller::System, "k", 1, UpsertCoreCatalog {});
    assert_eq!(code(house.control.submit(asked.clone()).await), "unavailable");
    assert!(!house.control.submit(asked).await.unwrap().repeated);
}

#[tokio::test]
async fn after_a_failed_write_a_server_is_ready_again_only_when_the_head_could_be_locked() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.store.hooks().lose_next_commit();
    assert_eq!(code(house.does(admin, group("ops")).await), "unavailable");
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let control = house.control.clone();
    let round = tokio::spawn(async move { control.housekeeping(false).await });
    paused.reached().await;
    assert_eq!(house.control.readiness().not_ready, Some(NotReady::StoreUnavailable));
    paused.go();
    round.await.unwrap();
    assert!(house.control.readiness().is_ready());
}

/// A mistake in the program, where the writer has no net.
struct Panics(std::sync::atomic::AtomicBool);

#[async_trait]
impl Hooks for Panics {
    async fn before(&self, _: Point) -> Outcome {
        assert!(!self.0.load(std::sync::atomic::Ordering::SeqCst), "a test wanted it so");
        Outcome::Continue
    }
}

#[tokio::test]
async fn a_writer_that_panics_leaves_a_server_that_says_so() {
    let store = MemoryStore::default();
    let first = House::on(store.clone()).await;
    let admin = first.administrator("root").await;
    let hooks = Arc::new(Panics(false.into()));
    let config = Config { hooks: Some(hooks.clone()), ..super::house::quiet(first.clock.clone()) };
    let control = super::house::start(&store, config).await.unwrap().control;
    hooks.0.store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(code(control.submit(request(admin, group("ops"))).await), "unavailable");
    assert_eq!(control.readiness().not_ready, Some(NotReady::WriterEnded));
}

#[tokio::test]
async fn whoever_asks_behind_commands_to_catch_up_is_answered_with_them() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let submit = |slug| {
        let (control, asked) = (house.control.clone(), request(admin.clone(), group(slug)));
        tokio::spawn(async move { control.submit(asked).await })
    };
    let one = submit("one");
    paused.reached().await;
    let two = submit("two");
    house.queued(1).await;
    let control = house.control.clone();
    let catching_up = tokio::spawn(async move { crate::writer::catch_up(&control.inner).await });
    house.queued(2).await;
    paused.go();
    for answer in [one, two] {
        answer.await.unwrap().unwrap();
    }
    catching_up.await.unwrap();
}
