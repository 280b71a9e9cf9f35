//! The same request twice is one effect and one answer.

use super::house::{House, code, group, keyed};
use crate::{CommandError, NewToken, RequestMeta};
use charter_events::Hash;
use charter_testkit::ids::shown;
use std::{sync::Arc, time::Duration};
use tokio::sync::Barrier;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_equal_requests_released_together_a_thousand_times_have_one_effect_each() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let before = house.control.head().offset.get();
    for round in 0..1_000 {
        let slug = format!("g{round}");
        let barrier = Arc::new(Barrier::new(2));
        let two = [(); 2].map(|()| {
            let (control, barrier) = (house.control.clone(), Arc::clone(&barrier));
            let request = keyed(&admin, &slug, 1, group(&slug));
            tokio::spawn(async move {
                barrier.wait().await;
                control.submit(request).await
            })
        });
        let [one, other] = two;
        let (one, other) = (one.await.unwrap().unwrap(), other.await.unwrap().unwrap());
        assert!(one.repeated != other.repeated, "{one:?} {other:?}");
        assert_eq!((one.command_id, one.first, one.created), (other.command_id, other.first, other.created));
    }
    assert_eq!(house.control.head().offset.get(), before + 1_000);
}

#[tokio::test]
async fn a_repeat_gets_the_first_answer_also_from_another_server_and_after_a_restart() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let first = house.control.submit(keyed(&admin, "k", 1, group("ops"))).await.unwrap();
    let other = House::on(house.store.clone()).await;
    let again = other.control.submit(keyed(&admin, "k", 1, group("ops"))).await.unwrap();
    assert!(again.repeated && !first.repeated);
    assert_eq!(crate::Receipt { repeated: false, ..again }, first);
}

#[tokio::test]
async fn a_key_is_its_callers_own_and_belongs_to_one_request() {
    let house = House::new().await;
    let (root, other) = (house.administrator("root").await, house.administrator("other").await);
    house.control.submit(keyed(&root, "k", 1, group("ops"))).await.unwrap();
    let reused = house.control.submit(keyed(&root, "k", 2, group("dev"))).await;
    assert_eq!(code(reused), "idempotency_key_reused");
    let others = house.control.submit(keyed(&other, "k", 2, group("dev"))).await.unwrap();
    assert!(!others.repeated && house.has_group("dev"));
}

#[tokio::test]
async fn a_refused_request_may_be_repeated_when_it_can_be_carried_out() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.does(admin.clone(), group("ops")).await.unwrap();
    assert_eq!(code(house.control.submit(keyed(&admin, "k", 1, group("ops"))).await), "name_taken");
    let id = super::house::group_id(&house.control, "ops");
    house.does(admin.clone(), charter_commands::DeleteGroup { group: id }).await.unwrap();
    assert!(house.control.submit(keyed(&admin, "k", 1, group("ops"))).await.is_ok());
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let issue = || {
        let meta =
            RequestMeta { idempotency: Some(("k".to_owned(), Hash::new([1; 32]))), ..super::house::meta() };
        let new = NewToken { user: admin.user().unwrap(), name: shown("ci"), expires_at: None, mask: None };
        house.control.issue_token(admin.clone(), new, meta)
    };
    let issued = issue().await.unwrap();
    assert!(house.control.authenticate(issued.secret.expose()).await.is_ok());
    assert_eq!(issue().await.unwrap_err().code(), "secret_shown_once");
    assert_eq!(house.control.policy().tokens_of(admin.user().unwrap()).count(), 1);
}

#[tokio::test]
async fn old_answers_are_forgotten_after_a_day_and_not_before() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    house.control.submit(keyed(&admin, "k", 1, group("ops"))).await.unwrap();
    house.clock.advance(Duration::from_secs(24 * 3_600));
    house.control.housekeeping(true).await;
    assert!(house.control.submit(keyed(&admin, "k", 1, group("ops"))).await.unwrap().repeated);
    house.clock.advance(Duration::from_secs(2 * 3_600));
    house.control.housekeeping(true).await;
    assert_eq!(code(house.control.submit(keyed(&admin, "k", 1, group("ops"))).await), "name_taken");
}

#[tokio::test]
async fn what_comes_with_a_command_is_bounded() {
    let house = House::new().await;
    let admin = house.administrator("root").await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (reason, request_id, key, field) in [
        (long(1_025), long(1), long(1), "reason"),
        (long(1), long(129), long(1), "request_id"),
        (long(1), long(1), long(256), "idempotency_key"),
    ] {
        let mut request = keyed(&admin, &key, 1, group("ops"));
        request.meta.reason = Some(reason);
        request.meta.request_id = Some(request_id);
        let CommandError::Refused(refusal) = house.control.submit(request).await.unwrap_err() else {
            panic!("not refused");
        };
        assert_eq!((refusal.code.as_str(), refusal.field.as_deref()), ("limit_exceeded", Some(field)));
    }
}
