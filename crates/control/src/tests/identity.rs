//! Accounts: the first one, their names, their end, their recovery.

use super::house::{House, meta};
use crate::{Authenticated, IdentityError, NewUser, ProfilePatch, RecoveryOf, SecretText, SignInError};
use charter_commands::{ScheduleDeletion, SuspendUser};
use charter_events::{DisplayName, Profile, UserId, UserKind};
use charter_policy::{Caller, UserStatus};
use charter_store::{SecretStore, SecretWrite};
use charter_testkit::ids::shown;

pub(super) const PASSWORD: &str = "correct horse battery";

pub(super) fn names(username: &str) -> Profile {
    Profile {
        username: username.parse().unwrap(),
        display_name: Some(shown("Some Body")),
        email: Some(format!("{username}@example.org")),
        login_name: None,
        external_id: None,
        identity: None,
    }
}

pub(super) fn secret(text: &str) -> SecretText {
    SecretText::new(text)
}

/// An installation with its first administrator, `root`.
pub(super) async fn set_up() -> (House, Caller) {
    let house = House::new().await;
    let code = house.setup_code.clone().unwrap();
    let receipt = house.control.setup(&code, names("root"), secret(PASSWORD), meta()).await.unwrap();
    let root = Caller::of(UserId::new(receipt.created.unwrap()));
    (house, root)
}

pub(super) async fn person(house: &House, by: &Caller, username: &str) -> UserId {
    let new = NewUser { kind: UserKind::Person, profile: names(username), password: Some(secret(PASSWORD)) };
    let receipt = house.control.register_user(by.clone(), new, meta()).await.unwrap();
    UserId::new(receipt.created.unwrap())
}

pub(super) async fn signed_in(house: &House, username: &str) -> (SecretText, Authenticated) {
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
    let by_username = |text: &str| house.control.user_by_username(&policy, text);
    assert_eq!(
        ["alice", "EXT-7", "alice@corp", &alice.to_string()].map(by_username),
        [Some(alice), None, None, None]
    );
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

#[tokio::test]
async fn a_recovery_ends_the_sessions_in_the_same_command() {
    let (house, root) = set_up().await;
    let (session, _) = signed_in(&house, "root").await;
    let before = house.control.head().offset;
    let whom = RecoveryOf::Existing(root.user().unwrap());
    let receipt = house.control.recover_administrator(whom, None, meta()).await.unwrap().receipt;
    let events = house.control.events(before, 10).await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].command.command_id, events[0].offset), (receipt.command_id, receipt.last));
    assert!(house.control.authenticate(session.expose()).await.is_err());
}

#[tokio::test]
async fn names_that_can_not_be_opened_are_not_edited_and_the_caller_hears_of_it() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    house.store.write_secrets(&[SecretWrite::DestroyUserKey { user: alice }]).await.unwrap();
    let head = house.control.head();
    let patch = ProfilePatch { email: Some(None), ..ProfilePatch::default() };
    let error = house.control.edit_user(root.clone(), alice, patch, meta()).await.unwrap_err();
    assert_eq!((error.code(), house.control.head()), ("unavailable", head));
    // What names nobody needs no names.
    let patch = ProfilePatch { kind: Some(UserKind::Service), ..ProfilePatch::default() };
    house.control.edit_user(root, alice, patch, meta()).await.unwrap();
}

#[tokio::test]
async fn an_edit_whose_caller_hangs_up_is_not_undone_by_the_next() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let edit = |patch| {
        let (control, root) = (house.control.clone(), root.clone());
        tokio::spawn(async move { control.edit_user(root, alice, patch, meta()).await })
    };
    let mut paused = house.store.hooks().pause_at(charter_store::memory::Point::BeforeLock);
    let one =
        edit(ProfilePatch { email: Some(Some("new@example.org".to_owned())), ..ProfilePatch::default() });
    paused.reached().await;
    one.abort();
    assert!(one.await.unwrap_err().is_cancelled());
    let other =
        edit(ProfilePatch { external_id: Some(Some("E1".parse().unwrap())), ..ProfilePatch::default() });
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    paused.go();
    other.await.unwrap().unwrap();
    let profile = house.control.profile(alice).await.unwrap();
    assert_eq!(profile.email.as_deref(), Some("new@example.org"));
    assert_eq!(profile.external_id.map(|id| id.to_string()).as_deref(), Some("E1"));
}
