//! Nothing is said or shown before it is durable; and the same test on a writer with a mistake built in, which it has
//! to notice.

use super::house::{House, group, quiet, request, start};
use crate::{Config, failpoints::Bug};
use charter_store::memory::Point;

/// How often others get a turn while a commit is under way: an answer that left has arrived long before.
const TURNS: usize = 1_000;

async fn let_others_go_on() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

/// What a writer gives away of a commit that is under way, and of one that is lost.
async fn said_too_early(seeded: Option<Bug>) -> Vec<&'static str> {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let config = Config { seeded, ..quiet(house.clock.clone()) };
    let control = start(&house.store, config).await.unwrap().control;
    let shows = |slug| control.policy().group_by_slug(slug).is_some();
    let mut said = Vec::new();
    let mut paused = house.store.hooks().pause_at(Point::BeforeCommit);
    let before = control.head();
    let (server, asked) = (control.clone(), request(admin.clone(), group("ops")));
    let answer = tokio::spawn(async move { server.submit(asked).await });
    paused.reached().await;
    let_others_go_on().await;
    if control.head() != before || shows("ops") {
        said.push("shown ahead of the disk");
    }
    if answer.is_finished() {
        said.push("answered ahead of the disk");
    }
    paused.go();
    answer.await.unwrap().unwrap();
    // An answer that came early says nothing about the commit.
    let_others_go_on().await;
    house.store.hooks().lose_next_commit();
    let lost = control.submit(request(admin, group("lost"))).await;
    let_others_go_on().await;
    if shows("lost") {
        said.push("shown and lost");
    }
    if lost.is_ok() {
        said.push("acknowledged and lost");
    }
    said
}

#[tokio::test]
async fn nothing_is_visible_before_it_is_durable() {
    assert_eq!(said_too_early(None).await, [""; 0]);
}

#[tokio::test]
async fn a_writer_that_answers_before_the_commit_is_noticed() {
    let said = said_too_early(Some(Bug::AnswerEarly)).await;
    assert_eq!(said, ["answered ahead of the disk", "acknowledged and lost"]);
}

#[tokio::test]
async fn a_writer_that_publishes_before_the_commit_is_noticed() {
    let said = said_too_early(Some(Bug::PublishEarly)).await;
    assert_eq!(said, ["shown ahead of the disk", "shown and lost"]);
}
