//! Sign-in, sessions and tokens.

use super::{
    bent::Bent,
    fleet::started,
    house::{House, group, meta, quiet, request},
    identity::{PASSWORD, names, person, secret, set_up, signed_in},
};
use crate::{AuthError, Authenticated, IdentityError, NewToken, NewUser, Request, SecretText, SignInError};
use charter_commands::{EndSessions, ReactivateUser, RevokeToken, SuspendUser};
use charter_events::UserKind;
use charter_policy::Caller;
use charter_testkit::ids::shown;
use std::time::Duration;

#[tokio::test]
async fn whatever_is_wrong_a_sign_in_does_the_same_work_and_gives_the_same_answer() {
    let (house, root) = set_up().await;
    let suspended = person(&house, &root, "suspended").await;
    house.does(root.clone(), SuspendUser { user: suspended }).await.unwrap();
    let new = NewUser { kind: UserKind::Service, profile: names("robot"), password: None };
    house.control.register_user(root.clone(), new, meta()).await.unwrap();
    // The first comparison of all also makes what the others compare with.
    assert!(house.control.sign_in("root", secret(PASSWORD)).await.is_ok());
    let cases = [
        ("root", "wrong password"),
        ("nobody", PASSWORD),
        ("suspended", PASSWORD),
        ("robot", PASSWORD),
        ("robot", ""),
        ("", ""),
        ("Root", PASSWORD),
        ("root", &"x".repeat(100_000)),
    ];
    for (name, password) in cases {
        let before = house.control.inner.identity.passwords_worked();
        let error = house.control.sign_in(name, secret(password)).await.unwrap_err();
        assert_eq!(error, SignInError::Refused, "{name}");
        assert_eq!(house.control.inner.identity.passwords_worked() - before, 1, "{name}");
    }
}

/// A secret with another letter at this place.
fn bent_at(secret: &str, place: usize) -> String {
    let mut letters: Vec<char> = secret.chars().collect();
    letters[place] = if letters[place] == 'A' { 'B' } else { 'A' };
    letters.into_iter().collect()
}

#[tokio::test]
async fn wherever_a_secret_is_wrong_it_costs_the_same_look_ups_and_gets_the_same_answer() {
    let (house, root) = set_up().await;
    let (session, _) = signed_in(&house, "root").await;
    let user = root.user().unwrap();
    let new = NewToken { user, name: shown("ci"), expires_at: None, mask: None };
    let token = house.control.issue_token(root, new, meta()).await.unwrap();
    let bent = Bent::on(&house.store);
    // Another server, which has seen none of them yet.
    let other = started(bent.clone(), quiet(house.clock.clone())).await;
    bent.take_looked_up();
    for good in [session.expose(), token.secret.expose()] {
        let (prefix, rest) = good.split_at(4);
        let last = good.len() - 1;
        let of_other_kind = if prefix == "chs_" { "cht_" } else { "chs_" };
        let wrong = [
            bent_at(good, 4),
            bent_at(good, last / 2),
            bent_at(good, last),
            format!("{prefix}{}", "x".repeat(rest.len())),
            format!("{of_other_kind}{rest}"),
        ];
        for secret in &wrong {
            assert_eq!(other.authenticate(secret).await.unwrap_err(), AuthError::Unknown);
            assert_eq!(bent.take_looked_up(), 1, "the first time");
            assert_eq!(other.authenticate(secret).await.unwrap_err(), AuthError::Unknown);
            assert_eq!(bent.take_looked_up(), 0, "it is known to be none");
        }
        assert!(other.authenticate(good).await.is_ok());
        assert_eq!(bent.take_looked_up(), 1, "a good one costs the same");
        assert!(other.authenticate(good).await.is_ok());
        assert_eq!(bent.take_looked_up(), 0);
    }
}

#[tokio::test]
async fn guessing_at_a_name_is_slowed_down_whether_or_not_there_is_such_a_user() {
    let (house, _) = set_up().await;
    for name in ["root", "nobody"] {
        for _ in 0..10 {
            assert_eq!(
                house.control.sign_in(name, secret("wrong one")).await.unwrap_err(),
                SignInError::Refused
            );
        }
        let error = house.control.sign_in(name, secret(PASSWORD)).await.unwrap_err();
        assert_eq!(error, SignInError::TooManyAttempts { retry_after_seconds: 15 }, "{name}");
    }
    house.clock.advance(Duration::from_secs(15));
    assert!(house.control.sign_in("root", secret(PASSWORD)).await.is_ok());
}

#[tokio::test]
async fn a_session_ends_when_its_time_is_over_or_its_user_stops_or_says_so() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let good = |secret: &SecretText| {
        let (control, text) = (house.control.clone(), secret.expose().to_owned());
        async move { control.authenticate(&text).await.map(|who| who.user) }
    };
    let (one, who) = signed_in(&house, "alice").await;
    let (two, _) = signed_in(&house, "alice").await;
    assert_eq!((good(&one).await, good(&two).await), (Ok(alice), Ok(alice)));
    assert_eq!(house.control.sessions(alice).await.unwrap().len(), 2);
    // Signing out ends one.
    house.control.sign_out(&who, meta()).await.unwrap().unwrap();
    assert_eq!((good(&one).await, good(&two).await), (Err(AuthError::Ended), Ok(alice)));
    assert!(!house.control.is_still_good(&who).await);
    assert_eq!(house.control.sessions(alice).await.unwrap().len(), 1);
    // Suspension ends all, and reactivation brings none back.
    house.does(root.clone(), SuspendUser { user: alice }).await.unwrap();
    assert_eq!(good(&two).await, Err(AuthError::Ended));
    house.does(root.clone(), ReactivateUser { user: alice }).await.unwrap();
    assert_eq!(good(&two).await, Err(AuthError::Ended));
    // Time ends the rest.
    let (three, _) = signed_in(&house, "alice").await;
    house.clock.advance(Duration::from_secs(12 * 3_600 - 1));
    assert_eq!(good(&three).await, Ok(alice));
    house.clock.advance(Duration::from_secs(1));
    assert_eq!(good(&three).await, Err(AuthError::Ended));
    assert!(house.control.sessions(alice).await.unwrap().is_empty());
}

#[tokio::test]
async fn another_server_and_a_restart_know_which_sessions_are_good() {
    let (house, root) = set_up().await;
    let (kept, _) = signed_in(&house, "root").await;
    let (ended, who) = signed_in(&house, "root").await;
    house.control.sign_out(&who, meta()).await.unwrap();
    let restarted = House::on(house.store.clone()).await;
    assert_eq!(restarted.control.authenticate(kept.expose()).await.unwrap().user, root.user().unwrap());
    assert!(restarted.control.authenticate(ended.expose()).await.is_err());
}

#[tokio::test]
async fn a_changed_password_ends_every_session_but_the_one_it_was_changed_in() {
    let (house, root) = set_up().await;
    let (here, who) = signed_in(&house, "root").await;
    let (elsewhere, _) = signed_in(&house, "root").await;
    let new = secret("another good password");
    let wrong = house.control.change_password(&who, &secret("not the one"), &new, meta()).await.unwrap_err();
    assert!(matches!(wrong, IdentityError::Wrong { what: "password" }));
    let before = house.control.head().offset;
    let receipt = house.control.change_password(&who, &secret(PASSWORD), &new, meta()).await.unwrap();
    let events = house.control.events(before, 10).await.unwrap();
    assert!(events.len() == 2 && events.iter().all(|event| event.command.command_id == receipt.command_id));
    assert_eq!(house.control.authenticate(here.expose()).await.unwrap().user, root.user().unwrap());
    assert_eq!(house.control.authenticate(elsewhere.expose()).await.unwrap_err(), AuthError::Ended);
    assert_eq!(house.control.sign_in("root", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);
    assert!(house.control.sign_in("root", new).await.is_ok());
    let restarted = House::on(house.store.clone()).await;
    assert!(restarted.control.authenticate(here.expose()).await.is_ok());
    assert!(restarted.control.authenticate(elsewhere.expose()).await.is_err());
}

#[tokio::test]
async fn a_reset_password_ends_all_sessions_of_its_user() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let (session, _) = signed_in(&house, "alice").await;
    let new = secret("another good password");
    house.control.reset_password(root, alice, &new, meta()).await.unwrap();
    assert_eq!(house.control.authenticate(session.expose()).await.unwrap_err(), AuthError::Ended);
    assert!(house.control.sign_in("alice", new).await.is_ok());
}

#[tokio::test]
async fn a_token_speaks_for_its_user_under_its_mask_until_it_ends_or_is_revoked() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let mask = vec!["core.user.read".parse().unwrap()];
    let expires_at = charter_testkit::at("2026-03-01T13:00:00Z");
    let issue = |expires_at, mask, name: &str| {
        let new = NewToken { user: alice, name: shown(name), expires_at, mask };
        house.control.issue_token(Caller::of(alice), new, meta())
    };
    let short = issue(Some(expires_at), Some(mask.clone()), "short").await.unwrap();
    let long = issue(None, None, "long").await.unwrap();
    let good = |secret: &SecretText| {
        let (control, text) = (house.control.clone(), secret.expose().to_owned());
        async move { control.authenticate(&text).await }
    };
    let who = good(&short.secret).await.unwrap();
    assert_eq!(who.caller, Caller::User { id: alice, ceiling: Some(mask.into()) });
    assert_eq!(who.expires_at, Some(expires_at));
    assert_eq!(good(&long.secret).await.unwrap().caller, Caller::of(alice));
    assert_eq!(house.control.tokens(alice).await.unwrap().len(), 2);
    house.clock.set("2026-03-01T13:00:00Z");
    assert_eq!(good(&short.secret).await.unwrap_err(), AuthError::Ended);
    // The use of it is noted in time.
    house.control.housekeeping(false).await;
    let tokens = house.control.tokens(alice).await.unwrap();
    let noted = tokens.iter().find(|token| token.id == long.token).unwrap().last_used;
    assert!(noted.is_some());
    house.control.revoke_token(Caller::of(alice), long.token, meta()).await.unwrap();
    assert_eq!(good(&long.secret).await.unwrap_err(), AuthError::Ended);
    let restarted = House::on(house.store.clone()).await;
    assert!(restarted.control.authenticate(long.secret.expose()).await.is_err());
}

#[tokio::test]
async fn a_credential_that_ends_while_its_request_waits_appends_nothing() {
    let (house, root) = set_up().await;
    let user = root.user().unwrap();
    let new = NewToken { user, name: shown("ci"), expires_at: None, mask: None };
    let issued = house.control.issue_token(root.clone(), new, meta()).await.unwrap();
    let by_token = house.control.authenticate(issued.secret.expose()).await.unwrap();
    let (_, by_session) = signed_in(&house, "root").await;
    let asked = |who: &Authenticated, slug| {
        Request::new(who.caller.clone(), group(slug).into(), meta().while_good(who))
    };
    let codes = house
        .first_alone(vec![
            asked(&by_token, "before"),
            asked(&by_session, "with-session"),
            request(root.clone(), RevokeToken { token: issued.token }),
            asked(&by_token, "token"),
            asked(&by_session, "still-good"),
            request(root, EndSessions { user }),
            asked(&by_session, "session"),
        ])
        .await;
    let (done, ended) = ("accepted", "inactive_caller");
    assert_eq!(codes, [done, done, done, ended, done, done, ended]);
    assert!(!house.has_group("token") && !house.has_group("session"));
}

#[tokio::test]
async fn attempts_to_sign_in_do_not_keep_anyone_from_changing_his_password() {
    let (house, root) = set_up().await;
    let (_, who) = signed_in(&house, "root").await;
    let id = root.user().unwrap().to_string();
    while house.control.sign_in(&id, secret("wrong one")).await.unwrap_err() == SignInError::Refused {}
    let new = secret("another good password");
    house.control.change_password(&who, &secret(PASSWORD), &new, meta()).await.unwrap();
}

#[tokio::test]
async fn a_secret_of_one_kind_is_none_of_another() {
    let (house, root) = set_up().await;
    let (session, _) = signed_in(&house, "root").await;
    let as_token = session.expose().replace("chs_", "cht_");
    assert_eq!(house.control.authenticate(&as_token).await.unwrap_err(), AuthError::Unknown);
    let new = NewToken { user: root.user().unwrap(), name: shown("ci"), expires_at: None, mask: None };
    let issued = house.control.issue_token(root, new, meta()).await.unwrap();
    let as_session = issued.secret.expose().replace("cht_", "chs_");
    assert_eq!(house.control.authenticate(&as_session).await.unwrap_err(), AuthError::Unknown);
    let setup = House::new().await.setup_code.unwrap();
    assert_eq!(house.control.authenticate(setup.expose()).await.unwrap_err(), AuthError::Malformed);
}

#[tokio::test]
async fn whoever_may_not_make_an_account_makes_no_password_be_hashed() {
    let (house, root) = set_up().await;
    let alice = Caller::of(person(&house, &root, "alice").await);
    let before = house.control.inner.identity.passwords_worked();
    let new = NewUser { kind: UserKind::Person, profile: names("bob"), password: Some(secret(PASSWORD)) };
    let error = house.control.register_user(alice.clone(), new, meta()).await.unwrap_err();
    assert_eq!(error.code(), "forbidden");
    let reset = house.control.reset_password(alice, root.user().unwrap(), &secret(PASSWORD), meta()).await;
    assert_eq!(reset.unwrap_err().code(), "forbidden");
    assert_eq!(house.control.inner.identity.passwords_worked(), before);
}
