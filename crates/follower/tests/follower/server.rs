//! The real API on a loopback port, on a store in memory that outlives it.

use crate::wait::SOON;
use charter_control::{Config, Control, NewToken, NewUser, RequestMeta};
use charter_events::{Profile, UserId, UserKind, Via};
use charter_follower::{Follower, FollowerConfig, Token};
use charter_http::{HttpConfig, router, serve};
use charter_policy::Caller;
use charter_store::MemoryStore;
use charter_testkit::rng::Rng;
use serde_json::{Value, json};
use std::{net::SocketAddr, sync::Arc};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

const PASSWORD: &str = "correct horse battery";

/// A server that answers.
pub(crate) struct Server {
    pub(crate) control: Control,
    pub(crate) at: SocketAddr,
    http: reqwest::Client,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    /// A token of the administrator.
    pub(crate) token: String,
}

impl Server {
    /// A new installation on a free port.
    pub(crate) async fn new() -> Self {
        Self::on(&MemoryStore::default(), "127.0.0.1:0".parse().unwrap(), None).await
    }

    /// A server on a store and an address; a new installation is set up, an old one has its token.
    pub(crate) async fn on(store: &MemoryStore, at: SocketAddr, token: Option<String>) -> Self {
        let started = Control::start(Arc::new(store.clone()), Config::default()).await.unwrap();
        let control = started.control;
        let listener = bind(at).await;
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(control.clone(), HttpConfig { heartbeat_every: SOON, ..HttpConfig::default() });
        let served = tokio::spawn(async move {
            serve(listener, router, async { drop(stopped.await) }).await.unwrap();
        });
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut server = Self { control, at, http, stop, served, token: token.unwrap_or_default() };
        if let Some(code) = started.setup_code.filter(|_| server.token.is_empty()) {
            let first = json!({"code": code.expose(), "username": "ada", "password": PASSWORD});
            assert_eq!(server.post("/setup", first).await, 201);
            let ada = server.control.resolve_user(&server.control.policy(), "ada").unwrap();
            server.token = server.token_of(ada).await;
        }
        server
    }

    pub(crate) async fn stop(self) {
        let control = self.control.clone();
        self.stop_answering().await;
        control.shutdown().await;
    }

    /// Nobody can ask it any more; what it does otherwise it goes on doing.
    pub(crate) async fn stop_answering(self) {
        self.stop.send(()).unwrap();
        self.served.await.unwrap();
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.at)
    }

    /// What follows this server, with short waits.
    pub(crate) fn config(&self) -> FollowerConfig {
        quick(&self.base(), &self.token)
    }

    pub(crate) async fn followed(&self) -> Follower {
        Follower::start(self.config()).await.unwrap()
    }

    /// A change by the administrator; the status.
    pub(crate) async fn post(&self, path: &str, body: Value) -> u16 {
        self.send(reqwest::Method::POST, path, body).await
    }

    pub(crate) async fn send(&self, method: reqwest::Method, path: &str, body: Value) -> u16 {
        let request = self.http.request(method, format!("{}/api/v1{path}", self.base()));
        let request = request.bearer_auth(&self.token).header("if-match", "*");
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn user(&self, name: &str) -> UserId {
        let profile = Profile {
            username: name.parse().unwrap(),
            display_name: None,
            email: None,
            login_name: None,
            external_id: None,
            identity: None,
        };
        let new = NewUser { kind: UserKind::Person, profile, password: None };
        let made = self.control.register_user(Caller::System, new, RequestMeta::new(Via::Cli)).await.unwrap();
        UserId::new(made.created.unwrap())
    }

    pub(crate) async fn token_of(&self, user: UserId) -> String {
        let new = NewToken { user, name: "test".parse().unwrap(), expires_at: None, mask: None };
        let made = self.control.issue_token(Caller::of(user), new, RequestMeta::new(Via::Cli)).await.unwrap();
        made.secret.expose().to_owned()
    }

    /// Commands by chance, some of which are refused.
    pub(crate) async fn random_commands(&self, rng: &mut Rng, count: usize) {
        for _ in 0..count {
            let (one, two) = (rng.below(6), rng.below(6));
            let (user, group, folder) = (format!("u{one}"), format!("g{two}"), format!("f{two}"));
            let (method, path, body) = match rng.below(8) {
                0 => ("POST", "/users".to_owned(), json!({"username": user, "password": null})),
                1 => ("POST", "/groups".to_owned(), json!({"slug": group})),
                2 => ("PUT", format!("/groups/{group}/members/{user}"), Value::Null),
                3 => ("DELETE", format!("/groups/{group}"), Value::Null),
                4 => (
                    "POST",
                    "/objects".to_owned(),
                    json!({"type": "folder", "name": "F", "external_id": folder}),
                ),
                5 => ("DELETE", format!("/objects/folder/{folder}"), Value::Null),
                6 => ("POST", format!("/users/{user}/suspend"), Value::Null),
                _ => (
                    "POST",
                    "/grants".to_owned(),
                    json!({
                        "subject": format!("group:{group}"), "permissions": ["core.folder.read"],
                        "scope": if one < 3 { "global".to_owned() } else { format!("folder:{folder}") },
                    }),
                ),
            };
            self.send(method.parse().unwrap(), &path, body).await;
        }
    }
}

/// A port that was in use a moment ago may be so for another.
pub(crate) async fn bind(at: SocketAddr) -> TcpListener {
    for _ in 0..500 {
        if let Ok(listener) = TcpListener::bind(at).await {
            return listener;
        }
        tokio::time::sleep(SOON).await;
    }
    panic!("{at} stays in use")
}

/// A configuration with short waits.
pub(crate) fn quick(server: &str, token: &str) -> FollowerConfig {
    let mut config = FollowerConfig::new(server, Token::new(token));
    config.retry_first = SOON;
    config.retry_max = SOON * 5;
    config
}
