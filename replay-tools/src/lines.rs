//! A log as lines of JSON: a first line that says which log and where it ends, then one line for each event. The
//! payload stands in its line byte for byte as it was hashed, so the chain can be checked from the file alone. Secrets
//! are not in it: users' names in it are sealed, and open only with the keys of the installation it came from.

use charter_events::{
    Actor, CommandId, CommandMeta, EventId, Hash, LogId, Offset, StoredEvent, Timestamp, Via,
    registry::PAYLOAD_BYTES_MAX,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The longest line, in bytes: a payload and its envelope.
pub const LINE_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 64 * 1024;

/// What the first line says the file is.
pub const FORMAT: &str = "charter-log.v1";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstLine {
    /// [`FORMAT`].
    pub format: String,
    /// Which log.
    pub log_id: LogId,
    /// The last event in the file: a file that ends before it was cut.
    pub head: Offset,
    /// That event's hash.
    pub head_hash: Hash,
}

/// One event's line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventLine<'a> {
    offset: Offset,
    event_id: EventId,
    command_id: CommandId,
    command_index: u32,
    command_size: u32,
    #[serde(rename = "type")]
    type_name: String,
    schema: u16,
    recorded_at: Timestamp,
    actor: Actor,
    via: Via,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(borrow)]
    payload: &'a RawValue,
    prev_hash: Hash,
    hash: Hash,
}

impl<'a> EventLine<'a> {
    /// The line of an event; `None` when its payload is not one line of JSON.
    pub(crate) fn of(event: &'a StoredEvent) -> Option<Self> {
        let text = std::str::from_utf8(&event.payload).ok().filter(|text| !text.contains(['\n', '\r']))?;
        let payload: &RawValue = serde_json::from_str(text).ok()?;
        // Space around the value would be lost.
        (payload.get() == text).then(|| Self {
            offset: event.offset,
            event_id: event.event_id,
            command_id: event.command.command_id,
            command_index: event.command_index,
            command_size: event.command_size,
            type_name: event.type_name.clone(),
            schema: event.schema,
            recorded_at: event.recorded_at,
            actor: event.command.actor.clone(),
            via: event.command.via,
            request_id: event.command.request_id.clone(),
            reason: event.command.reason.clone(),
            payload,
            prev_hash: event.prev_hash,
            hash: event.hash,
        })
    }

    pub(crate) fn into_event(self) -> StoredEvent {
        StoredEvent {
            offset: self.offset,
            event_id: self.event_id,
            command: CommandMeta {
                command_id: self.command_id,
                actor: self.actor,
                via: self.via,
                request_id: self.request_id,
                reason: self.reason,
            },
            command_index: self.command_index,
            command_size: self.command_size,
            type_name: self.type_name,
            schema: self.schema,
            recorded_at: self.recorded_at,
            payload: self.payload.get().as_bytes().to_vec(),
            prev_hash: self.prev_hash,
            hash: self.hash,
        }
    }
}
