//! What a log is made of: its events by type and version, how large they are, and which this build can't read.

use crate::{Progress, ToolError};
use charter_events::{Head, Offset, StoredEvent, Timestamp};
use charter_store::{LogStore, verify};
use std::collections::BTreeMap;

/// What a log is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Where it ends.
    pub head: Head,
    /// When its first event was recorded; none in an empty log.
    pub began: Option<Timestamp>,
    /// How many events.
    pub events: u64,
    /// How many commands they came of.
    pub commands: u64,
    /// Bytes of all payloads.
    pub payload_bytes: u64,
    /// One row a type and version, by name.
    pub kinds: Vec<Kind>,
}

/// The events of one type and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The type.
    pub type_name: String,
    /// The version of the payload.
    pub schema: u16,
    /// How many.
    pub events: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
    /// The first of them.
    pub first: Offset,
    /// The last.
    pub last: Offset,
    /// The first this build can't read: a newer build wrote it, or it is none of ours.
    pub unreadable: Option<Offset>,
}

/// Counts every event of a log, checking its chain on the way. What this build can't read is counted too.
///
/// # Errors
/// [`ToolError::Store`] with the first bad offset.
pub async fn inventory(
    log: &dyn LogStore,
    progress: impl FnMut(Progress) + Send,
) -> Result<Inventory, ToolError> {
    let mut counted = Counted::default();
    let scanned = verify::scan_each(log, Offset::ZERO, progress, |event| counted.count(event)).await?;
    Ok(Inventory {
        head: scanned.head,
        began: counted.began,
        events: scanned.events,
        commands: counted.commands,
        payload_bytes: counted.kinds.values().map(|kind| kind.payload_bytes).sum(),
        kinds: counted.kinds.into_values().collect(),
    })
}

#[derive(Default)]
struct Counted {
    began: Option<Timestamp>,
    commands: u64,
    kinds: BTreeMap<(String, u16), Kind>,
}

impl Counted {
    fn count(&mut self, event: &StoredEvent) {
        self.began.get_or_insert(event.recorded_at);
        self.commands = self.commands.saturating_add(u64::from(event.ends_command()));
        let kind = self.kinds.entry((event.type_name.clone(), event.schema)).or_insert_with(|| Kind {
            type_name: event.type_name.clone(),
            schema: event.schema,
            events: 0,
            payload_bytes: 0,
            first: event.offset,
            last: event.offset,
            unreadable: None,
        });
        kind.events = kind.events.saturating_add(1);
        kind.payload_bytes = kind.payload_bytes.saturating_add(event.payload.len() as u64);
        kind.last = event.offset;
        if kind.unreadable.is_none() && event.decode().is_err() {
            kind.unreadable = Some(event.offset);
        }
    }
}
