//! The connection: making it, checking what is there, and asking JetStream's API. Owns how a fault of NATS becomes a
//! [`BusError`]; must not know what is published.

use crate::{
    config::NatsConfig,
    error::{BusError, MESSAGE_BYTES_MAX},
};
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerError, connection::State, jetstream,
};
use jetstream::{ErrorCode, context::RequestErrorKind, response::Response};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{broadcast, watch};

/// How long connecting may take.
const CONNECT_SECONDS_MAX: u64 = 5;
/// How long an answer of JetStream may take.
const REQUEST_SECONDS_MAX: u64 = 5;
/// How often the connection is tried for life.
const PING_SECONDS: u64 = 10;
/// The longest pause between two attempts to connect again.
const RECONNECT_MILLIS_MAX: u64 = 2_000;
/// The oldest version that keeps a stream's first sequence.
const VERSION_MIN: (u64, u64) = (2, 10);

/// A connection to the bus; clones share it. It connects again by itself, as often as needed.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    jetstream: jetstream::Context,
    /// Where it is, without secrets.
    url: String,
    replicas: usize,
    /// By what the user is known: what a server that refuses him does not accept.
    signed_in_by: SignedInBy,
    noticed: Arc<Noticed>,
}

/// By what a user is known to the server, and where that is said.
#[derive(Debug, Clone, Copy)]
struct SignedInBy {
    what: &'static str,
    variable: &'static str,
}

/// What the client reported.
struct Noticed {
    connected: watch::Sender<bool>,
    denied: broadcast::Sender<Denied>,
    /// The inbox the user may not subscribe to; the client asks for it once.
    inbox_denied: Mutex<Option<String>>,
    /// Why connecting failed last.
    trouble: Mutex<Option<String>>,
}

/// A right that was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Denied {
    action: &'static str,
    subject: String,
}

impl std::fmt::Debug for Bus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bus").field("url", &self.shared.url).finish_non_exhaustive()
    }
}

/// Connects and checks that this is a bus that can be used.
///
/// # Errors
/// [`BusError::Away`] when nothing answers now: then [`connect_later`] goes on without it. Any other error needs
/// somebody to change what it names.
pub async fn connect(config: &NatsConfig) -> Result<Bus, BusError> {
    let bus = Bus::make(config, config.options().await?).await?;
    bus.check().await?;
    Ok(bus)
}

/// A bus that is not there yet: it is connected to in the background, for as long as it takes.
///
/// # Errors
/// [`BusError::CredentialsFile`].
pub async fn connect_later(config: &NatsConfig) -> Result<Bus, BusError> {
    let options = config.options().await?.retry_on_initial_connect();
    Bus::make(config, options).await
}

impl Bus {
    async fn make(config: &NatsConfig, options: ConnectOptions) -> Result<Self, BusError> {
        let noticed = Arc::new(Noticed {
            connected: watch::Sender::new(false),
            denied: broadcast::Sender::new(64),
            inbox_denied: Mutex::new(None),
            trouble: Mutex::new(None),
        });
        let told = noticed.clone();
        let options = options
            .connection_timeout(Duration::from_secs(CONNECT_SECONDS_MAX))
            .request_timeout(Some(Duration::from_secs(REQUEST_SECONDS_MAX)))
            .ping_interval(Duration::from_secs(PING_SECONDS))
            .reconnect_delay_callback(reconnect_delay)
            .event_callback(move |event| {
                told.hear(event);
                std::future::ready(())
            });
        let client = options.connect(config.url.servers()).await.map_err(|e| connect_error(config, &e))?;
        let jetstream = jetstream::ContextBuilder::new()
            .timeout(Duration::from_secs(REQUEST_SECONDS_MAX))
            .build(client.clone());
        let (url, replicas) = (config.url.to_string(), config.replicas.max(1));
        let signed_in_by = signed_in_by(config);
        Ok(Self { shared: Arc::new(Shared { client, jetstream, url, replicas, signed_in_by, noticed }) })
    }

    /// Whether the bus is there right now.
    pub fn is_connected(&self) -> bool {
        self.shared.client.connection_state() == State::Connected
    }

    /// Where the bus is, without secrets.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Checks the server's version, the size of message it takes, and that JetStream is there.
    ///
    /// # Errors
    /// See [`connect`].
    pub async fn check(&self) -> Result<(), BusError> {
        let Some(info) = self.shared.client.try_server_info() else {
            return Err(self.away("not connected yet"));
        };
        let url = self.shared.url.clone();
        if version(&info.version).is_some_and(|found| found < VERSION_MIN) {
            return Err(BusError::TooOld { url, found: info.version });
        }
        if info.max_payload < MESSAGE_BYTES_MAX {
            return Err(BusError::MaxPayload { url, found: info.max_payload });
        }
        match self.api::<serde::de::IgnoredAny>("INFO", &()).await {
            // who may not ask this may well have the rights that count
            Ok(Ok(_)) | Err(BusError::Forbidden { action: "publish to", .. }) => Ok(()),
            Ok(Err(error)) => Err(self.refused("to say whether it is enabled", &error)),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn jetstream(&self) -> &jetstream::Context {
        &self.shared.jetstream
    }

    pub(crate) fn replicas(&self) -> usize {
        self.shared.replicas
    }

    /// Waits until the bus is connected (true) or away (false).
    pub(crate) async fn until_connected(&self, connected: bool) {
        let mut state = self.shared.noticed.connected.subscribe();
        // An error: the client is gone, which cannot be while `self` is there.
        let _ = state.wait_for(|now| *now == connected).await;
    }

    /// Asks JetStream's API: its answer, or its own error.
    pub(crate) async fn api<T: DeserializeOwned>(
        &self,
        name: &str,
        payload: &(impl Serialize + ?Sized),
    ) -> Result<Result<T, jetstream::Error>, BusError> {
        let subject = format!("$JS.API.{name}");
        let answer = self.watched(&subject, self.shared.jetstream.request(name.to_owned(), payload)).await?;
        match answer {
            Ok(Response::Ok(answer)) => Ok(Ok(answer)),
            Ok(Response::Err { error }) => match error.error_code() {
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                    Err(self.no_jetstream())
                }
                _ => Ok(Err(error)),
            },
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Err(self.no_jetstream()),
            Err(error) => {
                let inbox = lock(&self.shared.noticed.inbox_denied).clone();
                Err(match inbox {
                    Some(subject) => BusError::Forbidden { action: "subscribe to", subject },
                    None => self.away(error.to_string()),
                })
            }
        }
    }

    /// Awaits something sent to a subject, or the server's saying that the user may not send there.
    pub(crate) async fn watched<T>(
        &self,
        subject: &str,
        sent: impl Future<Output = T>,
    ) -> Result<T, BusError> {
        let mut denied = self.shared.noticed.denied.subscribe();
        tokio::select! {
            done = sent => Ok(done),
            error = missing_right(&mut denied, |found| found == subject) => Err(error),
        }
    }

    /// Waits until the server says that the user may not publish to one of the subjects, or not subscribe.
    pub(crate) fn denials(&self, subject: impl Fn(&str) -> bool) -> impl Future<Output = BusError> {
        let mut denied = self.shared.noticed.denied.subscribe();
        async move { missing_right(&mut denied, subject).await }
    }

    /// What is wrong with a bus that does not answer.
    pub(crate) fn away(&self, why: impl Into<String>) -> BusError {
        let url = self.shared.url.clone();
        let trouble = lock(&self.shared.noticed.trouble).clone();
        match trouble {
            Some(why) if is_refusal(&why) => {
                let SignedInBy { what, variable } = self.shared.signed_in_by;
                BusError::Unauthorized { url, what, variable }
            }
            Some(why) => BusError::Away { url, why },
            None => BusError::Away { url, why: why.into() },
        }
    }

    pub(crate) fn refused(&self, asked: impl Into<String>, error: &jetstream::Error) -> BusError {
        match error.error_code() {
            // for now only: a cluster without a leader, a server that starts
            ErrorCode::CLUSTER_NOT_AVAILABLE | ErrorCode::CLUSTER_NOT_LEADER => self.away(error.to_string()),
            _ => BusError::Refused { asked: asked.into(), why: error.to_string() },
        }
    }

    fn no_jetstream(&self) -> BusError {
        BusError::NoJetStream { url: self.shared.url.clone() }
    }
}

impl Noticed {
    fn hear(&self, event: Event) {
        match event {
            Event::Connected => {
                *lock(&self.trouble) = None;
                *lock(&self.inbox_denied) = None;
                self.connected.send_replace(true);
            }
            Event::Disconnected | Event::Closed => drop(self.connected.send_replace(false)),
            Event::ServerError(ServerError::Other(text)) => {
                if let Some(denied) = denied(&text) {
                    if denied.action == "subscribe to" {
                        *lock(&self.inbox_denied) = Some(denied.subject.clone());
                    }
                    // An error: nobody waits for anything.
                    let _ = self.denied.send(denied);
                }
            }
            Event::ClientError(error) => *lock(&self.trouble) = Some(error.to_string()),
            _ => {}
        }
    }
}

async fn missing_right(denied: &mut broadcast::Receiver<Denied>, subject: impl Fn(&str) -> bool) -> BusError {
    loop {
        match denied.recv().await {
            Ok(Denied { action, subject: found }) if action == "subscribe to" || subject(&found) => {
                return BusError::Forbidden { action, subject: found };
            }
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// Reads `Permissions Violation for Publish to "subject"`.
fn denied(text: &str) -> Option<Denied> {
    let (_, what) = text.split_once("ermissions Violation for ")?;
    let action = if what.starts_with("Publish") { "publish to" } else { "subscribe to" };
    let subject = what.split('"').nth(1)?;
    // an inbox has another name each time
    let subject = if subject.starts_with("_INBOX.") { "_INBOX.>" } else { subject };
    Some(Denied { action, subject: subject.to_owned() })
}

/// Major and minor of `2.10.4-RC.1`; `None` for what is no version of ours to judge.
fn version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn reconnect_delay(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    let millis = if attempts <= 1 { 0 } else { 25_u64.saturating_mul(1 << doublings) };
    Duration::from_millis(millis.min(RECONNECT_MILLIS_MAX))
}

fn connect_error(config: &NatsConfig, error: &ConnectError) -> BusError {
    use std::error::Error;
    let url = config.url.to_string();
    let why = error.source().map_or_else(|| error.kind().to_string(), ToString::to_string);
    let io = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let unauthorized =
        matches!(error.kind(), ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication);
    if unauthorized || is_refusal(&why) {
        let SignedInBy { what, variable } = signed_in_by(config);
        return BusError::Unauthorized { url, what, variable };
    }
    match error.kind() {
        ConnectErrorKind::Tls => BusError::Tls { url, why },
        _ if io.is_some_and(|e| e.kind() == std::io::ErrorKind::InvalidData) => BusError::Tls { url, why },
        _ => BusError::Away { url, why },
    }
}

/// Whether a server said that it does not know this user.
fn is_refusal(text: &str) -> bool {
    let text = text.to_lowercase();
    ["authentication", "authorization", "revoked", "signing nonce"].iter().any(|word| text.contains(word))
}

const fn signed_in_by(config: &NatsConfig) -> SignedInBy {
    match config.credentials_file {
        Some(_) => SignedInBy {
            what: "the credentials in the file",
            variable: "the file that CHARTER_NATS_CREDENTIALS names",
        },
        None => {
            SignedInBy { what: "the user and password or the token", variable: "them in CHARTER_NATS_URL" }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_2_10_are_told_apart() {
        for (text, new_enough) in [
            ("2.9.10", false),
            ("2.9.25-beta.1", false),
            ("1.4.0", false),
            ("2.10.0", true),
            ("v2.10.29", true),
            ("2.15.1", true),
            ("3.0.0-dev", true),
            ("strange", true),
        ] {
            assert_eq!(version(text).is_none_or(|v| v >= VERSION_MIN), new_enough, "{text}");
        }
    }

    #[test]
    fn a_missing_right_names_its_subject() {
        for (text, action, subject) in [
            (
                "Permissions Violation for Publish to \"$JS.API.STREAM.INFO.S\"",
                "publish to",
                "$JS.API.STREAM.INFO.S",
            ),
            ("Permissions Violation for Subscription to \"_INBOX.abc.*\"", "subscribe to", "_INBOX.>"),
        ] {
            assert_eq!(denied(text), Some(Denied { action, subject: subject.to_owned() }));
        }
        assert_eq!(denied("Stale Connection"), None);
    }

    #[test]
    fn attempts_to_connect_grow_rarer_up_to_a_bound() {
        let delays: Vec<u128> = [0, 1, 2, 3, 8, 1_000_000].map(|n| reconnect_delay(n).as_millis()).to_vec();
        assert_eq!(delays, [0, 0, 50, 100, 2_000, 2_000]);
    }
}
