//! Invitations and forgotten passwords over HTTP.

use crate::support::{Api, PASSWORD};
use async_trait::async_trait;
use charter_control::{Config, Letter, MailError, Mailer};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

/// Letters, as they came.
#[derive(Default)]
pub(crate) struct Post(Mutex<Vec<Letter>>);

#[async_trait]
impl Mailer for Post {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        self.0.lock().unwrap().push(letter.clone());
        Ok(())
    }
}

impl Post {
    /// The secret of the link in the letter with this number, once it has come.
    async fn secret(&self, number: usize) -> String {
        for _ in 0..2_000 {
            if let Some(letter) = self.0.lock().unwrap().get(number) {
                let rest = letter.text.expose().split_once('#').unwrap().1;
                return rest.split_whitespace().next().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("letter {number} does not come")
    }

    /// The secret of the link in the newest letter to an address, once one has come.
    pub(crate) async fn secret_for(&self, address: &str) -> String {
        let number = || self.0.lock().unwrap().iter().rposition(|letter| letter.to == address);
        for _ in 0..2_000 {
            if let Some(number) = number() {
                return self.secret(number).await;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("no letter to {address} comes")
    }
}

async fn mailing() -> (Api, Arc<Post>) {
    mailing_with(Config::default()).await
}

/// An installation that sends mail, with settings of its own.
pub(crate) async fn mailing_with(config: Config) -> (Api, Arc<Post>) {
    let post = Arc::new(Post::default());
    let public_url = Some("https://charter.example".to_owned());
    let api = Api::set_up(Config { mailer: Some(post.clone()), public_url, ..config }).await;
    (api, post)
}

#[tokio::test]
async fn who_is_invited_chooses_a_password_with_the_link_and_signs_in() {
    let api = Api::new().await;
    let made =
        api.admin("POST", "/invitations", json!({"username": "alice", "display_name": "A"})).await.ok(201);
    assert_eq!(made.body["delivery"], "shown");
    assert!(made.body.get("link").is_none(), "the server does not know its address");
    let id = made.body["user"]["id"].as_str().unwrap();
    assert_eq!(made.header("location"), format!("/api/v1/users/{id}"));
    let listed = api.admin("GET", "/users?status=invited", Value::Null).await.ok(200);
    assert_eq!(listed.texts("items", "username"), ["alice"]);
    let accept = json!({"secret": made.body["secret"], "password": PASSWORD, "display_name": "Alice"});
    let sign_in = json!({"username": "alice", "password": PASSWORD});
    api.call("POST", "/session").json(&sign_in).send().await.refused(401, "sign_in_refused");

    let done = api.call("POST", "/invitations/accept").json(&accept).send().await.ok(201);

    assert_eq!((&done.body["username"], &done.body["display_name"]), (&json!("alice"), &json!("Alice")));
    api.call("POST", "/session").json(&sign_in).send().await.ok(201);
    let head = api.head();
    let again = api.call("POST", "/invitations/accept").header("idempotency-key", "x").json(&accept);
    let refused = again.send().await.refused(401, "invalid_link");
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_invitation_is_mailed_resent_and_withdrawn() {
    let (api, post) = mailing().await;
    let new = json!({"username": "alice", "email": "alice@example.org"});
    let made = api.admin("POST", "/invitations", new).await.ok(201);
    assert_eq!(made.body["delivery"], "mailed");
    assert!(made.body.get("secret").is_none() && made.body.get("link").is_none(), "{}", made.text);
    let first = post.secret(0).await;
    assert!(!made.text.contains(&first));
    api.admin("POST", "/invitations/alice/resend", Value::Null).await.ok(200);
    let accept = |secret: &str| {
        let body = json!({"secret": secret, "password": PASSWORD});
        api.call("POST", "/invitations/accept").json(&body).send()
    };
    accept(&first).await.refused(401, "invalid_link");
    let second = post.secret(1).await;
    api.admin("DELETE", "/invitations/alice", Value::Null).await.ok(204);
    accept(&second).await.refused(401, "invalid_link");
    api.admin("POST", "/invitations/alice/resend", Value::Null).await.refused(404, "not_found");
    api.admin("DELETE", "/invitations/ada", Value::Null).await.refused(409, "invalid_state");
}

#[tokio::test]
async fn a_repeated_invitation_shows_no_secret_again_and_sends_no_second_letter() {
    let (api, post) = mailing().await;
    let invite = |body: &Value| {
        api.call("POST", "/invitations").by(&api.admin).header("idempotency-key", "one").json(body).send()
    };
    let mailed = json!({"username": "alice", "email": "alice@example.org"});
    let first = invite(&mailed).await.ok(201);
    post.secret(0).await;
    let again = invite(&mailed).await.ok(201);
    assert_eq!(
        (&first.body["user"], &first.body["delivery"]),
        (&again.body["user"], &again.body["delivery"])
    );
    let shown = json!({"username": "bob"});
    let keyed =
        || api.call("POST", "/invitations").by(&api.admin).header("idempotency-key", "two").json(&shown);
    keyed().send().await.ok(201);
    keyed().send().await.refused(409, "secret_shown_once");
    assert_eq!(post.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_forgotten_password_is_answered_alike_for_everyone() {
    let (api, post) = mailing().await;
    let new = json!({"username": "alice", "email": "alice@example.org", "password": PASSWORD});
    api.admin("POST", "/users", new).await.ok(201);
    let session = api.call("POST", "/session").json(&json!({"username": "alice", "password": PASSWORD}));
    let session = session.send().await.ok(201).body["secret"].as_str().unwrap().to_owned();
    let head = api.head();
    let forgotten =
        |name: &str| api.call("POST", "/password/forgotten").json(&json!({"username": name})).send();
    let (known, unknown) = (forgotten("alice").await.ok(204), forgotten("nobody").await.ok(204));
    assert_eq!(known.text, unknown.text);
    let names =
        |reply: &crate::support::Reply| reply.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&known), names(&unknown));
    api.unchanged_since(head);

    let reset = json!({"secret": post.secret(0).await, "password": "another good one"});
    api.call("POST", "/password/reset").json(&reset).send().await.ok(204);

    api.by(&session, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    let sign_in = json!({"username": "alice", "password": "another good one"});
    api.call("POST", "/session").json(&sign_in).send().await.ok(201);
    api.call("POST", "/password/reset").json(&reset).send().await.refused(401, "invalid_link");
    for name in ["alice", "nobody"] {
        forgotten(name).await.ok(204);
        forgotten(name).await.ok(204);
        let refused = forgotten(name).await.refused(429, "too_many_attempts");
        assert!(!refused.header("retry-after").is_empty());
    }
}

#[tokio::test]
async fn without_mail_an_administrator_resets_passwords_whoever_asks() {
    let api = Api::new().await;
    let forgotten =
        |name: &str| api.call("POST", "/password/forgotten").json(&json!({"username": name})).send();
    let (known, unknown) = (forgotten("ada").await, forgotten("nobody").await);
    assert_eq!(known.text, unknown.text);
    known.refused(409, "no_mail");
}

#[tokio::test]
async fn who_may_invite_and_not_read_users_is_shown_the_account_alone() {
    let api = Api::new().await;
    let desk = api.user("desk").await;
    api.give("user:desk", &["core.user.create"], "global").await;
    let made = api.by(&desk, "POST", "/invitations", json!({"username": "alice"})).await.ok(201);
    assert_eq!(made.body["user"].as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    let denied = api.by(&desk, "DELETE", "/invitations/alice", Value::Null).await;
    assert_eq!(denied.refused(403, "forbidden").body["missing"], json!(["core.user.delete"]));
    let preview = json!({"method": "POST", "path": "/api/v1/invitations", "body": {"username": "bob"}});
    let head = api.head();
    let told = api.by(&desk, "POST", "/commands/preview", preview).await.ok(200);
    assert!(!told.text.contains("chi_"), "{}", told.text);
    api.unchanged_since(head);
}

#[tokio::test]
async fn an_administrator_has_a_link_for_another_password_sent_or_hands_it_over() {
    let (api, post) = mailing().await;
    let new = json!({"username": "alice", "email": "alice@example.org", "password": PASSWORD});
    api.admin("POST", "/users", new).await.ok(201);
    api.user_without_token("bob").await;
    let sign_in = |name: &str, password: &str| {
        api.call("POST", "/session").json(&json!({"username": name, "password": password})).send()
    };
    let session = sign_in("alice", PASSWORD).await.ok(201).body["secret"].as_str().unwrap().to_owned();

    let sent = api.admin("POST", "/users/alice/reset-link", Value::Null).await.ok(200);
    assert_eq!(sent.body["delivery"], "mailed");
    assert!(sent.body.get("secret").is_none() && sent.body.get("link").is_none(), "{}", sent.text);
    let secret = post.secret(0).await;
    assert!(!sent.text.contains(&secret));
    api.by(&session, "GET", "/user/me", Value::Null).await.refused(401, "invalid_token");
    let reset = json!({"secret": secret, "password": "another good one"});
    api.call("POST", "/password/reset").json(&reset).send().await.ok(204);
    sign_in("alice", "another good one").await.ok(201);
    api.call("POST", "/password/reset").json(&reset).send().await.refused(401, "invalid_link");

    // Who has no address is handed it, and it gives a first password too.
    let keyed = || api.call("POST", "/users/bob/reset-link").by(&api.admin).header("idempotency-key", "one");
    let shown = keyed().send().await.ok(200);
    assert_eq!((&shown.body["delivery"], &shown.body["user"]["username"]), (&json!("shown"), &json!("bob")));
    let secret = shown.body["secret"].as_str().unwrap();
    assert_eq!(shown.body["link"], format!("https://charter.example/reset-password#{secret}"));
    keyed().send().await.refused(409, "secret_shown_once");
    let reset = json!({"secret": secret, "password": PASSWORD});
    api.call("POST", "/password/reset").json(&reset).send().await.ok(204);
    sign_in("bob", PASSWORD).await.ok(201);
    assert_eq!(post.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_link_for_another_password_is_shown_to_who_could_set_it_and_to_nobody_for_an_administrator() {
    let (api, post) = mailing().await;
    let desk = api.user("desk").await;
    api.give("user:desk", &["core.user.edit"], "global").await;
    let mailed = json!({"username": "alice", "email": "alice@example.org"});
    for new in [mailed, json!({"username": "bob"}), json!({"username": "robot", "kind": "service"})] {
        api.admin("POST", "/users", new).await.ok(201);
    }
    let link = async |secret: &str, of: &str| {
        api.by(secret, "POST", &format!("/users/{of}/reset-link"), Value::Null).await
    };
    let made = link(&desk, "bob").await.ok(200);
    assert_eq!(made.body["user"].as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    for user in ["alice", "bob"] {
        api.give(&format!("user:{user}"), &["core.role.read"], "global").await;
    }
    let head = api.head();
    let refused = link(&desk, "bob").await.refused(403, "not_held");
    assert_eq!(refused.body["missing"], json!(["core.role.read"]));
    link(&desk, "ada").await.refused(403, "not_held");
    link(&api.admin, "ada").await.refused(409, "invalid_state");
    link(&api.admin, "robot").await.refused(422, "invalid_credential");
    link(&desk, "ghost").await.refused(404, "not_found");
    api.unchanged_since(head);
    link(&api.user("nobody").await, "bob").await.refused(403, "forbidden");
    // What goes to the address on record the desk never sees.
    link(&desk, "alice").await.ok(200);
    let secret = post.secret(0).await;

    // Who becomes an administrator meanwhile has none that works.
    let everything = json!({"subject": "user:alice", "role": "administrator", "scope": "global"});
    api.admin("POST", "/grants", everything).await.ok(201);
    let reset = json!({"secret": secret, "password": "another good one"});
    api.call("POST", "/password/reset").json(&reset).send().await.refused(401, "invalid_link");
    let preview = json!({"method": "POST", "path": "/api/v1/users/bob/reset-link", "body": null});
    let head = api.head();
    let told = api.admin("POST", "/commands/preview", preview).await;
    assert!(!told.text.contains("chr_"), "{}", told.text);
    api.unchanged_since(head);
}

#[tokio::test]
async fn who_waits_is_listed_with_how_the_letter_to_him_stands() {
    let (api, post) = mailing().await;
    let mailed = json!({"username": "alice", "email": "alice@example.org"});
    api.admin("POST", "/invitations", mailed).await.ok(201);
    post.secret(0).await;
    let shown = api.admin("POST", "/invitations", json!({"username": "bob"})).await.ok(201);
    api.user_without_token("carol").await;
    let mut listed = api.admin("GET", "/invitations", Value::Null).await.ok(200);
    for _ in 0..2_000 {
        if listed.body["items"][0]["letter"] != "waiting" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        listed = api.admin("GET", "/invitations", Value::Null).await.ok(200);
    }
    let rows = listed.body["items"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{}", listed.text);
    assert_eq!((&rows[0]["user"]["username"], &rows[0]["letter"]), (&json!("alice"), &json!("sent")));
    assert_eq!((&rows[1]["user"]["username"], rows[1].get("letter")), (&json!("bob"), None));
    assert_eq!(rows[1]["expires_at"], shown.body["expires_at"]);
    assert!(!listed.text.contains("chi_"), "{}", listed.text);
    let first = api.admin("GET", "/invitations?limit=1", Value::Null).await.ok(200);
    let next = format!("/invitations?limit=1&cursor={}", first.body["next"].as_str().unwrap());
    let second = api.admin("GET", &next, Value::Null).await.ok(200);
    assert_eq!((&second.body["items"][0], second.body.get("next")), (&rows[1], None));
    let accept = json!({"secret": shown.body["secret"], "password": PASSWORD});
    api.call("POST", "/invitations/accept").json(&accept).send().await.ok(201);
    assert_eq!(
        api.admin("GET", "/invitations", Value::Null).await.ok(200).body["items"].as_array().unwrap().len(),
        1
    );
}
