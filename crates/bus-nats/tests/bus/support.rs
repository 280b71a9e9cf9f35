//! Logs, publishers that run, and a look at the stream from outside.

use async_nats::jetstream::{self, message::StreamMessage, stream::Stream};
use async_trait::async_trait;
use charter_bus_nats::{
    Bus, Consumer, ConsumerOptions, Fork, NatsConfig, Position, Publisher, PublisherOptions, Reread, connect,
    message_id, stream_name, subject,
};
use charter_events::{EventJson, Hash, LogId, Offset, StoredEvent};
use charter_store::{
    BoxError, LogStore, MemoryStore, Store,
    conformance::{Writing, batch_of, group_renamed, meta},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle, time::sleep};
use tokio_util::sync::CancellationToken;

/// No step of a test takes as long; a fault does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const LOG: LogId = LogId::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0b05);

pub(crate) fn offset(number: u64) -> Offset {
    Offset::new(number).unwrap()
}

/// Appends this many events as commands of one to three, whose groups have a name.
pub(crate) async fn append_named(store: &MemoryStore, events: usize, name: &str) {
    let mut append = store.append().await.unwrap();
    let mut writing = Writing::new(append.head());
    let (mut made, mut batch) = (0, Vec::new());
    while made < events {
        let size = (made % 3 + 1).min(events - made);
        let events: Vec<_> = (0..size).map(|n| group_renamed(n as u128 + 1, name)).collect();
        batch.extend(writing.with(&meta(made as u128 + 1), &events));
        made += size;
    }
    append.write(&batch_of(batch)).await.unwrap();
    append.commit().await.unwrap();
}

pub(crate) async fn append(store: &MemoryStore, events: usize) {
    append_named(store, events, "Sample").await;
}

/// A log of this many events. Two of one length are equal.
pub(crate) async fn log_of(events: usize) -> MemoryStore {
    let store = MemoryStore::new(LOG);
    if events > 0 {
        append(&store, events).await;
    }
    store
}

pub(crate) async fn events_of(store: &dyn Store) -> Vec<StoredEvent> {
    charter_store::conformance::verified(store).await
}

pub(crate) fn config(url: &str) -> NatsConfig {
    NatsConfig::new(url.parse().unwrap(), "test")
}

pub(crate) async fn bus(url: &str) -> Bus {
    connect(&config(url)).await.unwrap()
}

pub(crate) fn quick() -> PublisherOptions {
    PublisherOptions {
        lead_every: Duration::from_millis(200),
        look_every: Duration::from_millis(200),
        forked_look_every: Duration::from_millis(200),
        pause_max: Duration::from_millis(500),
        ..PublisherOptions::default()
    }
}

/// A publisher that runs.
pub(crate) struct Running {
    pub(crate) versions: watch::Sender<Offset>,
    pub(crate) alarms: Arc<Mutex<Vec<Option<Fork>>>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(bus: &Bus, store: &MemoryStore, options: PublisherOptions) -> Self {
        let versions = watch::Sender::new(store.head().await.unwrap().offset);
        let (stop, alarms) = (CancellationToken::new(), Arc::<Mutex<Vec<_>>>::default());
        let publisher = Publisher::new(bus.clone(), Arc::new(store.clone()), LOG, versions.subscribe());
        let (told, stopped) = (alarms.clone(), stop.clone());
        let task = tokio::spawn(publisher.with_options(options).run(stopped, move |fork| {
            told.lock().unwrap().push(fork);
        }));
        Self { versions, alarms, stop, task }
    }

    /// Appends to the log and says so.
    pub(crate) async fn append(&self, store: &MemoryStore, events: usize) {
        append(store, events).await;
        self.versions.send_replace(store.head().await.unwrap().offset);
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Waits until something holds.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never happened: {what}"));
}

/// Somebody with every right who looks at the server.
pub(crate) async fn admin(url: &str) -> jetstream::Context {
    try_admin(url).await.unwrap()
}

async fn try_admin(url: &str) -> Option<jetstream::Context> {
    let server: async_nats::ServerAddr = url.parse().unwrap();
    let options = match (server.username(), server.password()) {
        (Some(user), Some(password)) => {
            async_nats::ConnectOptions::with_user_and_password(user.into(), password.into())
        }
        _ => async_nats::ConnectOptions::new(),
    };
    let mut context = jetstream::new(options.connect(server).await.ok()?);
    context.set_timeout(Duration::from_secs(2));
    Some(context)
}

pub(crate) async fn stream(url: &str) -> Stream {
    admin(url).await.get_stream(stream_name(LOG)).await.unwrap()
}

/// The stream's last sequence; 0 when there is none.
pub(crate) async fn last_sequence(url: &str) -> u64 {
    let Some(context) = try_admin(url).await else { return 0 };
    let found = context.get_stream(stream_name(LOG)).await;
    found.map_or(0, |stream| stream.cached_info().state.last_sequence)
}

pub(crate) async fn until_last(url: &str, last: u64) {
    until(&format!("last sequence {last}"), || async move { last_sequence(url).await == last }).await;
}

pub(crate) async fn messages(url: &str) -> Vec<StreamMessage> {
    let stream = stream(url).await;
    let state = &stream.cached_info().state;
    let mut found = Vec::new();
    for sequence in state.first_sequence..=state.last_sequence {
        found.push(stream.get_raw_message(sequence).await.unwrap());
    }
    found
}

/// The stream is the log: event for event, with sequence, subject, headers and bytes.
pub(crate) async fn assert_stream_is(url: &str, store: &MemoryStore) {
    let (events, messages) = (events_of(store).await, messages(url).await);
    assert_eq!(messages.len(), events.len());
    for (event, message) in events.iter().zip(&messages) {
        let header = |name: &str| message.headers.get(name).map(|value| value.as_str().to_owned()).unwrap();
        assert_eq!(message.sequence, event.offset.get());
        assert_eq!(message.subject.as_str(), subject(LOG, &event.type_name));
        assert_eq!(header("Nats-Msg-Id"), message_id(LOG, event.offset));
        assert_eq!(header("ce-id"), event.event_id.to_string());
        assert_eq!(header("ce-sequence"), format!("{:020}", event.offset.get()));
        assert_eq!(header("charter-hash"), event.hash.to_string());
        assert_eq!(header("charter-prev-hash"), event.prev_hash.to_string());
        let body = serde_json::to_vec(&EventJson::new(event).unwrap()).unwrap();
        assert_eq!(message.payload, body);
    }
}

/// A store as the source of what the stream lacks.
pub(crate) struct Source {
    pub(crate) store: MemoryStore,
    pub(crate) away: AtomicBool,
    pub(crate) asked: AtomicUsize,
}

impl Source {
    pub(crate) fn of(store: &MemoryStore) -> Arc<Self> {
        Arc::new(Self { store: store.clone(), away: AtomicBool::default(), asked: AtomicUsize::default() })
    }
}

#[async_trait]
impl Reread for Source {
    async fn events_after(&self, offset: Offset, limit: usize) -> Result<Vec<StoredEvent>, BoxError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return Err("the source is away".into());
        }
        Ok(self.store.read(offset, limit).await?)
    }
}

pub(crate) fn start() -> Position {
    Position { log_id: LOG, offset: Offset::ZERO, hash: Hash::ZERO }
}

/// After this many events of a log.
pub(crate) async fn after(store: &MemoryStore, events: usize) -> Position {
    let event = events_of(store).await[events - 1].clone();
    Position { log_id: LOG, offset: event.offset, hash: event.hash }
}

/// Patient as long as nothing is missing, and quick otherwise.
pub(crate) fn eager() -> ConsumerOptions {
    ConsumerOptions {
        batch_events_max: 50,
        away_max: Duration::from_millis(300),
        reread_every: Duration::from_millis(100),
        silence_max: Duration::from_secs(600),
        pause_max: Duration::from_millis(500),
        distrust_max: Duration::from_millis(500),
    }
}

/// Reads until an offset, and checks that nothing came twice or was left out.
pub(crate) async fn read_to(consumer: &mut Consumer, last: u64) -> Vec<StoredEvent> {
    let mut read = Vec::new();
    while consumer.position().offset.get() < last {
        let before = consumer.position().offset.get();
        let batch = tokio::time::timeout(PATIENCE, consumer.next()).await.expect("nothing comes").unwrap();
        assert!(!batch.is_empty());
        assert_eq!(batch[0].offset.get(), before + 1);
        read.extend(batch);
    }
    read
}
