//! Canaries: secrets and personal data go where they must and nowhere else.

use super::house::{House, meta};
use crate::{Acceptance, NewToken, NewUser, ProfilePatch, RecoveryOf, SecretText};
use base64::{Engine, engine::general_purpose::STANDARD};
use charter_events::{Identity, Offset, Profile, UserId, UserKind};
use charter_policy::Caller;
use charter_store::SnapshotStore;
use charter_testkit::ids::shown;
use std::{
    io::Write,
    sync::{Arc, Mutex},
};

/// Everything written to the log of the program.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const PASSWORD: &str = "canary-password-1";
const NAMES: [&str; 5] =
    ["canary-username", "Canary Display", "canary@mail.example", "Canary.Login", "CANARY-EXTERNAL"];

const ISSUER: &str = "https://canary.issuer.example";
const SUBJECT: &str = "canary-subject";

fn canaries() -> Profile {
    let [username, display, email, login, external] = NAMES;
    Profile {
        username: username.parse().unwrap(),
        display_name: Some(shown(display)),
        email: Some(email.to_owned()),
        login_name: Some(login.to_owned()),
        external_id: Some(external.parse().unwrap()),
        identity: Some(Identity { issuer: ISSUER.parse().unwrap(), subject: SUBJECT.parse().unwrap() }),
    }
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    let forms = [
        needle.to_owned(),
        STANDARD.encode(needle),
        needle.bytes().map(|byte| format!("{byte:02x}")).collect(),
    ];
    forms.iter().any(|form| haystack.windows(form.len()).any(|window| window == form.as_bytes()))
}

async fn newest_snapshot(house: &House) -> Vec<u8> {
    let wanted = charter_store::Wanted {
        format: charter_policy::Policy::SNAPSHOT_FORMAT,
        code_version: crate::snapshots::CODE_VERSION.to_owned(),
        at_most: None,
    };
    house.store.latest(&wanted).await.unwrap().snapshot.unwrap().body
}

#[tokio::test]
async fn no_secret_and_no_name_is_in_the_log_in_snapshots_in_debug_output_or_in_traces() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _traces = tracing::subscriber::set_default(subscriber);
    let house = House::new().await;
    let control = &house.control;
    let code = house.setup_code.clone().unwrap();
    let password = SecretText::new(PASSWORD);
    let mut shown_by_debug = String::new();
    let mut show = |value: &dyn std::fmt::Debug| shown_by_debug.push_str(&format!("{value:?}\n{value:#?}\n"));

    let wrong = control.setup(&SecretText::new("canary-code"), canaries(), password.clone(), meta()).await;
    show(&wrong);
    let receipt = control.setup(&code, canaries(), password.clone(), meta()).await.unwrap();
    let root = Caller::of(UserId::new(receipt.created.unwrap()));
    let signed_in = control.sign_in(NAMES[0], password.clone()).await.unwrap();
    let who = control.authenticate(signed_in.secret.expose()).await.unwrap();
    let new = NewToken { user: root.user().unwrap(), name: shown("ci"), expires_at: None, mask: None };
    let issued = control.issue_token(root.clone(), new, meta()).await.unwrap();
    show(&(&receipt, &signed_in, &who, &issued, &password, &code));
    let identity = canaries().identity.unwrap();
    let nobody = Identity { subject: "canary-nobody".parse().unwrap(), ..identity.clone() };
    show(&control.sign_in_with_identity(&identity).await.unwrap());
    show(&control.sign_in_with_identity(&nobody).await);
    let guest = Profile { login_name: None, external_id: None, identity: None, ..canaries() };
    let guest = Profile { username: "guest".parse().unwrap(), ..guest };
    let invited = control.invite(root.clone(), guest, meta()).await.unwrap();
    let link = invited.link.clone().unwrap().secret;
    let taken = Acceptance { secret: link.clone(), password: password.clone(), display_name: None };
    show(&(&invited, &control.accept_invitation(taken.clone(), meta()).await.unwrap()));
    show(&control.accept_invitation(taken, meta()).await);
    let to = NAMES[2].to_owned();
    show(&crate::Letter { to, subject: NAMES[1].to_owned(), text: link.clone() });
    show(&(control, &control.readiness(), &RecoveryOf::New(canaries())));
    show(&control.sign_in(NAMES[3], SecretText::new("canary-wrong")).await);
    let patch = ProfilePatch { email: Some(Some("canary no mail".to_owned())), ..ProfilePatch::default() };
    show(&control.edit_user(root.clone(), root.user().unwrap(), patch, meta()).await);
    let again = NewUser { kind: UserKind::Person, profile: canaries(), password: Some(password.clone()) };
    let taken = control.register_user(root.clone(), again, meta()).await.unwrap_err();
    show(&taken);
    shown_by_debug.push_str(&taken.to_string());
    let prepared = control.prepare_for_tests(&canaries());
    shown_by_debug.push_str(&format!("{prepared:?}"));
    control.housekeeping(true).await;
    control.clone().shutdown().await;

    let events = house.control.events(Offset::ZERO, 10_000).await.unwrap();
    let log: Vec<u8> = events.iter().flat_map(|event| event.payload.clone()).collect();
    let snapshot = newest_snapshot(&house).await;
    let traces = captured.0.lock().unwrap().clone();
    assert!(!traces.is_empty() && !shown_by_debug.is_empty());
    let issued = issued.secret.expose();
    let secrets = [PASSWORD, code.expose(), signed_in.secret.expose(), issued, link.expose()];
    let others = ["canary-code", "canary-wrong", "canary no mail", ISSUER, SUBJECT, "canary-nobody"];
    for canary in NAMES.into_iter().chain(secrets).chain(others) {
        let debug = shown_by_debug.as_bytes();
        for (place, bytes) in
            [("log", &log[..]), ("snapshot", &snapshot), ("traces", &traces), ("debug", debug)]
        {
            assert!(!contains(bytes, canary), "`{canary}` is in the {place}");
        }
    }
    // The net has no hole: what is there is found.
    assert!(contains(&log, "installation") || contains(&log, "name"));
}
