//! What the tests share: a control plane with a clock of its own, some accounts, and short ways to say a command.

use crate::{
    Clock, CommandError, Config, Control, Receipt, Request, RequestMeta, Started,
    failpoints::{Hooks, Outcome, Point},
};
use async_trait::async_trait;
use charter_commands::{Command, CreateGroup, RecoverAdministrator, RegisterUser};
use charter_events::{GroupId, Hash, Timestamp, UserId, UserKind, Via};
use charter_policy::Caller;
use charter_store::{MemoryStore, Store};
use charter_testkit::{
    at,
    ids::{profile, shown, user},
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

/// A clock that stands still until it is moved.
pub(super) struct StandingClock(AtomicI64);

impl StandingClock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(at("2026-03-01T12:00:00Z").as_micros())))
    }

    pub(super) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }

    pub(super) fn set(&self, moment: &str) {
        self.0.store(at(moment).as_micros(), Ordering::SeqCst);
    }
}

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// What the hooks do at a point, and how often it was reached.
#[derive(Default)]
pub(super) struct Script {
    next: Mutex<HashMap<Point, Vec<Outcome>>>,
    reached: Mutex<HashMap<Point, usize>>,
}

impl Script {
    /// The next time the point is reached, this happens.
    pub(super) fn at_next(&self, point: Point, outcome: Outcome) {
        self.next.lock().unwrap().entry(point).or_default().push(outcome);
    }

    pub(super) fn reached(&self, point: Point) -> usize {
        self.reached.lock().unwrap().get(&point).copied().unwrap_or(0)
    }
}

#[async_trait]
impl Hooks for Script {
    async fn before(&self, point: Point) -> Outcome {
        *self.reached.lock().unwrap().entry(point).or_default() += 1;
        self.next.lock().unwrap().get_mut(&point).and_then(Vec::pop).unwrap_or(Outcome::Continue)
    }
}

/// Nothing happens on its own.
pub(super) fn quiet(clock: Arc<StandingClock>) -> Config {
    let never = Duration::from_secs(1_000_000);
    Config {
        clock,
        snapshot_check_every: never,
        housekeeping_every: never,
        verify_every: None,
        projections: Vec::new(),
        version_wait: Duration::from_millis(50),
        ..Config::default()
    }
}

pub(super) struct House {
    pub(super) store: MemoryStore,
    pub(super) clock: Arc<StandingClock>,
    pub(super) script: Arc<Script>,
    pub(super) control: Control,
    pub(super) setup_code: Option<crate::SecretText>,
}

impl House {
    pub(super) async fn new() -> Self {
        Self::on(MemoryStore::default()).await
    }

    /// Another server on a store.
    pub(super) async fn on(store: MemoryStore) -> Self {
        let (clock, script) = (StandingClock::new(), Arc::new(Script::default()));
        let hooks: Arc<dyn Hooks> = script.clone();
        let config = Config { hooks: Some(hooks), ..quiet(clock.clone()) };
        let Started { control, setup_code, .. } = start(&store, config).await.unwrap();
        Self { store, clock, script, control, setup_code }
    }

    /// An administrator, as if recovered from the host.
    pub(super) async fn administrator(&self, name: &str) -> Caller {
        let id = user(name);
        let command = RecoverAdministrator { user: id, profile: Some(profile(name)), has_password: true };
        self.does(Caller::System, command).await.unwrap();
        Caller::of(id)
    }

    pub(super) async fn member(&self, by: &Caller, name: &str) -> UserId {
        let id = user(name);
        let command =
            RegisterUser { user: id, kind: UserKind::Person, profile: profile(name), has_password: true };
        self.does(by.clone(), command).await.unwrap();
        id
    }

    pub(super) async fn does(
        &self,
        caller: Caller,
        command: impl Into<Command>,
    ) -> Result<Receipt, CommandError> {
        self.control.submit(request(caller, command)).await
    }

    /// Waits until so many commands are queued behind the batch that is being written.
    pub(super) async fn queued(&self, commands: usize) {
        for _ in 0..1_000_000 {
            if self.control.inner.queue.waiting() >= commands {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{} commands wait, not {commands}", self.control.inner.queue.waiting());
    }

    /// Submits commands so that the first is alone in its batch and the others follow together in the next, and gives
    /// the codes of the answers.
    pub(super) async fn first_alone(&self, requests: Vec<Request>) -> Vec<&'static str> {
        let mut paused = self.store.hooks().pause_at(charter_store::memory::Point::BeforeLock);
        let mut answers = Vec::new();
        for asked in requests {
            let control = self.control.clone();
            answers.push(tokio::spawn(async move { control.submit(asked).await }));
            match answers.len() {
                1 => paused.reached().await,
                others => self.queued(others - 1).await,
            }
        }
        paused.go();
        let mut codes = Vec::new();
        for answer in answers {
            codes.push(code(answer.await.unwrap()));
        }
        codes
    }

    pub(super) fn has_group(&self, slug: &str) -> bool {
        self.control.policy().group_by_slug(slug).is_some()
    }
}

pub(super) async fn start(store: &MemoryStore, config: Config) -> Result<Started, crate::StartError> {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Control::start(store, config).await
}

pub(super) fn request(caller: Caller, command: impl Into<Command>) -> Request {
    Request::new(caller, command.into(), meta())
}

pub(super) fn meta() -> RequestMeta {
    RequestMeta::new(Via::Api)
}

/// With an idempotency key and the hash of a request.
pub(super) fn keyed(caller: &Caller, key: &str, request: u8, command: impl Into<Command>) -> Request {
    let meta = RequestMeta { idempotency: Some((key.to_owned(), Hash::new([request; 32]))), ..meta() };
    Request::new(caller.clone(), command.into(), meta)
}

pub(super) fn group(slug: &str) -> CreateGroup {
    CreateGroup { slug: slug.parse().unwrap(), name: shown(slug) }
}

pub(super) fn group_id(control: &Control, slug: &str) -> GroupId {
    control.policy().group_by_slug(slug).unwrap()
}

/// The code a command was refused with.
pub(super) fn code<T>(result: Result<T, CommandError>) -> &'static str {
    match result {
        Ok(_) => "accepted",
        Err(error) => error.code(),
    }
}
