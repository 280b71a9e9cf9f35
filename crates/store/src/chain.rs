//! The hash chain: the canonical record of an event, its hash, making the next events and checking them.
//!
//! This file is the one place the record's layout is written down. Must not know where events are kept.
//!
//! # The canonical record, version 1
//!
//! `hash = SHA-256(0x00 ‖ record)`. Integers are big-endian; `text` is a u32 length in bytes and that many bytes of
//! UTF-8; `optional x` is one byte, 0x00 for none or 0x01 followed by x. Nothing else stands between the fields.
//!
//! | field | form |
//! |---|---|
//! | version | u8, 0x01 |
//! | log id | 16 bytes of the UUID |
//! | offset | u64 |
//! | event id | 16 bytes |
//! | command id | 16 bytes |
//! | command index | u32 |
//! | command size | u32 |
//! | type | text |
//! | schema | u16 |
//! | recorded at | i64, microseconds since 1970-01-01T00:00:00Z |
//! | actor kind | u8: 1 user, 2 service, 3 module, 4 system |
//! | actor id | optional text: the 16 bytes of a user's UUID, or a module's name; none for the system |
//! | via | u8: 1 api, 2 cli, 3 module, 4 import, 5 system |
//! | request id | optional text |
//! | reason | optional SHA-256 of its UTF-8 bytes |
//! | payload | SHA-256 of its bytes |
//! | prev hash | 32 bytes: the predecessor's hash, zeros for offset 1 |
//!
//! 0x00 sets records apart from the inner nodes of a Merkle tree (RFC 6962). Reason and payload enter as hashes, so
//! that the chain can be checked without them.

use crate::{
    error::{Fault, What},
    limits::{COMMAND_EVENTS_MAX, TYPE_NAME_BYTES_MAX},
};
use charter_events::{
    Actor, CommandId, CommandMeta, Event, EventId, Hash, Head, LogId, Offset, StoredEvent, Timestamp, Via,
    envelope::{REASON_BYTES_MAX, REQUEST_ID_BYTES_MAX},
    registry::PAYLOAD_BYTES_MAX,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The version of the canonical record this build writes.
pub const RECORD_VERSION: u8 = 1;

/// Why events can't be made to continue a log.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The log is at its end for good.
    #[error("a log holds offsets up to {}; no more events fit", Offset::MAX)]
    OffsetsExhausted,
    /// A command must become at least one event and at most a million.
    #[error("a command of {0} events; it must have 1 to {COMMAND_EVENTS_MAX}")]
    CommandSize(usize),
    /// Something is longer than an envelope holds.
    #[error("{what} of {bytes} bytes; at most {limit} are kept")]
    TooLong {
        /// What.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A payload can't be written.
    #[error("a payload of `{type_name}` can't be written")]
    Encode {
        /// The event's type.
        type_name: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// Writes the canonical record of an event to the end of a buffer.
pub fn write_record(log_id: LogId, event: &StoredEvent, record: &mut Vec<u8>) {
    record.push(RECORD_VERSION);
    record.extend(log_id.as_uuid().as_bytes());
    record.extend(event.offset.get().to_be_bytes());
    record.extend(event.event_id.as_uuid().as_bytes());
    record.extend(event.command.command_id.as_uuid().as_bytes());
    record.extend(event.command_index.to_be_bytes());
    record.extend(event.command_size.to_be_bytes());
    text(record, event.type_name.as_bytes());
    record.extend(event.schema.to_be_bytes());
    record.extend(event.recorded_at.as_micros().to_be_bytes());
    let (kind, id): (u8, Option<&[u8]>) = match &event.command.actor {
        Actor::User(user) => (1, Some(&user.as_uuid().into_bytes())),
        Actor::Service(user) => (2, Some(&user.as_uuid().into_bytes())),
        Actor::Module(namespace) => (3, Some(namespace.as_str().as_bytes())),
        Actor::System => (4, None),
    };
    record.push(kind);
    optional(record, id, text);
    record.push(match event.command.via {
        Via::Api => 1,
        Via::Cli => 2,
        Via::Module => 3,
        Via::Import => 4,
        Via::System => 5,
    });
    optional(record, event.command.request_id.as_ref().map(String::as_bytes), text);
    optional(record, event.command.reason.as_ref().map(String::as_bytes), |record, reason| {
        record.extend(Sha256::digest(reason));
    });
    record.extend(Sha256::digest(&event.payload));
    record.extend(event.prev_hash.as_bytes());
}

fn text(record: &mut Vec<u8>, bytes: &[u8]) {
    // Nothing of 4 GiB is ever accepted; see `check_limits`.
    record.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    record.extend(bytes);
}

fn optional(record: &mut Vec<u8>, bytes: Option<&[u8]>, write: impl FnOnce(&mut Vec<u8>, &[u8])) {
    match bytes {
        None => record.push(0),
        Some(bytes) => {
            record.push(1);
            write(record, bytes);
        }
    }
}

/// The hash of an event, from everything it holds but its own hash.
pub fn hash(log_id: LogId, event: &StoredEvent) -> Hash {
    let mut record = Vec::with_capacity(320);
    record.push(0);
    write_record(log_id, event, &mut record);
    Hash::new(Sha256::digest(&record).into())
}

/// Refuses an event with anything longer than an envelope holds.
pub(crate) fn check_limits(event: &StoredEvent) -> Result<(), ChainError> {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    for (what, bytes, limit) in [
        ("a payload", event.payload.len(), PAYLOAD_BYTES_MAX),
        ("a type", event.type_name.len(), TYPE_NAME_BYTES_MAX),
        ("a request id", length(&event.command.request_id), REQUEST_ID_BYTES_MAX),
        ("a reason", length(&event.command.reason), REASON_BYTES_MAX),
    ] {
        if bytes > limit {
            return Err(ChainError::TooLong { what, bytes, limit });
        }
    }
    Ok(())
}

/// Makes the events that continue a log.
#[derive(Debug, Clone)]
pub struct Chain {
    head: Head,
}

impl Chain {
    /// Continues a log at its head.
    pub const fn new(head: Head) -> Self {
        Self { head }
    }

    /// The end of the log with everything made so far.
    pub const fn head(&self) -> Head {
        self.head
    }

    /// Makes one command's events: envelopes around the payloads, consecutive offsets, hashes. They are recorded at
    /// `now`, or with their predecessor when a clock went back. `ids` gives event ids.
    ///
    /// # Errors
    /// [`ChainError`]; then the chain is where it was.
    pub fn extend(
        &mut self,
        meta: &CommandMeta,
        events: &[Event],
        now: Timestamp,
        ids: &mut dyn FnMut() -> Uuid,
    ) -> Result<Vec<StoredEvent>, ChainError> {
        let size = events.len();
        if size == 0 || size > COMMAND_EVENTS_MAX {
            return Err(ChainError::CommandSize(size));
        }
        let command_size = u32::try_from(size).map_err(|_| ChainError::CommandSize(size))?;
        let mut head = self.head;
        head.recorded_at = head.recorded_at.max(now);
        let mut stored = Vec::with_capacity(size);
        for (command_index, event) in (0..command_size).zip(events) {
            let offset = head.offset.plus(1).ok_or(ChainError::OffsetsExhausted)?;
            let type_name = event.type_name();
            let payload = event.encode().map_err(|source| ChainError::Encode { type_name, source })?;
            let mut next = StoredEvent {
                offset,
                event_id: EventId::new(ids()),
                command: meta.clone(),
                command_index,
                command_size,
                type_name: type_name.to_owned(),
                schema: event.schema(),
                recorded_at: head.recorded_at,
                payload,
                prev_hash: head.hash,
                hash: Hash::ZERO,
            };
            check_limits(&next)?;
            next.hash = hash(head.log_id, &next);
            head = Head { offset, hash: next.hash, ..head };
            stored.push(next);
        }
        self.head = head;
        Ok(stored)
    }
}

/// The head of a log that has no events yet.
pub const fn empty(log_id: LogId) -> Head {
    Head { log_id, offset: Offset::ZERO, hash: Hash::ZERO, recorded_at: Timestamp::MIN }
}

/// Checks one event against its predecessor's head: offset, link, hash and time. Its place in its command needs more
/// than a head: see [`Verifier`].
///
/// # Errors
/// The [`Fault`], with the first bad offset.
pub fn verify(prev: &Head, event: &StoredEvent) -> Result<Head, Fault> {
    let expected = prev.offset.plus(1).ok_or(Fault::new(prev.offset, What::BeyondHead))?;
    let fault = |what| Err(Fault::new(expected, what));
    if event.offset > expected {
        return fault(What::Missing);
    }
    if event.offset < expected {
        return fault(What::Unordered { found: event.offset });
    }
    if event.prev_hash != prev.hash {
        return fault(What::BrokenLink);
    }
    if hash(prev.log_id, event) != event.hash {
        return fault(What::HashMismatch);
    }
    if event.recorded_at < prev.recorded_at {
        return fault(What::TimeGoesBack);
    }
    Ok(Head { log_id: prev.log_id, offset: event.offset, hash: event.hash, recorded_at: event.recorded_at })
}

/// Checks events one after another: what [`verify`] checks, and their places in their commands.
#[derive(Debug, Clone)]
pub struct Verifier {
    head: Head,
    command: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// Not known: any event may follow.
    Unknown,
    /// The next event begins a command.
    Between,
    /// The next event has this place in this command.
    Within { command_id: CommandId, next: u32, size: u32 },
}

impl Verifier {
    /// From the beginning of a log.
    pub const fn from_start(log_id: LogId) -> Self {
        Self::between_commands(empty(log_id))
    }

    /// From a head at which a command ended.
    pub const fn between_commands(head: Head) -> Self {
        Self { head, command: Place::Between }
    }

    /// From a head of which it is not known whether a command ended there.
    pub const fn from_head(head: Head) -> Self {
        let command = if head.offset.get() == 0 { Place::Between } else { Place::Unknown };
        Self { head, command }
    }

    /// The head with everything checked so far.
    pub const fn head(&self) -> Head {
        self.head
    }

    /// Whether the last event left its command unfinished.
    pub const fn within_command(&self) -> bool {
        matches!(self.command, Place::Within { .. })
    }

    /// Checks the next event.
    ///
    /// # Errors
    /// The [`Fault`], with the first bad offset; the verifier stays where it was.
    pub fn next(&mut self, event: &StoredEvent) -> Result<Head, Fault> {
        let head = verify(&self.head, event)?;
        let fits = match self.command {
            Place::Unknown => true,
            Place::Between => event.command_index == 0,
            Place::Within { command_id, next, size } => {
                (event.command.command_id, event.command_index, event.command_size)
                    == (command_id, next, size)
            }
        };
        if !fits || event.command_index >= event.command_size {
            return Err(Fault::new(event.offset, What::CommandIndex));
        }
        self.head = head;
        self.command = match event.command_index.saturating_add(1) {
            next if next == event.command_size => Place::Between,
            next => Place::Within { command_id: event.command.command_id, next, size: event.command_size },
        };
        Ok(head)
    }
}
