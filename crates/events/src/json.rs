//! An event as one JSON object: the one form for the API, exports and the stream. Owns that form both ways; must not
//! know what carries it.
//!
//! The payload stands in it byte for byte as it was hashed, so whoever reads the object can check the event's hash.

use crate::{
    envelope::{CommandMeta, Hash, Offset, StoredEvent},
    ids::{CommandId, EventId},
    people::{Actor, Via},
    registry::PAYLOAD_BYTES_MAX,
    time::Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The longest an event is as JSON, in bytes: a payload and its envelope.
pub const EVENT_JSON_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 64 * 1024;

/// An event as JSON: the envelope's members, the payload as an object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventJson<'a> {
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

impl<'a> EventJson<'a> {
    /// The event as JSON.
    ///
    /// # Errors
    /// When the payload is no JSON, or has line breaks or space around it, which the form would not keep.
    pub fn new(event: &'a StoredEvent) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        let text = std::str::from_utf8(&event.payload).map_err(serde_json::Error::custom)?;
        let payload: &RawValue = serde_json::from_str(text)?;
        if payload.get() != text || text.contains(['\n', '\r']) {
            return Err(serde_json::Error::custom("the payload is not one line of JSON"));
        }
        Ok(Self {
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

    /// The event as it was stored. Whether its hash is right is not judged here.
    pub fn into_event(self) -> StoredEvent {
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
