//! Previews are decided a few at a time, and never on the threads that answer.

use super::house::{House, code, group};
use crate::{CommandError, PreviewSlot, Request, RequestMeta};
use charter_commands::Command;
use charter_events::Via;
use charter_policy::Caller;

fn asked(caller: Caller, slot: &PreviewSlot, command: impl Into<Command>) -> Request {
    let meta = RequestMeta { preview: Some(slot.clone()), ..RequestMeta::new(Via::Api) };
    Request::new(caller, command.into(), meta)
}

#[tokio::test]
async fn a_preview_waits_for_its_turn_and_is_refused_when_it_does_not_come() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let head = house.control.head();
    let previews = &house.control.inner.previews.0;
    let turns: Vec<_> = std::iter::from_fn(|| previews.take()).collect();
    assert_eq!(turns.len(), 2);
    let slot = PreviewSlot::default();
    let busy = house.control.submit(asked(admin.clone(), &slot, group("ops"))).await;
    assert_eq!(code(busy), "overloaded");
    assert!(slot.get().is_none());
    // What is not only previewed has a queue of its own.
    house.does(admin.clone(), group("dev")).await.unwrap();
    drop(turns);
    let previewed = house.control.submit(asked(admin, &slot, group("ops"))).await;
    assert!(matches!(previewed, Err(CommandError::Previewed)), "{previewed:?}");
    assert_eq!(slot.get().unwrap().events.len(), 1);
    assert_eq!(house.control.head().offset.get(), head.offset.get() + 1, "only `dev` was made");
}

#[tokio::test]
async fn the_present_is_of_one_version() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.does(admin, group("ops")).await.unwrap();
    let present = house.control.present();
    assert_eq!(present.policy.version(), present.head.offset);
    assert_eq!(present.head, house.control.head());
    assert!(present.now >= present.head.recorded_at);
}
