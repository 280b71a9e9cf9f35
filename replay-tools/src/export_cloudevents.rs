//! Events as CloudEvents 1.0 in the JSON format: the attributes the stream's messages have as headers, and the same
//! body as `data`. The names of extensions have letters and digits only, so the hashes are called `charterhash` and
//! `charterprevhash` here.

use crate::{
    ToolError,
    export::{Line, event_json, write_json},
};
use charter_events::{EventId, EventJson, Hash, LogId, StoredEvent, Timestamp};
use serde::Serialize;
use std::io::Write;

/// Makes the lines of one log.
pub(crate) struct Lines {
    source: String,
}

impl Lines {
    pub(crate) fn new(log_id: LogId) -> Self {
        Self { source: format!("urn:charter:{log_id}") }
    }
}

#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: EventId,
    source: &'a str,
    #[serde(rename = "type")]
    type_name: String,
    time: Timestamp,
    datacontenttype: &'static str,
    /// The offset with leading zeros, so that it sorts as text.
    sequence: String,
    charterhash: Hash,
    charterprevhash: Hash,
    data: EventJson<'a>,
}

impl Line for Lines {
    fn write(&mut self, event: &StoredEvent, out: &mut (dyn Write + Send)) -> Result<(), ToolError> {
        let line = CloudEvent {
            specversion: "1.0",
            id: event.event_id,
            source: &self.source,
            type_name: format!("charter.{}.v{}", event.type_name, event.schema),
            time: event.recorded_at,
            datacontenttype: "application/json",
            sequence: format!("{:020}", event.offset.get()),
            charterhash: event.hash,
            charterprevhash: event.prev_hash,
            data: event_json(event)?,
        };
        write_json(out, &line)
    }
}
