//! Accounts, sign-in, sessions and tokens.

use super::house::{House, meta};
use crate::{
    AuthError, Authenticated, IdentityError, NewToken, NewUser, ProfilePatch, RecoveryOf, SecretText,
    SignInError,
};
use charter_commands::{ReactivateUser, ScheduleDeletion, SuspendUser};
use charter_events::{DisplayName, Profile, UserId, UserKind};
use charter_policy::{Caller, UserStatus};
use charter_store::SecretStore;
use charter_testkit::ids::shown;
use std::time::Duration;

const PASSWORD: &str = "correct horse battery";

fn names(username: &str) -> Profile {
    Profile {
        username: username.parse().unwrap(),
        display_name: Some(shown("Some Body")),
        email: Some(format!("{username}@example.org")),
        login_name: None,
        external_id: None,
    }
}

fn secret(text: &str) -> SecretText {
    SecretText::new(text)
}

/// An installation with its first administrator, `root`.
async fn set_up() -> (House, Caller) {
    let house = House::new().await;
    let code = house.setup_code.clone().unwrap();
    let receipt = house.control.setup(&code, names("root"), secret(PASSWORD), meta()).await.unwrap();
    let root = Caller::of(UserId::new(receipt.created.unwrap()));
    (house, root)
}

async fn person(house: &House, by: &Caller, username: &str) -> UserId {
    let new = NewUser { kind: UserKind::Person, profile: names(username), password: Some(secret(PASSWORD)) };
    let receipt = house.control.register_user(by.clone(), new, meta()).await.unwrap();
    UserId::new(receipt.created.unwrap())
}

async fn signed_in(house: &House, username: &str) -> (SecretText, Authenticated) {
    let signed_in = house.control.sign_in(username, secret(PASSWORD)).await.unwrap();
    let who = house.control.authenticate(signed_in.secret.expose()).await.unwrap();
    (signed_in.secret, who)
}

#[tokio::test]
async fn the_setup_code_makes_one_administrator_and_then_never_again() {
    let house = House::new().await;
    let code = house.setup_code.clone().unwrap();
    assert!(house.control.setup_is_open());
    let wrong = house.control.setup(&secret("WRONG"), names("root"), secret(PASSWORD), meta()).await;
    assert!(matches!(wrong, Err(IdentityError::Wrong { what: "setup code" })));
    // As it is typed: case and hyphens don't count.
    let typed = secret(&code.expose().to_lowercase().replace('-', " "));
    house.control.setup(&typed, names("root"), secret(PASSWORD), meta()).await.unwrap();
    assert!(!house.control.setup_is_open());
    let again = house.control.setup(&code, names("other"), secret(PASSWORD), meta()).await.unwrap_err();
    assert_eq!(again.code(), "setup_closed");
    assert!(house.store.installation_secrets().await.unwrap().setup_code_hash.is_none());
    let restarted = House::on(house.store.clone()).await;
    assert!(restarted.setup_code.is_none(), "no code once there was an administrator");
    assert!(restarted.control.sign_in("root", secret(PASSWORD)).await.is_ok());
}

#[tokio::test]
async fn a_setup_code_is_new_at_each_start_and_the_old_one_works_no_longer() {
    let first = House::new().await;
    let old = first.setup_code.clone().unwrap();
    let second = House::on(first.store.clone()).await;
    let new = second.setup_code.clone().unwrap();
    assert_ne!(old.expose(), new.expose());
    let with_old = second.control.setup(&old, names("root"), secret(PASSWORD), meta()).await;
    assert!(matches!(with_old, Err(IdentityError::Wrong { .. })));
    second.control.setup(&new, names("root"), secret(PASSWORD), meta()).await.unwrap();
}

#[tokio::test]
async fn two_setups_released_together_make_one_administrator() {
    let house = House::new().await;
    let code = house.setup_code.clone().unwrap();
    let (one, other) = tokio::join!(
        house.control.setup(&code, names("one"), secret(PASSWORD), meta()),
        house.control.setup(&code, names("other"), secret(PASSWORD), meta()),
    );
    assert!(one.is_ok() != other.is_ok());
    assert_eq!(house.control.policy().administrators(house.control.now()).len(), 1);
}

#[tokio::test]
async fn a_user_is_found_by_id_username_and_external_id_and_by_nothing_else() {
    let (house, root) = set_up().await;
    let profile = Profile {
        external_id: Some("EXT-7".parse().unwrap()),
        login_name: Some("Alice@Corp".to_owned()),
        ..names("alice")
    };
    let new = NewUser { kind: UserKind::Person, profile, password: Some(secret(PASSWORD)) };
    let receipt = house.control.register_user(root.clone(), new, meta()).await.unwrap();
    let alice = UserId::new(receipt.created.unwrap());
    let policy = house.control.policy();
    let found = |text: &str| house.control.resolve_user(&policy, text);
    assert_eq!(found(&alice.to_string()), Some(alice));
    assert_eq!(found("alice"), Some(alice));
    assert_eq!(found("EXT-7"), Some(alice));
    for text in ["Alice", "ext-7", "alice ", "", "alice@example.org", "alice@corp", &"a".repeat(1_000)] {
        assert_eq!(found(text), None, "{text}");
    }
    // The login name signs in, ignoring case; the external id does not.
    assert!(house.control.sign_in("ALICE@corp", secret(PASSWORD)).await.is_ok());
    assert_eq!(house.control.sign_in("EXT-7", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);
    // One key space: neither name nor external id of another may be taken again, in any role.
    for (username, external_id, login_name) in [
        ("alice", None, None),
        ("bob", Some("alice"), None),
        ("bob", Some("EXT-7"), None),
        ("bob", None, Some("ALICE")),
        ("bob", None, Some("alice@CORP")),
    ] {
        let profile = Profile {
            external_id: external_id.map(|id| id.parse().unwrap()),
            login_name: login_name.map(str::to_owned),
            ..names(username)
        };
        let new = NewUser { kind: UserKind::Service, profile, password: None };
        let error = house.control.register_user(root.clone(), new, meta()).await.unwrap_err();
        assert_eq!(error.code(), "name_taken", "{username} {external_id:?} {login_name:?}");
    }
}

#[tokio::test]
async fn what_is_no_acceptable_profile_or_password_is_refused_and_appends_nothing() {
    let (house, root) = set_up().await;
    let head = house.control.head();
    let uuid = "0199c0de-0000-7000-8000-000000000000";
    let with = |change: fn(&mut Profile)| {
        let mut profile = names("alice");
        change(&mut profile);
        profile
    };
    for (profile, password, field, code) in [
        (
            with(|p| p.username = "0199c0de-0000-7000-8000-000000000000".parse().unwrap()),
            PASSWORD,
            "username",
            "reserved_name",
        ),
        (
            with(|p| p.external_id = Some("0199c0de000070008000000000000000".parse().unwrap())),
            PASSWORD,
            "external_id",
            "reserved_name",
        ),
        (
            with(|p| p.login_name = Some("0199c0de-0000-7000-8000-000000000000".to_owned())),
            PASSWORD,
            "login_name",
            "reserved_name",
        ),
        (with(|p| p.login_name = Some(" x".to_owned())), PASSWORD, "login_name", "invalid_name"),
        (with(|p| p.login_name = Some("x".repeat(129))), PASSWORD, "login_name", "invalid_name"),
        (with(|p| p.email = Some("nobody".to_owned())), PASSWORD, "email", "invalid_email"),
        (with(|p| p.email = Some("a@b@c".to_owned())), PASSWORD, "email", "invalid_email"),
        (with(|p| p.email = Some("a@b\n".to_owned())), PASSWORD, "email", "invalid_email"),
        (with(|p| p.email = Some(format!("a@{}", "b".repeat(253)))), PASSWORD, "email", "invalid_email"),
        (names("alice"), "short", "password", "password_too_short"),
        (names("alice-and-bob"), "Alice-And-Bob", "password", "password_is_name"),
    ] {
        let new = NewUser { kind: UserKind::Person, profile, password: Some(secret(password)) };
        match house.control.register_user(root.clone(), new, meta()).await.unwrap_err() {
            IdentityError::Invalid { field: at, code: with, detail } => {
                assert_eq!((at, with), (field, code));
                assert!(!detail.contains(uuid));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(house.control.head(), head);
}

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
    house.control.change_password(&who, &secret(PASSWORD), &new, meta()).await.unwrap();
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
async fn names_are_edited_as_a_whole_and_read_back() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let edit = |patch| house.control.edit_user(root.clone(), alice, patch, meta());
    let name: DisplayName = shown("Alice Liddell");
    edit(ProfilePatch { display_name: Some(Some(name.clone())), ..ProfilePatch::default() }).await.unwrap();
    edit(ProfilePatch {
        email: Some(None),
        username: Some("alice2".parse().unwrap()),
        ..ProfilePatch::default()
    })
    .await
    .unwrap();
    let profile = house.control.profile(alice).await.unwrap();
    assert_eq!(
        (profile.username.as_str(), profile.display_name, profile.email),
        ("alice2", Some(name), None)
    );
    let policy = house.control.policy();
    assert_eq!(house.control.resolve_user(&policy, "alice2"), Some(alice));
    assert_eq!(house.control.resolve_user(&policy, "alice"), None);
    let head = house.control.head();
    edit(ProfilePatch { email: Some(None), ..ProfilePatch::default() }).await.unwrap();
    assert_eq!(house.control.head(), head, "what is so already appends nothing");
}

#[tokio::test]
async fn edits_released_together_lose_nothing_of_each_other() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let edit = |patch| house.control.edit_user(root.clone(), alice, patch, meta());
    let (one, other) = tokio::join!(
        edit(ProfilePatch { email: Some(Some("new@example.org".to_owned())), ..ProfilePatch::default() }),
        edit(ProfilePatch { external_id: Some(Some("E1".parse().unwrap())), ..ProfilePatch::default() }),
    );
    assert!(one.is_ok() && other.is_ok());
    let profile = house.control.profile(alice).await.unwrap();
    assert_eq!(profile.email.as_deref(), Some("new@example.org"));
    assert_eq!(profile.external_id.map(|id| id.to_string()).as_deref(), Some("E1"));
}

#[tokio::test]
async fn an_erased_user_is_forgotten_in_every_copy_and_the_log_still_verifies() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let (session, _) = signed_in(&house, "alice").await;
    assert!(house.control.profile(alice).await.is_some());
    let erase_at = charter_testkit::at("2026-03-10T00:00:00Z");
    house.does(root, ScheduleDeletion { user: alice, erase_at }).await.unwrap();
    house.control.housekeeping(true).await;
    assert!(house.control.profile(alice).await.is_some(), "not before its time");
    house.clock.set("2026-03-10T00:00:00Z");
    house.control.housekeeping(true).await;
    let status = |control: &crate::Control| control.policy().user(alice).map(|user| user.status);
    assert_eq!(status(&house.control), Some(UserStatus::Erased));
    assert!(house.control.profile(alice).await.is_none());
    assert!(house.store.user_key(alice).await.unwrap().is_none());
    assert!(house.control.authenticate(session.expose()).await.is_err());
    assert_eq!(house.control.resolve_user(&house.control.policy(), "alice"), None);
    assert!(house.control.verify_log().await.is_ok());
    let restarted = House::on(house.store.clone()).await;
    assert_eq!(status(&restarted.control), Some(UserStatus::Erased));
    assert!(restarted.control.profile(alice).await.is_none());
}

#[tokio::test]
async fn an_administrator_is_recovered_from_the_host_known_or_new() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    house.does(root, SuspendUser { user: alice }).await.unwrap();
    let new = secret("another good password");
    let recovered = house
        .control
        .recover_administrator(RecoveryOf::Existing(alice), Some(new.clone()), meta())
        .await
        .unwrap();
    assert_eq!(recovered.user, alice);
    assert!(house.control.sign_in("alice", new).await.is_ok());
    let whom = RecoveryOf::New(names("rescue"));
    let rescue =
        house.control.recover_administrator(whom, Some(secret(PASSWORD)), meta()).await.unwrap().user;
    let now = house.control.now();
    for user in [alice, rescue] {
        assert!(house.control.policy().lasting_administrators(now).contains(&user));
    }
    assert!(house.control.sign_in("rescue", secret(PASSWORD)).await.is_ok());
}
