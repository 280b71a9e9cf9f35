//! Accounts that are linked to an identity at a provider: who signs in as whom, and who never does.

use super::{
    fleet::deaf,
    house::{House, meta, quiet, start},
    identity::{PASSWORD, names, person, secret, set_up, signed_in},
};
use crate::{
    Acceptance, AccountChange, AuthError, Config, Control, IdentityError, NewAccount, NewUser, ProfilePatch,
    SignInError, SignInLimits, name_tag,
};
use charter_commands::{
    CancelDeletion, Code, EraseUser, IssueGrant, ReactivateUser, ScheduleDeletion, SuspendUser,
};
use charter_events::{
    Affects, ChildTypes, Content, Effect, Identity, IssuedSubject, Issuer, Scope, Subject, UserId, UserKind,
};
use charter_policy::Caller;
use charter_store::Key32;
use charter_testkit::{at, history::parsed};
use std::{collections::BTreeSet, time::Duration};

const HERE: &str = "https://id.example.org";
const ELSEWHERE: &str = "https://id.example.org/";

fn at_issuer(issuer: &str, subject: &str) -> Identity {
    Identity { issuer: issuer.parse().unwrap(), subject: subject.parse().unwrap() }
}

fn here(subject: &str) -> Identity {
    at_issuer(HERE, subject)
}

async fn link(control: &Control, by: &Caller, user: UserId, identity: Option<Identity>) -> &'static str {
    code(control.set_identity(by.clone(), user, identity, meta()).await)
}

async fn enters(control: &Control, identity: &Identity) -> Result<UserId, SignInError> {
    control.sign_in_with_identity(identity).await.map(|signed_in| signed_in.user)
}

fn code<T>(result: Result<T, IdentityError>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "done")
}

/// Somebody who may edit users, and holds nothing else.
async fn helper(house: &House, root: &Caller, keys: &[&str]) -> Caller {
    let helper = person(house, root, "helper").await;
    let grant = IssueGrant {
        subject: Subject::User(helper),
        content: Content::Keys(keys.iter().map(|key| parsed(key)).collect()),
        scope: Scope::Global,
        effect: Effect::Allow,
        not_before: None,
        expires_at: None,
        affects: Affects::All,
        child_types: ChildTypes::All,
    };
    house.does(root.clone(), grant).await.unwrap();
    Caller::of(helper)
}

#[tokio::test]
async fn a_subject_that_looks_like_something_of_another_user_is_never_that_user() {
    let (house, root) = set_up().await;
    let control = &house.control;
    let profile = charter_events::Profile {
        external_id: Some("1".parse().unwrap()),
        login_name: Some("Alice@Corp".to_owned()),
        ..names("alice")
    };
    let new = NewUser { kind: UserKind::Person, profile, password: Some(secret(PASSWORD)) };
    let made = control.register_user(root.clone(), new, meta()).await.unwrap();
    let alice = UserId::new(made.created.unwrap());
    // Everything alice is known by, as what the provider calls somebody else, or nobody.
    let hers = ["1", &alice.to_string(), "alice", "alice@example.org", "Alice@Corp", "alice@corp"];
    for subject in hers {
        assert_eq!(enters(control, &here(subject)).await, Err(SignInError::Refused), "{subject}");
    }
    let mut entered = BTreeSet::new();
    for (number, subject) in hers.into_iter().enumerate() {
        let other = person(&house, &root, &format!("other{number}")).await;
        assert_eq!(link(control, &root, other, Some(here(subject))).await, "done", "{subject}");
        let signed_in = control.sign_in_with_identity(&here(subject)).await.unwrap();
        assert_eq!(signed_in.user, other, "{subject}");
        let who = control.authenticate(signed_in.secret.expose()).await.unwrap();
        assert_eq!(who.caller, Caller::of(other), "{subject}");
        assert!(entered.insert(other) && other != alice);
        // The same subject at another provider is somebody else, and so is one that differs in a letter.
        assert_eq!(enters(control, &at_issuer(ELSEWHERE, subject)).await, Err(SignInError::Refused));
        assert_eq!(enters(control, &here(&format!("{subject} "))).await, Err(SignInError::Refused));
    }
    assert_eq!(enters(control, &here("ALICE")).await, Err(SignInError::Refused));
    // Nor does an identity name anybody where names are taken.
    let policy = control.policy();
    assert_eq!(control.resolve_user(&policy, "1"), Some(alice));
    assert_eq!(control.resolve_user(&policy, &alice.to_string()), Some(alice));
    let apart = person(&house, &root, "apart").await;
    assert_eq!(link(control, &root, apart, Some(here("sub-7"))).await, "done");
    let policy = control.policy();
    for text in ["sub-7", HERE, "https://id.example.org sub-7"] {
        assert_eq!(control.resolve_user(&policy, text), None, "{text}");
        assert_eq!(
            control.sign_in(text, secret(PASSWORD)).await.unwrap_err(),
            SignInError::Refused,
            "{text}"
        );
    }
    // One account each.
    assert_eq!(link(control, &root, alice, Some(here("sub-7"))).await, Code::NameTaken.as_str());
    assert_eq!(link(control, &root, alice, Some(at_issuer(ELSEWHERE, "sub-7"))).await, "done");
    assert_eq!(enters(control, &at_issuer(ELSEWHERE, "sub-7")).await, Ok(alice));
    assert_eq!(enters(control, &here("sub-7")).await, Ok(apart));
}

#[test]
fn no_two_pairs_of_issuer_and_subject_and_no_name_have_the_same_tag() {
    let key = Key32::new([7; 32]);
    let sealing = crate::seal::Sealing::new(charter_events::LogId::from_u128(1), key.clone());
    let pairs = [
        here("a"),
        here("aa"),
        at_issuer("https://id.example.orga", "a"),
        at_issuer("https://id.example.org/", "a"),
        here("/a"),
    ];
    let mut tags: BTreeSet<_> = pairs.iter().map(|pair| sealing.identity_tag(pair)).collect();
    assert_eq!(tags.len(), pairs.len());
    let names =
        ["a", "aa", "https://id.example.orga", "https://id.example.org a", "https://id.example.org\0a"];
    tags.extend(names.iter().map(|name| name_tag(&key, name)));
    assert_eq!(tags.len(), pairs.len() + names.len());
}

#[tokio::test]
async fn an_account_that_does_not_work_is_refused_as_an_identity_nobody_has() {
    let (house, root) = set_up().await;
    let control = &house.control;
    let alice = person(&house, &root, "alice").await;
    assert_eq!(link(control, &root, alice, Some(here("a"))).await, "done");
    assert_eq!(enters(control, &here("a")).await, Ok(alice));
    house.does(root.clone(), SuspendUser { user: alice }).await.unwrap();
    assert_eq!(enters(control, &here("a")).await, Err(SignInError::Refused));
    house.does(root.clone(), ReactivateUser { user: alice }).await.unwrap();
    assert_eq!(enters(control, &here("a")).await, Ok(alice));
    let erase_at = at("2026-03-11T12:00:00Z");
    house.does(root.clone(), ScheduleDeletion { user: alice, erase_at }).await.unwrap();
    assert_eq!(enters(control, &here("a")).await, Err(SignInError::Refused));
    house.does(root.clone(), CancelDeletion { user: alice }).await.unwrap();
    assert_eq!(enters(control, &here("a")).await, Ok(alice));
    // Who is invited has not accepted, also where a directory has said who he is.
    let guest = control.invite(root.clone(), names("guest"), meta()).await.unwrap().user;
    assert_eq!(link(control, &root, guest, Some(here("g"))).await, "done");
    assert_eq!(enters(control, &here("g")).await, Err(SignInError::Refused));
    // Gone, the identity is anybody's again, and gives nothing of what it gave.
    house.does(root.clone(), ScheduleDeletion { user: alice, erase_at }).await.unwrap();
    house.clock.set("2026-03-11T12:00:00Z");
    house.does(Caller::System, EraseUser { user: alice }).await.unwrap();
    assert_eq!(enters(control, &here("a")).await, Err(SignInError::Refused));
    let bob = person(&house, &root, "bob").await;
    assert_eq!(link(control, &root, bob, Some(here("a"))).await, "done");
    assert_eq!(enters(control, &here("a")).await, Ok(bob));
}

#[tokio::test]
async fn trying_an_identity_is_slowed_down_whether_or_not_anybody_has_it() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    house.control.set_identity(root.clone(), alice, Some(here("a")), meta()).await.unwrap();
    house.does(root.clone(), SuspendUser { user: alice }).await.unwrap();
    for subject in ["a", "nobody"] {
        for _ in 0..SignInLimits::default().per_name_burst {
            assert_eq!(enters(&house.control, &here(subject)).await, Err(SignInError::Refused));
        }
        let slow = SignInError::TooManyAttempts { retry_after_seconds: 15 };
        assert_eq!(enters(&house.control, &here(subject)).await, Err(slow), "{subject}");
    }
    assert_eq!(enters(&house.control, &here("other")).await, Err(SignInError::Refused));
    house.clock.advance(Duration::from_secs(15));
    house.does(root, ReactivateUser { user: alice }).await.unwrap();
    assert_eq!(enters(&house.control, &here("a")).await, Ok(alice));
}

#[tokio::test]
async fn linking_and_unlinking_end_every_session_on_every_server() {
    let (house, root) = set_up().await;
    let (control, other) = (&house.control, deaf(&house.store).await);
    let alice = person(&house, &root, "alice").await;
    let (by_password, _) = signed_in(&house, "alice").await;
    assert_eq!(link(control, &root, alice, Some(here("a"))).await, "done");
    assert_eq!(control.authenticate(by_password.expose()).await.unwrap_err(), AuthError::Ended);
    // The other has not heard of it by itself.
    let entered = other.sign_in_with_identity(&here("a")).await.unwrap();
    assert_eq!(control.authenticate(entered.secret.expose()).await.unwrap().user, alice);
    // The same again changes nothing.
    assert_eq!(link(control, &root, alice, Some(here("a"))).await, "done");
    assert!(control.authenticate(entered.secret.expose()).await.is_ok());
    assert_eq!(link(control, &root, alice, None).await, "done");
    assert_eq!(control.authenticate(entered.secret.expose()).await.unwrap_err(), AuthError::Ended);
    assert_eq!(enters(&other, &here("a")).await, Err(SignInError::Refused));
    assert!(control.sign_in("alice", secret(PASSWORD)).await.is_ok());
}

#[tokio::test]
async fn linking_takes_what_a_reset_takes_and_nobody_links_himself_by_editing() {
    let (house, root) = set_up().await;
    let control = &house.control;
    let helper = helper(&house, &root, &["core.user.edit"]).await;
    let weak = person(&house, &root, "weak").await;
    assert_eq!(link(control, &helper, weak, Some(here("w"))).await, "done");
    let head = control.head();
    let me = root.user().unwrap();
    assert_eq!(link(control, &helper, me, Some(here("h"))).await, Code::NotHeld.as_str());
    assert_eq!(link(control, &helper, helper.user().unwrap(), Some(here("h"))).await, Code::NotHeld.as_str());
    assert_eq!(link(control, &Caller::of(weak), weak, None).await, Code::Forbidden.as_str());
    assert_eq!(control.head(), head);
    assert_eq!(link(control, &root, me, Some(here("r"))).await, "done");
    assert_eq!(enters(control, &here("r")).await, Ok(me));
    // It is his only way in now, and stays.
    control.remove_password(root.clone(), me, meta()).await.unwrap();
    assert_eq!(link(control, &root, me, None).await, Code::LastAdministrator.as_str());
    assert_eq!(control.sign_in("root", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);
}

#[tokio::test]
async fn who_becomes_a_service_is_linked_to_nobody() {
    let (house, root) = set_up().await;
    let alice = person(&house, &root, "alice").await;
    assert_eq!(link(&house.control, &root, alice, Some(here("a"))).await, "done");
    let patch = ProfilePatch { kind: Some(UserKind::Service), ..ProfilePatch::default() };
    house.control.edit_user(root.clone(), alice, patch, meta()).await.unwrap();
    assert_eq!(house.control.profile(alice).await.unwrap().identity, None);
    assert_eq!(enters(&house.control, &here("a")).await, Err(SignInError::Refused));
    assert_eq!(link(&house.control, &root, alice, Some(here("a"))).await, Code::InvalidCredential.as_str());
}

#[tokio::test]
async fn an_invitation_is_accepted_by_an_identity_without_a_password_once() {
    let (house, root) = set_up().await;
    let control = &house.control;
    let bob = person(&house, &root, "bob").await;
    assert_eq!(link(control, &root, bob, Some(here("b"))).await, "done");
    let invited = control.invite(root.clone(), names("guest"), meta()).await.unwrap();
    let (guest, taken) = (invited.user, invited.link.unwrap().secret);
    let name = Some(parsed("The Guest"));
    // Another's identity is refused, and the link still works.
    let others = control.accept_invitation_with_identity(&taken, here("b"), None, meta()).await;
    assert_eq!(code(others), Code::NameTaken.as_str());
    let accepted = control.accept_invitation_with_identity(&taken, here("g"), name.clone(), meta()).await;
    assert_eq!(accepted.unwrap().0, guest);
    let profile = control.profile(guest).await.unwrap();
    assert_eq!((profile.display_name.clone(), profile.identity.clone()), (name, Some(here("g"))));
    assert_eq!(enters(control, &here("g")).await, Ok(guest));
    assert!(!control.policy().user(guest).unwrap().has_password);
    assert_eq!(control.sign_in("guest", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);
    for again in ["g", "other"] {
        let again = control.accept_invitation_with_identity(&taken, here(again), None, meta()).await;
        assert_eq!(code(again), "invalid_link");
    }
    let acceptance = Acceptance { secret: taken, password: secret(PASSWORD), display_name: None };
    assert_eq!(code(control.accept_invitation(acceptance, meta()).await), "invalid_link");
    let wrong = control.accept_invitation_with_identity(&secret("chi_no"), here("x"), None, meta()).await;
    assert_eq!(code(wrong), "invalid_link");
}

#[tokio::test]
async fn whom_a_directory_knows_accepts_as_that_one_or_by_password_and_as_no_other() {
    let (house, root) = set_up().await;
    let control = &house.control;
    for by_password in [true, false] {
        let username = if by_password { "one" } else { "two" };
        let invited = control.invite(root.clone(), names(username), meta()).await.unwrap();
        let (guest, taken) = (invited.user, invited.link.unwrap().secret);
        // The names change, and the link goes on: it is the account's.
        house.control.set_identity(root.clone(), guest, Some(here(username)), meta()).await.unwrap();
        let renewed =
            control.renew_invitation(root.clone(), guest, meta()).await.unwrap().link.unwrap().secret;
        let old = control.accept_invitation_with_identity(&taken, here(username), None, meta()).await;
        assert_eq!(code(old), "invalid_link", "his sessions ended, and the link with them");
        let passed_on = control.accept_invitation_with_identity(&renewed, here("x"), None, meta()).await;
        assert_eq!(code(passed_on), Code::InvalidCredential.as_str());
        if by_password {
            let acceptance = Acceptance { secret: renewed, password: secret(PASSWORD), display_name: None };
            control.accept_invitation(acceptance, meta()).await.unwrap();
            assert!(control.sign_in(username, secret(PASSWORD)).await.is_ok());
        } else {
            let same = control.accept_invitation_with_identity(&renewed, here(username), None, meta()).await;
            assert_eq!(code(same), "done");
        }
        assert_eq!(enters(control, &here(username)).await, Ok(guest));
    }
}

/// An installation whose directory calls people what the provider calls them, if it `does`.
async fn directory(does: bool) -> (House, Caller) {
    let (mut house, root) = set_up().await;
    let config = Config {
        oidc_issuer: Some(HERE.parse::<Issuer>().unwrap()),
        oidc_scim_external_id: does,
        ..quiet(house.clock.clone())
    };
    house.control = start(&house.store, config).await.unwrap().control;
    (house, root)
}

fn account(external_id: &str) -> NewAccount {
    NewAccount {
        login_name: format!("login-{external_id}"),
        display_name: None,
        email: None,
        external_id: Some(external_id.parse().unwrap()),
        active: true,
    }
}

fn renumbered(external_id: Option<&str>) -> AccountChange {
    let external_id = Some(external_id.map(|id| id.parse().unwrap()));
    AccountChange {
        names: ProfilePatch { external_id, ..ProfilePatch::default() },
        ..AccountChange::default()
    }
}

#[tokio::test]
async fn a_directory_links_by_its_ids_where_they_are_the_provider_s_subjects() {
    let (house, root) = directory(true).await;
    let control = &house.control;
    let made = control.provision_user(root.clone(), account("1"), meta()).await.unwrap();
    let alice = UserId::new(made.created.unwrap());
    assert_eq!(enters(control, &here("1")).await, Ok(alice));
    let stopped = NewAccount { active: false, ..account("2") };
    control.provision_user(root.clone(), stopped, meta()).await.unwrap();
    assert_eq!(enters(control, &here("2")).await, Err(SignInError::Refused));
    // Another id is another identity, none is none; one the administrator gave stays.
    let change =
        |to: Option<&'static str>| control.change_account(root.clone(), alice, renumbered(to), meta());
    change(Some("11")).await.unwrap();
    assert_eq!(enters(control, &here("1")).await, Err(SignInError::Refused));
    assert_eq!(enters(control, &here("11")).await, Ok(alice));
    assert_eq!(code(change(Some("2")).await), Code::NameTaken.as_str());
    change(None).await.unwrap();
    assert_eq!(enters(control, &here("11")).await, Err(SignInError::Refused));
    change(Some("12")).await.unwrap();
    assert_eq!(link(control, &root, alice, Some(here("by hand"))).await, "done");
    change(None).await.unwrap();
    assert_eq!(enters(control, &here("by hand")).await, Ok(alice));
    let long = control.change_account(root.clone(), alice, renumbered(Some(&"x".repeat(256))), meta()).await;
    assert_eq!(code(long), "invalid_name");
    assert!("x".repeat(255).parse::<IssuedSubject>().is_ok());
}

#[tokio::test]
async fn a_directory_links_nobody_it_may_not_reset_and_nobody_at_all_unless_told() {
    let (house, root) = directory(true).await;
    let control = &house.control;
    let by = helper(&house, &root, &["core.user.create", "core.user.edit"]).await;
    let weak = person(&house, &root, "weak").await;
    control.change_account(by.clone(), weak, renumbered(Some("w")), meta()).await.unwrap();
    assert_eq!(enters(control, &here("w")).await, Ok(weak));
    let head = control.head();
    let stronger =
        control.change_account(by.clone(), root.user().unwrap(), renumbered(Some("r")), meta()).await;
    assert_eq!(code(stronger), Code::NotHeld.as_str());
    assert_eq!(control.head(), head, "all or nothing");
    let me = by.user().unwrap();
    let himself = control.change_account(by.clone(), me, renumbered(Some("h")), meta()).await;
    assert_eq!(code(himself), Code::NotHeld.as_str());

    let (house, root) = directory(false).await;
    let control = &house.control;
    let made = control.provision_user(root.clone(), account("1"), meta()).await.unwrap();
    let alice = UserId::new(made.created.unwrap());
    control.change_account(root, alice, renumbered(Some("2")), meta()).await.unwrap();
    for subject in ["1", "2"] {
        assert_eq!(enters(control, &here(subject)).await, Err(SignInError::Refused));
    }
    assert_eq!(control.profile(alice).await.unwrap().identity, None);
}
