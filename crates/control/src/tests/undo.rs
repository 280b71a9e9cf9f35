//! An undo is decided at the head: what happens while it waits counts.

use super::house::{House, group, group_id, request};
use crate::{CommandError, UndoError, request::RequestMeta};
use charter_commands::{Code, RenameGroup, Why};
use charter_events::{Via, envelope::REASON_BYTES_MAX};
use charter_store::memory::Point as StorePoint;

fn renamed(house: &House, name: &str) -> RenameGroup {
    RenameGroup { group: group_id(&house.control, "g"), name: name.parse().unwrap() }
}

#[tokio::test]
async fn what_went_and_came_back_while_an_undo_waited_is_left_alone() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.does(admin.clone(), group("g")).await.unwrap();
    let first = house.does(admin.clone(), renamed(&house, "One")).await.unwrap();
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let send = |name: &str| {
        let (control, request) = (house.control.clone(), request(admin.clone(), renamed(&house, name)));
        tokio::spawn(async move { control.submit(request).await })
    };
    let away = send("Two");
    paused.reached().await;
    let back = send("One");
    house.queued(1).await;
    let (control, caller) = (house.control.clone(), admin.clone());
    let undo =
        tokio::spawn(async move { control.undo(caller, first.first, RequestMeta::new(Via::Api)).await });
    house.queued(2).await;
    paused.go();
    assert!(away.await.unwrap().is_ok() && back.await.unwrap().is_ok());
    match undo.await.unwrap() {
        Err(UndoError::NotUndoable(not)) => assert_eq!(not.reasons[0].why, Why::Superseded),
        other => panic!("{other:?}"),
    }
    let policy = house.control.policy();
    let group = policy.group(group_id(&house.control, "g")).unwrap();
    assert_eq!(group.name.as_str(), "One");
}

#[tokio::test]
async fn what_happens_elsewhere_while_an_undo_waits_does_not_stop_it() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.does(admin.clone(), group("g")).await.unwrap();
    let first = house.does(admin.clone(), renamed(&house, "One")).await.unwrap();
    let mut paused = house.store.hooks().pause_at(StorePoint::BeforeLock);
    let (control, other) = (house.control.clone(), request(admin.clone(), group("other")));
    let other = tokio::spawn(async move { control.submit(other).await });
    paused.reached().await;
    let (control, caller) = (house.control.clone(), admin.clone());
    let undo =
        tokio::spawn(async move { control.undo(caller, first.first, RequestMeta::new(Via::Api)).await });
    house.queued(1).await;
    paused.go();
    other.await.unwrap().unwrap();
    undo.await.unwrap().unwrap();
    let policy = house.control.policy();
    assert_eq!(policy.group(group_id(&house.control, "g")).unwrap().name.as_str(), "g");
}

#[tokio::test]
async fn a_reason_takes_the_room_that_is_left_beside_what_an_undo_says() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let made = house.does(admin.clone(), group("g")).await.unwrap();
    let begin = format!("undoes {}: ", made.first);
    let room = REASON_BYTES_MAX - begin.len();
    let undo = |bytes: usize| {
        let meta = RequestMeta { reason: Some("x".repeat(bytes)), ..RequestMeta::new(Via::Api) };
        house.control.undo(admin.clone(), made.first, meta)
    };
    match undo(room + 1).await {
        Err(UndoError::Command(CommandError::Refused(refusal))) => {
            assert_eq!((refusal.code, refusal.field.as_deref()), (Code::LimitExceeded, Some("reason")));
            assert!(refusal.detail.starts_with(&format!("at most {room} bytes: `{begin}`")), "{refusal:?}");
        }
        other => panic!("{other:?}"),
    }
    let receipt = undo(room).await.unwrap().receipt;
    let event = house.control.events(made.last, 1).await.unwrap().remove(0);
    assert_eq!(event.offset, receipt.first);
    assert_eq!(event.command.reason, Some(begin + &"x".repeat(room)));
}
