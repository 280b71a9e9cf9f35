//! An API to call: a control plane on a store in memory, its first administrator signed in, users made on demand.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use charter_control::{Config, Control, NewToken, NewUser, RequestMeta};
use charter_events::{Offset, Pattern, Profile, UserId, UserKind, Via};
use charter_http::{HttpConfig, router};
use charter_policy::Caller;
use charter_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// One installation.
pub(crate) struct Api {
    pub(crate) router: Router,
    pub(crate) control: Control,
    pub(crate) store: Arc<MemoryStore>,
    /// The setup code, while there is one.
    pub(crate) code: Option<String>,
    /// The administrator's session.
    pub(crate) admin: String,
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|v| v.to_str().unwrap()).unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn ok(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        self
    }

    pub(crate) fn ids(&self, member: &str) -> Vec<String> {
        let rows = self.body[member].as_array().unwrap_or_else(|| panic!("no {member}: {}", self.text));
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn texts(&self, rows: &str, member: &str) -> Vec<String> {
        let rows = self.body[rows].as_array().unwrap_or_else(|| panic!("no {rows}: {}", self.text));
        rows.iter().map(|row| row[member].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// A request being put together.
pub(crate) struct Call<'a> {
    api: &'a Api,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Call<'_> {
    pub(crate) fn by(self, secret: &str) -> Self {
        self.header("authorization", &format!("Bearer {secret}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.raw("application/json", body.to_string().as_bytes())
    }

    pub(crate) fn raw(mut self, content_type: &str, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.header("content-type", content_type)
    }

    pub(crate) async fn send(self) -> Reply {
        let mut request = Request::builder().method(self.method.as_str()).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(self.body)).unwrap();
        read(self.api.router.clone().oneshot(request).await.unwrap()).await
    }
}

pub(crate) async fn read(response: axum::response::Response) -> Reply {
    let (parts, body) = response.into_parts();
    // Tiles of hashes are no text; nobody looks at theirs here.
    let text = String::from_utf8_lossy(&to_bytes(body, usize::MAX).await.unwrap()).into_owned();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Reply { status: parts.status.as_u16(), headers: parts.headers, text, body }
}

impl Api {
    /// An installation that has not been set up.
    pub(crate) async fn fresh() -> Self {
        Self::started(Config::default()).await
    }

    async fn started(config: Config) -> Self {
        let store = Arc::new(MemoryStore::default());
        let started = Control::start(store.clone(), config).await.unwrap();
        let code = started.setup_code.map(|code| code.expose().to_owned());
        let control = started.control;
        let router = router(control.clone(), HttpConfig::default());
        Self { router, control, store, code, admin: String::new() }
    }

    /// An installation with its administrator `ada`.
    pub(crate) async fn new() -> Self {
        Self::set_up(Config::default()).await
    }

    /// The same, with settings of its own.
    pub(crate) async fn set_up(config: Config) -> Self {
        let mut api = Self::started(config).await;
        let code = api.code.clone().unwrap();
        let first = json!({"code": code, "username": "ada", "password": PASSWORD, "display_name": "Ada"});
        api.call("POST", "/setup").json(&first).send().await.ok(201);
        let signed_in = api.call("POST", "/session").json(&json!({"username": "ada", "password": PASSWORD}));
        api.admin = signed_in.send().await.ok(201).body["secret"].as_str().unwrap().to_owned();
        api
    }

    /// The same with a catalog of a game's servers, and folders and servers in it: `folder:eu` with `server:s1`,
    /// and `server:s2` at the top, all the administrator's.
    pub(crate) async fn furnished() -> Self {
        Self::furnished_with(Config::default()).await
    }

    /// The same, with settings of its own.
    pub(crate) async fn furnished_with(config: Config) -> Self {
        let api = Self::set_up(config).await;
        api.admin("PUT", "/catalog/minecraft", catalog()).await.ok(200);
        let folder = json!({"type": "folder", "name": "Europe", "external_id": "eu"});
        api.admin("POST", "/objects", folder).await.ok(201);
        let s1 = json!({"type": "server", "name": "One", "external_id": "s1", "parent": "folder:eu"});
        api.admin("POST", "/objects", s1).await.ok(201);
        let s2 = json!({"type": "server", "name": "Two", "external_id": "s2"});
        api.admin("POST", "/objects", s2).await.ok(201);
        api
    }

    /// A request to a path below `/api/v1`, or to another root.
    pub(crate) fn call(&self, method: &str, path: &str) -> Call<'_> {
        let roots =
            ["/api", "/access", "/.well-known", "/scim", "/healthz", "/readyz", "/metrics", "/assets"];
        let pages = ["/invitation", "/reset-password"];
        let rooted = roots.iter().any(|root| path.starts_with(root))
            || pages.contains(&path.split('?').next().unwrap());
        let path = if rooted { path.to_owned() } else { format!("/api/v1{path}") };
        Call { api: self, method: method.to_owned(), path, headers: Vec::new(), body: Vec::new() }
    }

    /// A request by the administrator; a null body is none, and `If-Match` is `*`.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: Value) -> Reply {
        self.by(&self.admin, method, path, body).await
    }

    /// A request by somebody.
    pub(crate) async fn by(&self, secret: &str, method: &str, path: &str, body: Value) -> Reply {
        let call = self.call(method, path).by(secret).header("if-match", "*");
        let call = if body.is_null() { call } else { call.json(&body) };
        call.send().await
    }

    /// A user without password or grants, and a token of his.
    pub(crate) async fn user(&self, username: &str) -> String {
        let id = self.user_without_token(username).await;
        self.token(id, None).await
    }

    pub(crate) async fn user_without_token(&self, username: &str) -> UserId {
        let profile = Profile {
            username: username.parse().unwrap(),
            display_name: None,
            email: None,
            login_name: None,
            external_id: None,
            identity: None,
        };
        let new = NewUser { kind: UserKind::Person, profile, password: None };
        let receipt =
            self.control.register_user(Caller::System, new, RequestMeta::new(Via::Cli)).await.unwrap();
        UserId::new(receipt.created.unwrap())
    }

    pub(crate) async fn token(&self, user: UserId, mask: Option<&[&str]>) -> String {
        let mask = mask.map(|mask| mask.iter().map(|item| item.parse::<Pattern>().unwrap()).collect());
        let new = NewToken { user, name: "test".parse().unwrap(), expires_at: None, mask };
        let issued =
            self.control.issue_token(Caller::of(user), new, RequestMeta::new(Via::Cli)).await.unwrap();
        issued.secret.expose().to_owned()
    }

    pub(crate) fn id_of(&self, username: &str) -> UserId {
        self.control.resolve_user(&self.control.policy(), username).unwrap()
    }

    /// Gives literal keys, by the administrator; the grant's id.
    pub(crate) async fn give(&self, subject: &str, keys: &[&str], scope: &str) -> String {
        let grant = json!({"subject": subject, "permissions": keys, "scope": scope});
        let made = self.admin("POST", "/grants", grant).await.ok(201);
        made.body["id"].as_str().unwrap().to_owned()
    }

    /// The log's end.
    pub(crate) fn head(&self) -> Offset {
        self.control.head().offset
    }

    /// Asserts that nothing was appended since, and that the server still answers.
    #[track_caller]
    pub(crate) fn unchanged_since(&self, head: Offset) {
        assert_eq!(self.head(), head, "something was appended");
    }
}

pub(crate) fn catalog() -> Value {
    let key = |key: &str, types: &[&str]| json!({"key": key, "description": key, "object_types": types});
    json!({
        "permissions": [
            key("minecraft.server.read", &["server"]),
            key("minecraft.server.create", &["server"]),
            key("minecraft.server.manage", &["server"]),
            key("minecraft.server.restart", &["server"]),
            key("minecraft.report.read", &[]),
        ],
        "object_types": [{
            "name": "server", "read": "minecraft.server.read", "create": "minecraft.server.create",
            "manage": "minecraft.server.manage", "aliases": {"view": "minecraft.server.read"}
        }]
    })
}
