//! Events and batches to try a store with. Ids are counted, moments are given: every run is the same.

use crate::{Answer, Append, Batch, Chain, IdempotencyKey, Store, verify};
use charter_events::{
    Actor, CommandId, CommandMeta, DisplayName, Event, GroupId, GroupRenamed, Hash, Head, Offset,
    StoredEvent, Timestamp, Via,
};
use uuid::Uuid;

/// Ids one after another.
#[derive(Debug, Default, Clone)]
pub struct Counter(u128);

impl Counter {
    /// Begins after a number, so that several counters never meet.
    pub const fn after(number: u128) -> Self {
        Self(number)
    }

    /// The next id.
    pub const fn next_id(&mut self) -> Uuid {
        self.0 += 1;
        Uuid::from_u128(self.0)
    }
}

/// The moment so many seconds after 2026-03-01T12:00:00Z.
pub fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_772_366_400_000_000 + seconds * 1_000_000).unwrap()
}

/// A command by the system.
pub fn meta(command: u128) -> CommandMeta {
    CommandMeta {
        command_id: CommandId::from_u128(command),
        actor: Actor::System,
        via: Via::System,
        request_id: None,
        reason: None,
    }
}

/// An event that says little.
pub fn group_renamed(number: u128, name: &str) -> Event {
    GroupRenamed { group: GroupId::from_u128(number), name: name.parse::<DisplayName>().unwrap() }.into()
}

/// Makes events that continue a head.
#[derive(Debug)]
pub struct Writing {
    chain: Chain,
    ids: Counter,
}

impl Writing {
    /// Continues this head.
    pub const fn new(head: Head) -> Self {
        // Ids of different heads do not meet.
        Self { chain: Chain::new(head), ids: Counter::after((head.offset.get() as u128) << 32) }
    }

    /// A command of so many events.
    pub fn command(&mut self, size: usize) -> Vec<StoredEvent> {
        let id = self.ids.next_id().as_u128();
        let events: Vec<_> = (0..size).map(|n| group_renamed(n as u128 + 1, "Sample")).collect();
        self.with(&meta(id), &events)
    }

    /// These events, as one command.
    pub fn with(&mut self, meta: &CommandMeta, events: &[Event]) -> Vec<StoredEvent> {
        let now = moment(i64::try_from(self.chain.head().offset.get()).unwrap());
        let ids = &mut self.ids;
        self.chain.extend(meta, events, now, &mut || ids.next_id()).unwrap()
    }
}

/// A batch of events and nothing else.
pub fn batch_of(events: Vec<StoredEvent>) -> Batch {
    Batch { events, ..Batch::default() }
}

/// Appends one command of so many events and returns them.
pub async fn append_one(store: &dyn Store, size: usize) -> Vec<StoredEvent> {
    let mut append = store.append().await.unwrap();
    let events = Writing::new(append.head()).command(size);
    append.write(&batch_of(events.clone())).await.unwrap();
    let head = append.commit().await.unwrap();
    assert_eq!(head.offset, events.last().unwrap().offset);
    events
}

/// The whole log, whose chain was checked.
pub async fn verified(store: &dyn Store) -> Vec<StoredEvent> {
    let mut events = Vec::new();
    loop {
        let after = events.last().map_or(Offset::ZERO, |event: &StoredEvent| event.offset);
        let page = store.read(after, 1_000).await.unwrap();
        if page.is_empty() {
            break;
        }
        events.extend(page);
    }
    let scanned = verify::scan(store, Offset::ZERO, |_| ()).await.unwrap();
    assert_eq!(scanned.events, events.len() as u64);
    assert_eq!(scanned.head, store.head().await.unwrap());
    events
}

/// An answer to a request with this key.
pub(super) fn answer(key: &str, head: Head) -> Answer {
    Answer {
        key: IdempotencyKey { caller: "caller".into(), key: key.into() },
        request_hash: Hash::new([7; 32]),
        command_id: CommandId::from_u128(9),
        first: head.offset,
        last: head.offset,
        created: Some(Uuid::from_u128(11)),
        secret: true,
        at: moment(5),
    }
}

/// A batch of one event and this answer.
pub(super) fn with_answer(append: &dyn Append, key: &str) -> Batch {
    let events = Writing::new(append.head()).command(1);
    let head = Head { offset: events[0].offset, ..append.head() };
    Batch { events, answers: vec![answer(key, head)], ..Batch::default() }
}
