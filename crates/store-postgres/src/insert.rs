//! Batches as statements: one for many rows, over arrays of their columns.

use crate::{
    answers, credentials, rows,
    statement::{Statement, integer},
};
use charter_events::StoredEvent;
use charter_store::{Batch, StoreError};

const INSERT_EVENTS: &str = "INSERT INTO log.events (\"offset\", event_id, command_id, command_index, command_size, \
     type, schema, recorded_at, actor_kind, actor_id, via, request_id, reason, payload, prev_hash, hash) \
     SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::integer[], $5::integer[], $6::text[], \
     $7::integer[], $8::bigint[], $9::text[], $10::bytea[], $11::text[], $12::bytea[], $13::bytea[], $14::bytea[], \
     $15::bytea[], $16::bytea[])";

/// Events a statement inserts at once.
const ROWS_MAX: usize = 1_000;
/// A statement ends after the event whose payload takes it past this many bytes.
const PAYLOAD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The events of a batch as statements; made as they are taken, so that a large batch is not held twice.
pub(crate) fn events(
    events: &[StoredEvent],
) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    let mut rest = events;
    std::iter::from_fn(move || {
        let mut bytes = 0_usize;
        let fits = |event: &&StoredEvent| {
            let room = bytes <= PAYLOAD_BYTES_MAX;
            bytes = bytes.saturating_add(event.payload.len());
            room
        };
        let size = rest.iter().take(ROWS_MAX).take_while(fits).count();
        let (chunk, later) = rest.split_at(size);
        rest = later;
        (size > 0).then(|| insert(chunk))
    })
}

fn insert(events: &[StoredEvent]) -> Result<Statement, StoreError> {
    fn column<'a, T>(events: &'a [StoredEvent], of: impl Fn(&'a StoredEvent) -> T) -> Vec<T> {
        events.iter().map(of).collect()
    }
    let offsets = events.iter().map(|e| integer(e.offset.get())).collect::<Result<Vec<_>, _>>()?;
    let small = |of: fn(&StoredEvent) -> u32| {
        let column = events.iter().map(|e| i32::try_from(of(e))).collect::<Result<Vec<_>, _>>();
        column.map_err(|_| StoreError::Refused("a number of an event beyond those that are kept".into()))
    };
    Statement::new(INSERT_EVENTS)
        .with(offsets)?
        .with(column(events, |e| e.event_id.as_uuid()))?
        .with(column(events, |e| e.command.command_id.as_uuid()))?
        .with(small(|e| e.command_index)?)?
        .with(small(|e| e.command_size)?)?
        .with(column(events, |e| e.type_name.as_str()))?
        .with(column(events, |e| i32::from(e.schema)))?
        .with(column(events, |e| e.recorded_at.as_micros()))?
        .with(column(events, |e| rows::actor_columns(&e.command.actor).0))?
        .with(column(events, |e| rows::actor_columns(&e.command.actor).1))?
        .with(column(events, |e| rows::via_text(e.command.via)))?
        .with(column(events, |e| e.command.request_id.as_ref().map(String::as_bytes)))?
        .with(column(events, |e| e.command.reason.as_ref().map(String::as_bytes)))?
        .with(column(events, |e| e.payload.as_slice()))?
        .with(column(events, |e| e.prev_hash.as_bytes().as_slice()))?
        .with(column(events, |e| e.hash.as_bytes().as_slice()))
}

/// The rest of a batch: answers, then changes of secrets.
pub(crate) fn others(batch: &Batch) -> impl Iterator<Item = Result<Statement, StoreError>> + Send + '_ {
    answers::insert(&batch.answers).chain(credentials::statements(&batch.secrets))
}
