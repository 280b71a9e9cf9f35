//! The HTTP API: routes, request and response shapes, the access table, the one mapping of errors to problems.
//!
//! Layer 4. Owns what a client sees. Must not decide anything: a handler parses, calls a use case, and answers.
//!
//! A request passes, in this order: its bounds and its line in the access log (`edge::around`), its row of the access
//! table (`edge::gate`: who, which version, which parameters, the coarse gate), its body (`body`), its handler
//! (`routes`), which asks at the scope what it needs.

mod access;
mod answer;
mod ask;
mod authzen;
mod body;
pub mod dto;
mod edge;
mod live;
mod oidc;
mod openapi;
mod openmetrics;
mod pages;
mod problem;
mod read;
mod routes;
mod scim;

pub use access::{ACCESS_TABLE, Gate, Row, TypeKey};
pub use ask::PAGE_ROWS_MAX;
pub use authzen::{InvalidSubjectType, InvalidUrl, PublicUrl, SubjectType};
pub use body::BODY_BYTES_MAX;
pub use edge::{CONNECTIONS_MAX, Listening, Tls, TlsError, serve, serve_over};
pub use ipnet::IpNet;
pub use oidc::{CALLBACK_PATH, IdentityProvider};

use axum::{Extension, Router, middleware::from_fn_with_state};
use charter_control::Control;
use metrics_exporter_prometheus::PrometheusHandle;
use std::{num::NonZeroU32, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use utoipa::openapi::OpenApi;

/// What can be set about the API.
#[derive(Clone)]
pub struct HttpConfig {
    /// How long an answer may take; a command goes on all the same.
    pub request_timeout: Duration,
    /// The most requests answered at once; beyond it 503 `overloaded`. Those to public routes, and those that change
    /// something, are counted apart, and are at most a quarter as many each; probes are not counted.
    pub requests_at_once_max: usize,
    /// The most live streams of events sent at once, to all readers together; beyond it 503 `overloaded`. They are
    /// counted among no requests, and no time ends them.
    pub streams_at_once_max: usize,
    /// A live stream on which nothing happens says so this often; so often, too, its reader is judged again.
    pub heartbeat_every: Duration,
    /// Where `/metrics` reads from; it is empty without.
    pub metrics: Option<PrometheusHandle>,
    /// Whether the server is reached by TLS alone, by a listener of its own.
    pub encrypted: bool,
    /// How the server is called from outside, where it tells where things are; without, as the request calls it. From
    /// nowhere else a browser's session may change anything; where it begins with `https`, such a session is sent by
    /// TLS alone.
    pub public_url: Option<PublicUrl>,
    /// What users are called besides `user` by those who ask in the words of AuthZEN.
    pub subject_types: Vec<SubjectType>,
    /// The identity provider people may sign in at.
    pub oidc: Option<IdentityProvider>,
    /// The proxies that are believed whom a request is from.
    pub trusted_proxies: Vec<IpNet>,
    /// How often each caller who is signed in may ask.
    pub caller_rate: Option<RateLimit>,
    /// How often he may with one session or one API token of his.
    pub credential_rate: Option<RateLimit>,
    /// How often those who are not may ask from one address, and credentials be refused there.
    pub address_rate: Option<RateLimit>,
}

/// A bound on how often somebody may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// So many requests a second, on average.
    pub per_second: NonZeroU32,
    /// So many at once.
    pub burst: NonZeroU32,
}

impl RateLimit {
    /// A bound; none where a number is 0.
    pub fn new(per_second: u32, burst: u32) -> Option<Self> {
        Some(Self { per_second: NonZeroU32::new(per_second)?, burst: NonZeroU32::new(burst)? })
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(30),
            requests_at_once_max: 1_024,
            streams_at_once_max: 256,
            heartbeat_every: Duration::from_secs(15),
            metrics: None,
            encrypted: false,
            public_url: None,
            subject_types: Vec::new(),
            oidc: None,
            trusted_proxies: Vec::new(),
            caller_rate: None,
            credential_rate: None,
            address_rate: None,
        }
    }
}

impl std::fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpConfig")
            .field("request_timeout", &self.request_timeout)
            .field("requests_at_once_max", &self.requests_at_once_max)
            .field("streams_at_once_max", &self.streams_at_once_max)
            .field("heartbeat_every", &self.heartbeat_every)
            .field("encrypted", &self.encrypted)
            .field("public_url", &self.public_url)
            .field("subject_types", &self.subject_types)
            .field("oidc", &self.oidc.as_ref().map(|provider| &provider.name))
            .field("trusted_proxies", &self.trusted_proxies)
            .field("caller_rate", &self.caller_rate)
            .field("credential_rate", &self.credential_rate)
            .field("address_rate", &self.address_rate)
            .finish_non_exhaustive()
    }
}

/// What every request needs.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) control: Control,
    pub(crate) config: Arc<HttpConfig>,
    /// Room for requests of those who are signed in.
    pub(crate) running: Arc<Semaphore>,
    /// Room for requests to public routes.
    pub(crate) visiting: Arc<Semaphore>,
    /// Room for requests that change something.
    pub(crate) writing: Arc<Semaphore>,
    /// Room for live streams.
    pub(crate) streaming: Arc<Semaphore>,
    /// How often who may ask.
    pub(crate) rates: Arc<edge::Rates>,
    /// The door to the identity provider, where there is one.
    pub(crate) door: Option<Arc<oidc::Door>>,
    pub(crate) document: Arc<str>,
}

impl App {
    fn new(control: Control, config: HttpConfig, document: Arc<str>) -> Self {
        // Shown from the start on; several may be counted together.
        metrics::gauge!("charter_http_event_streams").increment(0.0);
        let room = config.requests_at_once_max;
        let door = config.oidc.as_ref().map(|provider| oidc::Door::new(provider, control.cursor_key()));
        Self {
            control,
            door: door.map(Arc::new),
            running: Arc::new(Semaphore::new(room)),
            visiting: Arc::new(Semaphore::new(room.div_ceil(4))),
            writing: Arc::new(Semaphore::new(room.div_ceil(4))),
            streaming: Arc::new(Semaphore::new(config.streams_at_once_max)),
            rates: Arc::new(edge::Rates::new(&config)),
            config: Arc::new(config),
            document,
        }
    }
}

/// The API of a control plane.
pub fn router(control: Control, config: HttpConfig) -> Router {
    let app = App::new(control, config, openapi().to_json().unwrap_or_default().into());
    let routes = |app: &App| {
        let routes = access::routes(app).fallback(edge::no_route);
        routes.method_not_allowed_fallback(edge::method_not_allowed)
    };
    let commands = edge::Commands::new(routes(&app).with_state(app.clone()));
    routes(&app)
        .layer(Extension(commands))
        .layer(from_fn_with_state(app.clone(), edge::around))
        .with_state(app)
}

/// The OpenAPI 3.1 document of the API.
pub fn openapi() -> OpenApi {
    access::document()
}
