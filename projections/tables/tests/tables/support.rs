//! Folding a history into rows, event by event or in batches.

use charter_events::{CommandId, CommandMeta, Event, EventId, EventMeta, Hash, StoredEvent, Via};
use charter_policy::Policy;
use charter_tables::{Changes, PROJECTIONS, Poison, Projection, Recorded, Row, RowsDigest};
use std::collections::BTreeMap;

/// An event as a log would hold it, a command of its own.
pub(crate) fn stored(meta: &EventMeta, event: &Event) -> StoredEvent {
    let command = CommandMeta {
        command_id: CommandId::from_u128(u128::from(meta.offset.get())),
        actor: meta.actor.clone(),
        via: Via::Api,
        request_id: Some("request-1".into()),
        reason: Some("Because of Night shift".into()),
    };
    StoredEvent {
        offset: meta.offset,
        event_id: EventId::from_u128(u128::from(meta.offset.get())),
        command,
        command_index: 0,
        command_size: 1,
        type_name: event.type_name().into(),
        schema: event.schema(),
        recorded_at: meta.recorded_at,
        payload: event.encode().unwrap(),
        prev_hash: Hash::ZERO,
        hash: Hash::ZERO,
    }
}

/// The tables of a projection: by place and key, the rows.
pub(crate) type Tables = BTreeMap<(usize, Row), Row>;

pub(crate) fn make(tables: &mut Tables, changes: &Changes) {
    for (table, key, row) in changes.iter() {
        match row {
            Some(row) => drop(tables.insert((table, key.clone()), row.clone())),
            None => drop(tables.remove(&(table, key.clone()))),
        }
    }
}

/// A history folded, and every projection's tables at its end.
pub(crate) struct Folded {
    pub(crate) policy: Policy,
    pub(crate) tables: BTreeMap<&'static str, Tables>,
}

impl Folded {
    /// The rows of a table, in order of their keys.
    pub(crate) fn rows(&self, projection: &str, table: &str) -> Vec<Row> {
        let spec = charter_tables::projection(projection).unwrap().spec();
        let (place, _) = spec.table(table).unwrap();
        let tables = &self.tables[projection];
        tables.iter().filter(|((of, _), _)| *of == place).map(|(_, row)| row.clone()).collect()
    }

    pub(crate) fn digest(&self, projection: &str) -> [u8; 32] {
        let spec = charter_tables::projection(projection).unwrap().spec();
        let mut digest = RowsDigest::default();
        for ((place, _), row) in &self.tables[projection] {
            digest.add(spec.tables[*place].name, row);
        }
        digest.finish()
    }
}

/// What a projection makes of one event.
pub(crate) fn changes_of(
    projection: &dyn Projection,
    before: &Policy,
    meta: &EventMeta,
    event: &Event,
) -> Result<Changes, Poison> {
    let mut changes = Changes::default();
    let stored = stored(meta, event);
    projection.on(before, Recorded { stored: &stored, event }, &mut changes)?;
    Ok(changes)
}

/// Folds a history; changes are made after every `batch` events.
pub(crate) fn fold(events: &[(EventMeta, Event)], batch: usize) -> Folded {
    let mut folded = Folded { policy: Policy::new(), tables: BTreeMap::new() };
    for projection in PROJECTIONS {
        folded.tables.insert(projection.spec().name, Tables::new());
    }
    for events in events.chunks(batch) {
        let mut pending: BTreeMap<&str, Changes> = BTreeMap::new();
        for (meta, event) in events {
            for projection in PROJECTIONS {
                let changes = changes_of(*projection, &folded.policy, meta, event).unwrap_or_else(|poison| {
                    panic!("{} at {}: {poison}", projection.spec().name, meta.offset)
                });
                pending.entry(projection.spec().name).or_default().then(changes);
            }
            folded.policy.apply(meta, event).unwrap();
        }
        for (projection, changes) in pending {
            make(folded.tables.get_mut(projection).unwrap(), &changes);
        }
    }
    folded
}
