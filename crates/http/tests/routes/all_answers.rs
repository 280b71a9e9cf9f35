//! What each row of the access table answers to each kind of caller, as text, committed: a well-formed request about
//! something of its own each time, so that who may is let do it. Rules that hold for every row are asserted besides, so
//! that no blessing makes a hole the committed answer.

use crate::support::{Api, PASSWORD, catalog};
use charter_control::{Clock, Config, NewToken, RequestMeta};
use charter_events::{Timestamp, UserId, Via};
use charter_http::{ACCESS_TABLE, Gate, Row};
use charter_policy::Caller;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;

/// The host's clock, and what a test adds to it.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        let host = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        let micros = i64::try_from(host).unwrap() + self.0.load(Ordering::SeqCst);
        Timestamp::from_micros(micros).unwrap()
    }
}

/// The callers, in the order of the columns. The last four come with a credential that has ended.
const COLUMNS: [&str; 8] =
    ["stranger", "nobody", "owner", "admin", "suspended", "expired token", "ended session", "old session"];
/// Of these the credential is none, or worth nothing.
const WITHOUT: [usize; 5] = [0, 4, 5, 6, 7];

struct House {
    api: Api,
    secrets: [Option<String>; 8],
    made: usize,
}

impl House {
    /// A house with one of each kind of caller in it.
    async fn new() -> Self {
        let clock = Arc::new(Ahead::default());
        let mut api = Api::furnished_with(Config { clock: clock.clone(), ..Config::default() }).await;
        api.admin = api.token(api.id_of("ada"), None).await;
        let boss = api.user("boss").await;
        let grant = json!({"subject": "user:boss", "role": "administrator", "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
        let (nobody, owner, suspended) =
            (api.user("nobody").await, api.user("olga").await, api.user("gone").await);
        api.admin("POST", "/users/gone/suspend", Value::Null).await.ok(200);
        let expired =
            until(&api, api.id_of("nobody"), clock.now().saturating_add_micros(DAY_MICROS / 2)).await;
        let sign_in = || async {
            let body = json!({"username": "ada", "password": PASSWORD});
            let begun = api.call("POST", "/session").json(&body).send().await.ok(201);
            begun.body["secret"].as_str().unwrap().to_owned()
        };
        let (old, ended) = (sign_in().await, sign_in().await);
        api.by(&ended, "DELETE", "/session", Value::Null).await.ok(204);
        for secret in [&expired, &old] {
            api.by(secret, "GET", "/user/me", Value::Null).await.ok(200);
        }
        clock.0.store(DAY_MICROS, Ordering::SeqCst);
        let secrets = [
            None,
            Some(nobody),
            Some(owner),
            Some(boss),
            Some(suspended),
            Some(expired),
            Some(ended),
            Some(old),
        ];
        Self { api, secrets, made: 0 }
    }

    /// Something new for a row to be about; the names of what was made end in the number.
    async fn targets(&mut self, path: &str) -> usize {
        self.made += 1;
        let (api, n) = (&self.api, self.made);
        let user = format!("u{n}");
        if path.starts_with("/api/v1/users/{id}") {
            api.user_without_token(&user).await;
        }
        if path.starts_with("/api/v1/roles/{id}") {
            let role =
                json!({"slug": format!("r{n}"), "scope": "both", "permissions": ["minecraft.server.read"]});
            api.admin("POST", "/roles", role).await.ok(201);
        }
        if path.starts_with("/api/v1/groups/{id}") {
            api.user_without_token(&user).await;
            api.admin("POST", "/groups", json!({"slug": format!("g{n}")})).await.ok(201);
            api.admin("PUT", &format!("/groups/g{n}/members/u{n}"), Value::Null).await.ok(204);
        }
        n
    }

    /// A server of the owner's, and a grant of somebody's on it.
    async fn owned(&self, n: usize) -> String {
        let api = &self.api;
        let server = json!({"type": "server", "name": "Mine", "external_id": format!("t{n}")});
        api.admin("POST", "/objects", server).await.ok(201);
        let olga = json!({"owner": "olga"});
        api.admin("POST", &format!("/objects/server/t{n}/transfer"), olga).await.ok(200);
        api.give("user:ada", &["minecraft.server.restart"], &format!("server:t{n}")).await
    }
}

/// A token of somebody's that works until a moment.
async fn until(api: &Api, user: UserId, end: Timestamp) -> String {
    let new = NewToken { user, name: "ends".parse().unwrap(), expires_at: Some(end), mask: None };
    let issued = api.control.issue_token(Caller::of(user), new, RequestMeta::new(Via::Cli)).await.unwrap();
    issued.secret.expose().to_owned()
}

/// The row's path, about what was made under this number.
fn path(house: &House, row: &Row, n: usize, grant: &str) -> String {
    let id = match row.path {
        path if path.starts_with("/api/v1/users/") => format!("u{n}"),
        path if path.starts_with("/api/v1/roles/") => format!("r{n}"),
        path if path.starts_with("/api/v1/groups/") => format!("g{n}"),
        path if path.starts_with("/api/v1/objects/") => format!("t{n}"),
        path if path.starts_with("/api/v1/grants/") => grant.to_owned(),
        _ => "00000000-0000-7000-8000-000000000000".to_owned(),
    };
    let query = match row.path {
        "/api/v1/history/diff" => format!("?from={}", house.api.head()),
        "/api/v1/log/proof" => "?offset=1".to_owned(),
        _ => String::new(),
    };
    let path = row.path.replace("{id}", &id).replace("{user}", &format!("u{n}")).replace("{type}", "server");
    path.replace("{namespace}", "minecraft").replace("{name}", "none").replace("{*tile}", "0/000.p/1")
        + &query
}

/// A body the route takes; none when it takes none. What is not named here gets an empty one.
fn body(row: &Row, n: usize) -> Option<Value> {
    let object = format!("server:t{n}");
    let asked = json!({"permission": "minecraft.server.read", "object": object});
    let route = (row.method, row.path.trim_start_matches("/api/v1"));
    Some(match route {
        ("GET" | "DELETE", _) => return None,
        (_, "/users/{id}/suspend" | "/users/{id}/reactivate" | "/users/{id}/restore") => return None,
        (_, "/users/{id}/reset-link") => return None,
        ("PUT", "/groups/{id}/members/{user}") => return None,
        (_, "/projections/{name}/switch" | "/projections/{name}/rollback" | "/backups") => return None,
        (_, "/operations/{id}/cancel" | "/operations/{id}/resume") => return None,
        ("PUT", "/user/me/password") => json!({"current": PASSWORD, "new": "another good one"}),
        ("POST", "/user/me/tokens") => json!({"name": "mine"}),
        ("POST", "/session/device/token") => json!({"handle": "none"}),
        ("POST", "/invitations/oidc") => json!({"secret": "none"}),
        ("POST", "/users") => json!({"username": format!("new{n}")}),
        ("PATCH", "/users/{id}") => json!({"display_name": "Other"}),
        ("POST", "/users/{id}/credential-reset") => json!({"password": "another good one"}),
        ("PUT", "/users/{id}/identity") => {
            json!({"issuer": "https://id.example.org", "subject": format!("s{n}")})
        }
        ("PUT", "/catalog/{namespace}") => catalog(),
        ("POST", "/roles") => json!({"slug": format!("new{n}"), "scope": "both"}),
        ("POST", "/groups") => json!({"slug": format!("new{n}")}),
        ("PATCH", "/roles/{id}" | "/groups/{id}" | "/objects/{type}/{id}") => json!({"name": "Other"}),
        ("POST", "/objects") => json!({"type": "server", "name": "New"}),
        ("POST", "/objects/{type}/{id}/transfer") => json!({"owner": "ada"}),
        ("POST", "/objects/{type}/{id}/move") => json!({"parent": null}),
        ("POST", "/objects/{type}/{id}/inheritance") => json!({"inherits": false}),
        ("POST", "/grants") => {
            json!({"subject": "user:nobody", "permissions": ["minecraft.server.read"], "scope": object})
        }
        ("POST", "/check" | "/explain" | "/who-can") => asked,
        ("POST", "/check/batch") => json!({"checks": [asked]}),
        ("POST", "/effective") => json!({"object": object}),
        ("POST", "/allowed-objects") => json!({"permission": "minecraft.server.read", "type": "server"}),
        ("POST", "/commands/preview") => {
            json!({"method": "POST", "path": "/api/v1/groups", "body": {"slug": format!("new{n}")}})
        }
        ("POST", "/history/undo") => json!({"offset": 1}),
        ("POST", "/projections/{name}/rebuild") => json!({"switch": true}),
        ("POST", "/projections/{name}/skip") => json!({"offset": 1}),
        _ => json!({}),
    })
}

/// What one row answers to everybody.
async fn answers(house: &mut House, row: &Row) -> Vec<u16> {
    let mut statuses = Vec::new();
    for (column, secret) in house.secrets.clone().into_iter().enumerate() {
        let n = house.targets(row.path).await;
        let wants_object =
            row.path.contains("/objects/{type}") || row.path.contains("/grants") || is_question(row);
        let grant = if wants_object { house.owned(n).await } else { String::new() };
        let mut call = house.api.call(row.method, &path(house, row, n, &grant)).header("if-match", "*");
        call = match &secret {
            Some(secret) => call.by(secret),
            None => call,
        };
        call = match body(row, n) {
            Some(body) => call.json(&body),
            None => call,
        };
        let head = house.api.head();
        let reply = call.send().await;
        statuses.push(reply.status);
        if WITHOUT.contains(&column) || reply.status >= 400 {
            house.api.unchanged_since(head);
        }
        let (kind, about) = (COLUMNS[column], format!("{row:?}: {}", reply.text));
        let of_scim = row.path.starts_with("/scim/");
        if reply.status >= 400 && row.method != "HEAD" {
            let form = if of_scim { "application/scim+json" } else { "application/problem+json" };
            assert_eq!(reply.header("content-type"), form, "{kind} {about}");
        }
        match (column, row.gate) {
            // No identity provider is set up here.
            (_, Gate::Public) if reply.status == 404 => {
                assert_eq!(reply.code(), "oidc_not_configured", "{kind} {about}");
            }
            (_, Gate::Public) => assert!(![403, 405].contains(&reply.status), "{kind} {about}"),
            (column, _) if WITHOUT.contains(&column) => {
                assert_eq!(reply.status, 401, "{kind} {about}");
                assert!(reply.header("www-authenticate").starts_with("Bearer realm="), "{kind} {about}");
            }
            // The standard's errors have room for words alone.
            (1, Gate::Key(key)) if of_scim => {
                assert_eq!(reply.status, 403, "{kind} {about}");
                assert!(reply.body["detail"].as_str().unwrap().contains(key), "{kind} {about}");
            }
            (1, Gate::Key(key)) => {
                assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{kind} {about}");
                assert_eq!(reply.body["missing"], json!([key]), "{kind} {about}");
            }
            (1, Gate::TypeKey(_)) => assert!([403, 404].contains(&reply.status), "{kind} {about}"),
            // Who holds everything is refused nothing, but for a password he does not know.
            (3, _) => assert!(
                reply.status < 500
                    && ![401, 405].contains(&reply.status)
                    && (reply.status != 403 || reply.code() == "wrong_secret"),
                "{kind} {about}"
            ),
            _ => assert_ne!(reply.status, 401, "{kind} {about}"),
        }
    }
    statuses
}

fn is_question(row: &Row) -> bool {
    ["/check", "/check/batch", "/explain", "/effective", "/who-can"]
        .contains(&row.path.trim_start_matches("/api/v1"))
}

/// The table with its answers. `BLESS=1` rewrites the committed copy, as far as the rules above allow.
#[tokio::test]
async fn the_committed_answers_of_the_access_table_are_what_each_caller_gets() {
    let mut house = House::new().await;
    let mut table = format!("{:56}{}\n", "", COLUMNS.join(", "));
    for row in ACCESS_TABLE {
        let statuses: Vec<String> = answers(&mut house, row).await.iter().map(u16::to_string).collect();
        writeln!(table, "{:6} {:48} {}", row.method, row.path, statuses.join(" ")).unwrap();
    }
    crate::all_documents::same_as_committed("tests/routes/access_answers.txt", &table);
}

/// `HEAD` goes where `GET` goes, through the same gate, and says nothing.
#[tokio::test]
async fn a_head_request_passes_no_gate_that_its_get_does_not_pass() {
    let mut house = House::new().await;
    for row in ACCESS_TABLE.iter().filter(|row| row.method == "GET") {
        let head = Row { method: "HEAD", ..*row };
        for (column, secret) in COLUMNS.iter().zip(house.secrets.clone()) {
            let n = house.targets(row.path).await;
            let wants_object = row.path.contains("/objects/{type}") || row.path.contains("/grants/");
            let grant = if wants_object { house.owned(n).await } else { String::new() };
            let mut replies = Vec::new();
            for row in [row, &head] {
                let call = house.api.call(row.method, &path(&house, row, n, &grant));
                let call = match &secret {
                    Some(secret) => call.by(secret),
                    None => call,
                };
                replies.push(call.send().await);
            }
            assert_eq!(replies[0].status, replies[1].status, "{column} {row:?}");
            assert_eq!(replies[1].text, "", "{column} {row:?}");
        }
    }
}
