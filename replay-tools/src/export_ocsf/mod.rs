//! Events in the Open Cybersecurity Schema Framework, for whoever collects security events in it: category 3, identity
//! and access management. Owns the envelope that all classes share; which class an event is of stands in [`class`].
//!
//! What a grant gave is not in the event of its end: the log is folded beside, and asked. Names of people are in none
//! of the lines, not even sealed; users are named by their ids.

mod class;
mod things;

use crate::{
    ToolError,
    export::{Line, write_json},
};
use charter_events::{
    Actor, CommandId, CommandMeta, Event, EventId, Hash, LogId, Offset, StoredEvent, Timestamp, Via,
};
use charter_policy::Policy;
use class::Classed;
use serde_json::{Map, Value, json};
use std::io::Write;

/// The version of the schema the lines are of.
pub const OCSF_VERSION: &str = "1.7.0";

/// Identity and access management.
const CATEGORY: u32 = 3;
/// None of an activity's own numbers fits: its name says what it is.
const OTHER: u32 = 99;

/// Makes the lines of one log.
pub(crate) struct Lines {
    log_id: LogId,
    /// The state before the next event.
    before: Policy,
}

/// The line an event would become on its own, about things nobody knows: for documents and tests.
pub fn example(event: &Event) -> Value {
    let log_id = LogId::from_u128(0);
    let command = CommandMeta {
        command_id: CommandId::from_u128(0),
        actor: Actor::System,
        via: Via::System,
        request_id: None,
        reason: None,
    };
    let stored = StoredEvent {
        offset: Offset::ZERO,
        event_id: EventId::from_u128(0),
        command,
        command_index: 0,
        command_size: 1,
        type_name: event.type_name().to_owned(),
        schema: event.schema(),
        recorded_at: Timestamp::MAX,
        payload: event.encode().unwrap_or_default(),
        prev_hash: Hash::ZERO,
        hash: Hash::ZERO,
    };
    let classed = class::of(&Policy::new(), log_id, &Actor::System, event);
    Lines::new(log_id).line(&stored, classed)
}

impl Lines {
    pub(crate) fn new(log_id: LogId) -> Self {
        Self { log_id, before: Policy::new() }
    }

    fn line(&self, stored: &StoredEvent, classed: Classed) -> Value {
        let Classed { class, activity, about } = classed;
        let (class_uid, class_name) = class.of_schema();
        let type_name = format!("{class_name}: {}", activity.name);
        let mut line = Map::new();
        let mut put = |name: &str, value: Value| drop(line.insert(name.to_owned(), value));
        put("activity_id", activity.id.into());
        put("activity_name", activity.name.into());
        put("category_uid", CATEGORY.into());
        put("category_name", "Identity & Access Management".into());
        put("class_uid", class_uid.into());
        put("class_name", class_name.into());
        put("type_uid", (class_uid * 100 + activity.id).into());
        put("type_name", type_name.into());
        put("time", (stored.recorded_at.as_micros().div_euclid(1_000)).into());
        put("severity_id", 1.into());
        put("severity", "Informational".into());
        put("status_id", 1.into());
        put("status", "Success".into());
        put("message", message(stored).into());
        put("metadata", self.metadata(stored));
        put("actor", actor(&stored.command.actor));
        about.into_iter().for_each(|(name, value)| put(name, value));
        put("unmapped", unmapped(stored));
        Value::Object(line)
    }

    fn metadata(&self, stored: &StoredEvent) -> Value {
        json!({
            "version": OCSF_VERSION,
            "product": {"name": "Charter", "vendor_name": "Charter", "version": env!("CARGO_PKG_VERSION")},
            "uid": stored.event_id,
            "correlation_uid": stored.command.command_id,
            "event_code": format!("{}.v{}", stored.type_name, stored.schema),
            "log_name": "charter",
            "sequence": stored.offset,
            "original_time": stored.recorded_at,
            "tenant_uid": self.log_id,
        })
    }
}

impl Line for Lines {
    fn write(&mut self, stored: &StoredEvent, out: &mut (dyn Write + Send)) -> Result<(), ToolError> {
        let failed = |why: String| ToolError::Fold { offset: stored.offset, why };
        let event = stored.decode().map_err(|error| failed(error.to_string()))?;
        let classed = class::of(&self.before, self.log_id, &stored.command.actor, &event);
        write_json(out, &self.line(stored, classed))?;
        self.before.apply(&stored.meta(), &event).map_err(|error| failed(error.to_string()))
    }
}

fn message(stored: &StoredEvent) -> String {
    match &stored.command.reason {
        None => stored.type_name.clone(),
        Some(reason) => format!("{}: {reason}", stored.type_name),
    }
}

fn actor(actor: &Actor) -> Value {
    match actor {
        Actor::User(id) => json!({"user": {"uid": id, "type_id": 1, "type": "User"}}),
        Actor::Service(id) => json!({"user": {"uid": id, "type_id": 4, "type": "Service"}}),
        Actor::Module(namespace) => json!({"app_name": format!("module:{namespace}")}),
        Actor::System => json!({"app_name": "charter"}),
    }
}

/// What of the event the schema has no place for, so that nothing is lost but names.
fn unmapped(stored: &StoredEvent) -> Value {
    let mut payload: Value = serde_json::from_slice(&stored.payload).unwrap_or_default();
    if let Some(members) = payload.as_object_mut() {
        members.remove("profile");
    }
    json!({
        "offset": stored.offset,
        "command_index": stored.command_index,
        "command_size": stored.command_size,
        "via": stored.command.via,
        "request_id": stored.command.request_id,
        "reason": stored.command.reason,
        "payload": payload,
        "prev_hash": stored.prev_hash,
        "hash": stored.hash,
    })
}
