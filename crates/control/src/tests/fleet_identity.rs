//! Who is who on several servers: what one has made or ended counts on the other at once.

use super::{
    fleet::{deaf, eventually, polling, started},
    house::{House, meta},
    identity::{PASSWORD, names, person, secret, set_up, signed_in},
};
use crate::{AuthError, NewToken, ProfilePatch, SecretText, SignInError};
use charter_commands::ScheduleDeletion;
use charter_events::{Offset, Profile, UserId};
use charter_policy::Caller;
use charter_store::{CredentialKind, CredentialRow, SecretStore, SecretWrite, memory::Point};
use charter_testkit::{at, ids::shown};
use std::time::Duration;
use uuid::Uuid;

fn token_of(user: UserId) -> NewToken {
    NewToken { user, name: shown("ci"), expires_at: None, mask: None }
}

#[tokio::test]
async fn a_token_or_session_made_on_one_server_works_on_another_at_once() {
    let (house, root) = set_up().await;
    let other = deaf(&house.store).await;
    // Its user, and it itself, are newer than anything the other has seen.
    let alice = person(&house, &root, "alice").await;
    let issued = house.control.issue_token(Caller::of(alice), token_of(alice), meta()).await.unwrap();
    assert!(other.policy().user(alice).is_none());
    assert_eq!(other.authenticate(issued.secret.expose()).await.unwrap().user, alice);
    let bob = person(&house, &root, "bob").await;
    let (session, _) = signed_in(&house, "bob").await;
    assert!(other.policy().user(bob).is_none());
    assert_eq!(other.authenticate(session.expose()).await.unwrap().user, bob);
    // What is revoked on one is over on the other once it has followed.
    house.control.revoke_token(Caller::of(alice), issued.token, meta()).await.unwrap();
    other.at_least(house.control.head().offset).await.unwrap();
    assert_eq!(other.authenticate(issued.secret.expose()).await.unwrap_err(), AuthError::Ended);
}

#[tokio::test]
async fn a_credential_that_began_at_a_version_that_does_not_come_is_no_wrong_one() {
    let (house, root) = set_up().await;
    let (secret, hash) = crate::identity::new_secret(crate::SESSION_PREFIX).unwrap();
    let row = CredentialRow {
        kind: CredentialKind::Session,
        id: Uuid::from_u128(9),
        user: root.user().unwrap(),
        created_at: house.control.now(),
        expires_at: None,
        began: Offset::new(1_000_000).unwrap(),
        last_used: None,
    };
    house.store.write_secrets(&[SecretWrite::PutCredential { hash, row }]).await.unwrap();
    assert_eq!(house.control.authenticate(secret.expose()).await.unwrap_err(), AuthError::Unavailable);
}

#[tokio::test]
async fn somebody_made_on_one_server_signs_in_on_another_at_once_and_with_the_newest_password() {
    let (house, root) = set_up().await;
    let other = deaf(&house.store).await;
    let alice = person(&house, &root, "alice").await;
    let session = other.sign_in("alice", secret(PASSWORD)).await.unwrap().secret;
    let new = secret("another good password");
    house.control.reset_password(root, alice, &new, meta()).await.unwrap();
    assert_eq!(other.sign_in("alice", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);
    // By following for that sign-in the other has seen that the session is over.
    assert_eq!(other.authenticate(session.expose()).await.unwrap_err(), AuthError::Ended);
    let again = other.sign_in("alice", new).await.unwrap().secret;
    assert_eq!(other.authenticate(again.expose()).await.unwrap().user, alice);
    assert_eq!(house.control.authenticate(again.expose()).await.unwrap().user, alice);
}

#[tokio::test]
async fn the_session_a_password_was_changed_in_goes_on_on_every_server() {
    let (house, root) = set_up().await;
    let other = deaf(&house.store).await;
    let (here, who) = signed_in(&house, "root").await;
    let (elsewhere, _) = signed_in(&house, "root").await;
    let good = |text: &SecretText| {
        let (other, text) = (other.clone(), text.expose().to_owned());
        async move { other.authenticate(&text).await.map(|who| who.user) }
    };
    let id = root.user().unwrap();
    assert_eq!((good(&here).await, good(&elsewhere).await), (Ok(id), Ok(id)));
    let new = secret("another good password");
    let receipt = house.control.change_password(&who, &secret(PASSWORD), &new, meta()).await.unwrap();
    other.at_least(receipt.last).await.unwrap();
    assert_eq!((good(&here).await, good(&elsewhere).await), (Ok(id), Err(AuthError::Ended)));
    assert_eq!((good(&here).await, good(&elsewhere).await), (Ok(id), Err(AuthError::Ended)));
}

#[tokio::test]
async fn a_password_reset_is_not_overruled_by_whoever_knew_the_old_one() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let issued = house.control.issue_token(Caller::of(alice), token_of(alice), meta()).await.unwrap();
    let who = house.control.authenticate(issued.secret.expose()).await.unwrap();
    let mut paused = house.store.hooks().pause_at(Point::BeforeLock);
    let control = house.control.clone();
    let changing = tokio::spawn(async move {
        let (old, new) = (secret(PASSWORD), secret("the intruder's password"));
        control.change_password(&who, &old, &new, meta()).await
    });
    paused.reached().await;
    let other = started(house.store.clone(), polling(Duration::from_millis(5))).await;
    let new = secret("another good password");
    other.reset_password(root, alice, &new, meta()).await.unwrap();
    paused.go();
    assert_eq!(changing.await.unwrap().unwrap_err().code(), "stale");
    assert!(house.control.sign_in("alice", new).await.is_ok());
}

#[tokio::test]
async fn a_session_too_many_ends_the_oldest_on_every_server() {
    let (house, root) = set_up().await;
    let user = root.user().unwrap();
    let other = started(house.store.clone(), polling(Duration::from_millis(5))).await;
    let (first, _) = signed_in(&house, "root").await;
    assert!(other.authenticate(first.expose()).await.is_ok());
    let at = house.control.now().saturating_add_micros(1);
    let more = |number: u128| {
        let (_, hash) = crate::identity::new_secret(crate::SESSION_PREFIX).unwrap();
        let began = house.control.head().offset;
        let row = CredentialRow {
            kind: CredentialKind::Session,
            id: Uuid::from_u128(number),
            user,
            created_at: at,
            expires_at: Some(at.saturating_add_micros(3_600_000_000)),
            began,
            last_used: None,
        };
        SecretWrite::PutCredential { hash, row }
    };
    let writes: Vec<_> = (1..=99).map(more).collect();
    house.store.write_secrets(&writes).await.unwrap();
    house.control.sign_in("root", secret(PASSWORD)).await.unwrap();
    other.at_least(house.control.head().offset).await.unwrap();
    assert_eq!(other.authenticate(first.expose()).await.unwrap_err(), AuthError::Ended);
    assert_eq!(house.control.sessions(user).await.unwrap().len(), 100);
}

#[tokio::test]
async fn a_session_whose_row_is_gone_can_still_be_ended() {
    let (house, root) = set_up().await;
    let (text, who) = signed_in(&house, "root").await;
    let crate::Credential::Session(session) = who.credential else { panic!("no session") };
    let row = charter_store::CredentialRef::Id(session.as_uuid());
    house.store.write_secrets(&[SecretWrite::RemoveCredential(row)]).await.unwrap();
    assert!(house.control.authenticate(text.expose()).await.is_ok(), "known by heart");
    let user = root.user().unwrap();
    house.control.end_session(root, user, session, meta()).await.unwrap();
    assert_eq!(house.control.authenticate(text.expose()).await.unwrap_err(), AuthError::Ended);
}

#[tokio::test]
async fn setup_on_one_server_closes_it_on_the_other_and_the_code_shown_last_is_the_one() {
    let house = House::new().await;
    let old = house.setup_code.clone().unwrap();
    let other = House::on(house.store.clone()).await;
    let new = other.setup_code.clone().unwrap();
    let wrong = other.control.setup(&old, names("root"), secret(PASSWORD), meta()).await.unwrap_err();
    assert_eq!(wrong.code(), "wrong_secret");
    let behind = deaf(&house.store).await;
    house.control.setup(&new, names("root"), secret(PASSWORD), meta()).await.unwrap_err();
    // A third server has shown a third code; whoever has the newest may go to any server.
    let newest = House::on(house.store.clone()).await.setup_code.unwrap();
    house.control.setup(&newest, names("root"), secret(PASSWORD), meta()).await.unwrap();
    let closed = behind.setup(&newest, names("other"), secret(PASSWORD), meta()).await.unwrap_err();
    assert_eq!(closed.code(), "setup_closed");
    assert!(!behind.setup_is_open());
}

#[tokio::test]
async fn an_erasure_that_arrives_from_another_server_forgets_the_names_here() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let other = started(house.store.clone(), polling(Duration::from_millis(1))).await;
    assert!(other.profile(alice).await.is_some() && other.inner.profiles.remembers(alice));
    let erase_at = at("2026-03-10T00:00:00Z");
    house.does(root, ScheduleDeletion { user: alice, erase_at }).await.unwrap();
    house.clock.set("2026-03-10T00:00:00Z");
    house.control.housekeeping(true).await;
    eventually("the names are forgotten", || !other.inner.profiles.remembers(alice)).await;
    assert!(other.profile(alice).await.is_none());
}

#[tokio::test]
async fn names_edited_on_two_servers_at_once_lose_nothing_of_each_other() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    let other = started(house.store.clone(), polling(Duration::from_millis(5))).await;
    let mut paused = house.store.hooks().pause_at(Point::BeforeLock);
    let patch = ProfilePatch { external_id: Some(Some("E1".parse().unwrap())), ..ProfilePatch::default() };
    let (control, by) = (other.clone(), root.clone());
    let editing = tokio::spawn(async move { control.edit_user(by, alice, patch, meta()).await });
    paused.reached().await;
    let patch = ProfilePatch { email: Some(Some("new@example.org".to_owned())), ..ProfilePatch::default() };
    house.control.edit_user(root, alice, patch, meta()).await.unwrap();
    paused.go();
    editing.await.unwrap().unwrap();
    let Profile { email, external_id, .. } = other.profile(alice).await.unwrap();
    assert_eq!(email.as_deref(), Some("new@example.org"));
    assert_eq!(external_id.map(|id| id.to_string()).as_deref(), Some("E1"));
}
