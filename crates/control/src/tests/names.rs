//! Finding people by name: on which threads it is done.

use super::house::{House, meta};
use crate::{NewUser, UserOrder, UserQuery};
use charter_events::{Profile, UserId, UserKind};
use charter_policy::Caller;
use std::{sync::mpsc, thread, time::Duration};

#[tokio::test]
async fn looking_through_all_names_never_holds_up_the_thread_that_answers() {
    let house = House::new().await;
    let username = "bob".parse().unwrap();
    let profile = Profile { username, display_name: None, email: None, ..super::identity::names("bob") };
    let new = NewUser { kind: UserKind::Person, profile, password: None };
    let bob = house.control.register_user(Caller::System, new, meta()).await.unwrap().created.unwrap();
    let (held, is_held) = mpsc::channel();
    let (answered, has_answered) = mpsc::channel();
    let control = house.control.clone();
    // Keeps the names from whoever looks through them, until this thread has answered somebody else.
    let holder = thread::spawn(move || {
        let names = control.inner.profiles.names.hold();
        held.send(()).unwrap();
        let told = has_answered.recv_timeout(Duration::from_secs(20));
        drop(names);
        told
    });
    is_held.recv().unwrap();
    let control = house.control.clone();
    let search = tokio::spawn(async move {
        let (kind, status) = (None, None);
        let query = UserQuery { search: Some("BO"), kind, status, order: UserOrder::Name, descending: false };
        control.find_users(&control.policy(), query).await.unwrap()
    });
    // The search goes as far as it can.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    answered.send(()).unwrap();
    assert_eq!(search.await.unwrap(), [UserId::new(bob)]);
    assert_eq!(holder.join().unwrap(), Ok(()), "nobody was answered while it looked");
}

/// Attempts at one thing never use up those at another, and no name is taken for a count of attempts.
#[tokio::test]
async fn no_two_names_or_counts_of_attempts_share_a_tag() {
    let house = House::new().await;
    let sealing = &house.control.inner.sealing;
    let texts = ["", "a", "\0", "\0a", "a\0", "sign-in", "\0sign-in\0", "\0sign-in\0a", "setup"];
    let mut seen = std::collections::HashMap::new();
    for purpose in ["sign-in", "password", "forgotten", "setup", ""] {
        for text in texts {
            let known = seen.insert(sealing.attempts_tag(purpose, text), (purpose, text));
            assert_eq!(known, None, "the same as {purpose} {text}");
        }
    }
    // Names hold no such characters.
    for name in texts.into_iter().filter(|name| !name.contains('\0')) {
        assert_eq!(seen.get(&sealing.tag(name)), None, "{name}");
    }
}
