//! Every bit-flipped byte of every member of every event of a log of 1,000 is told, at its offset.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use charter_events::{Actor, CommandId, EventId, Hash, LogId, Offset, StoredEvent, Timestamp, UserId, Via};
use charter_store::{
    chain::{Verifier, empty},
    conformance::{Writing, group_renamed, meta},
};

const EVENTS: usize = 1_000;

/// A log in commands of 1 to 3, whose envelopes have every form.
fn log() -> Vec<StoredEvent> {
    let mut writing = Writing::new(empty(LogId::from_u128(1)));
    let mut events = Vec::new();
    while events.len() < EVENTS {
        let number = events.len();
        let user = UserId::from_u128(number as u128);
        let mut meta = meta(number as u128 + 1);
        meta.actor = match number % 4 {
            0 => Actor::User(user),
            1 => Actor::Service(user),
            2 => Actor::Module("objects".parse().unwrap()),
            _ => Actor::System,
        };
        meta.via = [Via::Api, Via::Cli, Via::Module][number % 3];
        meta.request_id = number.is_multiple_of(2).then(|| format!("request-{number}"));
        meta.reason = number.is_multiple_of(3).then(|| "weil es so ist".to_owned());
        let size = (number % 3 + 1).min(EVENTS - number);
        let renamed: Vec<_> =
            (0..size).map(|n| group_renamed(n as u128, &format!("Group {number}"))).collect();
        events.extend(writing.with(&meta, &renamed));
    }
    events
}

/// What is left of a byte string when one bit of it is flipped.
fn flipped(bytes: &[u8], index: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(byte) = bytes.get_mut(index) {
        *byte ^= 1 << (index % 8);
    }
    bytes
}

/// Tries a member's bytes with each of them flipped. A row whose bytes are no such member can't be read: the store
/// tells that at its offset, and [`Verifier`] never sees it.
struct Flips<'a> {
    before: &'a Verifier,
    event: &'a StoredEvent,
    flipped: usize,
    unreadable: usize,
}

impl Flips<'_> {
    fn each(&mut self, member: &str, bytes: &[u8], put: impl Fn(&mut StoredEvent, Vec<u8>) -> Option<()>) {
        for index in 0..bytes.len() {
            let mut event = self.event.clone();
            self.flipped += 1;
            if put(&mut event, flipped(bytes, index)).is_none() {
                self.unreadable += 1;
                continue;
            }
            let fault = self.before.clone().next(&event);
            let place = fault.err().map(|fault| fault.offset);
            // Of an event that claims to stand elsewhere it is the place where it stands that is bad.
            let at = self.event.offset;
            assert_eq!(place, Some(at), "{member}, byte {index}");
        }
    }

    fn text(&mut self, member: &str, text: Option<&str>, put: impl Fn(&mut StoredEvent, String)) {
        self.each(member, text.unwrap_or_default().as_bytes(), |event, bytes| {
            put(event, String::from_utf8(bytes).ok()?);
            Some(())
        });
    }

    fn ids_and_hashes(&mut self) {
        let event = self.event;
        self.each("event id", event.event_id.as_uuid().as_bytes(), |e, bytes| {
            e.event_id = EventId::from_u128(u128::from_be_bytes(bytes.try_into().ok()?));
            Some(())
        });
        self.each("command id", event.command.command_id.as_uuid().as_bytes(), |e, bytes| {
            e.command.command_id = CommandId::from_u128(u128::from_be_bytes(bytes.try_into().ok()?));
            Some(())
        });
        self.each("prev hash", event.prev_hash.as_bytes(), |e, bytes| {
            e.prev_hash = Hash::new(bytes.try_into().ok()?);
            Some(())
        });
        self.each("hash", event.hash.as_bytes(), |e, bytes| {
            e.hash = Hash::new(bytes.try_into().ok()?);
            Some(())
        });
    }

    fn numbers(&mut self) {
        let event = self.event;
        self.each("offset", &event.offset.get().to_be_bytes(), |e, bytes| {
            e.offset = Offset::new(u64::from_be_bytes(bytes.try_into().ok()?))?;
            Some(())
        });
        self.each("command index", &event.command_index.to_be_bytes(), |e, bytes| {
            e.command_index = u32::from_be_bytes(bytes.try_into().ok()?);
            Some(())
        });
        self.each("command size", &event.command_size.to_be_bytes(), |e, bytes| {
            e.command_size = u32::from_be_bytes(bytes.try_into().ok()?);
            Some(())
        });
        self.each("schema", &event.schema.to_be_bytes(), |e, bytes| {
            e.schema = u16::from_be_bytes(bytes.try_into().ok()?);
            Some(())
        });
        self.each("recorded at", &event.recorded_at.as_micros().to_be_bytes(), |e, bytes| {
            e.recorded_at = Timestamp::from_micros(i64::from_be_bytes(bytes.try_into().ok()?))?;
            Some(())
        });
    }

    fn envelope(&mut self) {
        let event = self.event;
        self.text("type", Some(&event.type_name), |e, text| e.type_name = text);
        self.text("request id", event.command.request_id.as_deref(), |e, text| {
            e.command.request_id = Some(text);
        });
        self.text("reason", event.command.reason.as_deref(), |e, text| e.command.reason = Some(text));
        if let Actor::User(id) = event.command.actor {
            self.each("actor's id", id.as_uuid().as_bytes(), |e, bytes| {
                e.command.actor = Actor::User(UserId::from_u128(u128::from_be_bytes(bytes.try_into().ok()?)));
                Some(())
            });
        }
        self.each("payload", &event.payload, |e, bytes| {
            e.payload = bytes;
            Some(())
        });
    }
}

#[test]
fn every_byte_of_a_log_of_1000_that_is_flipped_is_told_at_its_offset() {
    let mut before = Verifier::from_start(LogId::from_u128(1));
    let (mut all, mut unreadable) = (0, 0);
    for event in log() {
        let mut flips = Flips { before: &before, event: &event, flipped: 0, unreadable: 0 };
        flips.ids_and_hashes();
        flips.numbers();
        flips.envelope();
        all += flips.flipped;
        unreadable += flips.unreadable;
        before.next(&event).unwrap();
    }
    assert_eq!(before.head().offset, Offset::new(EVENTS as u64).unwrap(), "the log itself is sound");
    assert!(all > 200 * EVENTS, "only {all} bytes were flipped");
    assert!(unreadable < all / 10, "{unreadable} of {all} flips never reached the chain");
}
