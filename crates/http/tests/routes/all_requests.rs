//! A house with one of each kind of caller in it, and for each row of the access table a request that succeeds for
//! whoever may: it is about something of its own each time, and is well formed. What holds for every route is tried
//! with these, so that no refusal is only that of a request nobody could have made.

use crate::{
    invitations::Post,
    projections::GROUPS,
    scim::{GROUP, PATCH, SEARCH, USER},
    support::{Api, Call, PASSWORD, catalog},
};
use async_trait::async_trait;
use charter_control::{BackupMade, BackupWatch, Backups, Clock, Config, KeysKept, NewToken, RequestMeta};
use charter_events::{Timestamp, UserId, Via};
use charter_http::Row;
use charter_policy::Caller;
use charter_store::{BoxError, Store};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const DAY_MICROS: i64 = 24 * 3_600 * 1_000_000;
/// An id of nothing.
pub(crate) const NONE: &str = "00000000-0000-7000-8000-000000000000";

/// The callers, in the order of the columns. The last four come with a credential that has ended.
pub(crate) const COLUMNS: [&str; 8] =
    ["stranger", "nobody", "owner", "admin", "suspended", "expired token", "ended session", "old session"];
pub(crate) const NOBODY: usize = 1;
pub(crate) const ADMIN: usize = 3;
/// What the callers with an account that works are called.
const NAMES: [&str; 8] = ["nobody", "nobody", "olga", "boss", "nobody", "nobody", "nobody", "nobody"];

/// The host's clock, and what a test adds to it. Whoever is startled finds it broken.
#[derive(Default)]
struct Ahead(AtomicI64);

tokio::task_local! {
    /// Set for the task of a request whose handler is to panic.
    static STARTLED: ();
}

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        assert!(STARTLED.try_with(|()| ()).is_err(), "the clock is broken");
        let host = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros();
        let micros = i64::try_from(host).unwrap() + self.0.load(Ordering::SeqCst);
        Timestamp::from_micros(micros).unwrap()
    }
}

/// Backups that take until somebody stops them.
struct Endless;

#[async_trait]
impl Backups for Endless {
    async fn take(
        &self,
        _: Arc<dyn Store>,
        _: Timestamp,
        watch: Arc<BackupWatch>,
    ) -> Result<BackupMade, BoxError> {
        while watch.tell(0, 1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err("it was stopped".into())
    }

    async fn keys_kept(&self, _: Arc<dyn Store>) -> Result<KeysKept, BoxError> {
        Ok(KeysKept::Ours { missing: Vec::new() })
    }

    async fn refresh_keys(&self, _: Arc<dyn Store>, _: Timestamp) -> Result<(), BoxError> {
        Ok(())
    }
}

/// The house.
pub(crate) struct House {
    pub(crate) api: Api,
    /// By column: what each caller sends.
    pub(crate) secrets: [Option<String>; 8],
    post: Arc<Post>,
    made: usize,
    /// The event the projection stopped at, once it has.
    stopped: Option<u64>,
}

/// What one request is about.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// The number its names end in.
    pub(crate) n: usize,
    /// The path's variable segments.
    segments: Vec<(&'static str, String)>,
    query: String,
    body: Option<Value>,
    /// Another credential of the same caller, where only one of a kind will do.
    secret: Option<String>,
}

impl Made {
    /// The row's path. A route with a segment nobody thought of fails here.
    pub(crate) fn path(&self, row: &Row) -> String {
        let mut path = row.path.to_owned();
        for (name, value) in &self.segments {
            path = path.replace(name, value);
        }
        assert!(!path.contains('{'), "{row:?}: {:?} fill it in no more than to {path}", self.segments);
        path + &self.query
    }

    /// The names of the segments the path has.
    pub(crate) fn names(&self, row: &Row) -> Vec<&'static str> {
        self.segments.iter().map(|(name, _)| *name).filter(|name| row.path.contains(name)).collect()
    }

    /// The same about something else in one segment.
    pub(crate) fn with(&self, name: &str, other: &str) -> Self {
        let other = |(known, value): &(&'static str, String)| {
            (*known, if *known == name { other.to_owned() } else { value.clone() })
        };
        let segments = self.segments.iter().map(other).collect();
        Self { segments, query: self.query.clone(), body: self.body.clone(), secret: None, n: self.n }
    }

    pub(crate) fn body(&self) -> Option<&Value> {
        self.body.as_ref()
    }

    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.segments.push((name, value.to_string()));
    }
}

impl House {
    /// A house with one of each kind of caller in it.
    pub(crate) async fn new() -> Self {
        let (clock, post) = (Arc::new(Ahead::default()), Arc::new(Post::default()));
        let config = Config {
            clock: clock.clone(),
            mailer: Some(post.clone()),
            public_url: Some("https://charter.example".to_owned()),
            backups: Some(Arc::new(Endless)),
            projections: charter_tables::PROJECTIONS.iter().copied().chain([&GROUPS as _]).collect(),
            tables_look_every: Duration::from_millis(5),
            ..Config::default()
        };
        let mut api = Api::furnished_with(config).await;
        api.admin = api.token(api.id_of("ada"), None).await;
        let boss = api.user("boss").await;
        let grant = json!({"subject": "user:boss", "role": "administrator", "scope": "global"});
        api.admin("POST", "/grants", grant).await.ok(201);
        let (nobody, owner, suspended) =
            (api.user("nobody").await, api.user("olga").await, api.user("gone").await);
        api.admin("POST", "/users/gone/suspend", Value::Null).await.ok(200);
        let expired =
            until(&api, api.id_of("nobody"), clock.now().saturating_add_micros(DAY_MICROS / 2)).await;
        let (old, _) = sign_in(&api, "ada").await;
        let (ended, _) = sign_in(&api, "ada").await;
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
        let house = Self { api, secrets, post, made: 0, stopped: None };
        house
            .until(|all| all.iter().all(|one| one["status"] == "following" && one["operation"].is_null()))
            .await;
        house
    }

    /// What a request by the caller of this column is about, made for it.
    pub(crate) async fn made(&mut self, row: &Row, column: usize) -> Made {
        self.made += 1;
        let mut made = Made { n: self.made, ..Made::default() };
        let path = row.path.trim_start_matches("/api/v1");
        let area = path.trim_start_matches('/').split('/').next().unwrap();
        match area {
            "user" => self.own(row, NAMES[column], &mut made).await,
            "session" if row.method == "DELETE" => {
                made.secret = Some(self.session_of(NAMES[column]).await.0);
            }
            "users" => self.account(path, &mut made).await,
            "invitations" if path.contains("{id}") => {
                self.invited(made.n).await;
                made.set("{id}", format!("u{}", made.n));
            }
            "roles" if path.contains("{id}") => {
                let role = json!({"slug": format!("r{}", made.n), "scope": "both", "permissions": ["minecraft.server.read"]});
                self.api.admin("POST", "/roles", role).await.ok(201);
                made.set("{id}", format!("r{}", made.n));
            }
            "groups" if path.contains("{id}") => {
                self.group(made.n).await;
                made.set("{id}", format!("g{}", made.n));
                made.set("{user}", format!("u{}", made.n));
            }
            "objects" | "grants" | "check" | "explain" | "effective" | "who-can" | "access" => {
                let grant = self.owned(made.n).await;
                made.set("{type}", "server");
                made.set("{id}", if area == "grants" { grant } else { format!("t{}", made.n) });
            }
            "catalog" => made.set("{namespace}", "minecraft"),
            "log" => made.set("{*tile}", "0/000.p/1"),
            "projections" if row.method == "POST" => self.projection(path, &mut made).await,
            "operations" if path.contains("{id}") => {
                let id = self.backup().await;
                made.set("{id}", id);
            }
            "scim" => self.of_scim(path, &mut made).await,
            _ => {}
        }
        made.query = match path {
            "/history/diff" => format!("?from={}", self.api.head()),
            "/log/proof" => "?offset=1".to_owned(),
            _ => String::new(),
        };
        made.body = self.body(row, made.n).await;
        made
    }

    /// The request.
    pub(crate) fn call(&self, row: &Row, made: &Made, column: usize) -> Call<'_> {
        let call = self.bare(row, made);
        match made.secret.as_ref().filter(|_| self.secrets[column].is_some() && column <= ADMIN) {
            Some(secret) => call.by(secret),
            None => match &self.secrets[column] {
                Some(secret) => call.by(secret),
                None => call,
            },
        }
    }

    /// The request, by nobody in particular.
    pub(crate) fn bare(&self, row: &Row, made: &Made) -> Call<'_> {
        let call = self.api.call(row.method, &made.path(row)).header("if-match", "*");
        let call = call.header("x-reason", "it is tried").header("host", "charter.example");
        match &made.body {
            Some(body) => call.json(body),
            None => call,
        }
    }

    /// What a request comes to whose handler panics at its first look at the clock.
    pub(crate) async fn startled<T>(&self, request: impl Future<Output = T>) -> T {
        STARTLED.scope((), request).await
    }

    /// A new session of a user's and its id.
    pub(crate) async fn session_of(&self, username: &str) -> (String, String) {
        self.knows_password(username).await;
        sign_in(&self.api, username).await
    }

    /// Gives somebody the password, if he has another; for that ends his sessions.
    async fn knows_password(&self, username: &str) {
        let known = json!({"username": username, "password": PASSWORD});
        if self.api.call("POST", "/session").json(&known).send().await.status == 201 {
            return;
        }
        let reset = json!({"password": PASSWORD});
        self.api.admin("POST", &format!("/users/{username}/credential-reset"), reset).await.ok(204);
    }

    /// Something of the caller's own.
    async fn own(&self, row: &Row, username: &str, made: &mut Made) {
        if row.path.ends_with("/password") {
            self.knows_password(username).await;
        }
        if row.path.contains("/sessions/") {
            made.set("{id}", self.session_of(username).await.1);
        }
        if row.path.contains("/tokens/") {
            let secret = self.api.token(self.api.id_of(username), None).await;
            let issued =
                self.api.by(&secret, "POST", "/user/me/tokens", json!({"name": "own"})).await.ok(201);
            made.set("{id}", issued.body["token"]["id"].as_str().unwrap());
        }
    }

    /// An account, as the verb of the path needs it.
    async fn account(&self, path: &str, made: &mut Made) {
        if !path.contains("{id}") {
            return;
        }
        let (api, user) = (&self.api, format!("u{}", made.n));
        let kind = if path.contains("/tokens") { "service" } else { "person" };
        api.admin("POST", "/users", json!({"username": user, "kind": kind})).await.ok(201);
        let at = format!("/users/{user}");
        match path.rsplit('/').next().unwrap() {
            "reactivate" => drop(api.admin("POST", &format!("{at}/suspend"), Value::Null).await.ok(200)),
            "restore" => {
                api.admin("POST", &format!("{at}/schedule-deletion"), json!({})).await.ok(200);
            }
            "{token}" => {
                let issued = api.admin("POST", &format!("{at}/tokens"), json!({"name": "its"})).await.ok(201);
                made.set("{token}", issued.body["token"]["id"].as_str().unwrap());
            }
            _ => {}
        }
        made.set("{id}", user);
    }

    /// An account that waits for its link to be taken; the link's secret.
    async fn invited(&self, n: usize) -> String {
        let made = self.api.admin("POST", "/invitations", json!({"username": format!("u{n}")})).await.ok(201);
        made.body["secret"].as_str().unwrap().to_owned()
    }

    /// A group with a member; its id.
    async fn group(&self, n: usize) -> String {
        self.api.user_without_token(&format!("u{n}")).await;
        let made = self.api.admin("POST", "/groups", json!({"slug": format!("g{n}")})).await.ok(201);
        self.api.admin("PUT", &format!("/groups/g{n}/members/u{n}"), Value::Null).await.ok(204);
        made.body["id"].as_str().unwrap().to_owned()
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

    async fn of_scim(&self, path: &str, made: &mut Made) {
        match path {
            "/scim/v2/ResourceTypes/{id}" => made.set("{id}", "User"),
            "/scim/v2/Schemas/{id}" => made.set("{id}", USER),
            "/scim/v2/Users/{id}" => {
                let id = self.api.user_without_token(&format!("u{}", made.n)).await;
                made.set("{id}", id);
            }
            "/scim/v2/Groups/{id}" => made.set("{id}", self.group(made.n).await),
            _ => {}
        }
    }

    /// A projection that what is asked can be done with.
    async fn projection(&mut self, path: &str, made: &mut Made) {
        made.set("{name}", "groups");
        let switches = path.ends_with("/rollback");
        match path.rsplit('/').next().unwrap() {
            "rebuild" => self.idle().await,
            "switch" | "rollback" => {
                self.idle().await;
                let body = json!({"switch": switches});
                self.api.admin("POST", "/projections/groups/rebuild", body).await.ok(202);
                self.idle().await;
            }
            "skip" if self.stopped.is_none() => {
                self.idle().await;
                self.api.admin("POST", "/groups", json!({"slug": "bad"})).await.ok(201);
                self.stopped = Some(self.api.head().get());
                let stopped = |one: &Value| one["name"] == "groups" && one["status"] == "stopped";
                self.until(|all| all.iter().any(stopped)).await;
            }
            _ => {}
        }
    }

    /// Waits until nothing works on the projection.
    async fn idle(&self) {
        let idle = |one: &Value| one["operation"].is_null() && one["status"] == "following";
        self.until(|all| all.iter().any(|one| one["name"] == "groups" && idle(one))).await;
    }

    async fn until(&self, expected: impl Fn(&[Value]) -> bool) {
        let mut shown = Value::Null;
        for _ in 0..5_000 {
            shown = self.api.admin("GET", "/projections", Value::Null).await.ok(200).body["items"].take();
            if expected(shown.as_array().unwrap()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("the projections stay so: {shown}")
    }

    /// A backup that goes on.
    async fn backup(&self) -> String {
        for _ in 0..5_000 {
            let all = self.api.admin("GET", "/operations", Value::Null).await.ok(200).body;
            let goes_on = |one: &&Value| one["kind"] == "backup" && one["state"] == "running";
            if let Some(one) = all["items"].as_array().unwrap().iter().find(goes_on) {
                return one["id"].as_str().unwrap().to_owned();
            }
            self.api.admin("POST", "/backups", Value::Null).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("no backup begins")
    }

    /// A body the route takes; none when it takes none.
    async fn body(&self, row: &Row, n: usize) -> Option<Value> {
        let object = format!("server:t{n}");
        let asked = json!({"permission": "minecraft.server.read", "object": object});
        let grant =
            json!({"subject": "user:nobody", "permissions": ["minecraft.server.read"], "scope": object});
        let route = (row.method, row.path.trim_start_matches("/api/v1"));
        Some(match route {
            ("GET" | "DELETE", _) => return None,
            (_, path) if path.starts_with("/access/") => in_words_of_authzen(path, n),
            (_, path) if path.starts_with("/scim/") => in_words_of_scim(row.method, path, n),
            (_, path) if path.contains("/invitations") || path.contains("/password") => {
                return self.about_links(path, n).await;
            }
            ("POST", "/setup") => json!({"code": self.api.code, "username": "eve", "password": PASSWORD}),
            ("POST", "/session/device") => json!({}),
            ("POST", "/session/device/token") => json!({"handle": "none"}),
            ("POST", "/session") => json!({"username": "ada", "password": PASSWORD}),
            ("POST", "/user/me/tokens") => json!({"name": "mine"}),
            ("POST", "/users") => json!({"username": format!("new{n}")}),
            ("PATCH", "/users/{id}") => json!({"display_name": "Other"}),
            ("POST", "/users/{id}/schedule-deletion") => json!({}),
            ("POST", "/users/{id}/credential-reset") => json!({"password": "another good one"}),
            ("PUT", "/users/{id}/identity") => {
                json!({"issuer": "https://id.example.org", "subject": format!("s{n}")})
            }
            ("POST", "/users/{id}/tokens") => json!({"name": "its"}),
            ("PUT", "/catalog/{namespace}") => catalog(),
            ("POST", "/roles") => json!({"slug": format!("new{n}"), "scope": "both"}),
            ("POST", "/groups") => json!({"slug": format!("new{n}")}),
            ("PATCH", "/roles/{id}" | "/groups/{id}" | "/objects/{type}/{id}") => json!({"name": "Other"}),
            ("POST", "/objects") => json!({"type": "server", "name": "New"}),
            ("POST", "/objects/{type}/{id}/transfer") => json!({"owner": "ada"}),
            ("POST", "/objects/{type}/{id}/move") => json!({"parent": null}),
            ("POST", "/objects/{type}/{id}/inheritance") => json!({"inherits": false}),
            ("POST", "/grants") => grant,
            ("POST", "/check" | "/explain" | "/who-can") => asked,
            ("POST", "/check/batch") => json!({"checks": [asked]}),
            ("POST", "/effective") => json!({"object": object}),
            ("POST", "/allowed-objects") => json!({"permission": "minecraft.server.read", "type": "server"}),
            ("POST", "/commands/preview") => {
                json!({"method": "POST", "path": "/api/v1/groups", "body": {"slug": format!("new{n}")}})
            }
            ("POST", "/history/undo") => {
                let group = json!({"slug": format!("undone{n}")});
                self.api.admin("POST", "/groups", group).await.ok(201);
                json!({"offset": self.api.head()})
            }
            ("POST", "/projections/{name}/rebuild") => json!({"switch": true}),
            ("POST", "/projections/{name}/skip") => json!({"offset": self.stopped}),
            _ => return None,
        })
    }

    /// What is sent about invitations and passwords.
    async fn about_links(&self, path: &str, n: usize) -> Option<Value> {
        Some(match path {
            "/user/me/password" => json!({"current": PASSWORD, "new": "another good one"}),
            "/invitations" => json!({"username": format!("new{n}"), "email": format!("new{n}@example.org")}),
            "/invitations/oidc" => json!({"secret": self.invited(n).await}),
            "/invitations/accept" => json!({"secret": self.invited(n).await, "password": PASSWORD}),
            "/password/forgotten" => json!({"username": format!("u{n}")}),
            "/password/reset" => {
                let (user, address) = (format!("u{n}"), format!("u{n}@example.org"));
                let new = json!({"username": user, "email": address, "password": PASSWORD});
                self.api.admin("POST", "/users", new).await.ok(201);
                let forgotten = json!({"username": user});
                self.api.call("POST", "/password/forgotten").json(&forgotten).send().await.ok(204);
                json!({"secret": self.post.secret_for(&address).await, "password": "another good one"})
            }
            _ => return None,
        })
    }
}

fn in_words_of_authzen(path: &str, n: usize) -> Value {
    let (subject, action) =
        (json!({"type": "user", "id": "nobody"}), json!({"name": "minecraft.server.read"}));
    let resource = json!({"type": "server", "id": format!("t{n}")});
    let question = json!({"subject": subject, "action": action, "resource": resource});
    match path {
        "/access/v1/evaluation" => question,
        "/access/v1/evaluations" => json!({"evaluations": [question]}),
        "/access/v1/search/subject" => {
            json!({"subject": {"type": "user"}, "action": action, "resource": resource})
        }
        "/access/v1/search/resource" => {
            json!({"subject": subject, "action": action, "resource": {"type": "server"}})
        }
        "/access/v1/search/action" => json!({"subject": subject, "resource": resource}),
        _ => panic!("nobody knows what {path} is asked"),
    }
}

fn in_words_of_scim(method: &str, path: &str, n: usize) -> Value {
    let of_users = path.contains("/Users");
    let (new, name) = (format!("new{n}"), if of_users { "displayName" } else { "externalId" });
    match (method, path.rsplit('/').next().unwrap()) {
        (_, ".search") => json!({"schemas": [SEARCH]}),
        ("PATCH", _) => {
            json!({"schemas": [PATCH], "Operations": [{"op": "replace", "path": name, "value": "Other"}]})
        }
        _ if of_users => json!({"schemas": [USER], "userName": new}),
        _ => json!({"schemas": [GROUP], "displayName": new}),
    }
}

/// A token of somebody's that works until a moment.
async fn until(api: &Api, user: UserId, end: Timestamp) -> String {
    let new = NewToken { user, name: "ends".parse().unwrap(), expires_at: Some(end), mask: None };
    let issued = api.control.issue_token(Caller::of(user), new, RequestMeta::new(Via::Cli)).await.unwrap();
    issued.secret.expose().to_owned()
}

/// A new session's secret and id.
async fn sign_in(api: &Api, username: &str) -> (String, String) {
    let body = json!({"username": username, "password": PASSWORD});
    let begun = api.call("POST", "/session").json(&body).send().await.ok(201).body;
    (begun["secret"].as_str().unwrap().to_owned(), begun["session"].as_str().unwrap().to_owned())
}
