//! Secrets of every kind there is, presented in every place that takes one: each opens its own door and no other.

use crate::{
    invitations::mailing_with,
    support::{PASSWORD, Reply},
};
use charter_control::{Config, SignInLimits};
use serde_json::{Value, json};

const KINDS: [&str; 6] = ["session", "token", "invitation", "reset", "setup code", "cursor"];

#[tokio::test]
async fn a_secret_of_one_kind_opens_no_door_of_another() {
    // Bounds on guessing would refuse what is to be refused for what it is.
    let sign_in = SignInLimits { per_name_burst: 10_000, overall_burst: 10_000, ..SignInLimits::default() };
    let (api, post) = mailing_with(Config { sign_in, ..Config::default() }).await;
    for name in ["alice", "carol"] {
        let new = json!({"username": name, "email": format!("{name}@example.org"), "password": PASSWORD});
        api.admin("POST", "/users", new).await.ok(201);
    }
    let invited = json!({"username": "bob", "email": "bob@example.org"});
    api.admin("POST", "/invitations", invited).await.ok(201);
    let forgotten = json!({"username": "alice"});
    api.call("POST", "/password/forgotten").json(&forgotten).send().await.ok(204);
    let issued = api.admin("POST", "/user/me/tokens", json!({"name": "x"})).await.ok(201).body;
    let page = api.admin("GET", "/users?limit=1", Value::Null).await.ok(200).body;
    let secrets = [
        api.admin.clone(),
        issued["secret"].as_str().unwrap().to_owned(),
        post.secret_for("bob@example.org").await,
        post.secret_for("alice@example.org").await,
        api.code.clone().unwrap(),
        page["next"].as_str().unwrap().to_owned(),
    ];
    let head = api.head();
    for (kind, secret) in KINDS.iter().zip(&secrets) {
        // With what another kind begins with before it, it is none of that kind either.
        let dressed = ["chs_", "cht_", "chi_", "chr_"].map(|prefix| {
            let bare = secret.get(4..).filter(|_| secret.starts_with("ch")).unwrap_or(secret);
            format!("{prefix}{bare}")
        });
        for sent in dressed.iter().chain([secret]) {
            let own = sent == secret;
            let refused = |reply: Reply, code: &str| {
                let about = format!("{kind} {sent}: {}", reply.text);
                assert!([400, 401, 409].contains(&reply.status), "{about}");
                assert!(code.is_empty() || reply.code() == code, "{about}");
            };
            if !(own && ["session", "token"].contains(kind)) {
                refused(api.by(sent, "GET", "/user/me", Value::Null).await, "invalid_token");
            }
            if !(own && *kind == "session") {
                let cookie = api.call("GET", "/user/me").header("cookie", &format!("charter={sent}"));
                let cookie = cookie.header("host", "charter.example").header("x-charter-request", "1");
                refused(cookie.send().await, "invalid_token");
            }
            let body = json!({"secret": sent, "password": "another good one"});
            if !(own && *kind == "invitation") {
                refused(api.call("POST", "/invitations/accept").json(&body).send().await, "invalid_link");
            }
            if !(own && *kind == "reset") {
                refused(api.call("POST", "/password/reset").json(&body).send().await, "invalid_link");
            }
            // Guesses at the code are bounded in number.
            if own {
                let setup = json!({"code": sent, "username": "eve", "password": PASSWORD});
                refused(api.call("POST", "/setup").json(&setup).send().await, "setup_closed");
            }
            if !(own && *kind == "cursor") {
                let reply = api.admin("GET", &format!("/users?limit=1&cursor={sent}"), Value::Null).await;
                refused(reply, "");
            }
            // A secret is no password.
            for name in ["ada", "alice", "carol"] {
                let body = json!({"username": name, "password": sent});
                let reply = api.call("POST", "/session").json(&body).send().await;
                assert_eq!(reply.status, 401, "{kind} {sent}: {}", reply.text);
            }
        }
    }
    api.unchanged_since(head);
    // All of them were good where they belong.
    api.by(&secrets[1], "GET", "/user/me", Value::Null).await.ok(200);
    let link = |secret: &str| json!({"secret": secret, "password": "another good one"});
    api.call("POST", "/invitations/accept").json(&link(&secrets[2])).send().await.ok(201);
    api.call("POST", "/password/reset").json(&link(&secrets[3])).send().await.ok(204);
    api.admin("GET", &format!("/users?limit=1&cursor={}", secrets[5]), Value::Null).await.ok(200);
}
