//! Links that are sent to people: invitations and forgotten passwords.

use super::{
    house::{House, group, meta, quiet, start},
    identity::{PASSWORD, names, person, secret, signed_in},
};
use crate::{
    Acceptance, AuthError, Config, Control, IdentityError, Invited, Letter, LetterState, MailError, Mailer,
    NewToken, SecretText, SignInError, SignInLimits,
};
use async_trait::async_trait;
use charter_commands::{AddMember, SuspendUser};
use charter_events::{Offset, UserId};
use charter_policy::{Caller, UserStatus};
use charter_store::{CredentialKind, MemoryStore, SecretStore};
use charter_testkit::ids::shown;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A mail server that keeps what it takes, after as many failures as it was told.
#[derive(Default)]
struct Post {
    letters: Mutex<Vec<Letter>>,
    fails: Mutex<Vec<MailError>>,
    asked: Mutex<usize>,
    /// Whether it takes forever.
    held: AtomicBool,
}

#[async_trait]
impl Mailer for Post {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        *self.asked.lock().unwrap() += 1;
        if self.held.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if let Some(error) = self.fails.lock().unwrap().pop() {
            return Err(error);
        }
        self.letters.lock().unwrap().push(letter.clone());
        Ok(())
    }
}

impl Post {
    /// The letter with this number, once it has come.
    async fn letter(&self, number: usize) -> Letter {
        for _ in 0..2_000 {
            if let Some(letter) = self.letters.lock().unwrap().get(number) {
                return letter.clone();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("letter {number} does not come")
    }

    /// From now on no letter is taken, and none refused.
    fn hold(&self) {
        self.held.store(true, Ordering::SeqCst);
    }

    fn count(&self) -> usize {
        self.letters.lock().unwrap().len()
    }
}

/// What stands behind `#` in a letter.
fn secret_in(letter: &Letter) -> SecretText {
    let text = letter.text.expose();
    let rest = text.split_once('#').unwrap_or_else(|| panic!("no link: {text}")).1;
    SecretText::new(rest.split_whitespace().next().unwrap())
}

/// An installation that sends mail, with its administrator `root`.
async fn mailing(change: impl FnOnce(&mut Config)) -> (House, Arc<Post>, Caller) {
    let (post, store) = (Arc::new(Post::default()), MemoryStore::default());
    let mut house = House::on(store.clone()).await;
    let mut config = Config {
        mailer: Some(post.clone()),
        mail_pause: Duration::from_millis(1),
        public_url: Some("https://charter.example/".to_owned()),
        ..quiet(house.clock.clone())
    };
    change(&mut config);
    let started = start(&store, config).await.unwrap();
    (house.control, house.setup_code) = (started.control, started.setup_code);
    let code = house.setup_code.clone().unwrap();
    let receipt = house.control.setup(&code, names("root"), secret(PASSWORD), meta()).await.unwrap();
    let root = Caller::of(UserId::new(receipt.created.unwrap()));
    (house, post, root)
}

fn accept(
    control: &Control,
    link: &SecretText,
) -> impl Future<Output = Result<UserId, IdentityError>> + use<> {
    let acceptance = Acceptance { secret: link.clone(), password: secret(PASSWORD), display_name: None };
    let control = control.clone();
    async move { control.accept_invitation(acceptance, meta()).await.map(|(user, _)| user) }
}

fn code<T>(result: Result<T, IdentityError>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "accepted")
}

fn kind_of(who: &crate::Authenticated) -> &'static str {
    match who.credential {
        crate::Credential::Session(_) => "chs_",
        crate::Credential::Token(_) => "cht_",
    }
}

fn many() -> SignInLimits {
    SignInLimits {
        per_name_burst: 100_000,
        overall_burst: 100_000,
        hashing_waiting_max: 100_000,
        ..SignInLimits::default()
    }
}

#[tokio::test]
async fn an_invitation_goes_by_mail_and_its_link_makes_the_account_work_once() {
    let (house, post, root) = mailing(|_| {}).await;
    let invited = house.control.invite(root, names("alice"), meta()).await.unwrap();
    assert!(invited.link.is_none(), "whoever invites does not see what was mailed");
    let letter = post.letter(0).await;
    assert_eq!((letter.to.as_str(), letter.subject.as_str()), ("alice@example.org", "Invitation to Charter"));
    let link = secret_in(&letter);
    let text = letter.text.expose();
    assert!(text.contains(&format!("https://charter.example/invitation#{}", link.expose())), "{text}");
    assert!(
        !text.contains('?') && text.contains("charter invitation accept --server https://charter.example/")
    );
    assert_eq!(house.control.sign_in("alice", secret(PASSWORD)).await.unwrap_err(), SignInError::Refused);

    assert_eq!(accept(&house.control, &link).await.unwrap(), invited.user);

    assert!(house.control.sign_in("alice", secret(PASSWORD)).await.is_ok());
    assert_eq!(code(accept(&house.control, &link).await), "invalid_link");
    let left = house.store.credentials_of(invited.user, CredentialKind::Invitation).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn without_mail_or_an_address_the_link_is_shown_once() {
    let (house, root) = super::identity::set_up().await;
    let shown = house.control.invite(root, names("alice"), meta()).await.unwrap().link.unwrap();
    assert!(shown.url.is_none(), "the installation does not know its address");
    assert!(accept(&house.control, &shown.secret).await.is_ok());

    let (house, post, root) = mailing(|_| {}).await;
    let without = charter_events::Profile { email: None, ..names("bob") };
    let link = house.control.invite(root, without, meta()).await.unwrap().link.unwrap();
    let url = link.url.unwrap();
    assert_eq!(url.expose(), format!("https://charter.example/invitation#{}", link.secret.expose()));
    assert_eq!(post.count(), 0);
}

#[tokio::test]
async fn of_two_hundred_who_take_a_link_at_once_one_gets_in() {
    let (house, post, root) = mailing(|config| config.sign_in = many()).await;
    let invited = house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    let link = secret_in(&post.letter(0).await);
    let tries: Vec<_> = (0..200).map(|_| tokio::spawn(accept(&house.control, &link))).collect();
    let mut codes = Vec::new();
    for tried in tries {
        codes.push(code(tried.await.unwrap()));
    }
    assert_eq!(codes.iter().filter(|code| **code == "accepted").count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| ["accepted", "invalid_link"].contains(code)), "{codes:?}");

    // The same for a forgotten password.
    house.control.forgot_password("alice").unwrap();
    let link = secret_in(&post.letter(1).await);
    let head = house.control.head().offset;
    let tries: Vec<_> = (0..200)
        .map(|number| {
            let (control, link) = (house.control.clone(), link.clone());
            let new = secret(&format!("password number {number}"));
            tokio::spawn(async move { control.reset_forgotten_password(&link, &new, meta()).await.map(drop) })
        })
        .collect();
    let mut accepted = Vec::new();
    for (number, tried) in tries.into_iter().enumerate() {
        match tried.await.unwrap() {
            Ok(()) => accepted.push(number),
            Err(error) => assert_eq!(error.code(), "invalid_link"),
        }
    }
    assert_eq!(accepted.len(), 1, "{accepted:?}");
    let events = house.control.events(head, 10).await.unwrap();
    assert_eq!(events.len(), 2, "one change of the password, and the end of the sessions");
    let new = secret(&format!("password number {}", accepted[0]));
    assert!(house.control.sign_in("alice", new).await.is_ok());
    assert_eq!(house.control.policy().user(invited.user).unwrap().status, UserStatus::Active);
}

#[tokio::test]
async fn a_link_dies_with_time_with_a_newer_one_and_when_it_is_taken_back() {
    let (house, post, root) = mailing(|_| {}).await;
    let Invited { user, .. } = house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    let first = secret_in(&post.letter(0).await);
    house.control.renew_invitation(root.clone(), user, meta()).await.unwrap();
    let second = secret_in(&post.letter(1).await);
    assert_eq!(code(accept(&house.control, &first).await), "invalid_link");
    house.clock.advance(Duration::from_secs(7 * 24 * 3_600));
    assert_eq!(code(accept(&house.control, &second).await), "invalid_link");

    house.control.renew_invitation(root.clone(), user, meta()).await.unwrap();
    let third = secret_in(&post.letter(2).await);
    house.control.withdraw_invitation(root.clone(), user, meta()).await.unwrap();
    assert_eq!(code(accept(&house.control, &third).await), "invalid_link");
    assert!(house.store.user_key(user).await.unwrap().is_none(), "his names are forgotten");
    assert!(house.control.profile(user).await.is_none());
    assert!(house.control.invite(root, names("alice"), meta()).await.is_ok(), "his names are free again");
}

#[tokio::test]
async fn a_link_that_is_replaced_while_it_is_taken_does_not_work() {
    let (house, post, root) = mailing(|_| {}).await;
    let Invited { user, .. } = house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    let link = secret_in(&post.letter(0).await);
    // The writer stands still with another command while the link is replaced, and then taken.
    let mut paused = house.store.hooks().pause_at(charter_store::memory::Point::BeforeLock);
    let control = house.control.clone();
    let before = tokio::spawn(async move {
        let request = super::house::request(root.clone(), group("ops"));
        control.submit(request).await.unwrap();
        root
    });
    paused.reached().await;
    let (control, caller) = (house.control.clone(), Caller::System);
    let renewed = tokio::spawn(async move { control.renew_invitation(caller, user, meta()).await });
    house.queued(1).await;
    let taken = tokio::spawn(accept(&house.control, &link));
    house.queued(2).await;
    paused.go();
    before.await.unwrap();
    renewed.await.unwrap().unwrap();
    assert_eq!(code(taken.await.unwrap()), "invalid_link");
}

#[tokio::test]
async fn whoever_forgot_his_password_is_answered_alike_and_nothing_is_looked_up_first() {
    let (house, post, root) = mailing(|_| {}).await;
    let alice = person(&house, &root, "alice").await;
    let suspended = person(&house, &root, "suspended").await;
    house.does(root.clone(), SuspendUser { user: suspended }).await.unwrap();
    let head = house.control.head().offset;
    for name in ["alice", "nobody", "suspended", "", "ROOT\u{0}", "root"] {
        house.control.forgot_password(name).unwrap();
    }
    let letters = [post.letter(0).await, post.letter(1).await];
    assert!(letters.iter().any(|letter| letter.to == "alice@example.org"));
    let roots = letters.iter().find(|letter| letter.to == "root@example.org").unwrap();
    assert!(!roots.text.expose().contains('#'), "an administrator gets no link: {:?}", roots.text.expose());
    for _ in 0..2 {
        house.control.forgot_password("alice").unwrap();
        house.control.forgot_password("nobody").unwrap();
    }
    for name in ["alice", "nobody"] {
        let error = house.control.forgot_password(name).unwrap_err();
        assert!(matches!(error, IdentityError::TooManyAttempts { retry_after_seconds: 600 }), "{name}");
    }
    assert_eq!(house.control.head().offset, head, "a stranger makes no events");
    post.letter(3).await;
    let links = house.store.credentials_of(alice, CredentialKind::Reset).await.unwrap();
    assert_eq!(links.len(), 1, "only the last link counts");

    let (house, _) = super::identity::set_up().await;
    for name in ["root", "nobody"] {
        assert_eq!(house.control.forgot_password(name).unwrap_err().code(), "no_mail");
    }
}

#[tokio::test]
async fn a_link_for_a_forgotten_password_ends_all_sessions_and_dies_with_any_of_them() {
    let (house, post, root) = mailing(|_| {}).await;
    let alice = person(&house, &root, "alice").await;
    let (session, who) = signed_in(&house, "alice").await;
    let ask = |letter: usize| {
        house.control.forgot_password("alice").unwrap();
        post.letter(letter)
    };
    let new = secret("another good password");
    let reset = |link: SecretText| {
        let (control, new) = (house.control.clone(), new.clone());
        async move { code(control.reset_forgotten_password(&link, &new, meta()).await) }
    };
    let link = secret_in(&ask(0).await);
    let too_short = house.control.reset_forgotten_password(&link, &secret("short"), meta()).await;
    assert_eq!(code(too_short), "password_too_short", "the link is still good");
    assert_eq!(reset(link.clone()).await, "accepted");
    assert_eq!(house.control.authenticate(session.expose()).await.unwrap_err(), AuthError::Ended);
    assert!(!house.control.is_still_good(&who).await);
    assert_eq!(reset(link).await, "invalid_link");

    // Whatever ends his sessions ends the link.
    let link = secret_in(&ask(1).await);
    house.control.end_sessions(Caller::of(alice), alice, meta()).await.unwrap();
    assert_eq!(reset(link).await, "invalid_link");
    house.clock.advance(Duration::from_secs(600));
    let link = secret_in(&ask(2).await);
    house.clock.advance(Duration::from_secs(3_600));
    assert_eq!(reset(link).await, "invalid_link");
    // Who becomes an administrator meanwhile has none that works.
    let link = secret_in(&ask(3).await);
    let everything = super::house::request(
        Caller::System,
        charter_commands::RecoverAdministrator { user: alice, profile: None, has_password: false },
    );
    house.control.submit(everything).await.unwrap();
    assert_eq!(reset(link).await, "invalid_link");
}

#[tokio::test]
async fn a_letter_is_tried_again_and_given_up_when_it_is_refused_for_good() {
    let (house, post, root) = mailing(|_| {}).await;
    *post.fails.lock().unwrap() = vec![MailError::Failed(Some(451)), MailError::Failed(None)];
    house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    post.letter(0).await;
    assert_eq!(*post.asked.lock().unwrap(), 3);
    *post.fails.lock().unwrap() = vec![MailError::Refused(Some(550))];
    house.control.invite(root.clone(), names("bob"), meta()).await.unwrap();
    house.control.invite(root, names("carol"), meta()).await.unwrap();
    assert_eq!(post.letter(1).await.to, "carol@example.org");
    assert_eq!(*post.asked.lock().unwrap(), 5, "what is refused for good is not tried again");
}

#[tokio::test]
async fn how_the_letter_of_an_invitation_stands_is_told_also_after_the_server_has_ended() {
    let (house, post, root) = mailing(|config| config.mail_drain = Duration::from_millis(20)).await;
    let letter = async |control: &Control, user| {
        control.waiting_invitation(user).await.unwrap().map(|link| link.letter)
    };
    let Invited { user: sent, .. } =
        house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    post.letter(0).await;
    for _ in 0..2_000 {
        if letter(&house.control, sent).await == Some(Some(LetterState::Sent)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(letter(&house.control, sent).await, Some(Some(LetterState::Sent)));

    // One letter is refused for good. Another server was alive and might have it, so it takes the time that a letter is
    // under way at most until that is told.
    post.fails.lock().unwrap().push(MailError::Refused(Some(550)));
    let Invited { user: refused, .. } =
        house.control.invite(root.clone(), names("bob"), meta()).await.unwrap();
    let longest = Duration::from_secs(200);
    house.clock.advance(longest);
    for _ in 0..2_000 {
        if letter(&house.control, refused).await != Some(Some(LetterState::Waiting)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(letter(&house.control, refused).await, Some(Some(LetterState::Failed)));
    // One is still under way when the server ends.
    post.hold();
    let Invited { user: held, .. } =
        house.control.invite(root.clone(), names("carol"), meta()).await.unwrap();
    assert_eq!(letter(&house.control, held).await, Some(Some(LetterState::Waiting)));
    let nameless = charter_events::Profile { email: None, ..names("dave") };
    let Invited { user: shown, link, .. } =
        house.control.invite(root.clone(), nameless, meta()).await.unwrap();
    assert!(link.is_some());
    assert_eq!(letter(&house.control, shown).await, Some(None));

    let store = house.store.clone();
    house.control.shutdown().await;
    house.clock.advance(5 * longest);
    let started = start(&store, quiet(house.clock.clone())).await.unwrap();
    let after = async |user| letter(&started.control, user).await;
    assert_eq!(after(sent).await, Some(Some(LetterState::Sent)));
    assert_eq!(after(held).await, Some(Some(LetterState::Failed)), "nobody has it any more");
    assert_eq!(after(shown).await, Some(None));
    let renewed = started.control.renew_invitation(root.clone(), held, meta()).await.unwrap();
    assert!(renewed.link.is_some(), "a server without mail shows it");
    assert_eq!(after(held).await, Some(None));
    started.control.withdraw_invitation(root, held, meta()).await.unwrap();
    assert_eq!(after(held).await, None);
}

#[tokio::test]
async fn a_server_that_ends_tries_each_letter_once_more() {
    let (house, post, root) = mailing(|config| config.mail_pause = Duration::from_secs(3_600)).await;
    post.fails.lock().unwrap().push(MailError::Failed(Some(451)));
    house.control.invite(root, names("alice"), meta()).await.unwrap();
    for _ in 0..2_000 {
        if *post.asked.lock().unwrap() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(post.count(), 0, "it waits for another try");
    house.control.shutdown().await;
    assert_eq!((post.count(), *post.asked.lock().unwrap()), (1, 2));
}

#[tokio::test]
async fn a_secret_of_one_kind_opens_nothing_of_another() {
    let (house, post, root) = mailing(|_| {}).await;
    let alice = person(&house, &root, "alice").await;
    house.control.invite(root.clone(), names("bob"), meta()).await.unwrap();
    let invitation = secret_in(&post.letter(0).await);
    house.control.forgot_password("alice").unwrap();
    let reset = secret_in(&post.letter(1).await);
    let (session, _) = signed_in(&house, "alice").await;
    let new = NewToken { user: alice, name: shown("ci"), expires_at: None, mask: None };
    let token = house.control.issue_token(Caller::of(alice), new, meta()).await.unwrap().secret;
    let head = house.control.head().offset;
    let kinds = [("chs_", &session), ("cht_", &token), ("chi_", &invitation), ("chr_", &reset)];
    for (kind, secret) in kinds {
        for as_kind in ["chs_", "cht_", "chi_", "chr_"] {
            if kind == as_kind {
                continue;
            }
            // As it is, and in the other kind's clothes.
            let dressed = format!("{as_kind}{}", secret.expose().strip_prefix(kind).unwrap());
            for shown in [secret.clone(), SecretText::new(dressed)] {
                let new = super::identity::secret("another good password");
                let opened = match as_kind {
                    "chi_" => accept(&house.control, &shown).await.is_ok(),
                    "chr_" => house.control.reset_forgotten_password(&shown, &new, meta()).await.is_ok(),
                    // What authenticates does so as what it is.
                    _ => house.control.authenticate(shown.expose()).await.is_ok_and(|who| {
                        shown.expose() != secret.expose() || !kind_of(&who).starts_with(kind)
                    }),
                };
                assert!(!opened, "{kind} as {as_kind}");
            }
        }
    }
    assert_eq!(house.control.head().offset, head);
    assert!(house.control.authenticate(session.expose()).await.is_ok());
    assert!(accept(&house.control, &invitation).await.is_ok(), "none of it used up what it was");
}

#[tokio::test]
async fn what_waits_on_an_invited_account_counts_for_who_may_see_its_link() {
    let (house, root) = super::identity::set_up().await;
    let helper = person(&house, &root, "helper").await;
    house.does(root.clone(), group("staff")).await.unwrap();
    let Invited { user, .. } = house.control.invite(root.clone(), names("alice"), meta()).await.unwrap();
    let staff = super::house::group_id(&house.control, "staff");
    house.does(root.clone(), AddMember { group: staff, user }).await.unwrap();
    let refused = house.control.renew_invitation(Caller::of(helper), user, meta()).await;
    assert_eq!(code(refused), "forbidden");
    assert!(house.control.renew_invitation(root, user, meta()).await.unwrap().link.is_some());
    assert!(house.control.events(Offset::ZERO, 10_000).await.unwrap().len() > 1);
}

#[tokio::test]
async fn a_link_an_administrator_sends_works_once_and_dies_as_one_for_a_forgotten_password() {
    let (house, post, root) = mailing(|_| {}).await;
    let alice = person(&house, &root, "alice").await;
    let (session, _) = signed_in(&house, "alice").await;
    let new = secret("another good password");
    let reset = |link: SecretText| {
        let (control, new) = (house.control.clone(), new.clone());
        async move { code(control.reset_forgotten_password(&link, &new, meta()).await) }
    };
    let send = || house.control.send_reset_link(root.clone(), alice, meta());
    assert!(send().await.unwrap().link.is_none());
    assert_eq!(house.control.authenticate(session.expose()).await.unwrap_err(), AuthError::Ended);
    let first = secret_in(&post.letter(0).await);
    send().await.unwrap();
    let second = secret_in(&post.letter(1).await);
    assert_eq!(reset(first).await, "invalid_link", "only the last one counts");
    assert_eq!(reset(second.clone()).await, "accepted");
    assert_eq!(reset(second).await, "invalid_link");
    send().await.unwrap();
    let third = secret_in(&post.letter(2).await);
    house.does(root.clone(), SuspendUser { user: alice }).await.unwrap();
    assert_eq!(reset(third).await, "invalid_link");
    assert_eq!(code(send().await), "invalid_state", "a suspended account has none");
    assert_eq!(post.count(), 3);
}
