//! Every way in which somebody loses a stream that he has open: it ends, and shows him nothing of what comes then.

use crate::{
    events_live::{group, opened},
    support::{Api, PASSWORD},
};
use serde_json::{Value, json};

/// What a stream says at its end.
const CREDENTIAL: &str = ": the credential is no longer good\n\n";
const RIGHT: &str = ": the permission to read events is gone\n\n";

/// `bob`, who may read events by a role of a group that he is in, with a session and a token.
struct Listening {
    api: Api,
    session: String,
    session_id: String,
    token: String,
    token_id: String,
}

impl Listening {
    async fn new() -> Self {
        let api = Api::new().await;
        let new = json!({"username": "bob", "password": PASSWORD});
        api.admin("POST", "/users", new).await.ok(201);
        let role = json!({"slug": "readers", "scope": "global", "permissions": ["core.audit.read"]});
        api.admin("POST", "/roles", role).await.ok(201);
        api.admin("POST", "/groups", json!({"slug": "auditors"})).await.ok(201);
        let grant = json!({"subject": "group:auditors", "role": "readers", "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
        api.admin("PUT", "/groups/auditors/members/bob", Value::Null).await.ok(204);
        let sign_in = json!({"username": "bob", "password": PASSWORD});
        let begun = api.call("POST", "/session").json(&sign_in).send().await.ok(201).body;
        let session = begun["secret"].as_str().unwrap().to_owned();
        let issued = api.by(&session, "POST", "/user/me/tokens", json!({"name": "his"})).await.ok(201).body;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (session_id, token) = (text(&begun["session"]), text(&issued["secret"]));
        Self { api, session, session_id, token, token_id: text(&issued["token"]["id"]) }
    }

    /// Does it, and sees how a stream that was opened with a credential ends.
    async fn ends(self, by_token: bool, who: &str, (method, path, body): (&str, &str, Value), said: &str) {
        let secret = if by_token { &self.token } else { &self.session };
        let mut reader = opened(&self.api, secret, &format!("/events?after={}", self.api.head())).await;
        reader.until(": events follow").await;
        let path = path.replace("TOKEN", &self.token_id).replace("SESSION", &self.session_id);
        let who = if who == "bob" { &self.session } else { &self.api.admin };
        let done = self.api.by(who, method, &path, body).await;
        assert!((200..300).contains(&done.status), "{method} {path}: {}", done.text);
        group(&self.api, "after").await;
        let about = format!("{method} {path}: {}", reader.rest().await);
        assert!(about.ends_with(said), "{about}");
        assert_eq!(reader.offsets(), [0_u64; 0], "{about}");
        let again = self.api.by(secret, "GET", "/events", Value::Null).await;
        assert_eq!(again.status, if said == RIGHT { 403 } else { 401 }, "{method} {path}: {}", again.text);
    }
}

#[tokio::test]
async fn a_stream_ends_however_its_credential_ends() {
    let reset = json!({"password": "another good one"});
    let own = json!({"current": PASSWORD, "new": "another good one"});
    for (by_token, who, method, path, body) in [
        (true, "ada", "DELETE", "/users/bob/tokens/TOKEN", Value::Null),
        (true, "bob", "DELETE", "/user/me/tokens/TOKEN", Value::Null),
        (true, "ada", "POST", "/users/bob/suspend", Value::Null),
        (true, "ada", "POST", "/users/bob/schedule-deletion", json!({})),
        (false, "ada", "POST", "/users/bob/suspend", Value::Null),
        (false, "ada", "POST", "/users/bob/schedule-deletion", json!({})),
        (false, "ada", "POST", "/users/bob/credential-reset", reset),
        (false, "bob", "DELETE", "/session", Value::Null),
        (false, "bob", "DELETE", "/user/me/sessions", Value::Null),
        (false, "bob", "DELETE", "/user/me/sessions/SESSION", Value::Null),
    ] {
        Listening::new().await.ends(by_token, who, (method, path, body), CREDENTIAL).await;
    }
    // The session a password is changed in goes on; all others end.
    let listening = Listening::new().await;
    let sign_in = json!({"username": "bob", "password": PASSWORD});
    let other = listening.api.call("POST", "/session").json(&sign_in).send().await.ok(201).body;
    let other = other["secret"].as_str().unwrap().to_owned();
    let mut reader = opened(&listening.api, &other, &format!("/events?after={}", listening.api.head())).await;
    reader.until(": events follow").await;
    listening.api.by(&listening.session, "PUT", "/user/me/password", own).await.ok(204);
    assert!(reader.rest().await.ends_with(CREDENTIAL));
    assert_eq!(reader.offsets(), [0_u64; 0]);
}

#[tokio::test]
async fn a_stream_ends_however_the_right_to_read_ends() {
    let none = json!({"permissions": ["core.user.read"]});
    let deny = json!({"subject": "user:bob", "permissions": ["core.audit.read"], "scope": "global",
                      "effect": "deny"});
    for (method, path, body) in [
        ("DELETE", "/groups/auditors/members/bob", Value::Null),
        ("DELETE", "/groups/auditors", Value::Null),
        ("DELETE", "/roles/readers", Value::Null),
        ("PATCH", "/roles/readers", none),
        ("POST", "/grants", deny),
    ] {
        for by_token in [true, false] {
            let listening = Listening::new().await;
            listening.ends(by_token, "ada", (method, path, body.clone()), RIGHT).await;
        }
    }
}
