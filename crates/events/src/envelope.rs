//! The envelope: what is recorded around each payload.

use crate::{
    ids::{CommandId, EventId, LogId},
    people::{Actor, InvalidDigest, Via, hex32},
    registry::{DecodeError, Event},
    text::{as_text, string_schema},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

/// The place of an event in its log, dense from 1. The offset of the last event is the policy version; 0 is the
/// version of an empty log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Offset(u64);

impl Offset {
    /// Before the first event.
    pub const ZERO: Self = Self(0);
    /// The largest offset a store can hold.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The offset with this number; `None` beyond [`Offset::MAX`].
    pub const fn new(number: u64) -> Option<Self> {
        if number > Self::MAX.0 { None } else { Some(Self(number)) }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The offset so much further on; `None` beyond [`Offset::MAX`].
    pub const fn plus(self, count: u64) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(sum) => Self::new(sum),
            None => None,
        }
    }
}

impl std::fmt::Display for Offset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A SHA-256 hash: 64 hex digits in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first event names as its predecessor's hash.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash with these bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl std::str::FromStr for Hash {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        hex32(text).map(Self)
    }
}

as_text!(Hash);
string_schema!(Hash, "", "^[0-9a-f]{64}$");

/// The longest reason and the longest request id, in bytes.
pub const REASON_BYTES_MAX: usize = 1024;
/// The longest request id, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// What all events of one command share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandMeta {
    /// The command's id.
    pub command_id: CommandId,
    /// Who acted.
    pub actor: Actor,
    /// How it came in.
    pub via: Via,
    /// The request it came with, as the caller named it or the server did.
    pub request_id: Option<String>,
    /// Why, in the caller's words.
    pub reason: Option<String>,
}

/// One event as it is stored: the envelope and the payload's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the log.
    pub offset: Offset,
    /// Its id.
    pub event_id: EventId,
    /// The command it is part of.
    pub command: CommandMeta,
    /// Its place in the command, from 0.
    pub command_index: u32,
    /// How many events the command became.
    pub command_size: u32,
    /// `<area>.<past tense>`.
    pub type_name: String,
    /// The version of the payload.
    pub schema: u16,
    /// When it was recorded: never before its predecessor.
    pub recorded_at: Timestamp,
    /// The payload: the bytes that were hashed.
    pub payload: Vec<u8>,
    /// The predecessor's hash.
    pub prev_hash: Hash,
    /// Hash of all of the above.
    pub hash: Hash,
}

impl StoredEvent {
    /// The payload, read as the current version of its type.
    ///
    /// # Errors
    /// [`DecodeError`] when this build can't read it.
    pub fn decode(&self) -> Result<Event, DecodeError> {
        Event::decode(&self.type_name, self.schema, &self.payload)
    }

    /// Whether a command is complete with this event: readers publish a command's state only then.
    pub const fn ends_command(&self) -> bool {
        self.command_index.saturating_add(1) == self.command_size
    }

    /// What a fold needs to know of the envelope.
    pub fn meta(&self) -> EventMeta {
        EventMeta { offset: self.offset, recorded_at: self.recorded_at, actor: self.command.actor.clone() }
    }
}

/// What a fold needs to know of an event besides its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventMeta {
    /// Its place in the log.
    pub offset: Offset,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Who acted.
    pub actor: Actor,
}

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which log.
    pub log_id: LogId,
    /// The last event's offset; 0 when there is none.
    pub offset: Offset,
    /// The last event's hash; zero when there is none.
    pub hash: Hash,
    /// When the last event was recorded; [`Timestamp::MIN`] when there is none.
    pub recorded_at: Timestamp,
}
