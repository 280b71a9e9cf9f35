//! Long work of other kinds than the tables'.

use super::tiny::server;
use crate::{
    Halted, OperationError,
    tests::{
        bent::Bent,
        fleet::started,
        house::{StandingClock, quiet},
    },
};
use charter_store::{MemoryStore, OperationState};
use charter_testkit::ids::user;
use std::time::Duration;
use uuid::Uuid;

#[tokio::test]
async fn work_is_begun_once_tells_how_far_it_is_and_ends() {
    let control = server(&MemoryStore::default(), &[]).await;
    let asked_by = Some(user("root"));
    let mut work = control.begin_operation("backup", "log", asked_by).await.unwrap();
    let again = control.begin_operation("backup", "log", asked_by).await;
    assert!(matches!(again, Err(OperationError::Running { id }) if id == work.id()));
    assert!(control.begin_operation("backup", "elsewhere", None).await.is_ok());
    work.progress(3, 10, "reading").await.unwrap();
    let seen = control.operation(work.id()).await.unwrap();
    assert_eq!((seen.state, seen.done, seen.total), (OperationState::Running, 3, 10));
    assert_eq!((seen.detail.as_str(), seen.asked_by), ("reading", Some(user("root").as_uuid())));
    assert!(!work.is_cancelled().await);
    let ended = work.end(Ok("written".to_owned())).await.unwrap();
    assert_eq!((ended.state, ended.detail.as_str()), (OperationState::Done, "written"));
    assert_eq!(control.operation(ended.id).await.unwrap(), ended);
    assert_eq!(control.resume_operation(ended.id).await.unwrap_err().code(), "not_resumable");
    assert!(control.begin_operation("backup", "log", None).await.is_ok());
}

#[tokio::test]
async fn work_that_was_stopped_hears_of_it_at_its_next_step_and_progress_does_not_undo_it() {
    let control = server(&MemoryStore::default(), &[]).await;
    let mut work = control.begin_operation("backup", "log", None).await.unwrap();
    control.cancel_operation(work.id()).await.unwrap();
    assert_eq!(work.progress(4, 10, "reading").await, Err(Halted));
    assert!(work.is_cancelled().await);
    let seen = control.operation(work.id()).await.unwrap();
    assert_eq!((seen.state, seen.done), (OperationState::Cancelled, 0));
    assert_eq!(control.resume_operation(work.id()).await.unwrap_err().code(), "not_resumable");
    let unknown = Uuid::from_u128(7);
    for refused in [control.cancel_operation(unknown).await, control.resume_operation(unknown).await] {
        assert_eq!(refused.unwrap_err().code(), "not_found");
    }
}

#[tokio::test]
async fn work_whose_server_is_gone_is_found_lost_and_can_be_begun_anew() {
    let clock = StandingClock::new();
    let control = started(MemoryStore::default(), quiet(clock.clone())).await;
    let lost = control.begin_operation("backup", "log", None).await.unwrap().id();
    clock.advance(Duration::from_secs(120));
    assert_eq!(control.operation(lost).await.unwrap().state, OperationState::Running);
    clock.advance(Duration::from_micros(1));
    let seen = control.operation(lost).await.unwrap();
    assert_eq!(
        (seen.state, seen.detail.as_str()),
        (OperationState::Failed, "the server that did it is gone")
    );
    assert!(control.begin_operation("backup", "log", None).await.is_ok());
    // The newest is first, however the clock went.
    clock.set("2020-01-01T00:00:00Z");
    let last = control.begin_operation("backup", "elsewhere", None).await.unwrap().id();
    assert_eq!(control.operations().await.unwrap()[0].id, last);
}

#[tokio::test]
async fn a_text_that_is_too_long_is_cut_and_never_inside_a_letter() {
    let control = server(&MemoryStore::default(), &[]).await;
    let work = control.begin_operation("backup", "log", None).await.unwrap();
    let ended = work.end(Err("é".repeat(10_000))).await.unwrap();
    assert_eq!(ended.detail, "é".repeat(2_048));
    let control = started(Bent::on(&MemoryStore::default()), quiet(StandingClock::new())).await;
    assert!(control.operations().await.unwrap().is_empty());
}
